"""Diamond: one source, three branches of different weight, one sink; ratios as in Linear."""

import pandas as pd

from penstock.engines.spark.burn import burn

streams = dict.fromkeys(("source", "mid", "high", "low", "sink"), "value bigint")


def source(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 58)


def mid(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 103)


def high(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 192)


low = source
sink = source
