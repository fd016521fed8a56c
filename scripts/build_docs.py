"""Write the generated parts of the documentation: formats, command line, results, pictures.

Everything written here is the same on every machine, so CI can check that it is up to date. Times
differ from machine to machine and are printed by ``penstock bench`` only.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import sys
import typing
from pathlib import Path
from typing import Any

from penstock import api
from penstock.cli import main as cli
from penstock.examples import text as example_text
from penstock.files.store import FORMATS, json_schema
from penstock.report.numbers import percent, rate
from penstock.report.picture import placement_svg

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = "<!-- Written by `make docs`; do not edit. -->\n"

RESULTS_INTRO = """\
Printed by `make docs`. Rates are sustainable input rates in tuples/s by the cost model, met is the
fixed CPU cost per instance in points, *of bound* is the rate of `hetero` over the upper bound that
no plan can exceed. `default` runs with the instance counts that `hetero` found, as the paper
compares. Speed is printed by `penstock bench core`.
"""
NASIRI_INTRO = """\
Published: `hetero` over `default` 26 to 49 % (small), 36 to 48 % (medium), 27 to 31 % (large), by
the paper's simulator; the paper prints neither MET nor the rates behind these. As in the paper
`hetero` is ahead or equal almost everywhere; how far depends on what it does not print. Table 3 is
used as printed, where the Pentium (M1) is the fastest, while the text calls the i5 (M3) the most
powerful.
"""

PRODUCTION_INTRO = """\
## Recorded production clusters, by requests

Printed by `penstock bench production --markdown`, kept in `benchmarks/production.md` because it
needs the recorded data; times are of one run on two cores. Network columns are shares of connected
executor pairs. Storm's own ResourceAwareScheduler (RAS) ran on the same data.

`rstorm` with CPU hard lands next to Storm's RAS, which grew out of it: the same share of pairs in a
rack, a few machines less. The difference: RAS sorts racks and nodes by what they have left and
fills them in that order, R-Storm takes for each task the node whose free resources are nearest to
what the task needs, which fills half-full nodes first. On largeCluster03 that leaves no node with
the 12 GB that the tasks of one topology need, so that topology is refused as a whole. As the paper
has it (memory hard, CPU soft) CPU is overcommitted: those are the limits broken. `default`,
`isolation` and the thesis' schedulers look at no limit but slots, and take the few workers that
these topologies ask for at their word. `tsstream` spreads for room and pays for it in racks
crossed.
"""

EXAMPLES = {
    "topology": ("topology", "wordcount"),
    "cluster": ("cluster", "office-mix"),
    "profile": ("profile", "lab"),
}


def main() -> None:
    write_formats()
    write_command_line()
    write_results()
    write_pictures()
    fill_outputs(ROOT / "README.md")
    fill_outputs(DOCS / "concepts.md")
    broken = broken_links()
    if broken:
        sys.exit("links that lead nowhere:\n" + "\n".join(broken))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(path.relative_to(ROOT))


# -- formats ----------------------------------------------------------------------------------


def write_formats() -> None:
    for name in FORMATS:
        schema = json_schema(name)
        write(DOCS / "formats" / f"{name}.schema.json", json.dumps(schema, indent=2) + "\n")
        write(DOCS / "formats" / f"{name}.md", format_page(name, schema))


def format_page(name: str, schema: dict[str, Any]) -> str:
    parts = [GENERATED, f"# The {name} format, version 1\n", schema["description"] + "\n"]
    file = f"{name}.schema.json"
    parts.append(f"JSON Schema: [{file}]({file}), or `penstock schema {name}`.\n")
    if name in EXAMPLES:
        kind, example = EXAMPLES[name]
        yaml = example_text(kind, example)
        parts.append(f"The shipped example `{example}`:\n\n```yaml\n{yaml}```\n")
    else:
        parts.append("A plan is written by `penstock plan --out plan.json`.\n")
    objects = {"The file": schema} | schema["$defs"]
    for title, node in objects.items():
        if "properties" in node:
            parts.append(object_table(title, node, schema["$defs"]))
    return "\n".join(parts)


def object_table(title: str, node: dict[str, Any], definitions: dict[str, Any]) -> str:
    lines = [f"## {title}\n"]
    if title != "The file" and node.get("description"):
        lines.append(node["description"].split("\n")[0] + "\n")
    lines += ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    required = node.get("required", [])
    for field, value in node["properties"].items():
        default = "required" if field in required else shown_default(value)
        meaning = value.get("description", "").replace("|", "\\|")
        lines.append(f"| `{field}` | {type_words(value, definitions)} | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def shown_default(value: dict[str, Any]) -> str:
    if "default" not in value:
        return "empty"
    return "–" if value["default"] in (None, "") else f"`{json.dumps(value['default'])}`"


def type_words(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "anyOf" in value:
        branches = [type_words(b, definitions) for b in value["anyOf"] if b.get("type") != "null"]
        return " or ".join(branches)
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        target = definitions[name]
        if "enum" in target:
            return ", ".join(f"`{choice}`" for choice in target["enum"])
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if value.get("type") == "array":
        return f"list of {type_words(value['items'], definitions)}"
    if value.get("type") == "object":
        inner = value.get("additionalProperties")
        if isinstance(inner, dict):
            return f"names to {type_words(inner, definitions)}"
        return "mapping"
    return {"integer": "whole number", "string": "text", "boolean": "true or false"}.get(
        value.get("type", ""), value.get("type", "anything")
    ) + limits(value)


def limits(value: dict[str, Any]) -> str:
    words = {
        "minimum": "≥",
        "exclusiveMinimum": ">",
        "maximum": "≤",
        "exclusiveMaximum": "<",
    }
    found = [f"{sign} {value[key]:g}" for key, sign in words.items() if key in value]
    return f" {', '.join(found)}" if found else ""


# -- command line -----------------------------------------------------------------------------


def write_command_line() -> None:
    parts = [GENERATED, "# The command line\n"]
    parts.append(
        "Results go to stdout, everything else to stderr. `--json` prints one JSON value with "
        "`format` and `version`. Exit codes: 0 done, 1 handled failure, 2 usage, 3 changes present "
        "(`--detailed-exitcode`), 4 infeasible, 5 stale, 70 a bug of ours, 130 interrupted.\n"
    )
    for info in cli.app.registered_commands:
        parts.append(command_section(f"penstock {info.name}", info.callback))
    for group in cli.app.registered_groups:
        for info in group.typer_instance.registered_commands:
            parts.append(command_section(f"penstock {group.name} {info.name}", info.callback))
    write(DOCS / "cli.md", "\n".join(parts))


def command_section(name: str, callback: Any) -> str:
    sentence, *examples = inspect.cleandoc(callback.__doc__).split("\n\n")
    lines = [f"## {name}\n", " ".join(sentence.split()) + "\n", "```"]
    lines += [example.strip() for example in examples]
    lines += ["```\n", "| option | meaning |", "| --- | --- |"]
    hints = typing.get_type_hints(callback, include_extras=True)
    for parameter in inspect.signature(callback).parameters.values():
        for extra in getattr(hints[parameter.name], "__metadata__", ()):
            flags = ", ".join(getattr(extra, "param_decls", None) or ()) or default_flag(
                extra, parameter.name
            )
            lines.append(f"| `{flags}` | {(extra.help or '').replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def default_flag(extra: Any, name: str) -> str:
    is_argument = type(extra).__name__ == "ArgumentInfo"
    return name.upper() if is_argument else "--" + name.replace("_", "-")


# -- results ----------------------------------------------------------------------------------


def write_results() -> None:
    parts = [GENERATED, "# Results\n", RESULTS_INTRO, "## The clusters of Nasiri et al.\n"]
    parts += [
        NASIRI_INTRO,
        "| topology | cluster | met | default | hetero | gain | bound | of bound | instances |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for topology in ("linear", "diamond", "star"):
        for cluster in ("nasiri-testbed", "nasiri-small", "nasiri-medium", "nasiri-large"):
            for met in (0.5, 1.5, 3.0):
                parts.append(result_row(topology, cluster, met))
    parts += [
        "",
        "## Every example on its own cluster\n",
        "| topology | cluster | costs | default | hetero | bound | of bound | limited by |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    parts += [example_row(name) for name in api.examples.topology_names()]
    parts += ["", "## Every scheduler on the papers' testbed\n", *scheduler_rows()]
    parts += ["", PRODUCTION_INTRO, (ROOT / "benchmarks" / "production.md").read_text().rstrip()]
    write(DOCS / "results.md", "\n".join(parts) + "\n")


def scheduler_rows() -> list[str]:
    """All schedulers on Linear, Diamond and Star, rates in tuples/s; counts of hetero given."""
    topologies = ("linear", "diamond", "star")
    found = [api.compare(api.problem(t, "nasiri-testbed")) for t in topologies]
    rows = [f"| scheduler | {' | '.join(topologies)} |", "| --- | --- | --- | --- |"]
    for i, planned in enumerate(found[0].rows):
        facts = [comparison.rows[i].facts for comparison in found]
        cells = [f"{rate(f.scale)}{' (proven optimal)' if f.proven_optimal else ''}" for f in facts]
        rows.append(f"| {planned.scheduler} | {' | '.join(cells)} |")
    bounds = [rate(c.bound.scale) for c in found if c.bound]
    return [*rows, f"| upper bound | {' | '.join(bounds)} |"]


def result_row(topology: str, cluster: str, met: float) -> str:
    found = api.compare(api.problem(topology, cluster, met=met), ["default", "hetero"])
    default, hetero = (row.facts for row in found.rows)
    assert default.scale
    assert hetero.scale
    assert hetero.gap is not None
    assert found.bound
    return (
        f"| {topology} | {cluster} | {met:g} | {rate(default.scale)} | {rate(hetero.scale)} | "
        f"{percent(hetero.scale / default.scale - 1)} | {rate(found.bound.scale)} | "
        f"{percent(1 - hetero.gap)} | {hetero.instances} |"
    )


def example_row(name: str) -> str:
    cluster = api.examples.default_cluster(name)
    problem = api.problem(name, cluster)
    found = api.compare(problem, ["default", "hetero"])
    default, hetero = (row.facts for row in found.rows)
    assert problem.profile
    assert found.bound
    reached = percent(None if hetero.gap is None else 1 - hetero.gap)
    return (
        f"| {name} | {cluster} | {problem.profile.origin.value} | {rate(default.scale)} | "
        f"{rate(hetero.scale)} | {rate(found.bound.scale)} | {reached} | {hetero.limited_by} |"
    )


def write_pictures() -> None:
    planned = api.plan(api.problem("diamond", "nasiri-medium"))
    assert planned.plan is not None
    write(DOCS / "pictures" / "diamond.svg", placement_svg(planned.plan))


# -- outputs inside hand-written pages --------------------------------------------------------

_OUTPUT = re.compile(r"(<!-- output of: (penstock [^>]*?) -->\n```\n)(.*?)(```\n)", re.DOTALL)


def fill_outputs(page: Path) -> None:
    """Put the real output of the commands named in the page under them."""
    text = page.read_text(encoding="utf-8")

    def real(match: re.Match[str]) -> str:
        return match.group(1) + run(match.group(2)) + match.group(4)

    write(page, _OUTPUT.sub(real, text))


def run(command: str) -> str:
    captured = io.StringIO()
    with contextlib.redirect_stdout(captured), contextlib.suppress(SystemExit):
        cli.main(command.split()[1:])
    return "\n".join(line.rstrip() for line in captured.getvalue().splitlines()) + "\n"


def broken_links() -> list[str]:
    """Relative links in our pages that lead to no file."""
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    broken = []
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    return broken


if __name__ == "__main__":
    main()
