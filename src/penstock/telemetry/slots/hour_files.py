"""Which files hold the samples of each hour of a store, and which records in them do not count."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.model.arrays import IntVector
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.slots.bundles import read_bundle
from penstock.telemetry.slots.columns import Vocabulary, from_arrow
from penstock.telemetry.slots.keys import hour_of, shifted, slot_of
from penstock.telemetry.slots.rates_task import HourSamples, RatesTask
from penstock.telemetry.slots.samples import WindowSettings

#: Partial sums by slot, in the manifest.
SLOTS = "slots"
#: An hour with the files of its samples, and of the hour before where totals need them.
HourFiles = tuple[str, Sequence[str], Sequence[str]]


def samples_by_slot(manifest: Manifest) -> dict[str, list[str]]:
    """Files of each slot, in an order that no batch changes."""
    slots: dict[str, list[str]] = {}
    for key, path in sorted(manifest.parts.get("samples", {}).items()):
        slots.setdefault(slot_of(key), []).append(path)
    return slots


def paths_of_hour(samples: Mapping[str, list[str]], hour: str) -> list[str]:
    return [p for slot, paths in sorted(samples.items()) if hour_of(slot) == hour for p in paths]


def hour_files(manifest: Manifest) -> list[HourFiles]:
    by_slot, totals = samples_by_slot(manifest), bool(manifest.facts.get("totals"))
    return [
        (
            hour,
            paths_of_hour(by_slot, hour),
            paths_of_hour(by_slot, shifted(hour, -1)) if totals else [],
        )
        for hour in sorted({hour_of(slot) for slot in by_slot})
    ]


def hour_samples(
    settings: WindowSettings, manifest: Manifest, hours: Sequence[HourFiles]
) -> HourSamples:
    """These hours, with the records in their files that do not count."""
    names = {hour for hour, _, _ in hours}
    dropped = {} if settings.needs_hours else _dropped(settings.root, manifest, names)
    return HourSamples(settings, hours, dropped)


def _dropped(root: str, manifest: Manifest, hours: Container[str]) -> dict[str, IntVector]:
    by_path: dict[str, set[str]] = {}
    for slot, path in manifest.parts.get(SLOTS, {}).items():
        if hour_of(slot) in hours:
            by_path.setdefault(path, set()).add(slot)
    rows: dict[str, list[IntVector]] = {}
    for path, slots in sorted(by_path.items()):
        vocabulary = Vocabulary()
        table = from_arrow(read_bundle(root, path, {"dropped"})["dropped"], vocabulary)
        wanted = np.isin(table["slot"], [vocabulary.number(slot) for slot in slots])
        for number in np.unique(table["path"][wanted]):
            own = table["row"][wanted & (table["path"] == number)]
            rows.setdefault(vocabulary.words[number], []).append(own)
    return {path: np.sort(np.concatenate(parts)) for path, parts in rows.items()}


def rates_of(root: str, manifest: Manifest, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The table of rates as a commit has it, hour by hour and without Spark."""
    settings = WindowSettings(
        root=root,
        warm_up_s=float(manifest.facts.get("warm_up_s", 0.0)),
        window_s=float(manifest.facts.get("window_s", 0.0)),
        totals=bool(manifest.facts.get("totals")),
    )
    computed = set(manifest.parts.get("hours", {}))
    hours = [hour for hour in hour_files(manifest) if hour[0] in computed]
    task = RatesTask(hour_samples(settings, manifest, hours), schema)
    for number in range(len(hours)):
        yield from task.run([pa.record_batch([pa.array([number])], ["id"])])
