"""RollingCount: ten objects per tuple, counted over the last six batches."""

import pandas as pd

streams = {"bolt-1": "obj string", "bolt-2": "obj string, count bigint"}
#: Counts by object and age in batches.
state = {"bolt-2": "obj string, age bigint, count bigint"}

_BATCHES = 6
_PER_TUPLE = 10


def bolt_1(rows: pd.DataFrame) -> pd.DataFrame:
    value = rows["value"].repeat(_PER_TUPLE).astype(str)
    place = [str(i) for i in range(_PER_TUPLE)] * len(rows)
    return pd.DataFrame({"obj": value.str[-3:].to_numpy() + pd.Series(place).to_numpy()})


def bolt_2(rows: pd.DataFrame, state: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    came = rows.groupby("obj").size().reset_index(name="count").assign(age=0)
    window = state.assign(age=state["age"] + 1)
    window = pd.concat([window[window["age"] < _BATCHES], came])[["obj", "age", "count"]]
    window = window.groupby(["obj", "age"], as_index=False)["count"].sum()
    return window.groupby("obj", as_index=False)["count"].sum(), window
