"""Functions of texts that rules may compute: similarities, distances, and keys for comparison.

DuckDB compares ASCII texts, all rows at once. It counts bytes, so other texts are compared here, by the same
definitions over characters. Equal pairs are compared once.

>>> import numpy as np
>>> names, others = np.array(["martha", "über"]), np.array(["marhta", "ueber"])
>>> TEXT_FUNCTIONS["jaro_winkler"](names, others).round(3).tolist()
[0.961, 0.672]
>>> TEXT_FUNCTIONS["levenshtein"](names, others).tolist()
[2, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]
BOOSTED, PREFIX, LONGEST_PREFIX = 0.7, 0.1, 4
"""Winkler's constants: above similarity ``BOOSTED`` each equal leading character, up to ``LONGEST_PREFIX``,
removes the share ``PREFIX`` of the remaining distance to 1."""


def jaro_winkler(one: str, other: str) -> float:
    """Jaro-Winkler similarity (Winkler 1990), from 0 to 1: based on the characters that match within half the
    longer text, less half of those out of order, and raised for equal prefixes. 0 for two empty texts, as no
    character matches."""
    # Jaro's window: equal characters match if at most this many positions apart.
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    taken = [False] * len(other)
    matched = []
    for place, letter in enumerate(one):
        for at in range(max(0, place - reach), min(len(other), place + reach + 1)):
            if not taken[at] and other[at] == letter:
                taken[at] = True
                matched.append(letter)
                break
    if not matched:
        return 0.0
    ordered = [letter for letter, is_taken in zip(other, taken, strict=True) if is_taken]
    swapped = sum(a != b for a, b in zip(matched, ordered, strict=True)) // 2
    count = len(matched)
    jaro = (count / len(one) + count / len(other) + (count - swapped) / count) / 3
    if jaro <= BOOSTED:
        return jaro
    same = 0
    for a, b in zip(one[:LONGEST_PREFIX], other[:LONGEST_PREFIX], strict=False):
        if a != b:
            break
        same += 1
    return jaro + PREFIX * same * (1 - jaro)


def levenshtein(one: str, other: str) -> int:
    """Fewest characters to insert, delete or replace to turn one text into the other."""
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, row[0] = row[0], place
        for at, character in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (letter != character))
    return row[-1]


def jaccard(one: str, other: str) -> float:
    """Jaccard similarity of the sets of words, ignoring case; 0 for two texts without words."""
    words, others = set(one.casefold().split()), set(other.casefold().split())
    return len(words & others) / len(words | others) if words or others else 0.0


def _compared(sql: str, single: Callable[[str, str], Any], kind: type) -> Callable[..., Array]:
    def of(one: Array, other: Array) -> Array:
        pairs: dict[tuple[str, str], int] = {}
        places = [
            pairs.setdefault(pair, len(pairs))
            for pair in zip(map(str, one.tolist()), map(str, other.tolist()), strict=True)
        ]
        plain = [a.isascii() and b.isascii() for a, b in pairs] if sql else [False] * len(pairs)
        similarities = np.array(
            [0 if ascii_ else single(*pair) for pair, ascii_ in zip(pairs, plain, strict=True)], kind
        )
        if any(plain):
            similarities[np.flatnonzero(plain)] = _by_duckdb(
                sql, [pair for pair, p in zip(pairs, plain, strict=True) if p]
            )
        return similarities[np.array(places, np.int64)]

    return of


def _by_duckdb(sql: str, pairs: list[tuple[str, str]]) -> Array:
    """Compute a function of DuckDB for each pair, in the order of the pairs."""
    table = pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "n": np.arange(len(pairs))})
    with duckdb.connect() as connection:
        connection.register("pairs", table)
        return connection.sql(f"SELECT {sql} AS v FROM pairs ORDER BY n").fetchnumpy()["v"]


def _texts(values: list[str]) -> Array:
    return np.array(values, dtype=np.dtypes.StringDType())


TEXT_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "jaro_winkler": _compared("jaro_winkler_similarity(a, b)", jaro_winkler, float),
    "levenshtein": _compared("levenshtein(a, b)", levenshtein, np.int64),
    "jaccard": _compared("", jaccard, float),
    "prefix": lambda texts, count: _texts(
        [text[: max(n, 0)] for text, n in zip(texts.tolist(), count.tolist(), strict=True)]
    ),
    "lower": lambda texts: _texts([text.lower() for text in texts.tolist()]),
}
"""Functions by name. All arguments are texts, except the second of ``prefix``, a number of characters."""
