"""What tuples cost: a profile's file, read again whenever somebody has written it anew.

The file may be a profile that does not change, or one that ``penstock profile --follow --out``
keeps up to date. New costs are taken over only when they differ by more than their errors: plans
that are known stay known otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from penstock.engines.base import Say
from penstock.errors import Finding, InputError
from penstock.files.store import load
from penstock.model.profile import Profile
from penstock.telemetry.drift import between_profiles


@dataclass
class CostsFile:
    """The newest costs, as far as they matter."""

    path: Path
    say: Say = lambda _text: None
    _profile: Profile | None = None
    _stamp: tuple[int, int] | None = None

    def profile(self) -> Profile:
        """The same value as before unless costs have changed.

        The first time a file that cannot be read is an error; later the costs from before hold.
        """
        try:
            stat = self.path.stat()
        except OSError as error:
            return self._kept(Finding(f"cannot be read: {error.strerror}", str(self.path)))
        stamp = (stat.st_mtime_ns, stat.st_size)
        if self._profile is not None and stamp == self._stamp:
            return self._profile
        self._stamp = stamp
        try:
            loaded = load(self.path)
        except InputError as error:
            return self._kept(*error.findings)
        if not isinstance(loaded, Profile):
            return self._kept(Finding("is no profile", str(self.path)))
        before = self._profile
        if before is None or self._differs(before, loaded):
            self._profile = loaded if before is None else _with_known(loaded, before)
        assert self._profile is not None  # it was read now or before
        return self._profile

    def _kept(self, *findings: Finding) -> Profile:
        if self._profile is None:
            raise InputError(*findings)
        self.say(f"the costs from before hold: {findings[0]}")
        return self._profile

    def _differs(self, before: Profile, after: Profile) -> bool:
        """Whether costs are known now that were not, or are others for sure."""
        new = [place for place in after.by_place if place not in before.by_place]
        measured = [
            place
            for place, cost in after.by_place.items()
            if place in before.by_place
            and before.by_place[place].extrapolated
            and not cost.extrapolated
        ]
        drifted = [d for d in between_profiles(before, after) if d.drifted]
        if new or measured:
            self.say(f"costs of {len(new) + len(measured)} kinds of work became known")
        for drift in drifted:
            where = f" on {drift.machine_type}" if drift.machine_type else ""
            self.say(
                f"{drift.row}{where}: {drift.measure} is {drift.after:.4g} now, "
                f"not {drift.before:.4g}"
            )
        return bool(new or measured or drifted)


def _with_known(profile: Profile, before: Profile) -> Profile:
    """What was measured before and is not any more, as of machines that are away, still holds."""
    workers = {w.machine_type for w in profile.workers}
    return replace(
        profile,
        costs=(
            *profile.costs,
            *(c for p, c in before.by_place.items() if p not in profile.by_place),
        ),
        workers=(*profile.workers, *(w for w in before.workers if w.machine_type not in workers)),
    )
