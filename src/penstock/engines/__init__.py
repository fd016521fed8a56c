"""What topologies run on."""

from enum import StrEnum


class Engine(StrEnum):
    """The engines that Penstock plans for."""

    STORM = "storm"
    SPARK = "spark"
