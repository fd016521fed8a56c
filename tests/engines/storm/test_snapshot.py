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
from penstock.files.storm_metadata import KEYS, metadata_of
from penstock.files.storm_resources import written_amounts
from penstock.model.topology import Grouping, Kind
from penstock.schedulers.ban import weighted_power
from penstock.schedulers.executor_groups import node_power
from penstock_bench.data import data_folder


def machine(number, name=None, host=None, kind=None, cpu=400.0, meta=None):
    said = {"machine": name, "machine-type": kind, **(meta or {})}
    metadata = metadata_of({key: value for key, value in said.items() if value is not None})
    at = host or f"host-{number}"
    return SupervisorRecord(f"id-{number}", at, 2, cpu, 4096.0, metadata=metadata)


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


#: Numbers are text: Storm's supervisor takes nothing else in its metadata.
FAST = {"sockets": "1", "cores": "4", "ghz": "3.0", "flops_per_cycle": "16", "ram-gb": "8"}
SLOW = {"cores": "4", "ghz": "2.0", "flops-per-cycle": "4", "ram-mb": "24576"}


def test_nodes_of_a_live_storm_are_ranked_by_gflops_memory_and_bandwidth_as_the_thesis_does():
    """The fast one has 192 GFLOPS and 8 GB, the slow one 32 GFLOPS, 24 GB and four times the card.

    0.8 * 192 + 0.2 * 8 = 155.2 against 0.8 * 32 + 0.2 * 24 = 30.4 (top, a3); network bound,
    0.25 * (192 + 8) + 0.5 * 100 = 100 against 0.25 * (32 + 24) + 0.5 * 400 = 214 (ban).
    Storm offers 4096 MB and 400 points of both.
    """
    machines = (
        machine(1, kind="fast", meta=FAST | {"bandwidth": "100"}),
        machine(2, kind="slow", meta=SLOW | {"bandwidth": "400"}),
    )
    now = snapshot_of(ClusterRecord("Nimbus", machines, ()))
    assert now.notes == ()
    assert [kind.gflops for kind in now.cluster.types] == [192.0, 32.0]
    ranked = node_power(now.cluster, cpu=0.8, memory=0.2)
    assert ranked.power.tolist() == pytest.approx([155.2, 30.4])
    assert ranked.notes == ()
    assert weighted_power(now.cluster, "network").power.tolist() == [100.0, 214.0]


def test_machines_are_in_the_region_and_rack_they_say():
    told = machine(1, meta={"region": "eu", "rack_id": "7"})
    cluster = snapshot_of(ClusterRecord("Nimbus", (told, machine(2)), ())).cluster
    assert [(m.region, m.rack) for m in cluster.machines] == [("eu", "7"), ("region-1", "rack-1")]


def test_metadata_that_is_not_understood_is_said_once_with_all_who_have_it():
    odd = {"ghz": "fast", "bandwith": "100", "cores": "2.5", "region": "a/b", "colour": "red"}
    machines = tuple(machine(number, meta=odd) for number in range(1, 6))
    notes = snapshot_of(ClusterRecord("Nimbus", machines, ())).notes
    whose = "supervisor.scheduler.meta of host-1, host-2, host-3 and 2 more: "
    assert [note.removeprefix(whose) for note in notes] == [
        '"bandwith" is not understood and left out; did you mean "bandwidth"?',
        f'"colour" is not understood and left out; known are {", ".join(KEYS)}',
        '"cores" is not understood and left out; must be a whole number, not "2.5"',
        '"ghz" is not understood and left out; must be a number, not "fast"',
        '"region" is not understood and left out; must be a name, not "a/b"',
    ]


def test_what_one_machine_says_of_its_hardware_holds_for_its_type():
    machines = (machine(1, kind="box"), machine(2, kind="box", meta={"ghz": "3.0"}))
    (kind,) = snapshot_of(ClusterRecord("Nimbus", machines, ())).cluster.types
    assert kind.ghz == 3.0


def test_machines_of_one_type_do_not_contradict_each_other():
    machines = tuple(machine(n, kind="box", meta={"ghz": f"{n}.0"}) for n in (2, 3))
    with pytest.raises(InputError, match=r'"box" has unequal hardware: ghz is 3 on host-3 and 2 '):
        snapshot_of(ClusterRecord("Nimbus", machines, ()))


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
    assert [note for note in now.notes if "does not tell the metadata" in note]
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
