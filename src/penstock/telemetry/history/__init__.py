"""Plans put in force, what was predicted, what was measured afterwards: written, read, compared."""
