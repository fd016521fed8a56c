"""Penstock under attack: mutated files, random options, kills; every failure can be run again.

``documents`` are the valid files that all starts from, ``mutations`` damage them, ``drawing`` makes
commands of the verbs' own parsers, ``server`` runs them, ``judge`` says what is wrong with what
came out, ``campaign`` does all that by the thousand. ``kills`` is about kill -9.
"""
