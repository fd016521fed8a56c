"""Broken input files, made anew each time: what is broken, where, and what must be said of it."""

from __future__ import annotations

from functools import cache

from tests.corpus.breaking import Broken
from tests.corpus.fields import wrong_fields
from tests.corpus.meaning import senseless
from tests.corpus.writing import unreadable


@cache
def corpus() -> tuple[Broken, ...]:
    return (*wrong_fields(), *senseless(), *unreadable())
