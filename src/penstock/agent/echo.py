"""The probes between agents: a datagram that asks, and one of the same size that answers.

Every datagram is 64 bytes: what it is, a number used once, who sends it to whom, and an HMAC of all
that with a key that all agents share. Whoever has no key gets no answer; whoever has one and is not
in the list of machines gets none either. An answer is as long as its question, so that nothing
grows, and there are at most so many per second for each machine.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

SIZE = 64
#: Of an IPv4 datagram on its way: addresses, ports, lengths.
HEADER_BYTES = 28
_MAGIC = b"PSE1"
_QUESTION, _ANSWER = b"?", b"!"
_NONCE = 16
_NAME = 12
_MAC = 16
_PADDING = SIZE - len(_MAGIC) - 1 - _NONCE - 2 * _NAME - _MAC
LEAST_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Probe:
    """What a datagram says. Names are digests: only who knows them can tell who is meant."""

    is_answer: bool
    nonce: bytes
    sender: bytes
    receiver: bytes


def name_digest(machine: str) -> bytes:
    return hashlib.sha256(machine.encode()).digest()[:_NAME]


def question(key: bytes, nonce: bytes, sender: str, receiver: str) -> bytes:
    """A datagram that asks ``receiver`` to answer."""
    return _sealed(key, _QUESTION, nonce, name_digest(sender), name_digest(receiver))


def answer(key: bytes, asked: Probe) -> bytes:
    """The datagram that answers a question."""
    return _sealed(key, _ANSWER, asked.nonce, asked.receiver, asked.sender)


def read(key: bytes, datagram: bytes) -> Probe | None:
    """What a datagram says; ``None`` of one that is none, or not of somebody with the key."""
    if len(datagram) != SIZE or not datagram.startswith(_MAGIC):
        return None
    body, mac = datagram[:-_MAC], datagram[-_MAC:]
    if not hmac.compare_digest(mac, _mac(key, body)):
        return None
    kind, rest = body[len(_MAGIC) : len(_MAGIC) + 1], body[len(_MAGIC) + 1 :]
    if kind not in (_QUESTION, _ANSWER):
        return None
    nonce, sender = rest[:_NONCE], rest[_NONCE : _NONCE + _NAME]
    receiver = rest[_NONCE + _NAME : _NONCE + 2 * _NAME]
    return Probe(kind == _ANSWER, nonce, sender, receiver)


def _sealed(key: bytes, kind: bytes, nonce: bytes, sender: bytes, receiver: bytes) -> bytes:
    body = _MAGIC + kind + nonce + sender + receiver + bytes(_PADDING)
    return body + _mac(key, body)


def _mac(key: bytes, body: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).digest()[:_MAC]


@dataclass
class RateLimit:
    """So many per second on average, and as many at once: a bucket of tokens."""

    per_s: float
    _tokens: float = field(init=False)
    _at_s: float | None = None

    def __post_init__(self) -> None:
        self._tokens = self.per_s

    def allows(self, now_s: float) -> bool:
        if self._at_s is not None:
            self._tokens = min(self.per_s, self._tokens + (now_s - self._at_s) * self.per_s)
        self._at_s = now_s
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
