"""A store of an older version becomes one of today's, in one commit.

A new version of the store is made here: raise ``FORMAT`` in :mod:`penstock.telemetry.manifest`, and
put what turns the version before into it into ``STEPS``. Until then, and after it, readers and
writers refuse older stores with the command that ends here (``penstock store migrate``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from penstock.errors import Finding, InputError
from penstock.files.document import document_of
from penstock.files.versions import OldFormatWarning
from penstock.telemetry import manifest as manifests
from penstock.telemetry.local_store import LocalStore, newest_commit
from penstock.telemetry.manifest import Manifest, commit_bytes, content_of, manifest_name

#: From a store and the fields of its newest manifest, as the version before wrote them, to the
#: fields as the version after reads them (``number``, ``parts``, ``facts``). A step may write new
#: folders below tables; none of the old ones is changed or deleted, since readers may be at work
#: and the step may be cut off. Folders that the manifest does not name any more go by themselves.
StoreStep = Callable[[Path, dict[str, Any]], dict[str, Any]]


def _from_first_layout(root: Path, content: dict[str, Any]) -> dict[str, Any]:
    from penstock.telemetry.first_layout import from_first_layout

    return from_first_layout(root, content)


#: From a version to the one after it.
STEPS: dict[int, StoreStep] = {1: _from_first_layout}


@dataclass(frozen=True)
class MigrationResult:
    """From which version to which; the same where there was nothing to do."""

    before: int
    after: int
    #: The commit that did it.
    commit: int | None = None


def migrate(store: LocalStore, steps: Mapping[int, StoreStep] | None = None) -> MigrationResult:
    """Bring a store to today's version; the caller is its one writer."""
    steps = STEPS if steps is None else steps
    path = store.root / manifest_name(newest_commit(store.root))
    current = manifests.FORMAT
    content = content_of(commit_bytes(path), str(path))
    before = content["version"]
    if before == current.current:
        return MigrationResult(before, before)
    missing = [version for version in range(before, current.current) if version not in steps]
    if missing:
        message = (
            f"is version {before} of {current.name}, which this Penstock cannot bring to version "
            f"{current.current}; make the store anew from the telemetry"
        )
        raise InputError(Finding(message, str(path)))
    here = {version: partial(step, store.root) for version, step in steps.items()}
    with catch_warnings():
        simplefilter("ignore", OldFormatWarning)
        as_today = replace(current, migrations=here).as_current(document_of(content, str(path)))
    fields = json.loads(json.dumps(as_today.value))
    committed = store.commit(Manifest(content["number"], fields["parts"], fields["facts"]))
    return MigrationResult(before, current.current, committed.number)
