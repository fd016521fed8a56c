"""Policies: one per file, found through the registry."""
