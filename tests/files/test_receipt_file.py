"""Receipts: written, read back, and refused with a reason wherever they are cut or wrong."""

from __future__ import annotations

import json

import pytest
from tests.builders import all_on, nasiri

from penstock.errors import InputError
from penstock.evaluate.predict import predict
from penstock.files.document import document_of
from penstock.files.receipt_file import keep_receipt, read_receipts, receipt_from, receipt_to_dict
from penstock.files.store import to_dict
from penstock.model.plan import Plan


@pytest.fixture
def plan():
    problem = nasiri("linear", (1, 1, 1))
    placement = all_on(problem)
    return Plan(problem, placement, "penstock", predicted=predict(problem, placement)[0])


RECEIPT = {
    "format": "penstock/receipt", "version": 1, "plan": "0123abcd", "engine": "storm",
    "outcome": "applied", "began_s": 1_767_225_600.25, "ended_s": 1_767_225_611.5,
    "plan_file": "/p", "backup": "", "moves": 1,
    "topologies": [{
        "topology": "linear", "run": "linear-1-5", "executors": {}, "workers_restarted": 1,
        "workers": 1, "placed_after_s": 11.0,
    }],
    "changes": [{
        "topology": "linear", "component": "low", "before": 1, "after": 1,
        "moves": [{"from": "M2-1", "to": "M1-1"}], "added": [], "dropped": [],
        "shares_changed": False,
    }],
    "trouble": [],
}  # fmt: skip


def receipt(plan, **changes):
    """The receipt above as a value, of this plan."""
    document = RECEIPT | {"document": to_dict(plan)} | changes
    return receipt_from(document_of(document, "receipt.json"))


def test_what_is_read_is_written_the_same(plan):
    assert receipt_to_dict(receipt(plan)) == RECEIPT


def test_a_receipt_is_read_back_with_its_plan(tmp_path, plan):
    path = keep_receipt(tmp_path, receipt(plan))
    # 2026-01-01 and a quarter of a second.
    assert path.name == "20260101T000000250-0123abcd.json"
    ((applied, text),), findings = read_receipts(tmp_path)
    assert (findings, text) == ([], path.read_text())
    assert applied.id == "20260101T000000250-0123abcd"
    assert (applied.began_ms, applied.ended_ms) == (1_767_225_600_250, 1_767_225_611_500)
    assert applied.runs == {"linear": "linear-1-5"}
    assert applied.changes[0].moves == (("M2-1", "M1-1"),)
    assert applied.plan.placement == plan.placement
    assert applied.predicted_rate_per_s == dict(plan.predicted.rate_per_s)


def test_a_later_state_replaces_the_one_before(tmp_path, plan):
    keep_receipt(tmp_path, receipt(plan, outcome="begun"))
    keep_receipt(tmp_path, receipt(plan))
    ((applied, _),), _ = read_receipts(tmp_path)
    assert applied.outcome == "applied"


def test_a_receipt_cut_anywhere_is_told_and_nothing_else_is_lost(tmp_path, plan):
    path = keep_receipt(tmp_path, receipt(plan))
    whole = path.read_text()
    cut = path.with_name("cut.json")
    for end in range(0, len(whole) - 2, 97):
        cut.write_text(whole[:end])
        receipts, findings = read_receipts(tmp_path)
        assert len(receipts) == 1
        assert {f.file for f in findings} == {str(cut)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "maybe"}, "outcome: must be"),
        ({"plan": "../../etc"}, "plan: "),
        ({"began_s": -1.0}, "began_s: must be"),
        ({"began_s": 1e300}, "began_s: must be"),
        ({"ended_s": 1.0}, "ended_s: is before began_s"),
        ({"document": None}, "has no plan inside"),
        ({"document": {"format": "penstock/plan", "version": 1}}, "is missing"),
        ({"topologies": 7}, "topologies: must be a list"),
        ({"surprise": 1}, "surprise: no such field"),
    ],
)
def test_hostile_receipts_are_refused_with_the_place(tmp_path, plan, change, message):
    path = keep_receipt(tmp_path, receipt(plan))
    document = json.loads(path.read_text()) | change
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        receipt_from(document_of(document, "r.json"))
