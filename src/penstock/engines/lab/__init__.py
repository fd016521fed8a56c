"""A lab of unlike machines on one computer, whatever engine runs on it."""
