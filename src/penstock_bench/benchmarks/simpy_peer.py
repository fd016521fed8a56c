"""The peer of the engine: the same stations in a row, written with SimPy."""

from __future__ import annotations

import random
import time
from collections.abc import Generator
from typing import Any


def stations_with_simpy(
    arrival_per_s: float, service_per_s: float, stations: int, duration_s: float, seed: int
) -> tuple[int, float, float]:
    """Events (tuples arrived and served), mean time in the system, and seconds it took."""
    import simpy

    rng = random.Random(seed)
    environment = simpy.Environment()
    queues = [simpy.Store(environment) for _ in range(stations)]
    events, done, stayed_s = 0, 0, 0.0

    def source() -> Generator[Any, Any, None]:
        nonlocal events
        while True:
            yield environment.timeout(rng.expovariate(arrival_per_s))
            events += 1
            queues[0].put(environment.now)

    def station(number: int) -> Generator[Any, Any, None]:
        nonlocal events, done, stayed_s
        while True:
            born = yield queues[number].get()
            yield environment.timeout(rng.expovariate(service_per_s))
            events += 1
            if number + 1 < stations:
                queues[number + 1].put(born)
            else:
                done += 1
                stayed_s += environment.now - born

    environment.process(source())
    for number in range(stations):
        environment.process(station(number))
    began = time.perf_counter()
    environment.run(until=duration_s)
    seconds = time.perf_counter() - began
    return events, stayed_s / max(1, done), seconds
