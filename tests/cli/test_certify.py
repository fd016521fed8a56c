"""``penstock certify`` and ``penstock check``: from a plan to a proof that holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def certificate(run) -> Path:
    run("plan -e rollingcount -c storm-benchmark -o plan.json")
    code, out, _ = run("certify plan.json -o certificate.json")
    assert (code, "proven optimal" in out) == (0, True)
    return Path("certificate.json")


def test_a_proof_that_is_written_holds(run, certificate):
    code, out, _ = run(f"check {certificate}")
    assert (code, "no solver was asked" in out) == (0, True)
    facts = json.loads(run(f"check {certificate} --json")[1])
    assert (facts["proven_optimal"], facts["checked"]) == (True, True)


def test_a_proof_of_too_much_is_refused(run, certificate):
    document = json.loads(certificate.read_text(encoding="utf-8"))
    document["bound_scale"] *= 0.99
    certificate.write_text(json.dumps(document), encoding="utf-8")
    code, _, err = run(f"check {certificate}")
    assert (code, "proves nothing about plans with" in err) == (1, True)
