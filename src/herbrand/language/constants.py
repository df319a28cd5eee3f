"""Constants against their types, once every type has a name.

Takes the uses of a theory; gives which constants formulas name, by type, and what kind each open type holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from herbrand.errors import Mistake, Mistakes, Span, nearest
from herbrand.language.declarations import kind_of, places
from herbrand.language.names import shown_constant, shown_name
from herbrand.language.signature import Kind, Predicate, Type
from herbrand.language.syntax import FactRows, Value, Variable
from herbrand.language.uses import ConstantUse

_MOST_CHOICES = 1000
_MOST_ROWS = 100
_MOST_SHOWN_CHOICES = 6


class _Witness(NamedTuple):
    """The first constant seen of an open type; all others must be of its kind."""

    value: Value
    span: Span | None


class ConstantCheck:
    """Checks constants as they come; ``mentioned`` and ``kinds``: what was found."""

    def __init__(self, types: Mapping[str, Type], mistakes: Mistakes) -> None:
        self._types = types
        self._mistakes = mistakes
        self._witnesses: dict[str, _Witness] = {}
        self._mentioned: dict[str, dict[Value, None]] = defaultdict(dict)
        self._members: dict[str, frozenset[Value]] = {}

    @property
    def mentioned(self) -> dict[str, tuple[Value, ...]]:
        """The constants that formulas and rules name, by type."""
        return {name: tuple(values) for name, values in self._mentioned.items()}

    @property
    def kinds(self) -> dict[str, Kind]:
        """What the open types hold, where a constant shows it."""
        return {name: kind_of(witness.value) for name, witness in self._witnesses.items()}

    def check_uses(self, uses: Iterable[tuple[str | None, ConstantUse]]) -> None:
        for name, use in uses:
            if name is not None and self._fits(self._types[name], use.value, use.span):
                self._mentioned[name].setdefault(use.value)

    def check_numeric(self, uses: Iterable[tuple[str | None, Variable]]) -> None:
        """Variables that stand for probabilities, after all constants; tables may still bring text."""
        for name, variable in uses:
            if name is not None and (self.kinds.get(name) or self._types[name].kind) == "text":
                known = self._types[name]
                origin = ("declared here", known.span)
                if known.name in self._witnesses:
                    origin = ("as text here", self._witnesses[known.name].span)
                message = f"{shown_name(variable.name)} is a probability and ranges over text"
                self._mistakes.add(
                    Mistake(message, variable.span, "a probability is a number", places(origin))
                )

    def check_rows(self, rows: FactRows, predicate: Predicate) -> None:
        for name, column in zip(predicate.column_types, rows.columns, strict=True):
            if not self._column_fits(self._types[name], column, rows):
                self._find_misfits(self._types[name], column, rows)

    def _column_fits(self, known: Type, column: Sequence[Value], rows: FactRows) -> bool:
        """A whole column at once."""
        kinds = {"text" if issubclass(kind, str) else "number" for kind in set(map(type, column))}
        if known.values is not None:
            return kinds == {known.kind} and self._members_of(known).issuperset(column)
        if known.kind is not None:
            return kinds == {known.kind}
        witness = self._witnesses.setdefault(known.name, _Witness(column[0], rows.row_span(0)))
        return kinds == {kind_of(witness.value)}

    def _find_misfits(self, known: Type, column: Sequence[Value], rows: FactRows) -> None:
        misfits = 0
        for index, value in enumerate(column):
            if self._misfit(known, value) is None:
                continue
            misfits += 1
            if misfits <= _MOST_ROWS:
                self._fits(known, value, rows.row_span(index))
            else:
                self._mistakes.unlisted += 1

    def _fits(self, known: Type, value: Value, span: Span | None) -> bool:
        if known.values is None and known.kind is None:
            self._witnesses.setdefault(known.name, _Witness(value, span))
        misfit = self._misfit(known, value)
        if misfit is not None:
            hint = self._likely_member(known, value) or misfit[1]
            self._mistakes.add(Mistake(misfit[0], span, hint, places(misfit[2])))
        return misfit is None

    def _misfit(self, known: Type, value: Value) -> tuple[str, str, tuple[str, Span | None]] | None:
        """What is wrong, a hint, and the place that says otherwise; ``None`` if the value is of the type."""
        shown = shown_constant(value)
        if known.values is not None:
            if kind_of(value) == known.kind and value in self._members_of(known):
                return None
            return f"{shown} is not a {_described(known.name)}", "", ("declared here", known.span)
        if known.kind is not None:
            if kind_of(value) == known.kind:
                return None
            return f"{shown} is not a number", "", (f"type {known.name} is declared here", known.span)
        witness = self._witnesses.get(known.name)
        if witness is None or kind_of(value) == kind_of(witness.value):
            return None
        message = f"type {known.name} holds {shown_constant(witness.value)} and {shown}"
        return message, "a type holds text or numbers, not both", ("the other is here", witness.span)

    def _likely_member(self, known: Type, value: Value) -> str:
        if known.values is None or len(known.values) > _MOST_CHOICES or self._mistakes.full:
            return ""
        alike = next((member for member in known.values if str(member) == str(value)), None)
        if alike is not None:
            return f"write {shown_constant(alike)}"
        if known.kind == "text" and (near := nearest(str(value), map(str, known.values))):
            return near.replace("'", '"')
        return _choices(known.values)

    def _members_of(self, known: Type) -> frozenset[Value]:
        if known.name not in self._members:
            self._members[known.name] = frozenset(known.values or ())
        return self._members[known.name]


def _choices(values: Sequence[Value]) -> str:
    """The values of a closed type, as many as a message can hold."""
    first, last = values[0], values[-1]
    if isinstance(first, int) and isinstance(last, int) and len(values) == last - first + 1 > 2:
        return f"expected a value of {first}..{last}"
    shown = list(map(shown_constant, values[:_MOST_SHOWN_CHOICES]))
    more = f" or one of {len(values) - len(shown)} more" if len(values) > len(shown) else ""
    return f"expected {', '.join(shown)}{more}" if more else f"expected {' or '.join(shown)}"


def _described(type_name: str) -> str:
    predicate, value, _ = type_name.rpartition(" value")
    return f"value of {predicate}" if value else type_name
