"""Linear: low, mid and high computing, in the ratios of Nasiri's Table 3 on M1."""

import pandas as pd

from penstock.engines.spark.burn import burn

streams = {"low": "value bigint", "mid": "value bigint", "high": "value bigint"}


def low(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 58)


def mid(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 103)


def high(rows: pd.DataFrame) -> pd.DataFrame:
    return burn(rows[["value"]], 192)
