"""Round-trip times to the other machines, probed gently, and answers to their probes.

One datagram goes out per turn, to the machines one after the other; a machine is asked at most once
in ``every_s``, and never are more than ``most_per_s`` sent in all. With many machines a round takes
longer; it does not get louder.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from penstock.agent.echo import (
    HEADER_BYTES,
    SIZE,
    RateLimit,
    answer,
    name_digest,
    question,
    read,
)
from penstock.model.machine_record import RoundTrip

Address = tuple[str, int]
#: A probe that has no answer by then is lost.
_ANSWERS_WITHIN_S = 5.0
#: Answers to one machine, per second; an agent of ours asks once a second at most.
_ANSWERS_PER_S = 5.0
MOST_PROBES_PER_S = 1.0
_MS = 1e3
#: Datagrams that are read at one go, so that a flood does not keep the agent from its own work.
_AT_ONCE = 64


@dataclass
class _Window:
    """What became of the probes of one machine."""

    sent: int = 0
    lost: int = 0
    times_ms: list[float] = field(default_factory=list)

    def summary(self, machine: str) -> RoundTrip:
        if not self.times_ms:
            return RoundTrip(machine, self.sent, self.lost)
        least, middle = min(self.times_ms), median(self.times_ms)
        return RoundTrip(machine, self.sent, self.lost, round(least, 4), round(middle, 4))


@dataclass
class Prober:
    """One machine's end of the probes. ``peers`` are the other machines by name."""

    name: str
    peers: Mapping[str, Address]
    key: bytes
    sock: socket.socket
    clock: Callable[[], float]
    random: Callable[[int], bytes]
    every_s: float = 10.0
    most_per_s: float = MOST_PROBES_PER_S
    #: Bytes sent and received, headers included, ours only: what strangers send is no work of ours.
    traffic_bytes: int = 0
    _windows: dict[str, _Window] = field(default_factory=dict)
    #: Probes under way: to whom, and since when.
    _waiting: dict[bytes, tuple[str, float]] = field(default_factory=dict)
    _asked_at: dict[str, float] = field(default_factory=dict)
    _answered: dict[bytes, RateLimit] = field(default_factory=dict)
    _next_s: float = 0.0

    def __post_init__(self) -> None:
        self._own_digest = name_digest(self.name)
        self._by_digest = {name_digest(peer): peer for peer in self.peers}

    def next_in_s(self) -> float:
        """Seconds until the next probe is due."""
        if not self.peers:
            return self.every_s
        return max(0.0, self._next_s - self.clock())

    def probe(self) -> None:
        """Ask the machine that has waited longest, if one is due."""
        now = self.clock()
        self._give_up(now)
        if not self.peers or now < self._next_s:
            return
        peer = min(self.peers, key=lambda name: (self._asked_at.get(name, -1.0), name))
        self._next_s = now + max(1.0 / self.most_per_s, self.every_s / len(self.peers))
        self._asked_at[peer] = now
        nonce = self.random(16)
        window = self._windows.setdefault(peer, _Window())
        window.sent += 1
        datagram = question(self.key, nonce, self.name, peer)
        # From here on time counts.
        self._waiting[nonce] = (peer, self.clock())
        if not self._send(datagram, self.peers[peer]):
            del self._waiting[nonce]
            window.lost += 1

    def receive(self) -> None:
        """Answer what is asked, and note what is answered."""
        for _ in range(_AT_ONCE):
            try:
                datagram, sender = self.sock.recvfrom(SIZE + 1)
            except BlockingIOError:
                return
            except OSError:  # the other end refused a datagram of ours
                continue
            self._take(datagram, sender, self.clock())

    def take_window(self) -> tuple[RoundTrip, ...]:
        """What the window's probes came to; the next window begins."""
        self._give_up(self.clock())
        done = tuple(w.summary(peer) for peer, w in sorted(self._windows.items()))
        self._windows = {}
        return done

    def _take(self, datagram: bytes, sender: Address, now: float) -> None:
        probe = read(self.key, datagram)
        if probe is None or probe.receiver != self._own_digest:
            return
        peer = self._by_digest.get(probe.sender)
        if peer is None or sender[0] != self.peers[peer][0]:
            return  # not a machine of the list, or not from where it is
        self.traffic_bytes += SIZE + HEADER_BYTES
        if not probe.is_answer:
            limit = self._answered.setdefault(probe.sender, RateLimit(_ANSWERS_PER_S))
            if limit.allows(now):
                self._send(answer(self.key, probe), sender)
            return
        asked, since = self._waiting.get(probe.nonce, ("", 0.0))
        if asked == peer:
            del self._waiting[probe.nonce]
            window = self._windows.setdefault(peer, _Window(sent=1))
            window.times_ms.append(_MS * (now - since))

    def _give_up(self, now: float) -> None:
        late = [n for n, (_, since) in self._waiting.items() if now - since > _ANSWERS_WITHIN_S]
        for nonce in late:
            peer, _ = self._waiting.pop(nonce)
            self._windows.setdefault(peer, _Window(sent=1)).lost += 1

    def _send(self, datagram: bytes, to: Address) -> bool:
        try:
            self.sock.sendto(datagram, to)
        except OSError:  # no way there for now
            return False
        self.traffic_bytes += SIZE + HEADER_BYTES
        return True
