"""Code of the shipped topologies, one file each."""
