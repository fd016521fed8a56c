"""Files that are not what they are said to be: syntax, encoding, encryption of a kind."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator

from tests.corpus.bases import base
from tests.corpus.breaking import Broken, broken, text_of

_YAML = ("topology", "cluster", "profile", "terms", "scenario", "sweep")
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def unreadable() -> Iterator[Broken]:
    yield from _cut()
    yield from _binary()
    yield from _other_shapes()
    yield from _yaml_only()
    yield from _json_only()


def _cut() -> Iterator[Broken]:
    """Files of which only the beginning arrived. JSON cut anywhere is no JSON."""
    text = text_of(base("plan"), "plan")
    for tenth in range(1, 10):
        end = len(text) * tenth // 10
        yield Broken(
            f"{tenth}0 % of a plan", "plan", "plan.json", text[:end].encode(), "plan.json:", "not"
        )
    for kind in _YAML:
        # Cut inside a quoted text, so that what is left is no YAML, wherever that is.
        whole = text_of(base(kind), kind)
        for tenth in (3, 6, 9):
            end = whole.index("\n", len(whole) * tenth // 10)
            cut = whole[:end] + '\nx: "never clo'
            line = cut.count("\n") + 1
            yield Broken(
                f"{tenth}0 % of a {kind}",
                kind,
                f"{kind}.yaml",
                cut.encode(),
                f"{kind}.yaml:{line}",
                "not YAML",
            )


def _binary() -> Iterator[Broken]:
    noise = random.Random(7).randbytes(4000)
    picture, packed = "not UTF-8 text (byte 0x89", "not UTF-8 text (byte 0x8b"
    for kind in ("topology", "plan", "flux", "storm"):
        yield broken(f"noise as {kind}", kind, b"\xff" + noise, 1, "", "not UTF-8 text (byte 0xff")
        yield broken(f"a picture as {kind}", kind, _PNG, 1, "", picture)
    whole = text_of(base("topology"), "topology")
    yield broken("gzip", "topology", gzip.compress(whole.encode(), mtime=0), 1, "", packed)
    yield broken("UTF-16", "topology", whole.encode("utf-16"), 1, "", "not UTF-8 text")
    yield broken("UTF-16 without mark", "topology", whole.encode("utf-16-le"), 1, "", "NUL")
    yield broken("Latin-1", "topology", "a: 1\nb: café\n".encode("latin-1"), 2, "", "0xe9")
    yield broken("a NUL", "topology", whole.replace("lines", "li\0nes", 1), 12, "", "NUL character")
    yield broken("a bell", "cluster", "name: a\nb: \x07\n", 2, "", "character #x07 is not allowed")
    half = '{\n "format": "\\ud83d\\ude00 \\\\ud800",\n "a": "\\udc00"}'
    yield broken("half a surrogate", "plan", half, 3, "", "half a character (\\udc00)")


def _other_shapes() -> Iterator[Broken]:
    for kind in ("topology", "cluster", "plan", "flux", "storm", "recorded cluster"):
        yield broken(f"an empty {kind}", kind, b"", 1, "", "is empty")
        yield broken(f"a {kind} of blanks", kind, b" \n\n  \n", 1, "", "is empty")
    for kind in _YAML:
        yield broken(f"a {kind} of comments", kind, "# one\n# two\n", None, "", "is empty")
        yield broken(f"a {kind} that is a list", kind, "- a\n- b\n", 1, "", "not a list of 2")
        yield broken(f"a {kind} that is a word", kind, "hello\n", 1, "", 'not "hello"')
        yield broken(f"a {kind} without format", kind, "name: a\n", 1, "", "has no format field")
    yield broken("a plan that is a list", "plan", "[]", 1, "", "not an empty list")
    yield broken("a plan that is null", "plan", "null", 1, "", "is empty")
    yield broken("topologies that are no list", "recorded topologies", "{}", 1, "", "be a list")
    yield broken("no topologies", "recorded topologies", "[]", 1, "", "no topology starts")
    yield broken("no Flux", "flux", "name: a\n", None, "", "is not a Flux topology")
    yield broken("Flux of a cluster", "flux", text_of(base("cluster"), "cluster"), None, "", "Flux")
    java = "name: a\ntopologySource:\n  className: org.example.Main\n"
    yield broken("Flux built by Java", "flux", java, 2, "topologySource", "built by Java code")
    itself = "name: a\nspouts: []\nincludes:\n- file: flux.yaml\n"
    yield broken("Flux in itself", "flux", itself, 4, "includes[0].file", "includes itself")
    gone = itself.replace("flux.yaml", "gone.yaml")
    yield broken("Flux without include", "flux", gone, 4, "includes[0].file", "not beside this")
    out = itself.replace("flux.yaml", "../../etc/passwd")
    yield broken("Flux out of its folder", "flux", out, 4, "includes[0].file", "not beside this")


def _yaml_only() -> Iterator[Broken]:
    top = "format: penstock/topology\n"
    cases: list[tuple[str, str, int, str, str]] = [
        ("a tab", "components:\n\tsplit: {}\n", 3, "", "found character that cannot start"),
        ("two documents", "---\nname: b\n", 2, "", "holds a second document (---)"),
        ("a key twice", "name: a\nname: b\n", 3, "name", '"name" is given twice'),
        ("a nested key twice", "a:\n  b: 1\n  b: 2\n", 4, "a.b", '"b" is given twice'),
        ("an open list", "a: [1, 2\n", 3, "", "not YAML"),
        ("an open mapping", "a: {b: 1\n", 3, "", "not YAML"),
        ("bad indentation", "a:\n  b: 1\n c: 2\n", 4, "", "not YAML"),
        ("a Python object", "name: !!python/name:os.system\n", 2, "name", "is not allowed"),
        ("a Python call", "name: !!python/object/apply:os.system [id]\n", 2, "name", "not allowed"),
        ("a Python mapping", "name: !!python/object:os.X {a: 1}\n", 2, "name", "is not allowed"),
        ("a binary tag", "name: !!binary aGk=\n", 2, "name", "is not allowed"),
        ("a date tag", "name: !!timestamp 2020-01-01\n", 2, "name", "is not allowed"),
        ("an own tag", "name: !thing {a: 1}\n", 2, "name", 'tag "!thing" is not allowed'),
        ("an alias of nothing", "name: *nobody\n", 2, "name", "*nobody: no such anchor"),
        ("an alias in itself", "name: &a [*a]\n", 2, "name[0]", "*a holds itself"),
        ("a list as key", "[a, b]: 1\n", 2, "", "a key must be a plain word or number"),
        ("a merge of a list", "a: &a [1]\nb: {<<: *a}\n", 3, "b", "<< takes a mapping"),
        ("a merge of a word", "b: {<<: word}\n", 2, "b", "<< takes a mapping"),
        ("a directive nobody knows", "%YAML 9.9\n---\na: 1\n", 2, "", "not YAML"),
    ]
    for name, rest, line, field, message in cases:
        yield broken(name, "topology", top + rest, line, field, message)
    laughs = ['a: &a ["lol", "lol", "lol"]'] + [
        f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    # a is 4 values, each next one 9 times as many and itself: the seventh is over 200,000.
    yield broken("billion laughs", "topology", "\n".join(laughs), 6, "", "more than 200,000 values")
    merged = ["a0: &a0 {x: 1}"] + [
        f"a{i}: &a{i} {{<<: [{f'*a{i - 1}, ' * 9}]}}" for i in range(1, 9)
    ]
    yield broken("merge laughs", "topology", "\n".join(merged), 6, "", "more than 200,000 values")
    chain = ["a0: &a0 [1]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 99)]
    # The top is depth 0, a0's list 1 and its 1 is 2; a59's 1 is 61.
    yield broken("aliases in aliases", "topology", "\n".join(chain), 60, "", "more than 60 deep")
    yield broken("deep lists", "topology", "a: " + "[" * 1000, 1, "", "nested more than 60 deep")
    yield broken("deep blocks", "topology", "- " * 1000, 1, "", "nested more than 60 deep")


def _json_only() -> Iterator[Broken]:
    cases: list[tuple[str, str, int | None, str]] = [
        ("a comma too many", '{\n "a": 1,\n}', 3, "not JSON: "),
        ("single quotes", "{'a': 1}", 1, "not JSON: "),
        ("a comment", "// plan\n{}", 1, "not JSON: "),
        ("two values", "{}\n{}", 2, "not JSON: Extra data"),
        ("an open string", '{"a": "b', 1, "not JSON: "),
        ("a raw line break", '{"a": "b\nc"}', 1, "not JSON: "),
        ("a key twice", '{\n "a": {"b": 1},\n "a": 2\n}', 3, '"a" is given twice'),
        ("a nested key twice", '{"x": 1,\n "a": {"b": 1,\n  "b": 2}}', 3, '"b" is given twice'),
        ("deep lists", "[" * 500 + "]" * 500, None, "nested more than 60 deep"),
        ("bottomless lists", "[" * 200_000, None, "nested more than 60 deep"),
        ("a number of 5000 digits", '{"a": 1,\n "version": ' + "7" * 5000 + "}", 2, "4300 digits"),
    ]
    for name, text, line, message in cases:
        yield broken(f"JSON with {name}", "plan", text, line, "", message)
