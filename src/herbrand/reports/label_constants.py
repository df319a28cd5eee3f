"""Convert the constants of labels to those of a result: if it has numbers, `1.0` of a text file is 1.

A result has no types, but each argument of its atoms has only numbers, only dates or times in canonical form,
or text. A label's constant is read like a cell of a fact table whose column has that type.

>>> rows = [Scored("p(1)", "p", (1,), 0.9), Scored("p(2.5)", "p", (2.5,), 0.2)]
>>> read_as_result({("p", ("1.0",)): True, ("p", (" +2.50",)): False, ("q", ("1.0",)): True}, rows)
{('p', (1,)): True, ('p', (2.5,)): False, ('q', ('1.0',)): True}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from herbrand.answers.argument_columns import constant_text
from herbrand.errors import FactsError
from herbrand.language.names import moment
from herbrand.language.syntax import Value
from herbrand.reports.result_file import Scored, number_in

Label = tuple[str, tuple[Value, ...]]
Read = Callable[[Value], Value]


def read_as_result(labels: Mapping[Label, bool], rows: Sequence[Scored]) -> dict[Label, bool]:
    """Labels in the constants of the result; raises an error if an atom becomes both true and false."""
    places: defaultdict[tuple[str, int], set[Value]] = defaultdict(set)
    for row in rows:
        for place, constant in enumerate(row.constants):
            places[str(row.predicate), place].add(constant)
    reading = {place: _reading(constants) for place, constants in places.items()}
    labelled: dict[Label, bool] = {}
    for (name, constants), truth in labels.items():
        known = (reading.get((name, place), _as_it_is) for place in range(len(constants)))
        read = name, tuple(take(constant) for take, constant in zip(known, constants, strict=True))
        if labelled.setdefault(read, truth) != truth:
            shown = ", ".join(map(constant_text, read[1]))
            raise FactsError(f"the labels say that {name} of ({shown}) is true, and that it is false")
    return labelled


def _reading(constants: Iterable[Value]) -> Read:
    """Reader of a label's constants for an argument with these constants in the result."""
    if not any(isinstance(constant, str) for constant in constants):
        return number_in
    for calendar in ("date", "time"):
        if all(_moment(calendar, constant) == constant for constant in constants):
            return partial(_moment, calendar)
    return constant_text


def _as_it_is(constant: Value) -> Value:
    return constant


def _moment(calendar: str, constant: Value) -> Value:
    """Canonical text of a date or a time; other constants unchanged, as text."""
    text = constant_text(constant)
    try:
        return moment(calendar, text.strip())
    except ValueError:
        return text
