"""Failures found: one folder each, with the files, the command and what it said."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from penstock_bench.benchmarks.fuzz.drawing import FuzzCase, described
from penstock_bench.benchmarks.fuzz.judge import Fault
from penstock_bench.benchmarks.fuzz.server import CommandOutcome
from penstock_bench.benchmarks.fuzz.verbs import DrawableVerb

_CASE = "case.json"
#: Of failures that look alike.
_MOST_KEPT = 3


@dataclass
class Failures:
    """What was found so far, by what it looks like; safe to use from several threads."""

    folder: Path
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    #: Where the first of each is, and its command.
    first: dict[str, tuple[Path, str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, case: FuzzCase, fault: Fault, outcome: CommandOutcome) -> Path | None:
        """The folder of this failure; none where enough like it are kept."""
        signature = f"{case.verb.name}: {fault.signature}"
        with self.lock:
            self.counts[signature] += 1
            self.kinds[fault.kind] += 1
            if self.counts[signature] > _MOST_KEPT:
                return None
            words = re.sub(r"[^a-z0-9]+", "-", f"{case.verb.name} {fault.kind}".lower())[:60]
            place = self.folder / f"seed-{self.seed}-case-{case.number}-{words}"
            self.first.setdefault(signature, (place, described(case)))
        write_case(place, case, fault, outcome, self.seed)
        return place

    def is_new(self, case: FuzzCase, fault: Fault) -> bool:
        with self.lock:
            return not self.counts[f"{case.verb.name}: {fault.signature}"]


def write_case(
    place: Path, case: FuzzCase, fault: Fault, outcome: CommandOutcome, seed: int
) -> None:
    """Everything that is needed to see the failure again: ``sh command.sh`` in the folder."""
    shutil.rmtree(place, ignore_errors=True)
    for name, data in case.files.items():
        path = place / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    place.mkdir(parents=True, exist_ok=True)
    drawn = {"verb": case.verb.name, "arguments": case.arguments, "damaged": case.damaged}
    (place / _CASE).write_text(json.dumps(drawn), encoding="utf-8")
    command = f"cd files && penstock {shlex.join(case.arguments)}\n"
    (place / "command.sh").write_text(command, encoding="utf-8", errors="surrogateescape")
    (place / "stdout.txt").write_bytes(outcome.stdout)
    (place / "stderr.txt").write_bytes(outcome.stderr)
    told = [
        f"{fault.kind}: {fault.seen}",
        f"seed {seed}, case {case.number}, {outcome.way}",
        f"exit {outcome.code}, {outcome.seconds:.1f} s, {outcome.cpu_s:.1f} s of CPU",
        f"{outcome.memory_mb:.0f} MB",
        f"damaged: {', '.join(case.damaged) or 'nothing'}",
    ]
    (place / "what.txt").write_text("\n".join(told) + "\n", encoding="utf-8", errors="replace")


def read_case(place: Path, number: int, verbs: Iterable[DrawableVerb]) -> FuzzCase | None:
    """A case as :func:`write_case` kept it; none where it is gone, or the verb is."""
    try:
        drawn = json.loads((place / _CASE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    verb = next((v for v in verbs if v.name == drawn["verb"]), None)
    if verb is None:
        return None
    home = place / "files"
    files = {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }
    # Nothing is known of how the files were before, so none is put back to make it smaller.
    return FuzzCase(number, verb, tuple(drawn["arguments"]), files, (), {})
