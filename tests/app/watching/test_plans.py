"""A decision as a plan."""

from tests.builders import all_on, cluster, profile, topology

from penstock.app.watching.plans import on_the_machines_of
from penstock.model.plan import Deployed, Plan
from penstock.model.problem import build
from penstock.model.snapshot import Snapshot


def test_a_plan_knows_only_where_that_runs_which_it_plans():
    """Ackers are placed by Storm; a plan that named them could not be read again."""
    machines = cluster(M1=1)
    problem = build([topology("a>b")], machines, profile(a=1.0, b=1.0))
    at = (("M1-1", 0),)
    places = (("a", at), ("b", at), ("__acker", at))
    running = Snapshot(
        cluster=machines,
        topologies=(topology("a>b a>__acker"), topology("x>y", name="other")),
        deployed=(Deployed("t", "t-1", places), Deployed("other", "other-1", ())),
    )
    plan = on_the_machines_of(Plan(problem, all_on(problem), "penstock"), running)
    assert plan.deployed == (Deployed("t", "t-1", places[:2]),)
