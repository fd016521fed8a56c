"""Files made to hurt: huge, or small and made to grow. Each writes itself and says its message."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

_TOPOLOGY = b'{"format": "penstock/topology", "version": 1, "name": "t", '
_CLUSTER = b'{"format": "penstock/cluster", "version": 1, "name": "t", "types": {"a": {}}, '


def repeated(before: bytes, unit: bytes, times: int, after: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(before + unit * times + after)


def numbered(
    before: bytes, unit: bytes, times: int, after: bytes, between: bytes = b","
) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(
        before + between.join(unit % i for i in range(times)) + after
    )


def sparse(size: int) -> Callable[[Path], object]:
    """A file of holes: as large as it says, and no disk used."""

    def make(path: Path) -> None:
        with path.open("wb") as stream:
            stream.truncate(size)

    return make


def laughs(path: Path) -> None:
    lines = [b"a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [b"a%d: &a%d [%s]" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 60)]
    path.write_bytes(b"\n".join(lines))


def noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(7_000_000))


#: File name, how it is made, and what the message must hold.
HOSTILE: list[tuple[str, Callable[[Path], object], str]] = [
    # 100 MB of YAML aliases, and as many as fit below the size limit.
    ("aliases.yaml", repeated(b"a: &a [1]\nb:\n", b"- *a\n", 20_000_000, b""), "100 MB; at most 8"),
    ("aliases-8.yaml", repeated(b"a: &a [1]\nb:\n", b"- *a\n", 1_500_000, b""), "200,000 values"),
    ("laughs.yaml", laughs, "more than 200,000 values"),
    ("open.yaml", repeated(b"", b"[", 7_000_000, b""), "nested more than 60 deep"),
    ("mappings.yaml", repeated(b"", b"{", 7_000_000, b""), "a key must be"),
    ("dashes.yaml", repeated(b"", b"- ", 3_500_000, b""), "nested more than 60 deep"),
    ("questions.yaml", repeated(b"", b"? ", 3_500_000, b""), "a key must be"),
    ("fields.yaml", numbered(b"", b"k%d: 1", 95_000, b"", b"\n"), "has no format field"),
    ("quoted.yaml", repeated(b'a: "', b"\\x41", 1_900_000, b'"'), "has no format field"),
    ("text.yaml", repeated(b"format: ", b"x", 7_900_000, b"\n"), 'no format "xxx'),
    ("key.yaml", repeated(b"format: penstock/cluster\n? ", b"x", 7_000_000, b"\n: 1\n"), "…: no"),
    ("noise.yaml", noise, "not UTF-8 text"),
    ("holes.yaml", sparse(7_900_000), "NUL character"),
    ("holes-10-GB.json", sparse(10_000_000_000), "10000 MB; at most 48 MB are read"),
    # JSON just below the limit on values, and far above it but below the limit on bytes.
    ("lists.json", repeated(b"[", b"[],", 199_000, b"[]]"), "not a list of 199001"),
    ("lists-48-MB.json", repeated(b"[", b"[],", 15_900_000, b"[]]"), "31,800,002 values"),
    ("mistakes.json", numbered(_TOPOLOGY, b'"k%d": 1', 398_000, b"}"), "more errors"),
    (
        "components.json",
        numbered(_TOPOLOGY + b'"components": {', b'"k%d": {"kind": 5}', 199_000, b"}}"),
        "must be spout, bolt or acker, not 5",
    ),
    (
        "names.json",
        numbered(_CLUSTER + b'"machines": [{"type": "a", "names": [', b"%d", 398_000, b"]}]}"),
        "must be text, not 0",
    ),
    ("string.json", repeated(_TOPOLOGY + b'"fanout": "', b"x", 47_000_000, b'"}'), "must be copy"),
    ("escapes.json", repeated(_TOPOLOGY + b'"fanout": "', b"\\n", 23_000_000, b'"}'), "be copy"),
    ("digits.json", repeated(b'{"version": ', b"1", 5_000_000, b"}"), "more than 4300 digits"),
    ("open.json", repeated(b"", b"[", 390_000, b""), "nested more than 60 deep"),
]
