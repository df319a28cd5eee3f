"""The special column of a table: ``truth``, ``probability`` or ``weight``, as the numbers of its rows.

>>> cells = pa.chunked_array([pa.array(["0.5", " 1", "x"])])
>>> numbers, good = numbers_of(cells)
>>> numbers.tolist(), good.tolist()
([0.5, 1.0, 0.0], [True, True, False])
"""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc  # its functions are made at import, which pyright cannot see

from herbrand.errors import Mistake
from herbrand.facts.column import Marks, numbers_from_text
from herbrand.facts.facts import Numbers
from herbrand.facts.place import LONGEST_SHOWN
from herbrand.facts.table_claims import Claims, Truths

_NUMBER_RULES: dict[str, tuple[str, Callable[[Numbers], Truths]]] = {
    "probability": (
        "not a probability; expected a number from 0 to 1",
        lambda numbers: (numbers >= 0) & (numbers <= 1),
    ),
    "weight": ("not a weight; expected a finite number", lambda numbers: np.ones(len(numbers), bool)),
}

_TRUE, _FALSE = ("true", "1"), ("false", "0")


def with_marks(claims: Claims, mark: str) -> tuple[Claims, list[Mistake]]:
    """The claims with what their special column says, and what is wrong with its cells."""
    marks = claims.interned.marks
    if marks is None:
        return claims, []
    claims = replace(claims, interned=replace(claims.interned, marks=None))
    if mark == "truth":
        truths, mistakes = _truths(claims, marks)
        return replace(claims, truths=truths), mistakes
    numbers, good = numbers_of(marks)
    message, allowed = _NUMBER_RULES[mark]
    with np.errstate(invalid="ignore"):
        wrong = ~(good & np.isfinite(numbers) & allowed(numbers))
    mistakes = claims.mistakes_at(wrong, lambda p: f"{_cell(marks, p)} is {message}") if wrong.any() else []
    if mark == "probability":
        return replace(claims, probabilities=numbers), mistakes
    return replace(claims, weights=numbers), mistakes


def _truths(claims: Claims, marks: Marks) -> tuple[Truths, list[Mistake]]:
    if isinstance(marks, np.ndarray):
        return marks, []
    texts = pc.utf8_lower(marks.cast(pa.large_string()))
    true, false = (
        pc.is_in(texts, pa.array(words, pa.large_string())).to_numpy() for words in (_TRUE, _FALSE)
    )
    wrong = ~(true | false)
    if not wrong.any():
        return true, []
    return true, claims.mistakes_at(
        wrong, lambda p: f"{_cell(marks, p)} is not a truth value; expected true or false"
    )


def numbers_of(marks: Marks) -> tuple[Numbers, Truths]:
    """The number of every cell (0 where it holds none), and which cells hold one."""
    if isinstance(marks, np.ndarray):
        return marks, np.ones(len(marks), bool)
    if pa.types.is_integer(marks.type) or pa.types.is_floating(marks.type) or pa.types.is_decimal(marks.type):
        numbers, good = marks.cast(pa.float64(), safe=False), pc.is_valid(marks).to_numpy()
    elif pa.types.is_string(marks.type) or pa.types.is_large_string(marks.type):
        texts = marks.cast(pa.large_string()).combine_chunks()
        parsed, written = numbers_from_text(texts)
        numbers, good = parsed.cast(pa.float64(), safe=False), written & pc.is_valid(parsed).to_numpy(False)
    else:
        return np.zeros(len(marks)), np.zeros(len(marks), bool)
    return np.ascontiguousarray(pc.fill_null(numbers, 0.0).to_numpy(zero_copy_only=False)), good


def _cell(marks: Marks, position: int) -> str:
    value = marks[position] if isinstance(marks, np.ndarray) else marks[position].as_py()
    return "an empty cell" if value is None else f"'{str(value)[:LONGEST_SHOWN]}'"
