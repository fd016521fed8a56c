"""Random plans on a real Storm: is what Nimbus says afterwards what each of them said?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.engines.storm.publish import NotFollowed
from penstock.engines.storm.trial import Trial
from penstock.evaluate.predict import predict
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import build
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.benchmarks.storm_runs import trial_of

_MOST_INSTANCES = 6
#: Workers of a machine: several, but each is a Java to start on a computer with few cores.
_SLOTS = 2
_TELLS_EVERY = 5


def wrong_placements(machines: str, plans: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """How many of so many random plans were not what Nimbus said afterwards."""
    for _ in range(repeats):
        rng = np.random.default_rng(seed)
        wrong = 0
        with trial_of("linear", machines) as trial:
            trial.reports_every_s = 1
            trial.submit(dict.fromkeys(("low", "mid", "high"), 1))
            for number in range(plans):
                plan = _random_plan(trial, rng)
                try:
                    trial.place(plan, wait_s=0)
                except NotFollowed as error:
                    wrong += 1
                    say(f"plan {number}: {error}")
                trial.wait_until_running()
                # Once more, with eyes other than the publisher's.
                wrong += bool(trial.differs_from(plan.slots_of(trial.name)))
                if (number + 1) % _TELLS_EVERY == 0:
                    say(f"{number + 1} of {plans} plans, {wrong} wrong")
        yield float(wrong)


def _random_plan(trial: Trial, rng: np.random.Generator) -> Plan:
    """Any number of instances of everything, on any machine, in any worker."""
    snapshot = trial.snapshot()
    problem = build(snapshot.topologies, snapshot.cluster)
    most = [min(c.most_instances or _MOST_INSTANCES, _MOST_INSTANCES) for c in problem.components]
    counts = rng.integers(1, np.array(most) + 1)
    total = int(counts.sum())
    placement = Placement.of(
        np.repeat(np.arange(len(counts)), counts),
        rng.integers(0, len(problem.cluster.machines), size=total),
        rng.integers(0, _SLOTS, size=total),
    )
    predicted, _ = predict(problem, placement)
    return Plan(problem, placement, "random", predicted=predicted)
