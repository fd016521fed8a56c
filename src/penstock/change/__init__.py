"""From one plan to another: what changes, and whether it may be applied."""
