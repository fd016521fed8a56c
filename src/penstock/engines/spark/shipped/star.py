"""Star: two sources, a hub that computes most, two sinks; ratios as in Linear."""

import pandas as pd

from penstock.engines.spark.burn import burn

streams = dict.fromkeys(("source-1", "source-2", "hub", "sink-1", "sink-2"), "value bigint")


def source_1(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 58)


def hub(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 192)


def sink_1(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 103)


source_2 = source_1
sink_2 = sink_1
