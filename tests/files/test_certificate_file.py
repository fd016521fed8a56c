"""Certificate files: what is written is read, and what is no certificate is refused in words."""

import json

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.errors import InputError
from penstock.files.certificate_file import certificate_text, read_certificate
from penstock.model.certificate import Certificate, ProofStep, Refutation
from penstock.model.plan import Plan
from penstock.model.problem import build


def certificate() -> Certificate:
    problem = build(topology("a"), cluster(M1=1), profile(a=1.0))
    steps = (
        ProofStep(component=0, at=2, above=2),
        ProofStep(by=Refutation.FILLINGS, prices=(0.5,)),
        ProofStep(by=Refutation.POINTS, prices=(0.25, 0.125)),
    )
    return Certificate(Plan(problem, place(problem, "a M1-1"), "by hand"), 100.0, steps)


def test_a_certificate_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(certificate_text(certificate()))
    read = read_certificate(path)
    assert (read.bound_scale, read.steps) == (100.0, certificate().steps)
    assert certificate_text(read) == path.read_text()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({}, "must either split"),
        ({"component": 0, "by": "fillings"}, "must either split"),
        ({"by": "belief"}, "belief"),
        ({"by": "fillings", "prices": [-1.0]}, "prices"),
    ],
)
def test_steps_that_say_nothing_are_refused(tmp_path, step: dict[str, object], message: str):
    document = json.loads(certificate_text(certificate())) | {"steps": [step]}
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        read_certificate(path)
