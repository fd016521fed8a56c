"""``penstock import``: other people's files into ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.change.in_force import plan_in_force
from penstock.cli import options, storm_options
from penstock.cli.output import make_folder, say, write_file, write_json, write_text
from penstock.errors import EXIT_DONE, Finding, InputError, UsageError
from penstock.files.answer_formats import answer_head
from penstock.files.document import read_document
from penstock.files.flux import is_flux, topology_from_flux
from penstock.files.production import Executors, is_production_folder, load_production
from penstock.files.schema import as_mapping, is_name
from penstock.files.store import dumps, load, save, to_dict
from penstock.files.storm_yaml import cluster_from_storm_yaml
from penstock.files.writer import to_json
from penstock.model.cluster import Cluster
from penstock.model.plan import Plan
from penstock.model.topology import Topology
from penstock.planning.numbers import counted

app = typer.Typer(help="Turn Storm's own files into ours.", no_args_is_help=True)


@app.command("flux")
def flux(
    file: Annotated[Path, typer.Argument(help="A Flux topology (YAML).")],
    properties: Annotated[
        list[str] | None, typer.Option("--property", help="Value of ${name}, as name=value.")
    ] = None,
    env_filter: Annotated[
        bool, typer.Option("--env-filter", help="Fill in ${ENV-NAME} from the environment.")
    ] = False,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Import a Flux topology: structure, parallelism, groupings, requests.

    penstock import flux topology.yaml --out wordcount.yaml

    penstock import flux topology.yaml --property topology.name=wordcount
    """
    document = read_document(file)
    if not is_flux(as_mapping(document.value)):
        raise InputError(Finding("is no Flux topology: no spouts, bolts or includes", str(file)))
    pairs = dict(_pair(p) for p in properties or [])
    environ = dict(os.environ) if env_filter else {}
    return _write(topology_from_flux(document, pairs, environ), out, as_json)


@app.command("storm-yaml")
def storm_yaml(
    files: Annotated[list[Path], typer.Argument(help="storm.yaml of each supervisor.")],
    name: Annotated[str, typer.Option(help="Name of the cluster.")] = "storm",
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Import a cluster from the storm.yaml files of its supervisors.

    \b
    penstock import storm-yaml host-a/storm.yaml host-b/storm.yaml --out cluster.yaml

    penstock import storm-yaml hosts/*/conf/storm.yaml --name production
    """
    if not is_name(name):
        raise UsageError(f'--name must be a name without slashes, not "{name}"')
    return _write(cluster_from_storm_yaml(files, name), out, as_json)


@app.command("storm")
def storm(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")],
    nimbus: storm_options.Nimbus = None,
    ui: storm_options.Ui = None,
    storm_yaml: storm_options.StormYaml = None,
    types: storm_options.Types = None,
    as_json: options.Json = False,
) -> int:
    """Import a running Storm: its machines, its topologies, and who runs where.

    penstock import storm --nimbus storm-master --out live

    penstock import storm --ui http://storm-master:8080 --types hosts.yaml --out live
    """
    snapshot = storm_options.Target(nimbus, ui, storm_yaml, types).snapshot()
    make_folder(out)
    files: dict[Path, Topology | Cluster | Plan] = {out / "cluster.yaml": snapshot.cluster}
    files |= {out / f"topology-{t.name}.yaml": t for t in snapshot.topologies}
    if snapshot.topologies:
        files[out / "current.json"] = plan_in_force(snapshot)
    for path, value in files.items():
        _save(value, path)
    seen: dict[str, object] = {
        "rates_per_s": {name: dict(rates) for name, rates in snapshot.rates.items()},
        "scheduler_info": dict(snapshot.statuses),
        "avoided": list(snapshot.avoided),
        "left_out": dict(snapshot.left_out),
    }
    write_file(out / "seen.json", to_json({**answer_head("seen"), **seen}))
    if as_json:
        names = [str(path) for path in (*files, out / "seen.json")]
        write_json({**answer_head("imported"), "files": names, **seen})
    machines = counted(len(snapshot.cluster.machines), "machine")
    topologies = counted(len(snapshot.topologies), "topology")
    say(f"wrote {machines}, {topologies} and who runs where to {out}")
    if snapshot.avoided:
        say(f"on Storm's blacklist: {', '.join(snapshot.avoided)}")
    return EXIT_DONE


@app.command("production")
def production(
    folder: Annotated[Path, typer.Argument(help="Folder with cluster.json and topologies.json.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")],
    executors: Annotated[
        str, typer.Option(help="nimbus: what Storm starts; storm-test: what its test counts.")
    ] = "nimbus",
    as_json: options.Json = False,
) -> int:
    """Import a recorded production cluster and its topologies.

    penstock import production largeCluster01 --out cluster-01

    \b
    penstock import production largeCluster01 --executors storm-test --out cluster-01
    """
    if not is_production_folder(folder):
        message = "has no cluster.json and topologies.json"
        raise InputError(Finding(message, str(folder)))
    rules: dict[str, Executors] = {"nimbus": "nimbus", "storm-test": "storm-test"}
    if executors not in rules:
        raise UsageError(f'--executors is nimbus or storm-test, not "{executors}"')
    problem = load_production(folder, rules[executors])
    make_folder(out)
    files: dict[Path, Topology | Cluster] = {out / "cluster.json": problem.cluster}
    files |= {out / f"topology-{t.name}.json": t for t in problem.topologies}
    for path, value in files.items():
        _save(value, path)
    if as_json:
        names = [str(path) for path in files]
        write_json({**answer_head("imported"), "files": names})
    say(f"wrote a cluster and {counted(len(problem.topologies), 'topology')} to {out}")
    return EXIT_DONE


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f'--property takes name=value, not "{text}"')
    return name, value


def _save(value: Topology | Cluster | Plan, path: Path) -> None:
    """Write what can be read again: what we refuse to read is refused here."""
    load(to_dict(value))
    save(value, path)


def _write(value: Topology | Cluster, out: Path | None, as_json: bool) -> int:
    if out:
        _save(value, out)
        say(f"wrote {out}")
    if as_json or not out:
        write_text(dumps(value, json=as_json))
    return EXIT_DONE
