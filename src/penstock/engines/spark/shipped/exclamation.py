"""Exclamation: words, twice exclaimed."""

import pandas as pd

streams = {"word": "word string", "exclaim1": "word string", "exclaim2": "word string"}

_WORDS = pd.Series(["nathan", "mike", "jackson", "golda", "bertels"])


def word(rows: pd.DataFrame) -> pd.DataFrame:
    if rows["value"].dtype == object:
        return rows[["value"]].rename(columns={"value": "word"})
    return pd.DataFrame({"word": _WORDS.take(rows["value"].to_numpy() % len(_WORDS)).to_list()})


def exclaim1(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[["word"]] + "!!!"


exclaim2 = exclaim1
