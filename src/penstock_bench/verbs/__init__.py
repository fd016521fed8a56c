"""Verbs of the command line that appear when this distribution is installed."""
