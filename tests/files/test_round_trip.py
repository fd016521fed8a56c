"""What is written is read back as it was, and written again to the same bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import cluster, place, profile, topology
from tests.files import strategies as random

from penstock import load
from penstock.files import examples
from penstock.files.store import dumps, save, to_dict
from penstock.files.writer import fingerprint, to_json, to_yaml
from penstock.model.cluster import Machine
from penstock.model.plan import Contingency, Deployed, Plan
from penstock.model.problem import build
from penstock.model.topology import Component, Kind, Stream, Topology

SUFFIXES = ("json", "yaml")
ANY = st.one_of(random.topologies, random.clusters, random.profiles, random.terms, random.plans)


def there_and_back(value, suffix, folder):
    path = folder / f"value.{suffix}"
    save(value, path)
    first = path.read_bytes()
    read = load(path)
    save(read, path)
    assert path.read_bytes() == first
    return read


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@given(value=ANY)
@settings(max_examples=80)
def test_any_value_comes_back_from_its_file(tmp_path_factory, suffix, value):
    assert there_and_back(value, suffix, tmp_path_factory.mktemp("files")) == value


@given(value=ANY)
@settings(max_examples=60)
def test_a_value_comes_back_from_its_dict_without_a_file(value):
    assert load(to_dict(value)) == value
    assert load(json.loads(dumps(value))) == value


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("kind", "name"), [(e.kind, e.name) for e in examples.descriptions()], ids=str
)
def test_every_shipped_example_comes_back(tmp_path, kind, name, suffix):
    loaders = {
        "topology": examples.load_topology,
        "cluster": examples.load_cluster,
        "profile": examples.load_profile,
    }
    value = loaders[kind](name)
    assert there_and_back(value, suffix, tmp_path) == value


@pytest.fixture
def two_topologies():
    """Two topologies with demands, one placed by shares, and a machine that may be lost."""
    graphs = [
        topology("a>b", name="one", demand_per_s=10.0),
        topology("c>d", name="two", demand_per_s=5.0, priority=1),
    ]
    problem = build(graphs, cluster(M1=2), profile(a=1.0, b=1.0, c=1.0, d=1.0), weighted=True)
    nan = float("nan")
    placement = place(
        problem,
        *("one/a M1-1", "one/b M1-1", "one/b M1-2", "two/c M1-2/1", "two/d M1-1/1"),
        shares=[nan, 0.25, 0.75, nan, nan],
    )
    lost = Contingency("M1-2", (("one/b", 1, "M1-1", 0), ("two/c", 0, "M1-1", 1)), 12.5)
    ran = Deployed("one", "one-3-17", (("b", (("M1-1", 0), ("M1-1", 2))),))
    return Plan(problem, placement, "by hand", if_lost=(lost,), notes=("a", "b"), deployed=(ran,))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_shares_and_contingencies_of_several_topologies_come_back(tmp_path, two_topologies, suffix):
    read = there_and_back(two_topologies, suffix, tmp_path)
    assert read == two_topologies
    assert read.placement.share.tolist()[1:3] == [0.25, 0.75]
    assert read.if_lost[0].moves == (("one/b", 1, "M1-1", 0), ("two/c", 0, "M1-1", 1))


def test_a_share_is_in_the_file_only_where_there_is_one(two_topologies):
    placed = to_dict(two_topologies)["topologies"]
    assert placed[0]["components"] == {
        "a": [{"machine": "M1-1", "slot": 0}],
        "b": [
            {"machine": "M1-1", "slot": 0, "share": 0.25},
            {"machine": "M1-2", "slot": 0, "share": 0.75},
        ],
    }


def test_a_topology_that_was_refused_has_no_instance_and_comes_back_so(tmp_path, two_topologies):
    one_only = place(two_topologies.problem, "one/a M1-1", "one/b M1-2")
    plan = Plan(two_topologies.problem, one_only, "by hand")
    read = there_and_back(plan, "json", tmp_path)
    assert read.placement.counts(4).tolist() == [1, 1, 0, 0]


def test_an_acker_that_nobody_feeds_is_fed_by_all_when_read():
    """Storm feeds ackers without being told to; the file of the result says so in full."""
    components = (Component("s", Kind.SPOUT), Component("b"), Component("acker", Kind.ACKER))
    written = to_dict(Topology("t", components, (Stream("s", "b"),)))
    read = load(written)
    assert [stream.label for stream in read.streams] == ["s->b", "s->acker:__ack", "b->acker:__ack"]
    assert load(to_dict(read)) == read


def test_counted_machines_come_back_by_name():
    made = load(
        {
            "format": "penstock/cluster",
            "version": 1,
            "name": "c",
            "types": {"A": {}, "B": {}},
            "machines": [
                {"type": "A", "count": 9},
                {"type": "B", "count": 2, "name": "n", "rack": "r2"},
                {"type": "A", "count": 1},
                {"type": "A", "name": "lone", "hosts": ["10.0.0.1"]},
            ],
        }
    )
    # Ten of type A in all, so two digits; counting goes on in the third group.
    assert [m.name for m in made.machines] == [
        *(f"A-{i:02d}" for i in range(1, 10)),
        *("n-1", "n-2", "A-10", "lone"),
    ]
    assert made.machines[10] == Machine("n-2", "B", rack="r2")
    assert load(to_dict(made)) == made


def test_split_fanout_divides_the_selectivity_by_the_successors():
    """Nasiri's simulator: 6 out per tuple in, two successors, so 3 on each stream."""
    document = {
        "format": "penstock/topology",
        "version": 1,
        "name": "t",
        "fanout": "split",
        "components": {
            "a": {"kind": "spout", "selectivity": 6, "streams": [{"to": "b"}, {"to": "c"}]},
            "b": {"fanout": "copy", "selectivity": 5, "streams": [{"to": "c"}]},
            "c": {},
        },
    }
    assert [s.selectivity for s in load(document).streams] == [3.0, 3.0, 5.0]
    document["components"]["a"]["streams"][0]["selectivity"] = 1.5
    assert [s.selectivity for s in load(document).streams] == [1.5, 3.0, 5.0]


def test_the_fingerprint_is_that_of_the_content_not_of_the_writing():
    value = {"b": [1, 2.5, "é"], "a": None}
    # sha256 of {"a":null,"b":[1,2.5,"é"]} in UTF-8
    assert fingerprint(value)[:8] == "21fddaee"
    assert fingerprint({"a": None, "b": [1.0, 2.5, "é"]}) == fingerprint(value)
    assert fingerprint(value | {"a": 0}) != fingerprint(value)


def test_a_plan_laid_out_anew_by_another_tool_is_still_the_same_plan(two_topologies):
    """JavaScript writes 100.0 as 100 and sorts nothing; others sort the keys."""
    text = json.dumps(json.loads(dumps(two_topologies)), sort_keys=True, indent=7)
    assert "100.0" in text
    assert load(json.loads(text.replace(".0,", ","))) == two_topologies


def test_json_keeps_short_things_on_one_line_and_breaks_long_ones():
    assert to_json({"a": [1, 2], "b": {"c": None}}) == '{"a": [1, 2], "b": {"c": null}}\n'
    long = to_json({"a": ["x" * 60, "y" * 60]})
    assert long == '{\n  "a": [\n    "' + "x" * 60 + '",\n    "' + "y" * 60 + '"\n  ]\n}\n'


def test_yaml_quotes_what_it_would_not_read_as_text():
    assert to_yaml(["1e3", "0o17", "no", "text", 1e3, 15]) == (
        "- '1e3'\n- '0o17'\n- 'no'\n- text\n- 1000.0\n- 15\n"
    )
