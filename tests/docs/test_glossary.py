"""The glossary explains every noun in the names of the model's public classes."""

from __future__ import annotations

import ast
import re

from tests.docs.commands import ROOT

MODEL = ROOT / "src" / "penstock" / "model"
#: Words in names that mean here what they mean everywhere.
PLAIN = {
    *(
        "basis",
        "cpu",
        "field",
        "flat",
        "hottest",
        "input",
        "place",
        "table",
        "kind",
        "least",
        "load",
        "local",
    ),
    *("local", "measure", "output", "place", "ran", "relative", "table", "type", "what"),
}


def entries() -> list[str]:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)[2:]


def test_every_noun_of_the_model_is_explained():
    classes = [
        node.name
        for file in MODEL.rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    explained = {word for entry in entries() for word in re.findall(r"[a-z]+", entry.lower())}
    missing = {
        word
        for name in classes
        for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", name).lower())
        if {word, word.removesuffix("s"), f"{word}s"}.isdisjoint(explained | PLAIN)
    }
    assert missing == set()


def test_each_word_is_explained_once_and_in_order():
    words = [entry.lower() for entry in entries()]
    assert words == sorted(set(words))
