"""Certificates: proofs of what no plan can exceed, made by the search and checked without it."""
