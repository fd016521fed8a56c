"""Which clocks are off, told from machines that came late or left early."""

from __future__ import annotations

from penstock.telemetry.quality import HostSpan, Quality, skewed_clocks

WINDOW_MS = 10_000


def spans(run: str = "r", **ends: tuple[float, float]) -> list[HostSpan]:
    """First and last report of each host, in seconds."""
    return [
        HostSpan(run, host, int(1000 * first), int(1000 * last), WINDOW_MS)
        for host, (first, last) in ends.items()
    ]


def test_a_clock_that_is_ahead_is_so_at_both_ends() -> None:
    found = skewed_clocks(spans(a=(10, 1000), b=(12, 1001), c=(70, 1060), d=(11, 1000)))
    # Medians 11.5 and 1000.5: ahead by 58.5 s and 59.5 s.
    assert found == {"c": 59.0}


def test_a_clock_that_is_behind_counts_below_zero() -> None:
    found = skewed_clocks(spans(a=(10, 1000), b=(10, 1000), c=(-110, 880)))
    assert found == {"c": -120.0}


def test_a_machine_that_came_late_or_left_early_has_a_good_clock() -> None:
    assert skewed_clocks(spans(a=(10, 1000), b=(500, 1000), c=(10, 400), d=(10, 1000))) == {}
    # Came late and left late, by unlike amounts.
    assert skewed_clocks(spans(a=(10, 1000), b=(10, 1000), c=(300, 1060))) == {}


def test_a_window_and_a_half_is_no_skew() -> None:
    assert skewed_clocks(spans(a=(10, 1000), b=(10, 1000), c=(25, 1015))) == {}
    assert skewed_clocks(spans(a=(10, 1000), b=(10, 1000), c=(25.1, 1015.1))) == {"c": 15.1}


def test_two_hosts_cannot_tell_whose_clock_is_off() -> None:
    assert skewed_clocks(spans(a=(10, 1000), b=(110, 1100))) == {}


def test_each_run_is_judged_by_itself() -> None:
    early = spans("early", a=(10, 1000), b=(10, 1000), c=(10, 1000))
    later = spans("later", a=(5000, 9000), b=(5000, 9000), c=(5000, 9000), d=(5090, 9090))
    assert skewed_clocks([*early, *later]) == {"d": 90.0}
    assert skewed_clocks([]) == {}


def test_the_report_is_in_a_stable_order() -> None:
    quality = Quality(
        records_in=10, kept=7, set_aside={"not JSON": 1, "duplicate": 2},
        windows={"used": 6, "baseline": 1}, costs_known=1, costs_seen=2, time_covered=0.9,
        clocks_ahead_s={"h2": 1.0, "h1": 2.0},
    ).to_dict()  # fmt: skip
    assert list(quality["set_aside"]) == ["duplicate", "not JSON"]  # type: ignore[call-overload]
    assert list(quality["windows"]) == ["baseline", "used"]  # type: ignore[call-overload]
    assert list(quality["clocks_ahead_s"]) == ["h1", "h2"]  # type: ignore[call-overload]
