"""Files damaged at random: refused or accepted, but never our bug (exit code 70)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.bases import base
from tests.corpus.breaking import COMMANDS, FILES, Place, put, text_of
from tests.corpus.plan_base import sealed

_JUNK: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**25, 10**400, float("nan"), float("inf"), 1e308, 5e-324),
    *("", " ", "a/b", "\n", "x" * 500, "é→", "${a}", "1", "M1", "split", "\x1b[31m"),
    *([], [[]], [None], {}, {"": 1}, {"a": {}}, [1, "a", {}], {"a/b": []}, ["a", "a"]),
]


def places(document: Any, at: Place = ()) -> Iterator[Place]:
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in pairs:
        yield (*at, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*at, key))


def verb(kind: str) -> list[str]:
    """The command of the corpus; our own formats are read by ``validate`` alone."""
    ours = kind in ("topology", "cluster", "profile", "plan")
    return ["validate", FILES[kind]] if ours else COMMANDS[kind].split()


def write(kind: str, text: bytes) -> None:
    path = Path(FILES[kind])
    path.parent.mkdir(exist_ok=True)
    for other in ("recorded cluster", "recorded topologies"):
        if kind.startswith("recorded"):
            Path(FILES[other]).write_text(text_of(base(other), other), encoding="utf-8")
    path.write_bytes(text)


@pytest.mark.parametrize("kind", COMMANDS)
def test_any_value_in_any_place_is_refused_or_accepted(run, kind):
    dice = random.Random(kind)
    for _ in range(30):
        document = base(kind)
        for _ in range(dice.choice([1, 1, 2, 4])):
            at = dice.choice(list(places(document)))
            put(document, at, deepcopy(dice.choice(_JUNK)))
        if kind == "plan" and dice.random() < 0.5:
            document = _resealed(document)
        text = text_of(document, kind)
        write(kind, text.encode())
        code, _, err = run(*verb(kind))
        assert code in (0, 1), f"{err}\n{text}"
        assert "Traceback" not in err
        assert "bug in penstock" not in err


def _resealed(document: Any) -> Any:
    """With fingerprints that fit, where there is still enough to take them of."""
    try:
        return sealed(document)
    except (KeyError, TypeError, AttributeError):
        return document


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_file_cut_anywhere_is_refused_or_accepted(run, kind):
    whole = text_of(base(kind), kind).encode()
    for end in range(0, len(whole), len(whole) // 20):
        write(kind, whole[:end])
        code, _, err = run(*verb(kind))
        assert code in (0, 1), err
        assert "Traceback" not in err


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_file_with_any_byte_changed_is_refused_or_accepted(run, kind):
    dice = random.Random(kind)
    for _ in range(20):
        data = bytearray(text_of(base(kind), kind).encode())
        for _ in range(dice.choice([1, 3, 10])):
            data[dice.randrange(len(data))] = dice.randrange(256)
        write(kind, bytes(data))
        code, _, err = run(*verb(kind))
        assert code in (0, 1), err
        assert "Traceback" not in err
