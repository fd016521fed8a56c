"""Commands of the operator's that put machines to sleep and wake them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

#: What a hook may take; a machine that has not answered by then has not.
USUAL_WITHIN_S = 60.0


class HookKind(StrEnum):
    SLEEP = "sleep"
    WAKE = "wake"


@dataclass(frozen=True)
class Hooks:
    """Programs with their arguments, by machine and what they do; never through a shell."""

    commands: Mapping[str, Mapping[HookKind, tuple[str, ...]]] = field(default_factory=dict)
    within_s: float = USUAL_WITHIN_S
