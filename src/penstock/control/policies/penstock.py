"""``penstock``: one right step, in time.

Demand is forecast as an interval of peaks (:mod:`penstock.control.forecast`). A change costs time
over the latency target: its pause, and until what waited meanwhile is drained. So a plan should
last, and how long is the trade of lot sizing (Silver and Meal, Production and Inventory Management
14, 1973):
for each reach ahead and each chance that demand stays within, what is carried until then plus the
cost of a change over that time, and of another where it does not stay within; what costs least
together is taken. What a change costs is a price on time over the target: it rises where more time
than allowed was spent there, and falls where less was.

- It grows when the next ten minutes will rather need more than the plan carries than not, or when
  demand and backlog have been over it for ``confirm_s`` without a break: a shorter spike is waited
  out.
- It shrinks when that saves more than a change costs, never while a backlog drains.
- What is carried always has room to drain the pause of a change within ``drain_s``, and, with
  ``survive``, for so many of the strongest machines to be lost.

A turn that ends no bin of five minutes costs a few comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, isnan
from typing import Any, ClassVar

import numpy as np

from penstock.control.decision import STAY, Proposal
from penstock.control.forecast import BIN_S, REACHES, Forecast
from penstock.control.observation import Observation
from penstock.control.policy import Setting, kept_since

#: Chances that demand stays within a peak, and which of them says that a change is due.
_CHANCES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
_DUE = _CHANCES.index(0.5)
#: The reach, 10 minutes, at which it is due; and the shortest that a change is made for.
_SOON, _FIRST_PLANNED = 1, 2
#: A surprise is over the target as long as so many changes that were made in time.
_SURPRISE = 2.0
_MINUTES = np.array(REACHES)[_FIRST_PLANNED:, None] * BIN_S / 60.0
#: Time over the target is counted over about a day, beginning with what is allowed for a quarter.
_REMEMBERED_S = 86_400.0
#: How far the price of a change may move from what it is set to.
_CHEAPEST, _DEAREST = 0.5, 4.0
#: How far a forecast may be above the highest rate so far, and above the newest.
_ABOVE_HIGHEST, _ABOVE_NOW = 1.15, 1.4
#: Who grows again within an hour saw too little coming: it grows by at least so much.
_AGAIN_S, _AGAIN = 3600.0, 1.3
#: A gap this long in the observations is a clock that jumped, or a watcher that was off.
_JUMP_S = 10 * BIN_S


@dataclass(frozen=True)
class Outlook:
    """What the forecast says, worked out once for each bin. Rates are tuples/s."""

    #: What a change made now is to carry.
    need: float = 0.0
    #: The same with what changes cost.
    cost: float = 0.0
    #: Passed within ten minutes as likely as not.
    soon: float = 0.0


@dataclass(frozen=True)
class PenstockMemory:
    """What the policy remembers."""

    forecast: Forecast = field(default_factory=Forecast.empty)
    outlook: Outlook = Outlook()
    #: Offered tuples and seconds of the bin that is being filled, and when it ends.
    tuples: float = 0.0
    seconds: float = 0.0
    ends_s: float = float("-inf")
    last_s: float = float("nan")
    #: Time, offered rate and backlog of the last minute.
    recent: tuple[tuple[float, ...], ...] = ()
    #: Seconds over the latency target, and all seconds, the older counting less.
    over_s: float = 0.0
    judged_s: float = 0.0
    #: What the last bins would have shrunk to.
    wishes: tuple[float, ...] = ()
    #: The highest rate of a bin so far, and when the plan was to grow last.
    highest: float = 0.0
    grew_s: float = float("-inf")
    new_bin: bool = False


@dataclass(frozen=True, slots=True)
class PenstockPolicy:
    """Capacity for the forecast peaks, with as few changes as pay."""

    name: ClassVar[str] = "penstock"
    summary: ClassVar[str] = "forecasts peaks and changes the plan when a change pays"
    paper: ClassVar[str] = ""

    change_minutes: float = field(
        default=20.0, metadata={"help": "what a change is worth: all machines for so many minutes"}
    )
    over_target: float = field(
        default=0.006, metadata={"help": "part of the time that may be over the latency target"}
    )
    drain_s: float = field(
        default=60.0, metadata={"help": "seconds in which a backlog is to be drained"}
    )
    confirm_s: float = field(
        default=50.0, metadata={"help": "seconds of overload without a break before it counts"}
    )
    shrink_after: int = field(
        default=6, metadata={"help": "five minutes after one another that must all want to shrink"}
    )
    survive: int = field(default=0, metadata={"help": "machines that may be lost at any moment"})

    def start(self) -> PenstockMemory:
        return PenstockMemory()

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """What to do now, and what to remember."""
        assert isinstance(memory, PenstockMemory)
        memory = self._noted(seen, memory, setting)
        if not (seen.is_known and seen.settled) or len(memory.recent) < 2:
            return STAY, memory
        wanted = self._urgent(seen, memory, setting)
        if not wanted.wants_change and memory.new_bin and memory.forecast.bins:
            wanted = self._planned(seen, memory, setting)
        if (wanted.carry_per_s or 0.0) > setting.carries_per_s(seen.placement):
            memory = replace(memory, grew_s=seen.time_s)
        return wanted, memory

    # -- remembering --------------------------------------------------------------------------

    def _noted(self, seen: Observation, memory: PenstockMemory, setting: Setting) -> PenstockMemory:
        """Telemetry into the bin, and a full bin into the forecast."""
        passed = seen.time_s - memory.last_s
        if isnan(passed) or passed < 0 or passed > _JUMP_S:
            return replace(
                memory, last_s=seen.time_s, ends_s=seen.time_s + BIN_S, tuples=0.0, seconds=0.0,
                recent=(), new_bin=False,
            )  # fmt: skip
        recent, tuples, seconds = memory.recent, memory.tuples, memory.seconds
        over_s, judged_s = memory.over_s, memory.judged_s
        if seen.is_known:
            offered = seen.offered
            tuples, seconds = tuples + offered * passed, seconds + passed
            recent = kept_since(recent, seen.time_s - self.confirm_s)
            recent = (*recent, (seen.time_s, offered, seen.waiting))
            older = exp(-passed / _REMEMBERED_S)
            # Tuples that wait: what is late because a machine is lost is no reason to change less.
            is_over = seen.waiting > setting.latency_target_s * offered
            over_s, judged_s = over_s * older + passed * is_over, judged_s * older + passed
        if seen.time_s < memory.ends_s:
            return replace(
                memory, tuples=tuples, seconds=seconds, last_s=seen.time_s, recent=recent,
                over_s=over_s, judged_s=judged_s, new_bin=False,
            )  # fmt: skip
        mean = tuples / seconds if seconds >= 0.5 * BIN_S else float("nan")
        forecast, ends_s = memory.forecast, memory.ends_s
        while ends_s <= seen.time_s:
            if forecast.bins or not isnan(mean):
                forecast = forecast.seen(mean)
            ends_s += BIN_S
        highest = max(memory.highest, float(forecast.past[-1])) if forecast.bins else 0.0
        noted = PenstockMemory(
            forecast, Outlook(), 0.0, 0.0, ends_s, seen.time_s, recent, over_s, judged_s,
            memory.wishes, highest, memory.grew_s, True,
        )  # fmt: skip
        if not forecast.bins:
            return noted
        outlook = self._outlook(noted)
        wishes = (*memory.wishes, outlook.need)[-self.shrink_after :]
        return replace(noted, outlook=outlook, wishes=wishes)

    def _outlook(self, memory: PenstockMemory) -> Outlook:
        """The reach and the chance for which carrying and changing cost least together."""
        peaks = memory.forecast.peaks_within(_CHANCES)
        # What was never seen is believed only a little above what was.
        unseen = max(memory.highest * _ABOVE_HIGHEST, float(memory.forecast.past[-1]) * _ABOVE_NOW)
        peaks = np.minimum(peaks, unseen)
        changes = 1.0 + _SURPRISE * (1.0 - np.array(_CHANCES))
        planned = peaks[_FIRST_PLANNED:]
        costs = planned * (1.0 + self._price_minutes(memory) * changes / _MINUTES)
        best = int(np.argmin(costs))
        return Outlook(
            float(planned.flat[best]), float(costs.flat[best]), float(peaks[_SOON, _DUE])
        )

    def _price_minutes(self, memory: PenstockMemory) -> float:
        """What a change costs: more where more time than allowed was over the target."""
        prior_s = _REMEMBERED_S / 4
        share = (memory.over_s + self.over_target * prior_s) / (memory.judged_s + prior_s)
        factor = share / self.over_target
        return self.change_minutes * min(_DEAREST, max(_CHEAPEST, factor))

    # -- deciding -----------------------------------------------------------------------------

    def _urgent(self, seen: Observation, memory: PenstockMemory, setting: Setting) -> Proposal:
        """Grow now, because demand and backlog have been too much for long enough."""
        carries = setting.carries_per_s(seen.placement)
        _, rate, backlog = memory.recent[-1]
        if rate + backlog / self.drain_s <= carries:
            return STAY
        began_s, _, backlog_then = memory.recent[0]
        if seen.time_s - began_s < self.confirm_s - 1e-6:
            return STAY
        if min(r + b / self.drain_s for _, r, b in memory.recent) <= carries:
            return STAY
        if rate < carries and backlog < backlog_then:
            return STAY  # it drains, if slower than it should
        # What has been there for all that time, without a spike on top.
        steady = float(np.median([r for _, r, _ in memory.recent]))
        need = max(memory.outlook.need, self._with_room(steady, setting) + backlog / self.drain_s)
        if steady > carries:  # what waits without more coming is no surge: a lost machine, say
            need = max(need, self._again(seen, memory, carries))
        return Proposal(
            f"demand and backlog were over what the plan carries for {self.confirm_s:g} s",
            carry_per_s=self._surviving(need, setting),
            evidence=(("offered", steady), ("backlog", backlog), ("carries", carries)),
        )

    def _planned(self, seen: Observation, memory: PenstockMemory, setting: Setting) -> Proposal:
        """At the end of a bin: what the next hours need."""
        carries = setting.carries_per_s(seen.placement)
        _, offered, backlog = memory.recent[-1]
        outlook = memory.outlook
        evidence = (
            ("offered", offered), ("forecast peak", outlook.need), ("soon", outlook.soon),
            ("carries", carries),
        )  # fmt: skip
        room = self._with_room(offered, setting)
        if outlook.soon > carries:
            again = self._again(seen, memory, carries)
            need = self._surviving(max(outlook.need, outlook.soon, room, again), setting)
            return Proposal(
                "demand is about to pass what the plan carries", need, evidence=evidence
            )
        if len(memory.wishes) < self.shrink_after:
            return STAY
        # A forecast that is low by chance is not one that is low: the last ones must agree.
        need = self._surviving(max(*memory.wishes, outlook.need, room), setting)
        changes = outlook.cost / max(outlook.need, 1e-9)
        if backlog <= offered and need * changes < carries:
            return Proposal("fewer machines carry the forecast", need, evidence=evidence)
        return STAY

    def _again(self, seen: Observation, memory: PenstockMemory, carries: float) -> float:
        """The least that a growth soon after another one is to carry, within what was seen so far.

        Growing by a factor instead of creeping: a surge takes a few steps, however far it goes.
        """
        if seen.time_s - memory.grew_s > _AGAIN_S:
            return 0.0
        unseen = max(memory.highest * _ABOVE_HIGHEST, seen.offered * _ABOVE_NOW)
        return min(carries * _AGAIN, unseen)

    def _with_room(self, rate_per_s: float, setting: Setting) -> float:
        """The rate, and what drains the pause of a change within the time for it."""
        waits_s = max(0.0, setting.pause_s - setting.latency_target_s)
        return rate_per_s * (1.0 + waits_s / self.drain_s)

    def _surviving(self, rate_per_s: float, setting: Setting) -> float:
        """The same with so many of the strongest machines lost."""
        if not self.survive:
            return rate_per_s
        return rate_per_s + self.survive * setting.planner.strongest_per_s
