"""What is taken where nothing is asked for, apart from planning: options show it in their help."""

#: Plans, and decides the instance counts.
DEFAULT_SCHEDULER = "penstock"
#: Decides the instance counts for schedulers that only place.
DEFAULT_COUNTS_FROM = "hetero"
