"""Files that Python and Java share: plans, telemetry lines; and where Storm's own come from."""

import json
import zipfile
from pathlib import Path

import pytest

from penstock.engines.java import Java, JavaSearch
from penstock.engines.storm import home as storm_home
from penstock.engines.storm.home import (
    StormMissing,
    cache_folder,
    find_home,
    plugin_jar,
    require_java,
)
from penstock.engines.storm.plans_in_force import parts_in_force, plan_file_text
from penstock.engines.storm.proof import prove
from penstock.files.store import dumps, load
from penstock.telemetry.storm.registry import read_registry

FIXTURES = Path(__file__).parents[2] / "fixtures"
PLANS = FIXTURES / "storm-plan"


@pytest.mark.parametrize("name", ["linear", "weighted", "two"])
def test_the_plans_that_the_plugin_reads_are_ours_to_the_byte(name):
    text = (PLANS / f"{name}.json").read_text(encoding="utf-8")
    assert dumps(load(PLANS / f"{name}.json")) == text


def test_a_plan_that_keeps_another_in_force_is_what_the_plugin_reads_too():
    kept = parts_in_force((PLANS / "two.json").read_bytes(), {"linear", "star"}, {"linear"})
    text = plan_file_text(load(PLANS / "linear.json"), kept)
    assert (PLANS / "kept.json").read_text(encoding="utf-8") == text
    read, own, other = (
        json.loads((PLANS / f"{name}.expected.json").read_text(encoding="utf-8"))
        for name in ("kept", "linear", "two")
    )
    # What Java is to read: its own topology from the one plan, the kept one from the other.
    assert read["topologies"] == own["topologies"] | {"star": other["topologies"]["star"]}
    assert read["if_lost"]["small"]["moves"] == (
        own["if_lost"]["small"]["moves"] + other["if_lost"]["small"]["moves"]
    )


@pytest.mark.parametrize("name", ["linear", "weighted", "two"])
def test_python_reads_in_them_what_java_reads(name):
    plan = load(PLANS / f"{name}.json")
    expected = json.loads((PLANS / f"{name}.expected.json").read_text(encoding="utf-8"))
    assert {t.name: t.version for t in plan.problem.topologies} == expected["versions"]
    assert {m.name: m.host for m in plan.problem.cluster.machines} == expected["hosts"]
    lost = {c.machine: [list(move) for move in c.moves] for c in plan.if_lost}
    assert lost == {machine: entry["moves"] for machine, entry in expected["if_lost"].items()}
    rows = [
        (topology, component, machine, slot, share)
        for topology, components in expected["topologies"].items()
        for component, places in components.items()
        for machine, slot, share in places
    ]
    placement, problem = plan.placement, plan.problem
    ours = [
        (
            problem.topologies[problem.topology_of[c]].name,
            problem.components[c].name,
            problem.cluster.machines[m].name,
            s,
            None if share != share else share,
        )
        for c, m, s, share in zip(
            placement.component.tolist(),
            placement.machine.tolist(),
            placement.slot.tolist(),
            placement.share.tolist(),
            strict=True,
        )
    ]
    assert sorted(ours, key=str) == sorted(rows, key=str)


def test_the_lines_expected_of_the_reporter_are_what_the_registry_reader_makes():
    dump = FIXTURES / "storm-metrics" / "registry-and-threads.txt"
    lines = (PLANS / "registry.expected.jsonl").read_text(encoding="utf-8").splitlines()
    samples = read_registry(dump, {"localhost": "lab-90"})
    assert [sample.to_dict() for sample in samples] == [json.loads(line) for line in lines]


def test_a_storm_home_without_storm_is_refused(tmp_path):
    with pytest.raises(StormMissing, match=r"no lib/storm-client"):
        find_home({"STORM_HOME": str(tmp_path)})


def test_without_maven_it_is_said_where_storm_may_come_from(tmp_path):
    with pytest.raises(StormMissing, match="set STORM_HOME to an installation, or install Maven"):
        find_home({"PENSTOCK_CACHE": str(tmp_path), "PATH": ""})


def test_a_cache_that_was_filled_is_used_as_it_is(tmp_path):
    made = tmp_path / f"storm-{storm_home.STORM_VERSION}"
    made.mkdir()
    (made / "RELEASE").write_text("2.8.3\n")
    home = find_home({"PENSTOCK_CACHE": str(tmp_path), "PATH": ""})
    assert (home.path, home.release) == (made, "2.8.3")
    assert home.class_path(Path("conf")).startswith("conf")


def test_the_cache_is_where_the_system_says():
    assert cache_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/penstock")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/penstock")


def test_a_package_without_the_jar_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(storm_home, "files", lambda _package: tmp_path)
    with pytest.raises(StormMissing, match=r"`make setup` builds it"):
        plugin_jar()


def test_every_acked_tuple_must_arrive_over_every_path(tmp_path):
    (tmp_path / "acked-low-1-77.txt").write_text("1.5.0\n1.5.1\n1.5.2\n1.5")
    (tmp_path / "seen-sink-1-9-78.txt").write_text("1.5.0 mid\n1.5.1 mid\n1.5.0 high\n")
    (tmp_path / "seen-sink-1-9-80.txt").write_text("1.5.2 mid\n1.5.1 high\n1.5.2 hi")
    proof = prove(tmp_path, [("mid", "sink-1"), ("high", "sink-1")])
    # The fourth acked id and the last arrival were cut off by a kill; 1.5.2 came over mid only.
    assert (proof.acked, proof.arrived) == (3, 5)
    assert proof.missing == (("1.5.2", "high", "sink-1"),)
    assert not proof.holds


def test_nothing_acked_proves_nothing(tmp_path):
    assert not prove(tmp_path, [("a", "b")]).holds


def test_a_storm_that_needs_a_newer_java_says_so(tmp_path, monkeypatch):
    lib = tmp_path / "lib"
    lib.mkdir()
    (tmp_path / "RELEASE").write_text("3.2.0\n")
    with zipfile.ZipFile(lib / "storm-client-3.2.0.jar", "w") as jar:
        jar.writestr("META-INF/versions/99/org/apache/storm/Config.class", bytes(8))
        # Class files of Java 21 have the number 65.
        jar.writestr("org/apache/storm/Config.class", bytes.fromhex("cafebabe00000041") + b"...")
    home = find_home({"STORM_HOME": str(tmp_path)})
    assert home.needs_java == 21
    java = Java(tmp_path, tmp_path / "bin" / "java", "17.0.9", 17, "PATH")
    monkeypatch.setattr(storm_home, "find_java", lambda _environ: JavaSearch(java, ()))
    with pytest.raises(StormMissing, match=r"Storm 3\.2\.0 in .* needs Java 21 or newer"):
        require_java({}, home)
    assert require_java({}) == java.executable
