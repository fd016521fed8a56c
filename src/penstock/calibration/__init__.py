"""Measuring what machines and components cost, on purpose."""
