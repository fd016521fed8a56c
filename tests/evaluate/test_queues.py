"""Lc-Stream's queue model and the theory beside it, with the numbers worked out by hand."""

from math import e, exp, factorial, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.evaluate import queues

rates = st.floats(0.01, 1e5)
loads = st.floats(0.01, 0.99)


# -- the paper's executor -------------------------------------------------------------------------


def test_half_loaded_executor():
    # 50 tuples/s at 100/s: rho = 1/2, p_0 = e^-1/2 = 0.60653, so 100 * 0.39347 enter,
    # W = 0.5 / 39.347 = 12.707 ms.
    rho = queues.load(50.0, 100.0)
    assert rho == 0.5
    assert queues.mean_queue(rho) == 0.5
    assert queues.mean_wait(50.0, 100.0) == pytest.approx(0.012707, rel=1e-4)


def test_at_full_load_a_tuple_waits_58_percent_longer_than_its_service():
    # 1 / (1 - 1/e) = 1.58198
    assert queues.mean_wait(100.0, 100.0) == pytest.approx(0.0158198, rel=1e-5)


def test_an_executor_that_gets_nothing_or_needs_no_time():
    assert queues.load(0.0, 0.0) == 0.0
    assert queues.mean_wait(0.0, 100.0) == 0.01
    assert queues.mean_wait(50.0, inf) == 0.0


def test_an_executor_that_serves_nobody():
    assert queues.load(1.0, 0.0) == inf
    assert queues.mean_wait(1.0, 0.0) == inf


@given(rho=loads, service=rates)
def test_littles_law_holds_and_nobody_waits_less_than_a_service(rho, service):
    arrival = rho * service
    wait = queues.mean_wait(arrival, service)
    # eq. (7) from its left side: with n tuples there, which has the Poisson probability of n,
    # arrivals join at lambda / (n + 1).
    enters = sum(arrival / (n + 1) * exp(-rho) * rho**n / factorial(n) for n in range(50))
    assert wait * enters == pytest.approx(rho)
    assert 1.0 / service <= wait * (1 + 1e-9)
    assert wait <= e / (e - 1) / service * (1 + 1e-9)


# -- best count -----------------------------------------------------------------------------------


def test_best_count_by_hand():
    # Load 2 in all: L(k) = 2/k. L(3) - L(4) = 1/6 <= 1/4 <= L(2) - L(3) = 1/3, so k* = 3.
    assert queues.best_count(200.0, 100.0, 0.25, 1.0, most=50) == 3
    # Load 5: 4 would be cheapest (5/20 <= 1/4), but 6 is the first with a load below 1.
    assert queues.best_count(500.0, 100.0, 0.25, 1.0, most=50) == 6
    assert queues.best_count(500.0, 100.0, 0.25, 1.0, most=4) == 4
    assert queues.best_count(0.0, 100.0, 0.25, 1.0, most=50) == 1
    assert queues.best_count(500.0, inf, 0.25, 1.0, most=50) == 1


@given(offered=st.floats(0.01, 30.0), cost=st.floats(0.001, 2.0), weight=st.floats(0.1, 10.0))
def test_best_count_is_the_cheapest_of_all_stable_ones(offered, cost, weight):
    def value(k: int) -> float:
        return cost * k + weight * queues.queue_of_count(offered, 1.0, k)

    found = queues.best_count(offered, 1.0, cost, weight, most=400)
    stable = [k for k in range(1, 401) if offered / k < 1.0]
    assert found in stable
    assert value(found) <= min(value(k) for k in stable) * (1 + 1e-12)


@given(less=st.floats(0.01, 30.0), more=st.floats(0.01, 30.0))
def test_more_load_never_has_fewer_executors(less, more):
    low, high = sorted((less, more))
    assert queues.best_count(low, 1.0, 0.25, 1.0, 100) <= queues.best_count(
        high, 1.0, 0.25, 1.0, 100
    )


# -- theory ---------------------------------------------------------------------------------------


def test_mm1_at_half_load():
    # rho / (1 - rho) = 1 tuple, 1 / (100 - 50) = 20 ms: against 0.5 and 12.7 ms above.
    assert queues.mm1_queue(50.0, 100.0) == 1.0
    assert queues.mm1_wait(50.0, 100.0) == 0.02


def test_two_servers_at_half_load():
    # Offered 1 on 2: Erlang B = (1/2) / (1 + 1 + 1/2) = 0.2, C = 0.2 / (1 - 0.5 * 0.8) = 1/3,
    # waiting 1/3 * 1 / (2 - 1) = 1/3, in all 4/3; wait 1/3 / (200 - 100) + 10 ms = 13.33 ms.
    assert queues.erlang_c(100.0, 100.0, 2) == pytest.approx(1 / 3)
    assert queues.mmc_queue(100.0, 100.0, 2) == pytest.approx(4 / 3)
    assert queues.mmc_wait(100.0, 100.0, 2) == pytest.approx(0.04 / 3)


def test_from_a_full_load_theory_says_for_ever():
    assert queues.mm1_queue(100.0, 100.0) == inf
    assert queues.mm1_wait(100.0, 100.0) == inf
    assert queues.erlang_c(200.0, 100.0, 2) == 1.0
    assert queues.mmc_queue(200.0, 100.0, 2) == inf
    assert queues.mmc_wait(200.0, 100.0, 2) == inf


def test_servers_without_a_service_time():
    assert queues.mmc_queue(5.0, inf, 3) == 0.0
    assert queues.mmc_wait(5.0, inf, 3) == 0.0
    assert queues.mm1_wait(5.0, inf) == 0.0


@given(rho=loads, service=rates, servers=st.integers(1, 2000))
def test_mmc_keeps_littles_law_and_stays_finite(rho, service, servers):
    arrival = rho * service * servers
    queue, wait = (
        queues.mmc_queue(arrival, service, servers),
        queues.mmc_wait(arrival, service, servers),
    )
    assert queue == pytest.approx(arrival * wait)
    assert 0.0 <= queues.erlang_c(arrival, service, servers) <= 1.0
    assert wait >= 1.0 / service


@given(rho=loads, service=rates)
def test_one_server_of_many_is_mm1_and_the_papers_queue_is_shorter(rho, service):
    arrival = rho * service
    assert queues.mmc_queue(arrival, service, 1) == pytest.approx(
        queues.mm1_queue(arrival, service)
    )
    assert queues.mmc_wait(arrival, service, 1) == pytest.approx(queues.mm1_wait(arrival, service))
    assert queues.mean_queue(rho) <= queues.mm1_queue(arrival, service)
    assert queues.mean_wait(arrival, service) <= queues.mm1_wait(arrival, service) * (1 + 1e-9)


def test_a_thousand_servers_do_not_overflow():
    # Erlang B by factorials would need 1000!; lightly loaded, nobody waits.
    assert queues.erlang_c(500.0, 1.0, 1000) < 1e-50
    assert queues.mmc_wait(500.0, 1.0, 1000) == pytest.approx(1.0)
