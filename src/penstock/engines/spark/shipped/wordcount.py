"""WordCount: sentences to words to counts."""

import numpy as np
import pandas as pd

streams = {"spout": "sentence string", "split": "word string", "count": "word string, count bigint"}
state = {"count": "word string, count bigint"}

_VOCABULARY = np.array([f"word-{rank}" for rank in range(1, 5001)], dtype=object)
_WORDS_PER_SENTENCE = 8
_GOLDEN = 0.6180339887498949


def spout(rows: pd.DataFrame) -> pd.DataFrame:
    """Lines of a file as they are; numbers of a rate source become sentences of eight words.

    Words are as frequent as in a language: the one of rank k about 1/k times as often as the first.
    """
    if rows["value"].dtype == object:
        return rows[["value"]].rename(columns={"value": "sentence"})
    places = rows["value"].to_numpy()[:, None] * _WORDS_PER_SENTENCE + np.arange(
        _WORDS_PER_SENTENCE
    )
    # Multiples of the golden ratio fall evenly between 0 and 1, in every batch.
    uniform = places * _GOLDEN % 1.0
    ranks = np.floor(len(_VOCABULARY) ** uniform).astype(int) - 1
    words = _VOCABULARY[ranks]
    sentence = words[:, 0]
    for place in range(1, _WORDS_PER_SENTENCE):
        sentence = sentence + " " + words[:, place]
    return pd.DataFrame({"sentence": sentence})


def split(rows: pd.DataFrame) -> pd.DataFrame:
    return rows["sentence"].str.split().explode().dropna().to_frame("word")


def count(rows: pd.DataFrame, state: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """New totals of the words that came, and all totals."""
    came = rows.groupby("word").size().reset_index(name="count")
    total = pd.concat([state, came]).groupby("word", as_index=False)["count"].sum()
    return total[total["word"].isin(came["word"])], total
