"""The papers' evaluations, set beside ours: declared in ``papers``, run, judged, shown."""
