"""Lc-Stream of Sun et al.: one file for each of its algorithms, and what they share."""
