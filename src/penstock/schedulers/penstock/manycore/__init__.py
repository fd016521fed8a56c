"""Plans for machines of many cores, where threads, uneven keys, memory and network cards limit."""
