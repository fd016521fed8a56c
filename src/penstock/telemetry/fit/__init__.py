"""From windows to costs with error bars: per tuple, fixed, of workers, on types never seen."""
