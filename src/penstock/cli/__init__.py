"""The command line: one file per verb, a text view and a JSON view, exit codes."""
