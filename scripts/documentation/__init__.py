"""What `make docs` writes, one module for each part."""
