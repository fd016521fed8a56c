"""Benchmark suites as YAML and what they measure; shipped, so that they run from a wheel."""
