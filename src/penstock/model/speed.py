"""Costs on machine types where nothing was measured, from those measured on one, by speed.

A core that is 1.4 times as fast spends 1/1.4 of the CPU on the same work. How fast the cores of a
type are is what the cluster says (``speed``), or else what the fingerprints of the two types do,
or else what their clocks suggest. Each is a guess about the work at hand, so that every estimate is
less sure than the measurement it comes from, by the *doubt* of its basis.

A fingerprint has the speed of several kinds of work. Which mix of them a component is, nobody
knows; it is taken for one kind more of the same population: as fast as they are in the mean of
logarithms, and off by as much as they differ among each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, expm1, hypot, log, sqrt
from statistics import fmean, geometric_mean, stdev

from penstock.errors import UnknownNameError
from penstock.model.cluster import Cluster
from penstock.model.profile import Cost, Origin, Profile, SpeedBasis, SpeedEstimate, WorkerCost

#: How much more or less a type likes one kind of work than its speed says, as the standard
#: deviation of a logarithm: a factor of 1.22 either way.
ASSUMED_INTERACTION = 0.2
#: What an estimate adds to the uncertainty of the cost it comes from, as the same. Clocks compare
#: processors of different years badly: on the machines of Nasiri et al. (Table 3) they miss the
#: measured speeds by factors of 1.3 to 2.1, 1.7 in the mean. A clock alone leaves open how fast the
#: machine was that the costs come from, too.
DOUBT = {
    SpeedBasis.STATED: ASSUMED_INTERACTION,
    SpeedBasis.CLOCK: 0.5,
    SpeedBasis.CLOCK_ALONE: 0.7,
}
#: Of fingerprints: kinds of work that both types must have, and the least doubt there is, for what
#: no kind of work shows, such as what a compiler makes of the component on one of the two.
_FEWEST_KINDS = 3
_LEAST_SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class RelativeSpeed:
    """How many times as fast a core is as one of the machine type that was measured."""

    factor: float
    basis: SpeedBasis
    #: Of a fingerprint, as the standard deviation of a logarithm; other bases have one each.
    spread: float = 0.0

    @property
    def doubt(self) -> float:
        return self.spread if self.basis is SpeedBasis.FINGERPRINT else DOUBT[self.basis]


def relative_speeds(cluster: Cluster, measured_on: str) -> dict[str, RelativeSpeed]:
    """Speed by machine type, as stated or by clock; types of which nothing is known are absent."""
    stated = {t.name: t.speed for t in cluster.types if t.speed is not None}
    if measured_on in cluster.type_names:
        stated.setdefault(measured_on, 1.0)
    base = stated.get(measured_on, 1.0)
    clock = {t.name: t.ghz for t in cluster.types if t.ghz is not None}
    known = _by_clock(clock, {name: speed / base for name, speed in stated.items()})
    known |= _by_fingerprint(cluster, measured_on)
    known |= {n: RelativeSpeed(s / base, SpeedBasis.STATED) for n, s in stated.items()}
    return {t.name: known[t.name] for t in cluster.types if t.name in known}


def _by_fingerprint(cluster: Cluster, measured_on: str) -> dict[str, RelativeSpeed]:
    """What fingerprints say, of types that have one beside the type that was measured."""
    own = {t.name: dict(t.fingerprint) for t in cluster.types}
    measured = own.get(measured_on, {})
    speeds = {}
    for name, fingerprint in own.items():
        both = [k for k, v in fingerprint.items() if v > 0 and measured.get(k, 0) > 0]
        if len(both) < _FEWEST_KINDS:
            continue
        logs = [log(fingerprint[kind] / measured[kind]) for kind in both]
        spread = max(_LEAST_SPREAD, _one_more(len(logs)) * stdev(logs))
        factor = float(f"{exp(fmean(logs)):.4g}")
        speeds[name] = RelativeSpeed(factor, SpeedBasis.FINGERPRINT, spread)
    return speeds


def _one_more(number: int) -> float:
    """Standard deviations of so few values that hold one more of them as 1.96 of many would.

    Student's quantile over the normal one (Cornish and Fisher's series), times what the mean of so
    few is itself off by.
    """
    free = number - 1
    few = 1.0 + 1.21 / free + 1.44 / free**2 + 1.30 / free**3
    return few * sqrt(1.0 + 1.0 / number)


def _by_clock(clock: Mapping[str, float], stated: Mapping[str, float]) -> dict[str, RelativeSpeed]:
    """What clocks say: in proportion to the speeds stated of types with a clock, or their mean."""
    anchors = [ghz / stated[name] for name, ghz in clock.items() if name in stated]
    if stated and not anchors:
        return {}
    basis = SpeedBasis.CLOCK if anchors else SpeedBasis.CLOCK_ALONE
    of_measured = geometric_mean(anchors or clock.values()) if clock else 1.0
    # A mean of logarithms leaves dust; nobody knows a speed better than to four figures.
    return {n: RelativeSpeed(float(f"{g / of_measured:.4g}"), basis) for n, g in clock.items()}


def estimate_by_speed(profile: Profile, cluster: Cluster, measured_on: str) -> Profile:
    """The profile with the costs it lacks on the cluster's machine types, by their speed.

    What was measured stays. A type whose speed nothing says gets no estimate.
    """
    if measured_on not in profile.machine_types:
        what = f"machine type in profile {profile.name}"
        raise UnknownNameError(what, measured_on, profile.machine_types)
    speeds = relative_speeds(cluster, measured_on)
    costs = [
        _estimate(cost, kind, speed)
        for cost in profile.costs
        if cost.machine_type == measured_on
        for kind, speed in speeds.items()
        if (cost.row, kind) not in profile.by_place
    ]
    if not costs:
        return profile
    known = {worker.machine_type for worker in profile.workers}
    workers = [
        _estimate_worker(worker, kind, speed)
        for worker in profile.workers
        if worker.machine_type == measured_on
        for kind, speed in speeds.items()
        if kind not in known
    ]
    return replace(
        profile,
        costs=(*profile.costs, *costs),
        workers=(*profile.workers, *workers),
        origin=Origin.DERIVED,
    )


def _estimate(cost: Cost, kind: str, speed: RelativeSpeed) -> Cost:
    e, met = cost.e / speed.factor, cost.met / speed.factor
    return Cost(
        cost.row,
        kind,
        e=e,
        met=met,
        e_remote=cost.e_remote / speed.factor,
        e_error=_error(e, cost.e, cost.e_error, speed),
        met_error=_error(met, cost.met, cost.met_error, speed),
        extrapolated=True,
        estimate=SpeedEstimate(cost.machine_type, speed.factor, speed.basis),
        rate_most=cost.rate_most,
    )


def _estimate_worker(worker: WorkerCost, kind: str, speed: RelativeSpeed) -> WorkerCost:
    points, e, remote = (
        value / speed.factor for value in (worker.cpu_points, worker.e, worker.e_remote)
    )
    return WorkerCost(
        kind,
        points,
        _error(points, worker.cpu_points, worker.error, speed),
        e,
        _error(e, worker.e, worker.e_error, speed),
        remote,
        _error(remote, worker.e_remote, worker.e_remote_error, speed),
    )


def _error(value: float, measured: float, error: float | None, speed: RelativeSpeed) -> float:
    """Standard error of an estimate: that of the measurement, and the doubt of its basis."""
    own = (error or 0.0) / speed.factor
    relative = (error or 0.0) / measured if measured > 0 else 0.0
    return max(own, value * expm1(hypot(relative, speed.doubt)))
