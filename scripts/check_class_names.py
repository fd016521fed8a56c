"""Fail where two classes in ``src/`` have one name: a name means one thing in the whole project.

``scripts/duplicate_class_names.txt`` lists names that are still used more than once; it only gets
shorter.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = Path(__file__).with_name("duplicate_class_names.txt")


def main() -> int:
    allowed = set(ALLOWED.read_text(encoding="utf-8").split()) if ALLOWED.exists() else set()
    duplicates = duplicate_classes(sorted((ROOT / "src").rglob("*.py")))
    for name, places in duplicates.items():
        if name not in allowed:
            print(f"the class name {name} is used more than once: {', '.join(places)}")
    for name in sorted(allowed - set(duplicates)):
        print(f"{name} is unique now and can go from scripts/{ALLOWED.name}")
    return int(not set(duplicates) <= allowed)


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
