"""Documents whose every value is well formed and which still make no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.corpus.bases import base
from tests.corpus.breaking import Broken, Place, broken, field_of, line_of, put, text_of, with_value
from tests.corpus.plan_base import sealed

#: (kind, place, wrong value, what the message must say)
WRONG: list[tuple[str, Place, Any, str]] = [
    ("topology", ("format",), "penstock/topologie", 'did you mean "penstock/topology"?'),
    ("topology", ("format",), "storm", "known: penstock/topology, penstock/cluster"),
    ("topology", ("format",), ["penstock/topology"], "no format a list of 1"),
    ("topology", ("fanout",), "spilt", 'must be copy or split, not "spilt"; did you mean "split"?'),
    ("topology", ("components", "lines", "kind"), "spuot", 'did you mean "spout"?'),
    ("topology", ("components", "split", "kind"), 7, "must be spout, bolt or acker, not 7"),
    (
        "topology",
        ("components", "split", "streams", 0, "grouping"),
        "shufle",
        'did you mean "shuffle"?',
    ),
    (
        "topology",
        ("components", "split", "streams", 0, "to"),
        "cuont",
        'no component "cuont"; did you mean "count"?',
    ),
    (
        "topology",
        ("components", "split", "streams", 0, "to"),
        "zebra",
        'no component "zebra"; known: lines, split, count',
    ),
    ("topology", ("components", "split", "streams", 0, "key_skew"), 99, "less than or equal to 10"),
    ("topology", ("components", "split", "instances"), 10, "10 is more than max_instances 9"),
    (
        "topology",
        ("components", "split", "requests", "offheap_mb"),
        600,
        "600 is more than memory_mb 512",
    ),
    (
        "topology",
        ("components", "split", "requests", "offheap_mb"),
        10**299,
        "000… is more than memory_mb 512",
    ),
    ("cluster", ("machines", 0, "type"), "m1", 'no machine type "m1"; did you mean "M1"?'),
    ("cluster", ("machines", 0, "type"), "zebra", 'no machine type "zebra"; known: M1, M2'),
    ("cluster", ("network", "regions", 0, "between", 0), "eest", 'no region "eest"; did you mean'),
    ("cluster", ("network", "regions", 0, "between"), ["east"], "must hold at least 2"),
    ("cluster", ("network", "regions", 0, "between"), ["east"] * 3, "must hold at most 2"),
    ("cluster", ("types", "M1", "idle_watts"), 100, "100 is more than full_watts 90"),
    ("cluster", ("types", "M1", "core_points"), 500, "500 is more than cpu_points 400"),
    ("cluster", ("machines", 1, "hosts"), ["only.one"], "1 hosts for 2 machines"),
    ("cluster", ("machines", 0, "count"), 10**9, "must be less than or equal to 100000"),
    ("cluster", ("machines",), [], "must hold at least 1, not an empty list"),
    ("cluster", ("types",), {}, "must hold at least 1, not an empty mapping"),
    ("terms", ("least", 0), "prize", 'did you mean "price"?'),
    ("terms", ("apart", 0), ["a", "b", "c"], "must hold at most 2"),
    ("terms", ("apart", 0), [], "must hold at least 1"),
    ("scenario", ("offered", "arrivals"), "posson", 'did you mean "poisson"?'),
    ("scenario", ("shuffle",), "load-awar", 'did you mean "load-aware"?'),
    ("scenario", ("warmup_s",), 100, "leaves nothing of the 100 s"),
    ("scenario", ("sample_s",), 101, "is longer than the whole, 100 s"),
    ("scenario", ("sample_s",), 0.001, "makes more than 20,000 results over time"),
    ("scenario", ("offered", "steps"), [{"at_s": 5, "factor": 1}], "must begin at 0"),
    ("scenario", ("service", "components", "low", "samples"), [], "and shape empirical go"),
    ("scenario", ("changes", 0, "until_s"), 20, "must be later than at_s"),
    ("scenario", ("changes", 0, "speed"), None, "is missing"),
    ("sweep", ("schedulers",), [], "must hold at least 1"),
    ("profile", ("origin",), "mesured", 'did you mean "measured"?'),
    ("profile", ("rows",), {}, "must hold at least 1"),
    ("plan", ("scheduler", "parameters", "r0"), [1], "must be text, a finite number, true or"),
    ("plan", ("scheduler", "parameters", "r0"), float("nan"), "must be text, a finite number"),
    ("plan", ("topologies", 0, "name"), "lien", 'no topology "lien"; did you mean "line"?'),
    (
        "plan",
        ("topologies", 0, "components", "mid", 0, "machine"),
        "a9",
        'no machine "a9"; known: a1, a2',
    ),
    ("plan", ("topologies", 0, "components", "mid", 0, "slot"), 10**30, "must be less than 10000"),
    ("plan", ("topologies", 0, "components", "low", 0, "share"), 1.5, "less than or equal to 1"),
    ("plan", ("predicted", "machines", 0, "machine"), "b1", 'no machine "b1"'),
    ("plan", ("if_lost", 0, "machine"), "b1", 'no machine "b1"'),
    ("plan", ("deployed", 0, "topology"), "lime", 'did you mean "line"?'),
    ("plan", ("deployed", 0, "components", "low", 0, "machine"), "b1", 'no machine "b1"'),
    ("plan", ("if_lost", 0, "moves", 0, "machine"), "b1", 'no machine "b1"'),
    ("plan", ("if_lost", 0, "moves", 0, "component"), "mdi", 'did you mean "mid"?'),
    ("plan", ("if_lost", 0, "shares", 0, "component"), "lwo", 'did you mean "low"?'),
    ("plan", ("inputs", "given_counts"), [1, 2], "must have one count for each of 3"),
    ("flux", ("bolts", 1, "id"), "split", '"split" is used twice'),
    ("flux", ("streams", 1, "to"), "cuont", 'no spout or bolt "cuont"; did you mean "count"?'),
    ("flux", ("streams", 1, "grouping", "type"), "FEILDS", 'did you mean "FIELDS"?'),
    ("flux", ("name",), "${app}", "property app has no value"),
    ("flux", ("spouts",), [], "there is no spout"),
    ("flux", ("bolts", 0, "parallelism"), "${p}", 'must be a whole number, not "${p}"'),
    ("storm", ("supervisor.slots.ports", 0), 99999, "must be less than or equal to 65535"),
    ("storm", ("supervisor.scheduler.meta", "rack"), "/dc/r1", 'must be a name, not "/dc/r1"'),
    ("storm", ("supervisor.scheduler.meta", "machine-type"), [], "must be a name, not an empty"),
    ("storm", ("supervisor.scheduler.meta", "ghz"), "fast", 'must be a number, not "fast"'),
    ("storm", ("supervisor.scheduler.meta", "cores"), "2.5", "must be a whole number"),
    (
        "recorded cluster",
        ("racks", 0, "supervisors", 1, "id"),
        "node-1",
        '"node-1" is used twice',
    ),
    ("recorded cluster", ("racks",), [], "there is no supervisor"),
    ("recorded topologies", (0, "components", 1, "id"), "in", '"in" is used twice'),
    ("recorded topologies", (0, "components", 0, "kind"), "tap", "must be spout or bolt"),
]


def senseless() -> Iterator[Broken]:
    for kind, place, value, message in WRONG:
        yield with_value(kind, place, value, message)
    yield from _edited()


def _changed(
    name: str, kind: str, change: Callable[[Any], object], place: Place, message: str
) -> Broken:
    """A document changed by a function; the message names a place of the changed document."""
    document = base(kind)
    change(document)
    line = line_of(document, place, kind)
    return broken(name, kind, text_of(document, kind), line, field_of(place), message)


def _edited() -> Iterator[Broken]:
    yield _changed(
        "no spout",
        "topology",
        lambda d: put(d, ("components", "lines", "kind"), "bolt"),
        ("components",),
        "no component is a spout",
    )
    yield _changed(
        "all spouts without share",
        "topology",
        lambda d: put(d, ("components", "lines", "share"), 0),
        ("components",),
        "every spout has share 0",
    )
    yield _changed(
        "skew of no keys",
        "topology",
        lambda d: put(d, ("components", "split", "streams", 0, "keys"), 0),
        ("components", "split", "streams", 0, "key_skew"),
        "needs keys, the number of distinct keys",
    )
    yield _changed(
        "no machine",
        "cluster",
        lambda d: d.update(machines=[{"type": "M1", "count": 0, "region": "east"}], network={}),
        ("machines",),
        "every group has count 0; there is no machine",
    )
    yield _changed(
        "two machines of one name",
        "cluster",
        lambda d: put(d, ("machines", 1, "names", 0), "big-1"),
        ("machines",),
        'two machines are named "big-1"',
    )
    yield _changed(
        "names and a count",
        "cluster",
        lambda d: put(d, ("machines", 1, "count"), 2),
        ("machines", 1, "names"),
        "cannot be combined with count or name",
    )
    yield _changed(
        "machines without a number",
        "cluster",
        lambda d: d["machines"].append({"type": "M1"}),
        ("machines", 2),
        "needs count, name or names",
    )
    yield _changed(
        "a component of a plan that the topology lacks",
        "plan",
        lambda d: put(d, ("topologies", 0, "components", "hihg"), [{"machine": "a1"}]),
        ("topologies", 0, "components", "hihg"),
        'no component "hihg"; did you mean "high"?',
    )
    yield _changed(
        "shares that do not add up",
        "plan",
        lambda d: put(d, ("topologies", 0, "components", "low", 0, "share"), 0.5),
        ("topologies", 0, "components", "low"),
        "the shares add up to 1.25, not 1",
    )
    yield _changed(
        "a share for one instance of two",
        "plan",
        lambda d: d["topologies"][0]["components"]["low"][0].pop("share"),
        ("topologies", 0, "components", "low"),
        "some instances have a share and some have none",
    )
    yield _changed(
        "a plan that places nothing",
        "plan",
        lambda d: put(d, ("topologies", 0, "components"), {}),
        ("topologies",),
        "nothing is placed",
    )
    yield _changed(
        "a topology placed twice",
        "plan",
        lambda d: d["topologies"].append(d["topologies"][0]),
        ("topologies",),
        "a topology is placed twice",
    )
    for part in ("cluster", "profile"):
        yield _changed(
            f"a plan whose {part} was edited",
            "plan",
            lambda d, part=part: put(d, ("inputs", part, "name"), "another"),
            ("inputs", part),
            "was changed after the plan was made; plan again",
        )
    yield _changed(
        "a plan whose topology was edited",
        "plan",
        lambda d: put(d, ("inputs", "topologies", 0, "workers"), 7),
        ("inputs", "topologies", 0),
        "was changed after the plan was made; plan again",
    )
    yield from _forged()


def _forged() -> Iterator[Broken]:
    """Plans edited with the fingerprints made to fit: the inputs are checked all the same."""

    def forge(place: Place, value: Any) -> bytes:
        return text_of(sealed(put(base("plan"), place, value)), "plan").encode()

    slots = ("inputs", "cluster", "types", "A", "slots")
    yield Broken(
        "a forged cluster",
        "plan",
        "plan.json",
        forge(slots, 0),
        "plan.json inputs.cluster types.A.slots",
        "must be greater than or equal to 1, not 0",
    )
    cost = ("inputs", "profile", "rows", "mid")
    yield Broken(
        "a forged profile",
        "plan",
        "plan.json",
        forge(cost, {"on": {"B": {"e": 1.0, "met": 0.0}}}),
        "plan.json",
        'profile made-up has no cost of "mid" on machine type A',
    )
