"""Records and tables by slots of ten minutes, as columns of numbers. No Spark in here."""
