"""Lc-Stream's queue at one executor, and what queueing theory says beside it.

Sun et al. 2024 (doi:10.1002/cpe.8085), those of equations 3 to 17 that its scheduler needs. Rates
are in tuples/s, waits in seconds; queues count the tuple being served.

The paper's queue is one server that arrivals shy away from: with ``n`` tuples there, a newcomer
joins at rate ``arrival / (n + 1)`` (its eq. 1 with a = 1) and is served at a constant rate (its
eq. 2 with b = 0), which makes the number of tuples Poisson with mean rho. Its queue therefore stays
short however high the load (1 tuple at rho = 1), and fewer tuples enter than arrive; a stream turns
nobody away. It is kept as the paper's; M/M/1 and M/M/c, which grow without limit at rho = 1, stand
beside it.
"""

from __future__ import annotations

from math import expm1, inf

# -- Lc-Stream's executor -------------------------------------------------------------------------


def load(arrival: float, service: float) -> float:
    """rho; no load where nothing arrives, infinite where something does and nothing is served."""
    if arrival == 0.0:
        return 0.0
    return arrival / service if service > 0 else inf  # eq. (3)


def mean_queue(rho: float) -> float:
    """L, tuples at the executor: the mean of a Poisson number is its parameter."""
    return rho  # eq. (6)


def mean_wait(arrival: float, service: float) -> float:
    """W, seconds at the executor, service included: between 1/service and 1.58/service for a load
    below 1."""
    if service == inf:
        return 0.0
    if service <= 0:
        return inf
    rho = load(arrival, service)
    # eq. (8): L / lambda_e; its limit where nothing arrives is the service time.
    return -rho / (service * expm1(-rho)) if rho > 0 else 1.0 / service


def queue_of_count(arrival: float, service: float, count: int) -> float:
    """L(k): the queue at each of ``count`` executors that divide the input evenly.

    The paper never defines L(k); this is its L at the arrival rate of one executor.
    """
    return mean_queue(load(arrival / count, service))


def best_count(
    arrival: float, service: float, executor_cost: float, wait_weight: float, most: int
) -> int:
    """k*, the number of executors from 1 to ``most`` that costs least, ``c' k + W L(k)``.

    Marginal analysis: another executor is worth it as long as it takes more than ``c' / W`` off
    the queue. L(k) falls ever more slowly, so the first that is not worth it ends the search. Only
    counts with a load below 1 (eq. 3) are looked at, unless not even ``most`` has one.
    """
    count = 1
    while count < most and load(arrival / count, service) >= 1.0:
        count += 1
    enough = executor_cost / wait_weight
    while count < most:
        # eq. (16), (17): L(k*) - L(k* + 1) <= c'/W <= L(k* - 1) - L(k*)
        shorter = queue_of_count(arrival, service, count + 1)
        if queue_of_count(arrival, service, count) - shorter <= enough:
            break
        count += 1
    return count


# -- what theory says -----------------------------------------------------------------------------


def mm1_queue(arrival: float, service: float) -> float:
    """Tuples at a single server that turns nobody away; infinite from a load of 1."""
    rho = load(arrival, service)
    return rho / (1.0 - rho) if rho < 1.0 else inf


def mm1_wait(arrival: float, service: float) -> float:
    """Seconds at a single server, service included."""
    return 1.0 / (service - arrival) if arrival < service else inf


def erlang_c(arrival: float, service: float, servers: int) -> float:
    """Probability that a tuple must wait because all servers are busy; 1 from a full load."""
    offered = load(arrival, service)
    if offered >= servers:
        return 1.0
    # Erlang B by its recurrence, in which nothing is ever large, then C from B.
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return blocked / (1.0 - offered / servers * (1.0 - blocked))


def mmc_queue(arrival: float, service: float, servers: int) -> float:
    """Tuples at ``servers`` servers with one queue, those in service included."""
    offered = load(arrival, service)
    if offered >= servers:
        return inf
    waiting = erlang_c(arrival, service, servers) * offered / (servers - offered)
    return waiting + offered


def mmc_wait(arrival: float, service: float, servers: int) -> float:
    """Seconds at ``servers`` servers with one queue, service included."""
    if service == inf:
        return 0.0
    if load(arrival, service) >= servers:
        return inf
    return erlang_c(arrival, service, servers) / (servers * service - arrival) + 1.0 / service
