"""The page of a measured profile: what it says of traffic between instances."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import profile

from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.profile import StreamMeasure
from penstock.report.page.markdown import to_markdown
from penstock.report.pages.profile import profile_page
from penstock.telemetry.findings import Measurement, TableFindings
from penstock.telemetry.quality import Quality

TRAFFIC = InstanceTraffic((("a", (1,)), ("b", (2,))), ((1, 2, 9.0),))
NOTHING = TableFindings((), {}, (), (), (), (), (), ())
QUALITY = Quality(
    records_in=0, kept=0, set_aside={}, windows={}, costs_known=0, costs_seen=0, time_covered=0.0,
    clocks_ahead_s={}, traffic_estimated=0.0,
)  # fmt: skip


def page(traffic: InstanceTraffic) -> str:
    measured = replace(
        profile(a=1.0, b=1.0), streams=(StreamMeasure("a", "b"),), traffic=(traffic,)
    )
    return to_markdown(profile_page(Measurement(measured, NOTHING, QUALITY, ())), level=2)


def test_pairs_that_are_left_out_are_told():
    # 9 listed, 1 not.
    text = page(replace(TRAFFIC, pairs_left_out=3, left_out_per_s=1.0, topology="wc"))
    assert "Traffic between instances of wc: 1 pairs; 3 others, 10.0 % of the tuples" in text


def test_complete_traffic_needs_no_words():
    assert "Traffic between" not in page(TRAFFIC)
