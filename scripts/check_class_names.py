"""Fail where two classes in ``src/`` have one name: a name means one thing in the whole project."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    duplicates = duplicate_classes(sorted((ROOT / "src").rglob("*.py")))
    for name, places in duplicates.items():
        print(f"the class name {name} is used more than once: {', '.join(places)}")
    return int(bool(duplicates))


def duplicate_classes(files: Iterable[Path]) -> dict[str, list[str]]:
    """Class names that are defined more than once, with ``file:line`` of each definition."""
    places: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                shown = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
                places[node.name].append(f"{shown}:{node.lineno}")
    return {name: places[name] for name in sorted(places) if len(places[name]) > 1}


if __name__ == "__main__":
    sys.exit(main())
