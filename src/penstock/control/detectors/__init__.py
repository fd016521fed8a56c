"""Detectors: what is wrong with machines, costs, keys and predictions, from telemetry alone.

Each is pure and states how often it cries wolf (:mod:`evidence` says how that is kept); none acts.
"""
