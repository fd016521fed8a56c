"""``penstock`` where nothing is measured: by the CPU and memory that components ask for."""
