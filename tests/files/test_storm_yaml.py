"""storm.yaml files of supervisors become a cluster."""

from __future__ import annotations

import pytest

from penstock import load
from penstock.errors import InputError
from penstock.files.store import to_dict
from penstock.files.storm_yaml import cluster_from_storm_yaml
from penstock.model.cluster import Machine, MachineType


@pytest.fixture
def cluster(tmp_path):
    """A cluster of the supervisors with these storm.yaml texts, by folder."""

    def cluster(**texts: str):
        paths = []
        for host, text in texts.items():
            path = tmp_path / host / "conf" / "storm.yaml"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            paths.append(path)
        return cluster_from_storm_yaml(paths)

    return cluster


DEFAULT_TYPE = MachineType(
    "cpu400-mem4096-slots4", cpu_points=400.0, core_points=100.0, memory_mb=4096.0, slots=4
)


@pytest.mark.parametrize(
    "text",
    ["# supervisor.slots.ports:\n#   - 6700\n", "storm.zookeeper.servers: [zk]\n", "---\n"],
    ids=["all commented out", "other keys only", "an empty document"],
)
def test_what_is_not_said_is_storms_default(cluster, text):
    """defaults.yaml of Storm 2.x: 400 points, 4096 MB, ports 6700 to 6703."""
    found = cluster(one=text)
    assert found.types == (DEFAULT_TYPE,)
    assert found.machines == (Machine("one", "cpu400-mem4096-slots4"),)


def test_equal_supervisors_share_a_type_and_others_have_their_own(cluster):
    small = "supervisor.cpu.capacity: 80.0\nsupervisor.slots.ports: [6700]\n"
    found = cluster(a=small, b="# nothing\n", c=small)
    assert [(m.name, m.type) for m in found.machines] == [
        ("a", "cpu80-mem4096-slots1"),
        ("b", "cpu400-mem4096-slots4"),
        ("c", "cpu80-mem4096-slots1"),
    ]
    # One thread uses at most one core, and this machine has less than one.
    assert found.types[0].core_points == 80.0
    assert load(to_dict(found)) == found


def test_metadata_names_the_type_and_the_rack(cluster):
    found = cluster(
        a="supervisor.scheduler.meta: {machine-type: old, rack: 7}\n",
        b="supervisor.scheduler.meta: {type: new, rack_id: r2}\nsupervisor.cpu.capacity: 800\n",
    )
    assert [(m.type, m.rack) for m in found.machines] == [("old", "7"), ("new", "r2")]
    assert [t.cpu_points for t in found.types] == [400.0, 800.0]


def test_metadata_names_the_machine_its_region_and_its_hardware(cluster):
    hardware = "cores: '4', ghz: '2.5', flops-per-cycle: '8', bandwidth: '1000'"
    found = cluster(
        a=f"supervisor.scheduler.meta: {{machine: m1, region: eu, {hardware}}}\n"
        "storm.local.hostname: node-7\n",
    )
    (kind,) = found.types
    assert (kind.gflops, kind.nic_mbps) == (80.0, 1000.0)
    assert found.machines == (Machine("m1", kind.name, region="eu", host="node-7"),)
    assert load(to_dict(found)) == found


def test_metadata_that_is_not_understood_is_told(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("supervisor.scheduler.meta: {rak: r1}\n", encoding="utf-8")
    remarks = []
    cluster_from_storm_yaml([file], say=remarks.append)
    assert remarks == [
        'supervisor.scheduler.meta of a: "rak" is not understood and left out; did you mean "rack"?'
    ]


def test_the_hostname_is_the_machines_name_and_what_the_engine_calls_it(cluster):
    found = cluster(a="storm.local.hostname: node-7.example\n")
    assert found.machines[0] == Machine("node-7.example", DEFAULT_TYPE.name, host="node-7.example")


def test_a_file_not_called_storm_names_its_machine(tmp_path):
    (tmp_path / "node-1.yaml").write_text("# nothing\n", encoding="utf-8")
    assert cluster_from_storm_yaml([tmp_path / "node-1.yaml"]).machines[0].name == "node-1"


def test_two_supervisors_of_one_name_are_refused(cluster):
    with pytest.raises(InputError, match='a second supervisor named "x"; set '):
        cluster(a="storm.local.hostname: x\n", b="storm.local.hostname: x\n")


def test_one_type_with_two_sizes_is_refused(cluster):
    meta = "supervisor.scheduler.meta: {type: old}\n"
    with pytest.raises(InputError, match='machine type "old" has unequal CPU, memory, slots or'):
        cluster(a=meta, b=meta + "supervisor.cpu.capacity: 100\n")


def test_mistakes_of_all_files_are_told_together(cluster):
    with pytest.raises(InputError) as error:
        cluster(
            a="supervisor.cpu.capacity: 0\n",
            b="# fine\n",
            c="\nsupervisor.slots.ports: [a]\nsupervisor.memory.capacity.mb: -1\n",
        )
    places = [(f.file.split("/")[-3], f.line, f.field) for f in error.value.findings]
    assert places == [
        ("a", 1, "supervisor.cpu.capacity"),
        ("c", 3, "supervisor.memory.capacity.mb"),
        ("c", 2, "supervisor.slots.ports[0]"),
    ]


@pytest.mark.parametrize("key", ["supervisor.cpu.capacity", "supervisor.memory.capacity.mb"])
def test_more_than_a_cluster_file_may_say_is_refused_where_it_stands(cluster, key):
    with pytest.raises(InputError, match=rf"storm\.yaml:2 {key}: must be less than or equal to"):
        cluster(a=f"storm.local.hostname: a\n{key}: 1.0e+30\n")


def test_no_file_is_no_cluster():
    with pytest.raises(InputError, match=r"no storm\.yaml given"):
        cluster_from_storm_yaml([])


def test_generic_resources_are_read_and_cpu_and_memory_among_them_are_not(cluster):
    found = cluster(
        one="supervisor.resources.map: {gpu.count: 2, memory.mb: 9, cpu.pcore.percent: 5}\n"
    )
    (kind,) = found.types
    assert kind.resources == (("gpu.count", 2.0),)
    assert kind.name == "cpu400-mem4096-slots4-gpu.count2"
    assert to_dict(found)["types"][kind.name]["resources"] == {"gpu.count": 2.0}
