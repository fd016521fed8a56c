"""Versions of formats: a file of an older version becomes one of today's while it is read.

Each format counts its own versions and knows the way from each of them to the next. A file of a
newer version is refused: what it means we cannot know.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from penstock.errors import InputError
from penstock.files.document import ParsedFile

#: The fields of one version as those of the next. Nothing is checked yet: what is not understood
#: stays as it is, and the check after the last step says what is wrong with it.
Migrate: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class OldFormatWarning(UserWarning):
    """A file was of an older version of its format, and was read as one of today's."""


@dataclass(frozen=True)
class FormatVersion:
    """A format's name, the version that is written, and how older ones are read."""

    #: As files say it: ``penstock/plan``.
    name: str
    current: int
    #: From a version to the one after it.
    migrations: Mapping[int, Migrate] = field(default_factory=dict)

    @property
    def oldest(self) -> int:
        """The oldest version that is read."""
        return min(self.migrations, default=self.current)

    @property
    def head(self) -> dict[str, object]:
        """How every document of the format begins."""
        return {"format": self.name, "version": self.current}

    def as_current(self, document: ParsedFile) -> ParsedFile:
        """The document as one of the current version; whatever is no version is left as it is."""
        value = document.value
        if not isinstance(value, dict) or value.get("format") != self.name:
            return document
        version = value.get("version")
        if type(version) is not int or version < self.oldest or version == self.current:
            return document
        if version > self.current:
            raise InputError(document.finding(("version",), self._too_new(version)))
        # What was read stays as it was: a plan's fingerprints are of what stands in its file.
        value = deepcopy(value)
        for step in range(version, self.current):
            value = {**self.migrations[step](value), "version": step + 1}
        message = (
            f"{document.name}: is version {version} of {self.name}, read as version {self.current}"
        )
        warnings.warn(message, OldFormatWarning, stacklevel=2)
        return replace(document, value=value)

    def _too_new(self, version: int) -> str:
        known = f"version {self.current}"
        if self.oldest < self.current:
            known = f"versions {self.oldest} to {self.current}"
        return f"{version} is newer than this Penstock, which knows {known}; upgrade Penstock"
