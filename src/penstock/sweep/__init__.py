"""Grids of experiments as one PySpark job that can be stopped and started again."""
