"""Random commands of the verbs' own parameters, with the files that they name, some damaged.

The same seed and number give the same command and files, whatever ran before.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from io import BytesIO
from random import Random
from typing import Any

from penstock.files.writer import fingerprint
from penstock_bench.benchmarks.fuzz.emit import emit
from penstock_bench.benchmarks.fuzz.mutations import mutate_bytes, mutate_document
from penstock_bench.benchmarks.fuzz.original_file import File, Files
from penstock_bench.benchmarks.fuzz.values import Care, value
from penstock_bench.benchmarks.fuzz.verbs import ENDS, LIVE, USUAL, DrawableVerb


@dataclass(frozen=True)
class FuzzCase:
    """A command and the files it finds."""

    number: int
    verb: DrawableVerb
    arguments: tuple[str, ...]
    files: dict[str, bytes]
    #: Names of those that are not as they were.
    damaged: tuple[str, ...]
    #: The same files undamaged.
    originals: Files = field(compare=False, repr=False)

    @property
    def starts_engine(self) -> bool:
        """Java, that is: what it may take is another matter."""
        is_live = any(a == "storm" or a.endswith("=storm") for a in self.arguments)
        return self.starts_spark or self.verb.is_of_storm or is_live

    @property
    def starts_spark(self) -> bool:
        """By its verb, or by an option that hands the work to Spark."""
        has_master = any(a == "--master" or a.startswith("--master=") for a in self.arguments)
        return self.verb.starts_spark or (has_master and not self.verb.only_refused)


def draw(seed: int, number: int, verbs: Sequence[DrawableVerb], sets: Sequence[Files]) -> FuzzCase:
    """The case of this number."""
    rng = Random(f"{seed} case {number}")
    verb = rng.choices(verbs, [_weight(v) for v in verbs])[0]
    files = rng.choice(sets)
    # Most of what is drawn at random is refused at once; half of it is to get further.
    care = rng.choice([Care.MUCH, Care.MUCH, Care.SOME, Care.NONE])
    arguments = [*verb.words]
    if verb.only_refused:
        wrong = rng.choice(["--nosuch", "--nosuch=1", "-Z"])
        arguments += [wrong, *_options(rng, verb, files, Care.NONE)]
    else:
        usual = USUAL.get(verb.name, []) if care is Care.MUCH else []
        named = usual or _arguments(rng, verb, files, care)
        arguments += [*named, *_options(rng, verb, files, care, has_arguments=bool(named))]
        arguments += _ending(verb, arguments)
    content, damaged = _content(rng, files, arguments, care)
    # The operating system takes no NUL and no lone surrogates as arguments.
    clean = tuple(a.replace("\0", "").encode("utf-8", "replace").decode() for a in arguments)
    return FuzzCase(number, verb, clean, content, damaged, files)


def _weight(verb: DrawableVerb) -> float:
    """Verbs with many options have more to try; those that only refuse have little."""
    if verb.only_refused:
        return 0.3
    slow = verb.starts_spark or verb.is_of_storm
    return (2.0 + len(verb.parameters) ** 0.8) * (0.1 if slow else 1.0)


def _ending(verb: DrawableVerb, arguments: list[str]) -> list[str]:
    found: list[str] = []
    for what, ends in ENDS.items():
        name, _, option = what.partition(" ")
        if verb.name == name and (not option or option in arguments):
            found += ends
    return found


def _arguments(rng: Random, verb: DrawableVerb, files: Files, care: Care) -> list[str]:
    found: list[str] = []
    for parameter in verb.parameters:
        if not parameter.is_argument or (care is Care.NONE and rng.random() < 0.05):
            continue
        if parameter.name == "topologies" and care is Care.MUCH:
            found += [name for name, file in files.items() if file.kind == "topology"]
        elif parameter.is_required or rng.random() < (0.6 if care is Care.NONE else 0.9):
            times = rng.choice([1, 1, 1, 2, 3]) if parameter.is_multiple else 1
            found += [value(rng, verb, parameter, files, care) for _ in range(times)]
    return found


def _options(
    rng: Random, verb: DrawableVerb, files: Files, care: Care, *, has_arguments: bool = False
) -> list[str]:
    found: list[str] = []
    often = rng.choice([0.05, 0.1, 0.2] if care is Care.MUCH else [0.05, 0.15, 0.4])
    if verb.starts_spark:
        often /= 2  # most of their options rule each other out
    for parameter in verb.parameters:
        usual = parameter.name in ("cluster", "profile") and care is not Care.NONE
        seldom = 0.1 if parameter.name in LIVE and not verb.is_of_storm else 1.0
        chosen = usual or parameter.is_required or rng.random() < often * seldom
        if parameter.is_argument or not chosen:
            continue
        if care is Care.MUCH and parameter.name == "example" and has_arguments:
            continue
        option = rng.choice(parameter.options)
        found.append(option)
        if not parameter.is_flag:
            given = value(rng, verb, parameter, files, care)
            if option.startswith("--") and rng.random() < 0.2:
                found[-1] = f"{option}={given}"
            else:
                found.append(given)
    if rng.random() < 0.35 and any("--json" in p.options for p in verb.parameters):
        found.append("--json")
    return found


# -- files -----------------------------------------------------------------------------------------


def _content(
    rng: Random, files: Files, arguments: list[str], care: Care
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Every file of the set, up to three of those that are named damaged."""
    found = {name: written(file, name) for name, file in files.items()}
    text = "\n".join(arguments)
    named = [name for name in files if name in text or name.partition("/")[0] in arguments]
    if "sweep.yaml" in named or "scenario.yaml" in named:
        named += [n for n in files if files[n].kind in ("topology", "cluster", "profile", "trace")]
    wanted = rng.choice([0, 1, 1, 1] if care is Care.MUCH else [0, 1, 1, 1, 1, 2, 3])
    damaged = tuple(rng.sample(named, min(wanted, len(named))))
    for name in damaged:
        found[name] = _damaged(rng, files[name], name, found[name], care)
    return found, damaged


def written(file: File, name: str) -> bytes:
    """The file as it should be."""
    if file.document is None:
        return file.data
    if file.is_lines:
        return b"".join(_line(record) for record in file.document)
    return _encoded(emit(file.document, yaml=not name.endswith(".json")))


def _line(record: Any) -> bytes:
    text = emit(record, yaml=False)
    return _encoded(" ".join(line.strip() for line in text.splitlines()) + "\n")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _damaged(rng: Random, file: File, name: str, whole: bytes, care: Care) -> bytes:
    if file.kind == "parquet" and rng.random() < 0.7:
        return _other_columns(rng, whole)
    if file.kind == "journal" and rng.random() < 0.8:
        return other_cells(rng, whole)
    mild = care is Care.MUCH
    if file.document is None or rng.random() < (0.02 if mild else 0.2):
        return mutate_bytes(rng, whole)
    if file.is_lines:
        records = list(file.document)
        wanted = rng.choice([1, 1, 3, len(records)])
        for at in rng.sample(range(len(records)), min(wanted, len(records))):
            records[at] = mutate_document(rng, records[at], mild=mild)
        return b"".join(_line(record) for record in records)
    made = mutate_document(rng, file.document, mild=mild)
    if file.kind == "plan" and rng.random() < (0.9 if mild else 0.5):
        made = sealed(made)
    as_yaml = not name.endswith(".json") or rng.random() < 0.02
    return _encoded(emit(made, yaml=as_yaml))


def sealed(plan: Any) -> Any:
    """The plan with fingerprints that fit its inputs, where there is enough left to take them."""
    try:
        inputs = plan["inputs"]
        plan["made_from"] = {
            "topologies": {t["name"]: fingerprint(t) for t in inputs["topologies"]},
            "cluster": fingerprint(inputs["cluster"]),
            "profile": fingerprint(inputs["profile"]) if inputs["profile"] else None,
        }
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, ValueError):
        pass
    return plan


def _other_columns(rng: Random, data: bytes) -> bytes:
    """A Parquet file that lacks a column, has it in another type, or has values of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(BytesIO(data))
    name = rng.choice(table.column_names)
    at, rows = table.column_names.index(name), table.num_rows
    junk: list[list[Any]] = [
        [None] * rows, ["x"] * rows, [2**63 - 1] * rows, [-1] * rows, [float("nan")] * rows,
        [1e300] * rows, [b"\xff"] * rows, [[1]] * rows, [{"a": 1}] * rows, [True] * rows,
    ]  # fmt: skip
    changed = table.set_column(at, name, pa.array(rng.choice(junk)))
    made = rng.choice([table.drop_columns([name]), changed, changed, table.slice(0, 0)])
    sink = BytesIO()
    pq.write_table(made, sink)
    return sink.getvalue()


def other_cells(rng: Random, data: bytes) -> bytes:
    """A journal in which a few cells hold something else, its JSON damaged as documents are."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        for _ in range(rng.choice([1, 1, 2, 4])):
            table = rng.choice(["turn", "turn", "turn", "placement"])
            cells = connection.execute(f"SELECT * FROM {table}")
            column = rng.choice([name for name, *_ in cells.description])
            row = rng.choice(cells.fetchall() or [()])
            if not row:
                continue
            key = cells.description[0][0]
            old = connection.execute(
                f"SELECT {column} FROM {table} WHERE {key} = ?", row[:1]
            ).fetchone()[0]
            with suppress(sqlite3.IntegrityError):
                connection.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (_cell(rng, old), row[0])
                )
        connection.commit()
        return connection.serialize()


def _cell(rng: Random, old: Any) -> Any:
    """Something else than a cell holds; mostly other JSON where that is what it holds."""
    is_json = isinstance(old, str) and old[:1] in "[{"
    if is_json and rng.random() < 0.8:
        return _line(mutate_document(rng, json.loads(old))).decode("utf-8", "replace")
    return rng.choice(
        [None, "", "x", "[", "{}", "[[1]]", b"\xff", 0, -1, 1.5, 1e300, float("inf"), 2**62]
    )


def described(case: FuzzCase) -> str:
    """The command as one may type it."""
    plain = [a if a.isprintable() else json.dumps(a) for a in case.arguments]
    return f"penstock {shlex.join(plain)}"
