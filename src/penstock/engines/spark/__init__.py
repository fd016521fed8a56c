"""Topologies run as PySpark streams that obey a plan, and the lab they run on."""
