"""Users' files to model values and back. The home of pydantic, YAML and format versions."""
