"""Models that queueing theory has answers for, as problems for the engine.

Every model has a spout that costs nothing, so that its tuples arrive as a Poisson process, and
stations whose service takes 10 ms on average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from penstock.evaluate.queues import mm1_queue, mm1_wait, mmc_queue, mmc_wait
from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Component, Kind, Stream, Topology
from penstock.simulate.scenario import Offered, Scenario, ServiceTime, Shape

#: Tuples/s of one server.
SERVICE_PER_S = 100.0
_POINTS = 100.0
SERVERS = 4
#: As good as without limit: a station at load 0.9 never holds so many.
_MANY_THREADS = 4000


@dataclass(frozen=True)
class Model:
    """Stations in a row, and what theory says of them together at an arrival rate."""

    name: str
    service: ServiceTime
    #: Seconds before service, or with service where there is no before (processor sharing).
    wait_s: Callable[[float], float]
    #: Tuples present, those in service included.
    queue: Callable[[float], float]
    stations: int = 1
    threads: int = 1
    cores: int | None = None
    sharing: bool = False

    def arrival_per_s(self, load: float) -> float:
        return load * SERVICE_PER_S * (self.cores or 1)

    def problem(self) -> Problem:
        """The stations, each on a machine of its own."""
        points = _POINTS * (self.cores or 1)
        core = _POINTS if self.cores else None
        kind = MachineType("M", cpu_points=points, core_points=core)
        names = [f"station-{n + 1}" for n in range(self.stations)]
        bolts = tuple(Component(n, profile="station", threads=self.threads) for n in names)
        line = ["spout", *names]
        streams = tuple(Stream(a, b) for a, b in pairwise(line))
        topology = Topology(self.name, (Component("spout", Kind.SPOUT), *bolts), streams)
        machines = tuple(Machine(f"m{n}", "M") for n in range(self.stations + 1))
        cost = _POINTS / SERVICE_PER_S
        costs = (Cost("spout", "M", 0.0, 0.0), Cost("station", "M", cost, 0.0))
        return build(topology, Cluster("c", (kind,), machines), Profile("p", costs))

    def placement(self) -> Placement:
        numbers = list(range(self.stations + 1))
        return Placement.of(numbers, numbers)

    def scenario(self, load: float, tuples: float) -> Scenario:
        """So many tuples, a tenth of them before counting begins."""
        rate = self.arrival_per_s(load)
        duration_s = tuples / rate
        return Scenario(
            name=f"{self.name} at {load:g}",
            duration_s=duration_s,
            sample_s=duration_s / 10,
            warmup_s=duration_s / 10,
            offered=Offered(of_sustainable=None, per_s=rate),
            service=self.service,
            queue_limit=None,
            acking=False,
        )


_EXPONENTIAL = ServiceTime(Shape.EXPONENTIAL)
_MU = SERVICE_PER_S


def _mm1_before(rate: float) -> float:
    return mm1_wait(rate, _MU) - 1 / _MU


def _md1_before(rate: float) -> float:
    """Pollaczek and Khinchine: half of what exponential service makes wait."""
    return _mm1_before(rate) / 2


MODELS = {
    model.name: model
    for model in (
        Model("M/M/1", _EXPONENTIAL, _mm1_before, lambda rate: mm1_queue(rate, _MU)),
        Model(
            f"M/M/{SERVERS}",
            _EXPONENTIAL,
            lambda rate: mmc_wait(rate, _MU, SERVERS) - 1 / _MU,
            lambda rate: mmc_queue(rate, _MU, SERVERS),
            threads=SERVERS,
            cores=SERVERS,
        ),
        Model(
            "M/D/1",
            ServiceTime(Shape.DETERMINISTIC),
            _md1_before,
            # Little's law on the wait, and the server's load.
            lambda rate: rate * _md1_before(rate) + rate / _MU,
        ),
        Model(
            "M/G/1-PS",
            # Processor sharing: the mean does not depend on the shape, here one that varies a lot.
            ServiceTime(Shape.LOGNORMAL, variation=2.0),
            lambda rate: mm1_wait(rate, _MU),
            lambda rate: mm1_queue(rate, _MU),
            threads=_MANY_THREADS,
            sharing=True,
        ),
        Model(
            "Jackson",
            _EXPONENTIAL,
            # The second station sees a Poisson process again (Burke).
            lambda rate: 2 * _mm1_before(rate),
            lambda rate: 2 * mm1_queue(rate, _MU),
            stations=2,
        ),
    )
}
