"""Every policy that is built in keeps the contract."""

from __future__ import annotations

import pytest

from penstock.control.policies import registry
from penstock_bench.contract.policies import PolicyContract


@pytest.mark.slow
class TestPenstock(PolicyContract):
    policy = registry.get("penstock")


@pytest.mark.slow
class TestStatic(PolicyContract):
    policy = registry.get("static")


@pytest.mark.slow
class TestHpa(PolicyContract):
    policy = registry.get("hpa")


@pytest.mark.slow
class TestDs2(PolicyContract):
    policy = registry.get("ds2")


@pytest.mark.slow
class TestFlink(PolicyContract):
    policy = registry.get("flink")


@pytest.mark.slow
class TestDhalion(PolicyContract):
    policy = registry.get("dhalion")


@pytest.mark.slow
class TestTune(PolicyContract):
    policy = registry.get("tune")


@pytest.mark.slow
class TestLcStream(PolicyContract):
    policy = registry.get("lcstream")


def test_every_built_in_policy_is_tried():
    tried = {c.policy for c in PolicyContract.__subclasses__()}
    built_in = registry.POLICIES.registered().values()
    assert {one.kind for one in built_in if one.origin == "built in"} <= tried
