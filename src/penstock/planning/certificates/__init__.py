"""Certificates: proofs of what no plan can exceed, made by the search and checked without it."""

#: Ranges of instance counts looked at, unless said otherwise.
EFFORT = 20_000.0
