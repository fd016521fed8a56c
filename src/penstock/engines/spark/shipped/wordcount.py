"""WordCount: sentences to words to counts."""

import pandas as pd

streams = {"spout": "sentence string", "split": "word string", "count": "word string, count bigint"}
state = {"count": "word string, count bigint"}

_WORDS = (
    *("the", "cow", "jumped", "over", "the", "moon", "an", "apple", "a", "day", "keeps", "the"),
    *("doctor", "away", "four", "score", "and", "seven", "years", "ago", "snow", "white", "and"),
    *("the", "seven", "dwarfs", "i", "am", "at", "two", "with", "nature"),
)


def spout(rows: pd.DataFrame) -> pd.DataFrame:
    """Lines of a file as they are; numbers of a rate source become sentences of eight words."""
    if rows["value"].dtype == object:
        return rows[["value"]].rename(columns={"value": "sentence"})
    number = rows["value"].to_numpy()
    columns = [
        pd.Series(_WORDS).take((number * 7 + 13 * place) % len(_WORDS)).to_list()
        for place in range(8)
    ]
    return pd.DataFrame({"sentence": [" ".join(words) for words in zip(*columns, strict=True)]})


def split(rows: pd.DataFrame) -> pd.DataFrame:
    return rows["sentence"].str.split().explode().dropna().to_frame("word")


def count(rows: pd.DataFrame, state: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """New totals of the words that came, and all totals."""
    came = rows.groupby("word").size().reset_index(name="count")
    total = pd.concat([state, came]).groupby("word", as_index=False)["count"].sum()
    return total[total["word"].isin(came["word"])], total
