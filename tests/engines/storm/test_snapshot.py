"""What Nimbus and the UI tell, in our own nouns."""

import json
from pathlib import Path

import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.change.in_force import plan_in_force
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.from_ui import UiError, ask_ui, read_ui
from penstock.engines.storm.records import (
    ClusterRecord,
    ComponentRecord,
    ExecutorRecord,
    InputRecord,
    SupervisorRecord,
    TopologyRecord,
)
from penstock.engines.storm.snapshot import snapshot_of, without_ackers
from penstock.errors import InputError
from penstock.files.storm_resources import written_amounts
from penstock.model.topology import Grouping, Kind
from penstock_bench.data import data_folder


def machine(number, name=None, host=None, kind=None, cpu=400.0):
    return SupervisorRecord(f"id-{number}", host or f"host-{number}", 2, cpu, 4096.0, name, kind)


def component(name, *inputs, spout=False):
    return ComponentRecord(name, spout, 4, 10.0, 128.0, 0.0, tuple(inputs))


def executor(name, task, supervisor, port, emitted=None, executed=None):
    return ExecutorRecord(name, task, task, supervisor, port, 100.0, emitted or {}, executed)


def topology(*executors):
    components = (
        component("src", spout=True),
        component("work", InputRecord("src", "default", "fields", ("key",))),
        component("__acker", InputRecord("src", "__ack_init", "fields", ("id",))),
        component("__system"),
    )
    return TopologyRecord("flow", "flow-1-2", "ACTIVE", "", "7", 2, 29, components, executors)


def test_machines_are_called_by_their_own_name_their_host_or_their_id():
    machines = (machine(1, "large"), machine(2), machine(3, host="twin"), machine(4, host="twin"))
    cluster = snapshot_of(ClusterRecord("test", machines, ())).cluster
    assert [(m.name, m.host) for m in cluster.machines] == [
        ("host-2", ""),
        ("id-3", "twin"),
        ("id-4", "twin"),
        ("large", "host-1"),
    ]
    assert {m.type for m in cluster.machines} == {"cpu400-mem4096-slots2"}


def test_a_mapping_of_types_goes_before_what_the_machine_says():
    machines = (machine(1, "large", kind="said"), machine(2))
    types = {"large": "big", "host-2": "small"}
    cluster = snapshot_of(ClusterRecord("test", machines, ()), types).cluster
    assert [(m.name, m.type) for m in cluster.machines] == [("host-2", "small"), ("large", "big")]


def test_machines_of_one_type_offer_the_same():
    machines = (machine(1, kind="box"), machine(2, kind="box", cpu=200.0))
    with pytest.raises(InputError, match=r'"box" has unequal CPU.*host-2 offers 200 points'):
        snapshot_of(ClusterRecord("test", machines, ()))


def test_a_topology_has_its_counts_streams_and_measured_selectivity():
    seen = topology(
        executor("src", 1, "id-1", 6701, {"default": 1500.0, "__ack_init": 1500.0}),
        executor("work", 2, "id-1", 6701, {"default": 10.0}, 700.0),
        executor("work", 3, "id-2", 6703, {"default": 10.0}, 800.0),
        executor("__acker", 4, "id-1", 6700),
    )
    now = snapshot_of(ClusterRecord("test", (machine(1), machine(2)), (seen,)))
    (flow,) = now.topologies
    kinds = {c.name: (c.kind, c.instances, c.tasks) for c in flow.components}
    assert kinds == {
        "src": (Kind.SPOUT, 1, 4),
        "work": (Kind.BOLT, 2, 4),
        "__acker": (Kind.ACKER, 1, 4),
    }
    assert flow.version == "7"
    stream = next(s for s in flow.streams if s.target == "work")
    assert (stream.grouping, stream.fields) == (Grouping.FIELDS, ("key",))
    assert stream.selectivity == 1.0  # 1,500 on the stream, 1,500 the fullest stream
    # 1,500 tuples in 100 s; work took 700 + 800 in 100 s.
    assert now.rates["flow"] == {"src": 15.0, "work": 15.0}
    # Used ports of host-1: 6700 and 6701, of host-2: 6703.
    assert dict(now.deployed[0].components) == {
        "__acker": (("host-1", 0),),
        "src": (("host-1", 1),),
        "work": (("host-1", 1), ("host-2", 0)),
    }
    assert "__acker" not in without_ackers(now).topologies[0].index


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(False, Grouping.LOCAL_OR_SHUFFLE), (True, Grouping.SHUFFLE), (None, Grouping.SHUFFLE)],
)
def test_storms_own_shuffle_stays_in_the_worker_unless_told_not_to(tmp_path, setting, expected):
    storm = FakeStorm(tmp_path / "plan.json")
    storm.settings["topology.disable.loadaware.messaging"] = setting
    (flow,) = snapshot_of(read_nimbus(storm)).topologies
    assert [s.grouping for s in flow.streams] == [expected]


def test_a_topology_that_has_no_place_yet_is_left_out_and_said():
    now = snapshot_of(ClusterRecord("Nimbus", (machine(1),), (topology(),)))
    assert now.topologies == ()
    assert now.left_out == {"flow": "has no place yet (Storm does not say why)"}


def test_an_address_that_is_none_and_a_ui_that_is_not_there():
    with pytest.raises(UiError, match="such as http://host:8080"):
        ask_ui("file:///etc")
    with pytest.raises(UiError, match="does not answer"):
        ask_ui("http://127.0.0.1:1")("cluster/summary")


def test_an_answer_of_another_kind_is_refused():
    with pytest.raises(UiError, match=r"not answer as Storm 2\.8"):
        read_ui(lambda path: {"error": path})


@pytest.fixture
def recorded():
    folder = data_folder() / "storm-rest"
    if not (folder / "topology-summary.json").is_file():
        pytest.skip(f"no recorded answers in {folder}; PENSTOCK_DATA names another folder")

    def ask(path):
        parts = path.split("/")
        if parts[0] == "topology" and parts[1] != "summary":
            parts[1] = parts[1].split("-")[0]
        return json.loads(Path(folder, "-".join(parts) + ".json").read_text(encoding="utf-8"))

    return ask


@pytest.mark.data
def test_the_recorded_answers_give_a_complete_snapshot(recorded):
    types = {"127.0.0.11": "big", "127.0.0.12": "mid", "127.0.0.13": "small"}
    now = snapshot_of(read_ui(recorded), types)
    assert [(m.name, m.type) for m in now.cluster.machines] == list(types.items())
    assert [t.name for t in now.topologies] == ["lin3", "diamond"]
    assert now.avoided == ("127.0.0.12",)
    lin3, diamond = now.topologies
    # 10 and 13 executors, as the summary of the cluster counts them (23 in all).
    assert [sum(c.instances for c in t.components) for t in now.topologies] == [10, 13]
    assert {
        (s.source, s.target, s.grouping.value) for s in diamond.streams if s.target == "geo"
    } == {("parse", "geo", "local-or-shuffle")}
    assert [(s.source, s.target) for s in lin3.streams if s.target != "__acker"] == [
        ("src", "low"),
        ("mid", "high"),
        ("low", "mid"),
    ]
    current = plan_in_force(now)
    assert len(current.placement) == 23
    # lin3 in three workers, diamond in two.
    assert len(current.placement.workers) == 5


def test_generic_resources_are_those_of_machines_and_components():
    storm = FakeStorm(Path("plan.json"))
    ask = storm.ask

    def with_gpus(what, **fields):
        answer = ask(what, **fields)
        if what == "cluster":
            answer["supervisors"][0]["resources"] = {"memory.mb": 4096.0, "gpu.count": 2.0}
        if what == "topology":
            # What a component says of itself stands in place of what its topology says.
            answer["topology.component.resources.map"] = {"gpu.count": 1.0}
            answer["components"]["work"]["resources"] = {"disk": 5.0, "onheap.memory.mb": 9.0}
        return answer

    storm.ask = with_gpus
    seen = read_nimbus(storm)
    assert [machine.resources for machine in seen.machines][:1] == [(("gpu.count", 2.0),)]
    resources = {c.name: c.resources for c in seen.topologies[0].components}
    assert resources["src"] == (("gpu.count", 1.0),)
    assert resources["work"] == (("disk", 5.0),)


def test_the_ui_writes_amounts_into_a_text():
    assert written_amounts("disk=40.0 gpu.count=2.0") == {"disk": 40.0, "gpu.count": 2.0}
    assert written_amounts("") == written_amounts(None) == {}
