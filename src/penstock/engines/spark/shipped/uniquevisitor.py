"""UniqueVisitor: page views to the number of visitors of each page."""

import pandas as pd

streams = {"bolt-1": "page string, visitor bigint", "bolt-2": "page string, visitors bigint"}
state = {"bolt-2": "page string, visitor bigint"}

_PAGES, _VISITORS = 50, 10_000


def bolt_1(rows: pd.DataFrame) -> pd.DataFrame:
    number = pd.to_numeric(rows["value"])
    page = "page-" + (number * 31 % _PAGES).astype(str)
    return pd.DataFrame({"page": page, "visitor": number * 17 % _VISITORS})


def bolt_2(rows: pd.DataFrame, state: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    seen = pd.concat([state, rows[["page", "visitor"]]]).drop_duplicates(ignore_index=True)
    touched = seen[seen["page"].isin(rows["page"])]
    return touched.groupby("page").size().reset_index(name="visitors"), seen
