"""``penstock import``: other people's files into ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock import app as api
from penstock.cli import engine_options, options
from penstock.cli.output import make_folder, say, write_file, write_json, write_text
from penstock.engines import registry
from penstock.engines.base import Ability, Engine
from penstock.errors import EXIT_DONE, UsageError
from penstock.files.answer_formats import answer_head
from penstock.files.writer import to_json
from penstock.planning.numbers import counted

if TYPE_CHECKING:
    from penstock.model.cluster import Cluster
    from penstock.model.plan import Plan
    from penstock.model.topology import Topology

OutFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")]


class _ImportGroup(typer.core.TyperGroup):
    """A command for each engine that can say what runs on it, next to those written here."""

    def list_commands(self, context: Any) -> list[str]:
        own = super().list_commands(context)
        return [*own, *(name for name in registry.able(Ability.SNAPSHOT) if name not in own)]

    def get_command(self, context: Any, name: str) -> Any:
        own = super().get_command(context, name)
        # Any engine by its name: one that cannot is refused, with those that can.
        return _command_of(name) if own is None and name in registry.names() else own


app = typer.Typer(
    cls=_ImportGroup,
    help="Import clusters and topologies from other formats.",
    no_args_is_help=True,
)


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
    pairs = dict(_pair(p) for p in properties or [])
    environ = dict(os.environ) if env_filter else {}
    return _write(api.import_flux(file, pairs, environ), out, as_json)


@app.command("storm-yaml")
def storm_yaml(
    files: Annotated[list[Path], typer.Argument(help="storm.yaml of each supervisor.")],
    name: Annotated[str, typer.Option(help="Name of the cluster.")] = "storm",
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Import a cluster from the storm.yaml files of its supervisors.

    penstock import storm-yaml host-a/storm.yaml host-b/storm.yaml --out cluster.yaml

    penstock import storm-yaml hosts/*/conf/storm.yaml --name production
    """
    return _write(api.import_storm_yaml(files, name, say=say), out, as_json)


@app.command("storm")
def storm(
    out: OutFolder,
    nimbus: engine_options.Nimbus = None,
    ui: engine_options.Ui = None,
    storm_yaml: engine_options.StormYaml = None,
    types: engine_options.Types = None,
    as_json: options.Json = False,
) -> int:
    """Import a running Storm: its machines, its topologies, and who runs where.

    penstock import storm --nimbus storm-master --out live

    penstock import storm --ui http://storm-master:8080 --types hosts.yaml --out live
    """
    target = engine_options.engine(
        "storm", nimbus=nimbus, ui=ui, storm_yaml=storm_yaml, types=types
    )
    return _write_running(target, out, as_json=as_json)


@app.command("machines")
def machines(
    folders: Annotated[list[Path], typer.Argument(help="Folders where agents write.")],
    cluster: options.Cluster = None,
    name: Annotated[str, typer.Option(help="Name of the cluster.")] = "machines",
    hours: Annotated[
        float, typer.Option(help="How far back from the newest record loads and times count.")
    ] = 1.0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Import what agents tell of machines: as a cluster, or into the one given.

    penstock import machines telemetry --out machines-cluster.yaml

    penstock import machines telemetry --cluster cluster.yaml --out completed.yaml
    """
    told = api.import_machines(folders, cluster, name, hours=hours, say=say)
    return _write(told, out, as_json)


def _command_of(name: str) -> Any:
    """The command for an engine without one of its own here; it takes the engine's options."""
    single = typer.Typer(add_completion=False, rich_markup_mode=None)

    @single.command(name, short_help=f"Import a running cluster of {name}.")
    def running(
        out: OutFolder,
        more: engine_options.EngineOptions = None,
        as_json: options.Json = False,
    ) -> int:
        """Import a running cluster: its machines, its topologies, and who runs where."""
        return _write_running(engine_options.engine(name, more), out, as_json=as_json)

    return typer.main.get_command(single)


def _write_running(target: Engine, out: Path, *, as_json: bool) -> int:
    running = api.import_running(target, say=say)
    snapshot = running.snapshot
    make_folder(out)
    files: dict[Path, Topology | Cluster | Plan] = {out / "cluster.yaml": snapshot.cluster}
    files |= {out / f"topology-{t.name}.yaml": t for t in snapshot.topologies}
    if running.plan is not None:
        files[out / "current.json"] = running.plan
    for path, value in files.items():
        _save(value, path)
    observations = running.to_dict()
    write_file(out / "seen.json", to_json({**answer_head("seen"), **observations}))
    if as_json:
        names = [str(path) for path in (*files, out / "seen.json")]
        write_json({**answer_head("imported"), "files": names, **observations})
    machines = counted(len(snapshot.cluster.machines), "machine")
    topologies = counted(len(snapshot.topologies), "topology")
    places = " and who runs where" if running.plan is not None else ""
    say(f"wrote {machines}, {topologies}{places} to {out}")
    if snapshot.avoided:
        say(f"on the blacklist of {target.name}: {', '.join(snapshot.avoided)}")
    return EXIT_DONE


@app.command("production")
def production(
    folder: Annotated[Path, typer.Argument(help="Folder with cluster.json and topologies.json.")],
    out: OutFolder,
    executors: Annotated[
        str, typer.Option(help="nimbus: what Storm starts; storm-test: what its test counts.")
    ] = "nimbus",
    as_json: options.Json = False,
) -> int:
    """Import a recorded production cluster and its topologies.

    penstock import production largeCluster01 --out cluster-01

    penstock import production largeCluster01 --executors storm-test --out cluster-01
    """
    problem = api.import_production(folder, executors)
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
    from penstock.files.store import to_dict

    api.load(to_dict(value))
    api.save(value, path)


def _write(value: Topology | Cluster, out: Path | None, as_json: bool) -> int:
    if out:
        _save(value, out)
        say(f"wrote {out}")
    if as_json or not out:
        write_text(api.dumps(value, json=as_json))
    return EXIT_DONE
