"""Settings for all tests: property tests draw the same examples every time.

``pytest --hypothesis-profile=explore`` looks for new counterexamples instead.
"""

from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "steady",
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile(
    "explore", max_examples=2000, deadline=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile("steady")
