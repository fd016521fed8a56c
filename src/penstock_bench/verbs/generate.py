"""``penstock generate``: random but realistic problems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import options
from penstock.cli.output import make_folder, say, write_json
from penstock.errors import EXIT_DONE
from penstock.files.store import save
from penstock.model.cluster import Cluster
from penstock.model.profile import Profile
from penstock.model.topology import Topology
from penstock_bench.generate import Size, generate


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")],
    components: Annotated[int, typer.Option(help="Components of each topology.")] = 10,
    machines: Annotated[int, typer.Option(help="Machines of the cluster.")] = 20,
    types: Annotated[int, typer.Option("--machine-types", help="Machine types.")] = 3,
    topologies: Annotated[int, typer.Option(help="Topologies on the cluster.")] = 1,
    mixed_groupings: Annotated[
        bool, typer.Option("--mixed-groupings", help="Use other groupings beside shuffle.")
    ] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Include memory limits.")] = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> int:
    """Make a random problem: topology, cluster and profile files.

    penstock generate --components 20 --machines 100 --machine-types 5 --seed 7 --out my-problem

    penstock generate --topologies 3 --memory --mixed-groupings --out shared
    """
    size = Size(components, machines, types, topologies, mixed_groupings, memory)
    problem = generate(size, seed)
    # YAML for people; JSON where it would be too much for YAML's readers.
    suffix = "json" if machines > 2000 or components * types > 5000 else "yaml"
    make_folder(out)
    files: dict[Path, Topology | Cluster | Profile] = {
        **{out / f"topology-{t.name}.{suffix}": t for t in problem.topologies},
        out / f"cluster.{suffix}": problem.cluster,
        out / f"profile.{suffix}": problem.profile,
    }
    for path, value in files.items():
        save(value, path)
    if as_json:
        names = [str(path) for path in files]
        write_json({"format": "penstock/generated", "version": 1, "files": names})
        return EXIT_DONE
    for path in files:
        say(f"wrote {path}")
    topology_files = " ".join(str(path) for path in list(files)[:-2])
    say(f"try: penstock plan {topology_files} -c {out}/cluster.{suffix} -p {out}/profile.{suffix}")
    return EXIT_DONE
