"""Values for the parameters of commands: what is meant by a name, and what nobody would mean.

A parameter that is not in these tables gets files, names and numbers of all sorts by its type, so
that a new one is tried without anybody's help.
"""

from __future__ import annotations

from enum import Enum
from random import Random
from typing import Any

from penstock_bench.benchmarks.fuzz.measured_files import OWN_MACHINE
from penstock_bench.benchmarks.fuzz.original_file import Files
from penstock_bench.benchmarks.fuzz.verbs import DrawableVerb, OptionParameter


class Care(Enum):
    """How much a command is like one that somebody would type."""

    MUCH = 2
    SOME = 1
    NONE = 0


#: What a parameter of this name is usually given: a kind of file, ``example`` names, or words.
_KINDS: dict[str, tuple[str, ...]] = {
    "topologies": ("topology", "topology", "flux", "recorded folder"),
    "topology": ("topology",),
    "cluster": ("cluster",),
    "profile": ("profile",),
    "baseline": ("profile",),
    "plan": ("plan",),
    "before": ("plan",),
    "after": ("plan",),
    "current": ("plan",),
    "sources": ("plan", "plan", "topology"),
    "terms": ("terms",),
    "scenario": ("scenario",),
    "suite": ("sweep",),
    "types": ("types",),
    "simulation": ("simulation",),
    "history": ("history folder",),
    "file": ("flux",),
    "folder": ("recorded folder",),
    "storm_yaml": ("storm.yaml",),
    "source": ("telemetry folder", "columns folder", "storm-log", "storm-registry", "rest folder"),
    "telemetry": ("telemetry folder", "columns folder"),
    "rules": ("watch",),
    "journal": ("journal",),
    "machines": ("machines folder",),
    "key_file": ("key",),
}
#: Of one verb, where others mean something else by the name.
_KINDS_OF: dict[tuple[str, str], tuple[str, ...]] = {
    ("rehearse", "loads"): ("load",),
    ("agent", "machines"): ("agents",),
    ("import machines", "folders"): ("machines folder",),
    **{
        (f"store {verb}", "store"): ("store folder",)
        for verb in ("list", "files", "export", "expire", "compact", "migrate")
    },
}
_WORDS: dict[str, tuple[str, ...]] = {
    "example": ("linear", "diamond", "star", "wordcount", "topn", "nosuch"),
    "scheduler": (
        "penstock",
        "hetero",
        "default",
        "rstorm",
        "proportional",
        "a3",
        "even",
        "nosuch",
    ),
    "schedulers": ("default", "default,hetero", "rstorm,penstock", "none", ",", "nosuch"),
    "counts_from": ("hetero", "topology", "proportional", "nosuch"),
    "setting": ("r0=1", "r0=nan", "r0=-1", "x", "=", "seconds=1e9", "rounds=0", "loud=true"),
    "minimize": ("machines", "price", "energy", "traffic", "machines,price", "x"),
    "taken_from": ("storm", "spark", "x"),
    "engine": ("storm", "spark"),
    "nimbus": ("127.0.0.1:1", "", "127.0.0.1:99999", "nowhere.invalid", ":"),
    "ui": ("http://127.0.0.1:1", "ftp://x", "", "http://[", "http://127.0.0.1:99999"),
    "demand": ("x2", "x0", "x-1", "xnan", "x1e300", "t0=5", "t0=x2", "linear=x1e-9"),
    "loads": ("0.5,0.9", "50%,90%", "0", "nan", "1e9", ","),
    "levels": ("1,0.5", "0", "nan", ",", "-1"),
    "since": ("90s", "10m", "1d", "0s", "-1s", "1e99d", "x"),
    "source_format": ("jsonl", "parquet", "storm-log", "storm-rest", "storm-registry", "x"),
    "master": ("local[2]", "local[*]"),
    "driver_memory": ("1g",),
    "topic": ("kafka://", "kafka://x", "kafka:///t", "kafka://127.0.0.1:x/t", "x"),
    "name": ("topology", "plan", "sample", "nosuch", "scenario"),
    "properties": ("a=b", "name=words", "=", "x"),
    "settings": ("spark.sql.shuffle.partitions=2", "x", "="),
    "config": ("spark.sql.shuffle.partitions=2", "x", "="),
    "executors": ("in=2", "out=0", "x", "in=-1", "in=1e9"),
    "table": ("samples", "streams", "rates", "quarantine", "traffic", "trafic"),
    "older_than": ("1d", "1h", "0s", "1e99d", "x"),
    "raw_older_than": ("1h", "2d", "x"),
    "policies": ("penstock", "static,hpa", "ds2,dhalion,flink", "penstock,nosuch", ","),
    "highest": ("70%", "1", "own", "0", "nan", "x"),
    "lose_every": ("45m", "1s", "nan", "x"),
    "back_after": ("10m", "1s", "9e8s", "x"),
    "median": ("5m", "1h", "1s", "x"),
}
#: Names of what is in the problem, in the forms that a parameter takes.
_NAMES: dict[str, tuple[str, ...]] = {
    "add": ("type=number",),
    "remove": ("machine", "machine", "type=number"),
    "avoid": ("machine", "machine,machine"),
    "apart": ("component,component", "component"),
    "fix": ("component=machine", "component=machine:number"),
    "latency": ("1000", "topology=500", "topology=0.001"),
    "estimate_from": ("type",),
    "what": ("machine", "component", "component[0]", "component[number]"),
    "demand": ("xnumber", "topology=number", "topology=xnumber"),
    "topology": ("topology",),
}
#: Of one verb: who it is among those that probe each other.
_WORDS_OF: dict[tuple[str, str], tuple[str, ...]] = {("agent", "name"): (OWN_MACHINE, "x")}
#: Parts of a whole.
_FRACTIONS = frozenset({"headroom", "give_up", "load", "load_"})
#: Folders among the files, by the name that ``_KINDS`` gives them.
_FOLDERS = {
    "telemetry folder": "telemetry",
    "columns folder": "columns",
    "history folder": "history",
    "recorded folder": "recorded",
    "rest folder": "rest",
    "words folder": "words",
    "store folder": "tables",
    "machines folder": "machines",
}
#: Results are written; what is there already may be replaced.
_RESULTS = frozenset({"out", "page", "svg", "copy_to", "receipt", "plan_file", "store"})
_ENDINGS = {
    "svg": ("made.svg",),
    "copy_to": ("made",),
    "store": ("tables-made",),
    "page": ("made.html", "made.md"),
}
_NUMBERS = (
    *("0", "1", "2", "0.5", "-1", "1e9", "1e308", "1e400", "nan", "inf", "-inf", "1e-300"),
    *("x", "", "10%", "1,5", "9" * 30, "0x10", "１"),
)
_JUNK = (
    "",
    " ",
    "x",
    "a=b",
    "a,b",
    "../up",
    "é→",
    "a\nb",
    "\x1b[31m",
    "x" * 5000,
    "[bold]",
    "-",
    "--",
)


#: Every parameter that is written of here; all must be some verb's.
NAMED = frozenset({*_KINDS, *_WORDS, *_NAMES, *_FRACTIONS, *_RESULTS})


def value(
    rng: Random, verb: DrawableVerb, parameter: OptionParameter, files: Files, care: Care
) -> str:
    """A value for a parameter of a verb."""
    name = parameter.name
    if rng.random() < {Care.MUCH: 0.0, Care.SOME: 0.02, Care.NONE: 0.15}[care]:
        return rng.choice(_JUNK)
    if (meant := _of_verb(rng, (verb.name, name), files)) is not None:
        return meant
    if name in _RESULTS:
        return _result(rng, name, care)
    if parameter.choices:
        return rng.choice([*parameter.choices, *([] if care is Care.MUCH else ["x"])])
    if name in _FRACTIONS and care is not Care.NONE:
        # A bare 1 may mean 1 % as well, and is refused.
        return rng.choice(["0", "0.2", "10%", "0.9", *(["1"] if care is Care.SOME else [])])
    if parameter.type in ("int", "float"):
        return _number(rng, parameter, care)
    if name == "files":
        return "words" if verb.name == "run" else _file(rng, files, ())
    if name in _KINDS and rng.random() < 0.93:
        # The first is what is mostly meant.
        kinds = _KINDS[name][: 1 if care is Care.MUCH else None]
        return _file(rng, files, kinds)
    if name in _NAMES and care is not Care.NONE:
        return _meant(rng, name, files)
    if name in _WORDS:
        return rng.choice(_WORDS[name])
    if parameter.type == "Path":
        return _file(rng, files, ())
    return _name_of(rng, files)


def _of_verb(rng: Random, parameter: tuple[str, str], files: Files) -> str | None:
    """What one verb means by a name that others give another meaning."""
    if words := _WORDS_OF.get(parameter):
        return rng.choice(words)
    kinds = _KINDS_OF.get(parameter)
    return _file(rng, files, kinds) if kinds and rng.random() < 0.97 else None


def _result(rng: Random, name: str, care: Care) -> str:
    """Where something is to be written."""
    if care is Care.MUCH:
        return rng.choice(_ENDINGS.get(name, ("made.json", "made.yaml")))
    return rng.choice(["made.json", "made.yaml", "made", "made.svg", "made.html", "plan.json",
                       "no/such/folder/x.json", "made.csv", "made.md", "made.tex"])  # fmt: skip


def _meant(rng: Random, name: str, files: Files) -> str:
    """A name of a kind, in the form that this parameter takes."""
    inputs = files["plan.json"].document["inputs"]
    topologies = inputs["topologies"]
    components = [c for t in topologies for c in t["components"]]
    labels = [f"{t['name']}/{c}" for t in topologies for c in t["components"]]
    types = list(inputs["cluster"]["types"])
    machines = list(files["types.yaml"].document)
    pools = {
        "type": types,
        "machine": machines,
        "component": components if len(topologies) == 1 else labels,
        "topology": [t["name"] for t in topologies],
        "number": ["1", "2", "3"],
    }
    form = rng.choice(_NAMES[name])
    for kind, pool in pools.items():
        while kind in form:
            form = form.replace(kind, rng.choice(pool).replace(kind, "?"), 1)
    return form


def _number(rng: Random, parameter: OptionParameter, care: Care) -> str:
    """Mostly something that is allowed, and small: work that was asked for is no hang."""
    if rng.random() < {Care.MUCH: 0.97, Care.SOME: 0.8, Care.NONE: 0.5}[care]:
        least = max(parameter.least or 0, 0)
        most = min(least + 4 if parameter.most is None else parameter.most, least + 4)
        value = rng.uniform(least, most)
        return str(round(value)) if parameter.type == "int" else f"{value:.3g}"
    return rng.choice(_NUMBERS)


def _file(rng: Random, files: Files, kinds: tuple[str, ...]) -> str:
    """A file of one of the kinds; of any where none is named, or now and then."""
    if kinds and rng.random() < 0.97:
        kind = rng.choice(kinds)
        if kind in _FOLDERS:
            return _FOLDERS[kind]
        fitting = [name for name, file in files.items() if file.kind == kind]
        if fitting:
            return rng.choice(fitting)
    return rng.choice([*files, *_FOLDERS.values(), "gone.yaml", "."])


def _name_of(rng: Random, files: Files) -> str:
    """A name, or a few, of what is in the plan: machines, components, types, topologies."""
    document = files["plan.json"].document
    one, other = _word_in(rng, document), _word_in(rng, document)
    shapes = [one, one, f"{one},{other}", f"{one}={rng.choice(_NUMBERS)}", f"{one}={other}",
              f"{one}[{rng.choice(_NUMBERS)}]", f"{one}={other}:2", f"{one}/{other}"]  # fmt: skip
    return rng.choice(shapes)


def _word_in(rng: Random, value: Any) -> str:
    """A key or a text met on a random way down."""
    word = "x"
    while value and isinstance(value, (dict, list)):
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        word = key if isinstance(key, str) else word
        if rng.random() < 0.2:
            return word
        value = value[key]
    return value if isinstance(value, str) else word
