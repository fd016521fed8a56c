"""Storm Flux topologies become ours: structure, parallelism, groupings and requests."""

from __future__ import annotations

import pytest

from penstock import load
from penstock.cli.main import main
from penstock.errors import InputError
from penstock.files.document import read_document
from penstock.files.flux import topology_from_flux
from penstock.files.store import dumps
from penstock.model.topology import Component, Grouping, Kind, Stream, Topology

PLAIN = """\
name: orders
config:
  topology.workers: 3
  topology.max.spout.pending: 5000
  topology.priority: 2
  topology.worker.max.heap.size.mb: 2048
components:
  - id: parser
    className: com.example.Parser
    constructorArgs: [1, {ref: other}]
spouts:
  - id: queue
    className: com.example.QueueSpout
    parallelism: 2
bolts:
  - id: check
    className: com.example.Check
    parallelism: 4
    numTasks: 8
    onHeapMemoryLoad: 256
    offHeapMemoryLoad: 64.5
    cpuLoad: 30
  - id: store
    className: com.example.Store
streams:
  - name: queue --> check
    from: queue
    to: check
    grouping: {type: SHUFFLE}
  - from: check
    to: store
    grouping: {type: FIELDS, args: [customer, day], streamId: valid}
"""


@pytest.fixture
def flux(tmp_path):
    """Load a Flux file of that text; other files may stand beside it."""

    def flux(text: str, properties=None, environ=None, **others: str) -> Topology:
        for name, other in others.items():
            (tmp_path / f"{name}.yaml").write_text(other, encoding="utf-8")
        path = tmp_path / "topology.yaml"
        path.write_text(text, encoding="utf-8")
        return topology_from_flux(read_document(path), properties, environ)

    return flux


def test_a_plain_file_becomes_a_topology(flux):
    assert flux(PLAIN) == Topology(
        "orders",
        (
            Component("queue", Kind.SPOUT, instances=2),
            Component(
                "check",
                instances=4,
                tasks=8,
                cpu_points=30.0,
                # 256 on the heap and 64.5 off it
                memory_mb=320.5,
                offheap_mb=64.5,
            ),
            Component("store", instances=1),
        ),
        (
            Stream("queue", "check"),
            Stream("check", "store", "valid", Grouping.FIELDS, fields=("customer", "day")),
        ),
        workers=3,
        priority=2,
        worker_max_heap_mb=2048.0,
    )


def test_load_knows_flux_by_its_lists(tmp_path):
    path = tmp_path / "any.yaml"
    path.write_text(PLAIN, encoding="utf-8")
    assert load(path).name == "orders"


@pytest.mark.parametrize(
    ("written", "grouping"),
    [
        ("SHUFFLE", Grouping.SHUFFLE),
        ("NONE", Grouping.SHUFFLE),
        ("FIELDS", Grouping.FIELDS),
        ("ALL", Grouping.ALL),
        ("GLOBAL", Grouping.GLOBAL),
        ("DIRECT", Grouping.DIRECT),
        ("LOCAL_OR_SHUFFLE", Grouping.LOCAL_OR_SHUFFLE),
        ("CUSTOM", Grouping.CUSTOM),
        ("shuffle", Grouping.SHUFFLE),
    ],
)
def test_every_grouping_of_flux_is_known(flux, written, grouping):
    assert flux(PLAIN.replace("SHUFFLE", written)).streams[0].grouping is grouping


def test_a_stream_without_grouping_is_shuffled(flux):
    stream = flux(PLAIN.replace("    grouping: {type: SHUFFLE}\n", "")).streams[0]
    assert (stream.grouping, stream.name) == (Grouping.SHUFFLE, "default")


def test_requests_of_the_whole_topology_hold_where_a_component_says_nothing(flux):
    config = (
        "config:\n  topology.component.cpu.pcore.percent: 15\n"
        "  topology.component.resources.onheap.memory.mb: 100\n"
    )
    queue, check, _ = flux(PLAIN.replace("config:\n", config)).components
    assert (queue.cpu_points, queue.memory_mb, queue.offheap_mb) == (15.0, 100.0, 0.0)
    assert (check.cpu_points, check.memory_mb, check.offheap_mb) == (30.0, 320.5, 64.5)


def test_properties_are_put_in_before_anything_is_read(flux):
    text = PLAIN.replace("name: orders", "name: ${app}-${stage}")
    text = text.replace("parallelism: 4", "parallelism: ${wide}").replace(
        "workers: 3", "workers: ${w}"
    )
    found = flux(text, {"app": "orders", "stage": "7", "wide": "6", "w": "2"})
    assert (found.name, found.components[1].instances, found.workers) == ("orders-7", 6, 2)


STAGED = PLAIN.replace("name: orders", "name: orders-${ENV-STAGE}")


def test_the_environment_is_read_only_where_it_is_handed_over(flux, monkeypatch):
    monkeypatch.setenv("STAGE", "test")
    said = r"name: ENV-STAGE has no value: the environment is read with .* --env-filter"
    with pytest.raises(InputError, match=said):
        flux(STAGED)
    assert flux(STAGED, environ={"STAGE": "prod"}).name == "orders-prod"
    with pytest.raises(InputError, match=said):
        flux(STAGED, {"ENV-STAGE": "prod"}, {"OTHER": "x"})


def test_no_verb_but_the_import_reads_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STAGE", "test")
    path = tmp_path / "flux.yaml"
    path.write_text(STAGED, encoding="utf-8")

    def code(*arguments: str) -> int:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        return int(left.value.code or 0)

    assert code("import", "flux", str(path)) == 1
    assert code("validate", str(path)) == 1
    target = str(tmp_path / "topology.yaml")
    assert code("import", "flux", str(path), "--env-filter", "-o", target) == 0
    assert load(target).name == "orders-test"
    capsys.readouterr()


def test_there_are_no_more_instances_than_tasks(flux):
    # Storm cuts the executors of a component down to its tasks.
    (found,) = [
        c for c in flux(PLAIN.replace("numTasks: 8", "numTasks: 3")).components
        if c.name == "check"
    ]  # fmt: skip
    assert (found.instances, found.tasks) == (3, 3)


@pytest.mark.parametrize("name", ['""', '"  "', '"a/b"', '"\\t"'])
def test_a_stream_has_a_name_or_the_default(flux, name):
    text = PLAIN.replace("{type: SHUFFLE}", f"{{type: SHUFFLE, streamId: {name}}}")
    with pytest.raises(InputError, match=r"streams\[0\]\.grouping\.streamId: "):
        flux(text)


def test_memory_that_no_file_of_ours_may_ask_for_is_refused(flux):
    # Each part may be 1e15; their sum may not.
    requests = "{id: huge, className: X, onHeapMemoryLoad: 1e15, offHeapMemoryLoad: 1e15}"
    with pytest.raises(InputError, match=r"components\.huge\.requests\.memory_mb: "):
        flux(PLAIN.replace("bolts:\n", f"bolts:\n  - {requests}\n"))


def test_a_property_without_a_value_matters_only_where_we_look(flux):
    assert flux(PLAIN.replace("com.example.Store", "${store}")).name == "orders"
    with pytest.raises(InputError, match=r"name: property app has no value; .*property app="):
        flux(PLAIN.replace("name: orders", "name: ${app}"))
    with pytest.raises(InputError, match=r"bolts\[0\]\.parallelism: must be a whole number"):
        flux(PLAIN.replace("parallelism: 4", "parallelism: ${wide}"))


INCLUDED = """\
name: other
config: {topology.workers: 9, topology.priority: 5}
bolts:
  - {id: store, className: X, parallelism: 7}
  - {id: audit, className: X}
streams:
  - {from: store, to: audit}
"""
INCLUDES = "includes:\n  - {resource: true, file: /deep/other.yaml, override: %s}\n"


def test_an_include_adds_what_the_file_does_not_say(flux):
    found = flux(PLAIN + INCLUDES % "false", other=INCLUDED)
    assert (found.name, found.workers, found.priority) == ("orders", 3, 2)
    assert [(c.name, c.instances) for c in found.components] == [
        *(("queue", 2), ("check", 4), ("store", 1), ("audit", 1))
    ]
    assert [stream.label for stream in found.streams][-1] == "store->audit"


def test_an_include_that_overrides_wins(flux):
    found = flux(PLAIN + INCLUDES % "true", other=INCLUDED)
    assert (found.name, found.workers, found.priority) == ("other", 9, 5)


def test_includes_include(flux):
    middle = "includes: [{file: last.yaml}]\nbolts: [{id: b1, className: X}]\n"
    last = "bolts: [{id: b2, className: X}]\n"
    found = flux(PLAIN + "includes: [{file: middle.yaml}]\n", middle=middle, last=last)
    assert [c.name for c in found.components][-2:] == ["b1", "b2"]


def test_includes_that_multiply_are_refused_soon(flux):
    """Each file includes the next twice: 2^25 files, were they all read."""
    files = {
        f"f{i}": f"includes: [{{file: f{i + 1}.yaml}}, {{file: f{i + 1}.yaml}}]" for i in range(25)
    }
    with pytest.raises(InputError, match="includes itself, or too many others"):
        flux(PLAIN + "includes: [{file: f0.yaml}]\n", **files, f25="bolts: []")


def test_a_file_that_java_builds_is_refused(flux):
    text = "name: a\ntopologySource: {className: com.example.Main}\n"
    with pytest.raises(InputError, match="topologySource: is built by Java code"):
        flux(text)


def test_all_mistakes_are_told_with_their_lines(flux):
    text = (
        PLAIN.replace("parallelism: 2", "parallelism: 0")
        .replace("to: check", "to: chekc")
        .replace("type: FIELDS", "type: FEILDS")
        .replace("id: store", "id: check")
    )
    with pytest.raises(InputError) as error:
        flux(text)
    assert [(f.line, f.field) for f in error.value.findings] == [
        (14, "spouts[0].parallelism"),
        (23, "bolts[1].id"),
        (28, "streams[0].to"),
        # ``store`` is gone, too: it was renamed.
        (31, "streams[1].to"),
        (32, "streams[1].grouping.type"),
    ]


EIGHT = {
    "diamond-topology": (5, 5),
    "include_test": (4, 3),
    "kafka_spout": (4, 3),
    "multilang": (4, 3),
    "shell_test": (4, 3),
    "simple_windowing": (3, 2),
    "simple_wordcount": (3, 2),
}


@pytest.mark.data
@pytest.mark.parametrize("name", EIGHT)
def test_storms_own_flux_files_load_and_round_trip(data_dir, name, tmp_path):
    found = load(data_dir / "flux" / f"{name}.yaml")
    assert (len(found.components), len(found.streams)) == EIGHT[name]
    (tmp_path / "ours.yaml").write_text(dumps(found, json=False), encoding="utf-8")
    assert load(tmp_path / "ours.yaml") == found


@pytest.mark.data
def test_storms_substitution_test_needs_its_name(data_dir):
    path = data_dir / "flux" / "substitution-test.yaml"
    with pytest.raises(InputError, match=r":22 name: property topology\.name has no value"):
        load(path)
    found = topology_from_flux(read_document(path), {"topology.name": "words"})
    assert (found.name, len(found.components)) == ("words", 4)


@pytest.mark.data
def test_there_are_eight_of_them(data_dir):
    files = {path.stem for path in (data_dir / "flux").glob("*.yaml")}
    assert files == {*EIGHT, "substitution-test"}


def test_every_component_asks_for_the_topologys_generic_resources(tmp_path):
    setting = "  topology.component.resources.map: {gpu.count: 1, onheap.memory.mb: 5}\n"
    path = tmp_path / "orders.yaml"
    path.write_text(PLAIN.replace("config:\n", "config:\n" + setting), encoding="utf-8")
    topology = topology_from_flux(read_document(path))
    assert {component.resources for component in topology.components} == {(("gpu.count", 1.0),)}
