"""Results to tables, pictures, HTML and plain facts. Never prints, never plans."""
