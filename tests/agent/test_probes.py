"""Probes between agents: who gets an answer, how many, and what a round trip takes."""

import select
import socket

import pytest

from penstock.agent.echo import HEADER_BYTES, SIZE, RateLimit, answer, question, read
from penstock.agent.prober import Prober

KEY = b"k" * 32
NONCE = bytes(range(16))


def test_an_answer_is_as_long_as_its_question_and_says_the_same_number_back():
    asked = read(KEY, question(KEY, NONCE, "a", "b"))
    reply = answer(KEY, asked)
    assert len(reply) == SIZE == 64
    told = read(KEY, reply)
    assert told.is_answer
    assert (told.nonce, told.sender, told.receiver) == (NONCE, asked.receiver, asked.sender)


@pytest.mark.parametrize("place", [0, 4, 5, 20, 32, 44, 63])
def test_a_datagram_with_a_changed_byte_says_nothing(place):
    datagram = bytearray(question(KEY, NONCE, "a", "b"))
    datagram[place] ^= 1
    assert read(KEY, bytes(datagram)) is None


def test_without_the_key_or_of_another_length_it_says_nothing():
    datagram = question(KEY, NONCE, "a", "b")
    assert read(b"x" * 32, datagram) is None
    assert read(KEY, datagram + b"0") is None
    assert read(KEY, b"") is None


def test_so_many_per_second_and_no_more():
    limit = RateLimit(2.0)
    assert [limit.allows(0.0) for _ in range(3)] == [True, True, False]
    # Half a second is one token.
    assert [limit.allows(0.5) for _ in range(2)] == [True, False]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def bound() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    return sock


class Pair:
    """Agents ``a`` and ``b`` on this machine, by one clock that stands still unless told."""

    def __init__(self, **setting) -> None:
        self.clock = Clock()
        self.socks = {name: bound() for name in "ab"}
        numbers = iter(range(10**6))
        self.a, self.b = (
            Prober(
                name,
                {other: self.socks[other].getsockname()},
                setting.get(f"key_{name}", KEY),
                self.socks[name],
                self.clock,
                lambda size: next(numbers).to_bytes(size, "big"),
            )
            for name, other in ("ab", "ba")
        )

    def close(self) -> None:
        for sock in self.socks.values():
            sock.close()


@pytest.fixture
def pair():
    made = Pair()
    yield made
    made.close()


def arrived(sock):
    return bool(select.select([sock], [], [], 2.0)[0])


def test_a_round_trip_is_the_time_from_question_to_answer(pair):
    pair.a.probe()
    assert arrived(pair.socks["b"])
    pair.b.receive()
    pair.clock.now += 0.025
    assert arrived(pair.socks["a"])
    pair.a.receive()
    (trip,) = pair.a.take_window()
    assert (trip.machine, trip.sent, trip.lost) == ("b", 1, 0)
    assert trip.least_ms == trip.median_ms == pytest.approx(25.0)
    # A question and an answer, each 64 bytes and their headers.
    assert pair.a.traffic_bytes == pair.b.traffic_bytes == 2 * (SIZE + HEADER_BYTES)


def test_what_is_not_answered_in_five_seconds_is_lost(pair):
    pair.a.probe()
    pair.clock.now += 5.1
    (trip,) = pair.a.take_window()
    assert (trip.sent, trip.lost, trip.least_ms) == (1, 1, None)


def test_a_machine_is_asked_every_ten_seconds_and_no_more_often(pair):
    for tenth in range(301):
        pair.clock.now = 100.0 + tenth / 10
        pair.a.probe()
    # At 0, 10, 20 and 30 s.
    assert pair.a.take_window()[0].sent == 4


def test_with_many_machines_it_gets_slower_not_louder():
    made = Pair()
    made.a.peers = {f"m{n}": ("127.0.0.1", 9) for n in range(100)}
    for tenth in range(1000):
        made.clock.now = 100.0 + tenth / 10
        made.a.probe()
    # One a second for 100 s, each machine once: 100 times 92 bytes.
    trips = made.a.take_window()
    assert sum(trip.sent for trip in trips) == 100
    assert len(trips) == 100
    assert made.a.traffic_bytes <= 100 * (SIZE + HEADER_BYTES)
    made.close()


@pytest.mark.parametrize("stranger", ["another key", "not in the list", "meant for another"])
def test_strangers_get_no_answer(pair, stranger):
    key = b"x" * 32 if stranger == "another key" else KEY
    sender = "c" if stranger == "not in the list" else "a"
    receiver = "c" if stranger == "meant for another" else "b"
    pair.socks["a"].sendto(question(key, NONCE, sender, receiver), pair.socks["b"].getsockname())
    assert arrived(pair.socks["b"])
    pair.b.receive()
    assert pair.b.traffic_bytes == 0


def test_a_machine_of_the_list_gets_none_from_where_it_is_not(pair):
    pair.b.peers = {"a": ("127.0.0.99", 7373)}
    pair.a.probe()
    assert arrived(pair.socks["b"])
    pair.b.receive()
    assert pair.b.traffic_bytes == 0


def test_a_flood_with_the_key_gets_five_answers_a_second(pair):
    for number in range(50):
        datagram = question(KEY, number.to_bytes(16, "big"), "a", "b")
        pair.socks["a"].sendto(datagram, pair.socks["b"].getsockname())
    assert arrived(pair.socks["b"])
    pair.b.receive()
    answers = 0
    while arrived_at_once(pair.socks["a"]):
        pair.socks["a"].recv(SIZE)
        answers += 1
    assert answers == 5


def arrived_at_once(sock):
    return bool(select.select([sock], [], [], 0.2)[0])


def test_an_answer_nobody_asked_for_is_not_counted(pair):
    datagram = answer(KEY, read(KEY, question(KEY, NONCE, "a", "b")))
    pair.socks["b"].sendto(datagram, pair.socks["a"].getsockname())
    assert arrived(pair.socks["a"])
    pair.a.receive()
    assert pair.a.take_window() == ()
