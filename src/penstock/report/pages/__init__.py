"""What verbs print: each kind of result as a page, and as the facts of its JSON."""
