"""Top-N: words, counts, rankings of each instance, one ranking of all."""

import pandas as pd

_RANKED = "word string, count bigint"
streams = {
    "words": "word string",
    "rolling-count": _RANKED,
    "intermediate-ranking": _RANKED,
    "total-ranking": _RANKED,
}
state = {"rolling-count": _RANKED, "total-ranking": _RANKED}

_TOP = 10


def words(rows: pd.DataFrame) -> pd.DataFrame:
    if rows["value"].dtype == object:
        return rows["value"].str.split().explode().dropna().to_frame("word")
    # Few words often, many rarely.
    number = rows["value"] % 9973
    return pd.DataFrame({"word": "w" + (number * number % 9973 % (1 + number % 100)).astype(str)})


def rolling_count(rows: pd.DataFrame, state: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    came = rows.groupby("word").size().reset_index(name="count")
    total = pd.concat([state, came]).groupby("word", as_index=False)["count"].sum()
    return total[total["word"].isin(came["word"])], total


def intermediate_ranking(rows: pd.DataFrame) -> pd.DataFrame:
    return _best(rows)


def total_ranking(rows: pd.DataFrame, state: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    # Counts only grow: the newest of a word is its largest.
    newest = pd.concat([state, rows[["word", "count"]]]).groupby("word", as_index=False).max()
    ranking = _best(newest)
    return ranking, ranking


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    order = rows.sort_values(["count", "word"], ascending=[False, True])
    return order.head(_TOP)[["word", "count"]]
