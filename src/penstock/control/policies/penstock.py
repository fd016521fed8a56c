"""``penstock``: one right step, in time.

Demand is forecast with how wrong that may become (:mod:`penstock.control.forecast`); what to carry
is the step that costs least together with the steps that will follow
(:mod:`penstock.control.step_choice`). A change costs time over the latency target: its pause, and
until what waited meanwhile is drained. So steps come with room, and a plan lasts as long as it
pays. The price of that time rises where more of it than allowed was spent.

- At the end of five minutes it changes if that is cheaper than to wait for five more.
- When demand and backlog have been over the plan for ``confirm_s`` without a break it grows: a
  shorter spike is waited out. Where rates are steady within five minutes and the overload is what
  a forecast may be wrong by, 20 s are enough.
- It never shrinks while a backlog drains; with ``survive``, so many of the strongest machines may
  be lost.

A turn that ends no bin of five minutes costs a few comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, isnan, log
from typing import Any, ClassVar

from penstock.control.decision import STAY, Proposal
from penstock.control.forecast import BIN_S, Forecast
from penstock.control.observation import Observation
from penstock.control.policy import Setting, kept_since
from penstock.control.step_choice import Step, StepPrice, best_step

#: Time over the target is counted over about a day, beginning with what is allowed for a quarter.
_REMEMBERED_S = 86_400.0
#: How far the price of a change may move from what it is set to.
_CHEAPEST, _DEAREST = 1.0, 8.0
#: Overload counts once what waits is so much of what may, as a part.
_WORTH_IT = 0.5
#: What drains within so many seconds is waited for.
_DRAINS_S = 600.0
#: Demand off its forecast by no more standard deviations is no spike, and is confirmed for so long.
_LIKELY, _LIKELY_FOR_S = 2.5, 20.0
#: Part that a moment must tell of its five minutes.
_TELLS = 0.75
#: Bins after which enough is known of demand to shrink.
_KNOWN = 12
#: A gap this long in the observations is a clock that jumped, or a watcher that was off.
_JUMP_S = 10 * BIN_S


@dataclass(frozen=True)
class PenstockMemory:
    """What the policy remembers."""

    forecast: Forecast = field(default_factory=Forecast.empty)
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
    new_bin: bool = False


@dataclass(frozen=True, slots=True)
class PenstockPolicy:
    """Capacity for the forecast peaks, with as few changes as pay."""

    name: ClassVar[str] = "penstock"
    summary: ClassVar[str] = "forecasts peaks and changes the plan when a change pays"
    paper: ClassVar[str] = ""

    price_s: float = field(
        default=9.0,
        metadata={"help": "what a second over the target is worth: all machines for so many"},
    )
    over_target: float = field(
        default=0.0065, metadata={"help": "part of the time that may be over the latency target"}
    )
    drain_s: float = field(
        default=60.0, metadata={"help": "seconds in which a backlog is to be drained"}
    )
    confirm_s: float = field(
        default=50.0, metadata={"help": "seconds of overload without a break before it counts"}
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
        if not memory.forecast.bins:
            return STAY, memory
        wanted = self._urgent(seen, memory, setting)
        if not wanted.wants_change and memory.new_bin:
            wanted = self._planned(seen, memory, setting)
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
            waited = recent[-2][2] if len(recent) > 1 else 0.0
            is_over = max(seen.waiting, waited) > setting.latency_target_s * offered
            over_s, judged_s = over_s * older + passed * is_over, judged_s * older + passed
        if seen.time_s < memory.ends_s:
            return replace(
                memory, tuples=tuples, seconds=seconds, last_s=seen.time_s, recent=recent,
                over_s=over_s, judged_s=judged_s, new_bin=False,
            )  # fmt: skip
        mean = tuples / seconds if seconds >= 0.5 * BIN_S else float("nan")
        forecast, ends_s = memory.forecast, memory.ends_s
        newest = recent[-1][1] if recent else float("nan")
        while ends_s <= seen.time_s:
            if forecast.bins or not isnan(mean):
                forecast = forecast.seen(mean, newest)
            ends_s += BIN_S
        return PenstockMemory(
            forecast, 0.0, 0.0, ends_s, seen.time_s, recent, over_s, judged_s, True
        )

    def _dearness(self, memory: PenstockMemory) -> float:
        """Changes are dearer where more time than allowed was over the target."""
        prior_s = _REMEMBERED_S / 8
        share = (memory.over_s + self.over_target * prior_s) / (memory.judged_s + prior_s)
        return min(_DEAREST, max(_CHEAPEST, (share / self.over_target) ** 2))

    def _best(
        self,
        memory: PenstockMemory,
        carries: float,
        off: float,
        setting: Setting,
        waiting_s: float = 0.0,
    ) -> Step:
        """In the bin that has begun, whose rate is off its forecast by so much, a log."""
        price = StepPrice(
            self.price_s * self._dearness(memory), setting.pause_s, setting.latency_target_s,
            self.confirm_s, BIN_S,
        )  # fmt: skip
        path = memory.forecast.path()
        planner = setting.planner
        return best_step(
            carries, path, off, memory.forecast.errors(), price, planner.least_about,
            planner.bound_per_s, waiting_s,
        )  # fmt: skip

    # -- deciding -----------------------------------------------------------------------------

    def _urgent(self, seen: Observation, memory: PenstockMemory, setting: Setting) -> Proposal:
        """Grow now, because demand and backlog have been too much for long enough."""
        carries = setting.carries_per_s(seen.placement)
        _, rate, backlog = memory.recent[-1]
        if rate + backlog / self.drain_s <= carries:
            return STAY
        forecast_per_s = float(memory.forecast.path()[0])
        confirm_s = self.confirm_s
        if self._is_likely(memory, forecast_per_s):
            confirm_s = _LIKELY_FOR_S
        elif backlog < _WORTH_IT * setting.latency_target_s * rate:
            return STAY  # nobody is late yet
        latest = [one for one in memory.recent if one[0] >= seen.time_s - confirm_s - 1e-6]
        if latest[0][0] > seen.time_s - confirm_s + 1e-6:
            return STAY
        if min(r + b / self.drain_s for _, r, b in latest) <= carries:
            return STAY
        if backlog <= (carries - rate) * _DRAINS_S:
            return STAY  # it drains soon without
        # What has been there for all that time, without a spike on top.
        now = _lower_median([r for _, r, _ in latest])
        step = self._best(memory, carries, log(now / forecast_per_s), setting, backlog / now)
        if step.saves_s <= 0.0 or step.carry_per_s <= carries:
            return STAY
        return Proposal(
            f"demand and backlog were over what the plan carries for {confirm_s:g} s",
            carry_per_s=self._surviving(step.carry_per_s, setting),
            evidence=(("offered", now), ("backlog", backlog), ("carries", carries)),
        )

    def _is_likely(self, memory: PenstockMemory, forecast_per_s: float) -> bool:
        """Whether the last rates are no spike: within what errors of the forecast usually are, and
        where moments tell of minutes."""
        since_s = memory.recent[-1][0] - _LIKELY_FOR_S - 1e-6
        off = log(
            _lower_median([r for at, r, _ in memory.recent if at >= since_s]) / forecast_per_s
        )
        usual = memory.forecast.errors().next_deviation
        return memory.forecast.moment_tells > _TELLS and off <= _LIKELY * usual

    def _planned(self, seen: Observation, memory: PenstockMemory, setting: Setting) -> Proposal:
        """At the end of a bin: what the next hours need."""
        carries = setting.carries_per_s(seen.placement)
        _, offered, backlog = memory.recent[-1]
        if offered > carries:
            return STAY  # once that is confirmed
        step = self._best(memory, carries, memory.forecast.begun(), setting)
        need = self._surviving(step.carry_per_s, setting)
        evidence = (("offered", offered), ("best", step.carry_per_s), ("carries", carries))
        if step.saves_s <= 0.0:
            return STAY
        if need > carries:
            return Proposal("demand will pass what the plan carries", need, evidence=evidence)
        if backlog <= offered and memory.forecast.bins >= _KNOWN:
            return Proposal("fewer machines carry the forecast", need, evidence=evidence)
        return STAY

    def _surviving(self, rate_per_s: float, setting: Setting) -> float:
        """The same with so many of the strongest machines lost."""
        if not self.survive:
            return rate_per_s
        return rate_per_s + self.survive * setting.planner.strongest_per_s


def _lower_median(values: list[float]) -> float:
    """Of an even number the lower one of the two in the middle: half a minute is no level."""
    return sorted(values)[(len(values) - 1) // 2]
