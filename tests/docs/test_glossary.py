"""The glossary explains every noun in the names of the model and of ``import penstock``."""

from __future__ import annotations

import ast
import re

from tests.docs.commands import ROOT

import penstock

MODEL = ROOT / "src" / "penstock" / "model"
#: Words in names that mean here what they mean everywhere.
PLAIN = {
    *("basis", "cpu", "field", "flat", "hottest", "input", "kind", "least", "load", "local"),
    *("measure", "output", "problem", "ran", "relative", "type", "what"),
}


def entries() -> list[str]:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)[2:]


def test_every_noun_of_a_public_name_is_explained():
    classes = [
        node.name
        for file in MODEL.rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    # Functions are verbs.
    public = [name for name in penstock.__all__ if name[0].isupper()]
    explained = {word for entry in entries() for word in re.findall(r"[a-z]+", entry.lower())}
    missing = {
        word
        for name in (*classes, *public)
        for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", name).lower())
        if {word, word.removesuffix("s"), f"{word}s"}.isdisjoint(explained | PLAIN)
    }
    assert missing == set()


def test_each_word_is_explained_once_and_in_order():
    words = [entry.lower() for entry in entries()]
    assert words == sorted(set(words))
