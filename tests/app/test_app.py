"""The Python interface: whatever names a thing, the same thing comes out of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.builders import all_on, cluster, nasiri, profile, topology

import penstock
from penstock import app
from penstock.errors import InputError, UnknownNameError
from penstock.files import examples
from penstock.files.store import save, to_dict
from penstock.model.cluster import Cluster, Hop
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.profile import Profile
from penstock.model.topology import Topology
from penstock_bench.contract.reference import Reference

LINEAR = examples.load_topology("linear")
SMALL = examples.load_cluster("nasiri-small")
NASIRI = examples.load_profile("nasiri")


@pytest.fixture(scope="module")
def small():
    return penstock.problem("linear", "nasiri-small", "nasiri")


def test_importing_penstock_loads_nothing_heavy():
    code = "import sys, penstock; print('numpy' in sys.modules, penstock.__version__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", penstock.__version__]


def test_everything_that_app_offers_is_there():
    assert set(penstock.__all__) == {*app.__all__, "__version__"}
    # The function "simulate" stays what it is, though a package has that name, too.
    code = (
        "import penstock.simulate.scenario, penstock; names = penstock.__all__[1:]; "
        "[getattr(penstock, n) for n in names]; import penstock.simulate.world; "
        "print(all(callable(getattr(penstock, n)) for n in names))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "True"


def test_type_checkers_see_the_names_where_they_are():
    tree = ast.parse(Path(app.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(block):
        if isinstance(node, ast.ImportFrom):
            seen[node.module] = (*seen.get(node.module, ()), *(a.asname for a in node.names))
    assert seen == app._NAMES


def test_what_is_offered_says_what_it_does():
    assert [name for name in app.__all__ if not (getattr(app, name).__doc__ or "").strip()] == []


def test_there_is_nothing_else_by_that_name():
    with pytest.raises(AttributeError, match="has no attribute 'plann'"):
        penstock.plann  # noqa: B018


@pytest.mark.parametrize(
    "form", ["names", "values", "dicts", "text paths", "paths", "json", "lists"]
)
def test_a_problem_comes_from_names_values_dicts_and_files(form, small, tmp_path):
    values = (LINEAR, SMALL, NASIRI)
    suffix = "json" if form == "json" else "yaml"
    paths = [tmp_path / f"{kind}.{suffix}" for kind in ("topology", "cluster", "profile")]
    for value, path in zip(values, paths, strict=True):
        save(value, path)
    forms = {
        "names": ("linear", "nasiri-small", "nasiri"),
        "values": values,
        "dicts": tuple(to_dict(value) for value in values),
        "text paths": tuple(map(str, paths)),
        "paths": tuple(paths),
        "json": tuple(paths),
        "lists": (["linear"], SMALL, paths[2]),
    }
    assert penstock.problem(*forms[form]) == small


def test_load_tells_by_the_content_what_it_is(tmp_path, small):
    made = penstock.plan(small).plan
    assert made is not None
    for value, kind in (
        *((LINEAR, Topology), (SMALL, Cluster), (NASIRI, Profile)),
        (made, Plan),
    ):
        save(value, tmp_path / "any.yaml")
        loaded = penstock.load(tmp_path / "any.yaml")
        assert isinstance(loaded, kind)
        assert loaded == value


def test_without_cluster_and_profile_those_of_the_paper_are_taken():
    problem = penstock.problem("wordcount")
    assert problem.cluster.name == "thesis"
    assert problem.profile is not None
    assert problem.profile.name == "thesis"


def test_without_a_profile_that_fits_the_requests_must_do():
    asking = topology("a>b", a={"cpu_points": 10.0}, b={"cpu_points": 20.0})
    problem = penstock.problem(asking, cluster(M1=1))
    assert (problem.has_costs, problem.cpu_request.tolist()) == (False, [10.0, 20.0])
    with pytest.raises(InputError, match="no profile, and no cpu_points request of b: "):
        penstock.problem(topology("a>b", a={"cpu_points": 10.0}), cluster(M1=1))


def test_a_missing_profile_is_said_once_with_the_ways_to_get_one():
    names = [f"c{i}" for i in range(8)]
    with pytest.raises(InputError) as refused:
        penstock.problem(topology(">".join(names)), cluster(M1=1))
    (finding,) = refused.value.findings
    assert "request of c0, c1, c2, c3, c4, c5 and 2 more: " in finding.message
    assert "penstock profile" in finding.message


def test_what_if_options_change_the_problem_and_not_its_parts(small):
    changed = penstock.problem(LINEAR, SMALL, NASIRI, headroom=0.25, met=3.0, weighted=True)
    assert changed.cluster.usable_cpu_per_type.tolist() == [75.0, 75.0, 75.0]
    assert (changed.met == 3.0).all()
    assert changed.weighted
    assert (SMALL.headroom, small.weighted) == (0.0, False)
    assert {cost.met for cost in NASIRI.costs} != {3.0}


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("linaer",), {}, 'no file or example topology "linaer"; did you mean "linear"'),
        (("linear", "nasri-small"), {}, 'did you mean "nasiri-small"'),
        (("linear", "nasiri-small", "nasri"), {}, 'no file or example profile "nasri"'),
        ((LINEAR,), {}, "name a cluster file, or a shipped one"),
        (([], SMALL), {}, "no topology given"),
        (("linear", LINEAR), {}, "is a topology, not a cluster"),
        (({"format": "penstock/topology"}, SMALL), {}, "input name: is missing"),
        (("linear",), {"headroom": 1.0}, "headroom must be at least 0 and below 1, not 1"),
        (("linear",), {"met": float("nan")}, "met must be a number of at least 0, not nan"),
        (("linear", "thesis", "nasiri"), {}, 'has no cost of "lowCompute", "midCompute", '),
    ],
    ids=str,
)
def test_what_does_not_make_a_problem_is_told(arguments, options, message):
    with pytest.raises(InputError) as error:
        penstock.problem(*arguments, **options)
    assert message in str(error.value)


def test_met_needs_a_profile_to_change():
    asking = topology("a>b", a={"cpu_points": 10.0}, b={"cpu_points": 20.0})
    with pytest.raises(InputError, match="met changes a profile, and this problem has none"):
        penstock.problem(asking, cluster(M1=1), met=1.0)


def test_a_plan_says_what_it_was_made_with(small):
    planned = penstock.plan(small, "hetero", parameters={"r0": "2"}, seed=5)
    assert planned.plan is not None
    assert planned.plan.parameters == {"r0": 2.0, "per_machine": 100}
    assert (planned.plan.scheduler, planned.plan.seed) == ("hetero", 5)
    assert planned.plan.problem is small
    assert penstock.load(planned.to_dict()) == planned.plan


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"r0": None}, "hetero: r0 must be a number, not None"),
        ({"r0": True}, "hetero: r0 must be a number, not True"),
        ({"per_machine": 1.5}, "hetero: per_machine must be a whole number, not 1.5"),
        ({"per_machine": float("inf")}, "hetero: per_machine must be a whole number, not inf"),
        ({"r1": 1}, 'no parameter of scheduler hetero "r1"; known: r0, per_machine'),
    ],
    ids=str,
)
def test_parameters_must_be_those_the_scheduler_has(small, parameters, message):
    with pytest.raises((InputError, UnknownNameError)) as error:
        penstock.plan(small, "hetero", parameters=parameters)
    assert message in str(error.value)


def test_missing_counts_are_filled_in_and_given_ones_stand():
    graph = topology("low>mid>high", mid={"instances": 5})
    problem = penstock.problem(
        graph, cluster(M1=2, M2=2, M3=2), nasiri("linear", (1, 1, 1)).profile
    )
    planned = penstock.plan(problem, "default")
    assert planned.plan is not None
    counts = planned.plan.placement.counts(3).tolist()
    of_hetero = penstock.plan(problem, "hetero").plan.placement.counts(3).tolist()
    assert counts == [of_hetero[0], 5, of_hetero[2]]
    assert planned.plan.notes[0] == "instance counts from hetero"


def test_where_there_is_no_plan_there_is_an_answer():
    """One idle instance costs 200 points, and a machine has 100."""
    problem = penstock.problem(topology("a"), cluster(M1=1), profile(met=200.0, a=1.0))
    planned = penstock.plan(problem, "hetero")
    assert planned.plan is None
    assert planned.outcome.shortfalls[0].needed == 200.0
    told = planned.to_dict()
    assert (told["format"], told["version"], told["placed"]) == ("penstock/no-plan", 1, False)
    assert "found no plan" in planned._repr_html_()
    assert penstock.plan(problem, "default").plan is None


@pytest.mark.slow
def test_a_notebook_shows_the_picture_and_the_table(small):
    html = penstock.plan(small)._repr_html_()
    assert "<table>" in html
    svg = html[html.index("<svg") : html.index("</svg>") + len("</svg>")]
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    table = penstock.compare(small, ["default", "hetero"])._repr_html_()
    assert table.count("<tr>") == 3


def test_comparing_plans_with_every_scheduler_named(small):
    asked: list[str] = []
    found = penstock.compare(small, ["hetero", "default"], progress=asked.append)
    assert [row.scheduler for row in found.rows] == asked == ["hetero", "default"]
    assert found.to_dict()["cluster"] == "nasiri-small"
    with pytest.raises(UnknownNameError, match='no scheduler "defualt"; did you mean "default"'):
        penstock.compare(small, ["defualt"])


def test_with_given_counts_all_have_the_same(small):
    found = penstock.compare(small, ["default", "hetero", "rstorm"], given_counts=True)
    counts = {tuple(row.problem.counts_asked) for row in found.rows}
    assert len(counts) == 1
    assert None not in counts.pop()


@pytest.fixture(scope="module")
def compared():
    problem = penstock.problem("linear", "nasiri-large")
    return penstock.compare(problem, ["default", "hetero"])


@pytest.mark.parametrize("row", [0, 1], ids=["default", "hetero"])
def test_the_figures_of_a_comparison_are_those_of_the_reference(compared, row):
    planned = compared.rows[row]
    reference = Reference(planned.problem, planned.plan.placement)
    facts = planned.facts

    def same(expected: float) -> object:
        return pytest.approx(expected, rel=1e-9)

    scale = facts.scale
    assert scale == same(reference.scale)
    assert facts.rate_per_s == {"linear": same(scale)}  # one topology without a demand
    assert facts.throughput_per_s == same(reference.throughput(scale))
    assert facts.sink_throughput_per_s == same(sum(reference.sink_rates(scale)))
    assert facts.weighted_utilisation == same(reference.weighted_utilisation(scale))
    used = sorted({instance.machine.name for instance in reference.instances})
    assert facts.machines_used == len(used)
    assert facts.throughput_per_machine == same(reference.throughput(scale) / len(used))
    # Every machine has 100 points.
    cpu = zip(reference.machines, reference.machine_cpu(scale), strict=True)
    busy = [points for (machine, _), points in cpu if machine.name in used]
    assert facts.mean_utilisation == same(sum(busy) / 100 / len(busy))
    tuples, _ = reference.traffic()
    mix = {hop.label: part / sum(tuples) for hop, part in zip(Hop, tuples, strict=True)}
    assert facts.network_mix == pytest.approx(mix, rel=1e-9, abs=1e-12)
    assert facts.gap == same(1 - scale / compared.bound.scale)


def test_hetero_carries_clearly_more_than_the_default(compared):
    """Nasiri's scenario 3; they print a gain of 27 to 31 % over the three topologies."""
    default, hetero = (row.facts.scale for row in compared.rows)
    assert 0.1 < hetero / default - 1 < 0.35


def test_a_plan_of_any_placement_round_trips_without_a_scheduler(tmp_path: Path):
    problem: Problem = nasiri("star", (1, 1, 1))
    plan = Plan(problem, all_on(problem), "by hand")
    save(plan, tmp_path / "plan.json")
    assert penstock.load(tmp_path / "plan.json") == plan


def test_a_scheduler_that_would_take_too_long_leaves_the_others_their_answers(monkeypatch):
    from penstock.schedulers.lcstream.scheduler import LcStreamScheduler

    monkeypatch.setattr(LcStreamScheduler, "work_for", lambda _self, _problem: 1e12)
    found = penstock.compare(penstock.problem("linear", "nasiri-small"), ["default", "lcstream"])
    assert [row.plan is not None for row in found.rows] == [True, False]
    assert "--set work=1000000000000" in found.rows[1].outcome.notes[0]
