"""Which components run together, in which order, at which partition."""

import pytest
from tests.builders import SHAPES, topology

from penstock.engines.spark.deployment import Deployment, Instance
from penstock.engines.spark.hashing import hash_of_int
from penstock.engines.spark.layout import lay_out
from penstock.errors import InputError


def stateless(_name):
    return False


def placed(graph, **places):
    """Components with an instance at each place given, in equal shares."""
    task, found = 0, {}
    for component in graph.components:
        mine = places.get(component.name, places["rest"])
        found[component.name] = tuple(
            Instance(task + i, 1 / len(mine), place, place) for i, place in enumerate(mine)
        )
        task += len(mine)
    return Deployment(found)


def test_a_chain_without_a_new_division_is_one_segment():
    graph = topology(SHAPES["linear"])
    layout = lay_out(graph, Deployment.evenly(graph, 3), stateless)
    assert layout.segments == (("low", "mid", "high"),)
    assert layout.levels == ((0,),)
    assert [slot.number for slot in layout.slots_at(0, "")] == [0, 1, 2]


def test_other_machines_other_shares_or_state_begin_a_new_segment():
    graph = topology(SHAPES["linear"])
    moved = placed(graph, rest=["a", "b"], high=["a", "c"])
    assert lay_out(graph, moved, stateless).segments == (("low", "mid"), ("high",))
    fewer = placed(graph, rest=["a", "b"], mid=["a"])
    assert lay_out(graph, fewer, stateless).segments == (("low",), ("mid",), ("high",))
    even = Deployment.evenly(graph, 2)
    assert lay_out(graph, even, lambda name: name == "high").segments == (
        ("low", "mid"),
        ("high",),
    )


def test_a_fields_grouping_begins_a_new_segment():
    graph = topology("a>b b>c", streams={"b>c": {"grouping": "fields", "fields": ("key",)}})
    assert lay_out(graph, Deployment.evenly(graph, 2), stateless).segments == (("a", "b"), ("c",))


def test_levels_are_the_longest_way_from_a_source():
    # The join d waits for b and for c, of which c waits for b.
    graph = topology("a>b b>c b>d c>d")
    layout = lay_out(graph, placed(graph, rest=["x"], b=["y"], c=["z"], d=["w"]), stateless)
    assert layout.segments == (("a",), ("b",), ("c",), ("d",))
    assert layout.levels == ((0,), (1,), (2,), (3,))


def test_a_component_with_two_inputs_is_a_segment_of_its_own():
    graph = topology(SHAPES["diamond"])
    layout = lay_out(graph, Deployment.evenly(graph, 2), stateless)
    joined = [name for name in layout.deployment.instances if
              sum(s.target == name for s in graph.streams) > 1]  # fmt: skip
    assert joined
    assert all(layout.segments[layout.segment_of(name)][0] == name for name in joined)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_the_hash_of_an_address_is_its_partition(count):
    graph = topology("a>b", streams={"a>b": {"grouping": "global"}})
    deployment = Deployment(
        {
            "a": tuple(Instance(i, 1 / count) for i in range(count)),
            "b": (Instance(count, 1.0),),
        }
    )
    layout = lay_out(graph, deployment, stateless)
    slots = layout.slots_at(0, "")
    assert [hash_of_int(slot.address) % count for slot in slots] == list(range(count))
    addresses = [slot.address for slot in layout.slots]
    assert len(set(addresses)) == len(addresses)


def test_slots_are_at_the_places_of_their_instances():
    graph = topology(SHAPES["linear"])
    layout = lay_out(graph, placed(graph, rest=["a", "b", "a"]), stateless)
    assert layout.places_of(0) == ["a", "b"]
    assert [slot.number for slot in layout.slots_at(0, "a")] == [0, 2]
    assert [slot.number for slot in layout.slots_at(0, "b")] == [1]


def test_a_cycle_is_refused():
    graph = topology("a>b b>c c>b")
    with pytest.raises(InputError, match="cycle"):
        lay_out(graph, Deployment.evenly(graph, 1), stateless)
