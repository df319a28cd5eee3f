"""Type checker: collects types and predicates, or infers them where nothing is declared.

Takes a :class:`Theory`; returns its :class:`Signature`, or raises one ``LanguageError`` with every mistake:
unknown predicates, wrong arities, type clashes, constants outside their type, variables without a range.

>>> from herbrand.language.parse import parse_theory
>>> signature = check(parse_theory('1.5: smokes(x) and friends(x, y) => smokes(y)'))
>>> print(signature.predicate("friends"))
friends(thing, thing)

The stages: the declarations, ``uses`` (every atom against its predicate; the
classes of positions and variables that share a type, and their names), and here every constant against its
type.

Constants are checked once every type has a name. The check also gives the constants that formulas name, by
type, and whether each open type holds text or numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, repeat
from typing import NamedTuple

from herbrand.errors import LanguageError, Mistake, Mistakes, Span, nearest, placed
from herbrand.language.collection import collector_paused
from herbrand.language.comparisons import negated_equations
from herbrand.language.computed import Separated, separated, with_inner
from herbrand.language.computed_dates import wrong_dates
from herbrand.language.formulas import (
    BODY_HOLDS,
    Computed,
    Constant,
    Formula,
    Value,
    Variable,
    opposite_hint,
    walk,
)
from herbrand.language.names import not_taken, shown_constant, shown_name, wrong_moment
from herbrand.language.parse import Reading
from herbrand.language.signature import Kind, Predicate, Signature, Type, Vocabulary, kind_of
from herbrand.language.syntax import (
    Bound,
    BoundRows,
    Choice,
    FactRows,
    PredicateDeclaration,
    Rule,
    Statement,
    TypeDeclaration,
    WeightedFormula,
    formulas_in,
)
from herbrand.language.theory import Theory
from herbrand.language.uses import ConstantUse, Slot, Uses

_MOST_CHOICES = 1000
"""Closed types with more constants get no suggestion of a similar one: the search would take too long."""
_MOST_ROWS = 100
"""Misfits in one column that are refused with their place; further ones are only counted."""
_MOST_SHOWN_CHOICES = 6


class _Witness(NamedTuple):
    """First constant seen of an open type; all others must be of the same kind, text or number."""

    value: Value
    span: Span | None


class ConstantCheck:
    """Checker of constants against types; it collects ``mentioned`` constants and the types' ``kinds``."""

    def __init__(self, types: Mapping[str, Type], mistakes: Mistakes) -> None:
        self._types = types
        self._mistakes = mistakes
        self._witnesses: dict[str, _Witness] = {}
        self._mentioned: dict[str, dict[Value, None]] = defaultdict(dict)
        self._members: dict[str, frozenset[Value]] = {}
        self._noted: set[Mistake] = set()

    @property
    def mentioned(self) -> dict[str, tuple[Value, ...]]:
        """The constants that formulas and rules name, by type."""
        return {name: tuple(values) for name, values in self._mentioned.items()}

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of each open type of which a constant was seen."""
        return {name: kind_of(witness.value) for name, witness in self._witnesses.items()}

    def check_uses(self, uses: Iterable[tuple[str | None, ConstantUse]]) -> None:
        for name, use in uses:
            if name is None or use.value in self._mentioned.get(name, ()):
                continue
            known = self._types[name]
            if use.limit and known.values is not None and kind_of(use.value) == known.kind:
                continue
            if use.limit and known.kind is None and isinstance(use.value, str):
                continue  # a type without constants fits every comparison
            if self._fits(known, use.value, use.span, written=True) and not use.limit:
                self._mentioned[name].setdefault(use.value)

    def check_numeric(self, uses: Iterable[tuple[str | None, Variable]]) -> None:
        """Refuse variables that stand for probabilities and range over text.

        To be called after all constants are checked; facts from tables may still bring text.
        """
        for name, variable in uses:
            if name is not None and (self.kinds.get(name) or self._types[name].kind) == "text":
                known = self._types[name]
                origin = ("declared here", known.span)
                if known.name in self._witnesses:
                    origin = ("as text here", self._witnesses[known.name].span)
                message = f"{shown_name(variable.name)} is a probability and ranges over text"
                self._mistakes.note(message, variable.span, "a probability is a number", [origin])

    def check_rows(self, rows: FactRows, predicate: Predicate) -> None:
        for name, column in zip(predicate.column_types, rows.columns, strict=True):
            if not self._column_fits(self._types[name], column, rows):
                self._find_misfits(self._types[name], column, rows)

    def _column_fits(self, known: Type, column: Sequence[Value], rows: FactRows) -> bool:
        """Whether every value of a column fits its type, checked for the whole column at once."""
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

    def _fits(self, known: Type, value: Value, span: Span | None, written: bool = False) -> bool:
        """Whether a value is of a type; note a mistake if not.

        ``written``: the value stands in a formula, where a date or time must have its canonical form.
        """
        if known.values is None and known.kind is None:
            self._witnesses.setdefault(known.name, _Witness(value, span))
        misfit = self._misfit(known, value, written)
        if misfit is not None:
            message, hint, origin = misfit
            hint = self._likely_member(known, value) or hint
            self.note(Mistake(message, span, hint, placed([origin])))
        return misfit is None

    def note(self, mistake: Mistake) -> None:
        """Note a mistake once: the rules made for typing repeat literals, and so their mistakes."""
        if mistake.span is None or mistake not in self._noted:
            self._noted.add(mistake)
            self._mistakes.add(mistake)

    def _misfit(
        self, known: Type, value: Value, written: bool = False
    ) -> tuple[str, str, tuple[str, Span | None]] | None:
        """Message, hint and the place that conflicts with the value; ``None`` if the value is of the type."""
        if known.values is not None:
            if kind_of(value) == known.kind and value in self._members_of(known):
                return None
            message = f"{shown_constant(value)} is not a {_described(known.name)}"
            return message, "", ("declared here", known.span)
        if known.kind is not None:
            fits = kind_of(value) == known.kind
            calendar = None if fits and not written else known.calendar
            wrong = None if calendar is None else wrong_moment(calendar, value)
            if fits and wrong is None:
                return None
            message, hint = wrong or (f"{shown_constant(value)} is not a number", "")
            return message, hint, (f"type {known.name} is declared here", known.span)
        witness = self._witnesses.get(known.name)
        if witness is None or kind_of(value) == kind_of(witness.value):
            return None
        message = f"type {known.name} holds {shown_constant(witness.value)} and {shown_constant(value)}"
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
    """Hint that lists the values of a closed type, the first few of many."""
    first, last = values[0], values[-1]
    if isinstance(first, int) and isinstance(last, int) and len(values) == last - first + 1 > 2:
        return f"expected a value of {first}..{last}"
    shown = list(map(shown_constant, values[:_MOST_SHOWN_CHOICES]))
    more = f" or one of {len(values) - len(shown)} more" if len(values) > len(shown) else ""
    return f"expected {', '.join(shown)}{more}" if more else f"expected {' or '.join(shown)}"


def _described(type_name: str) -> str:
    predicate, value, _ = type_name.rpartition(" value")
    return f"value of {predicate}" if value else type_name


@collector_paused()
def check(theory: Theory, apart: Separated | None = None) -> Signature:
    """Check a theory and return its signature; ``apart``: its separated form, if that is already computed."""
    mistakes = Mistakes()
    signature = _signature(theory, mistakes, apart=apart)
    mistakes.raise_any()
    return signature


def check_all(readings: Iterable[Reading]) -> tuple[Theory, Signature]:
    """Join several texts into one theory and check it; all mistakes of all texts are raised together.

    Names in statements that could not be read are not reported as undeclared: the declaration may be in the
    broken statement.

    >>> from herbrand.language.parse import read_theory
    >>> check_all([read_theory("predicate smokes(person)\\nsmokes('anna')\\n1: smoks(x)", "a.hb")])
    Traceback (most recent call last):
    herbrand.errors.LanguageError: a.hb:2:8: unexpected character "'"
      smokes('anna')
             ^
      constants stand in double quotes
    a.hb:3:4: predicate 'smoks' is not declared
      1: smoks(x)
         ^^^^^^^^
      did you mean 'smokes'?
    """
    theory, signature, mistakes = examined(readings)
    mistakes.raise_any()
    assert signature is not None
    return theory, signature


def examined(readings: Iterable[Reading]) -> tuple[Theory, Signature | None, Mistakes]:
    """The theory of all readable statements, its signature, and every mistake.

    The signature is ``None`` if a text could not be read at all.
    """
    readings = list(readings)
    mistakes = Mistakes()
    for reading in readings:
        mistakes.add_all(LanguageError(reading.mistakes, unlisted=reading.unlisted))
    theory = Theory(tuple(statement for reading in readings for statement in reading.theory.statements))
    unread = [reading.unread for reading in readings]
    if None in unread:
        return theory, None, mistakes
    signature = _signature(theory, mistakes, frozenset().union(*(names or () for names in unread)))
    return theory, signature, mistakes


def _signature(
    theory: Theory, mistakes: Mistakes, unread: Collection[str] = (), apart: Separated | None = None
) -> Signature:
    apart = apart or separated(theory, mistakes)
    computing = bool(apart.definitions or len(mistakes))
    _refuse_negated_equations(theory.statements if computing else (*theory.rules, *theory.choices), mistakes)
    theory = apart.typing
    vocabulary = _declared(theory, mistakes)
    uses = Uses(theory, vocabulary, mistakes, unread)
    names = uses.classes.names(vocabulary.predicates)
    predicates = {name: _typed(predicate, names) for name, predicate in vocabulary.predicates.items()}
    for one in with_inner(apart.definitions):
        declared, aggregated = predicates.get(one.head.predicate), tuple(one.aggregated())
        if declared is not None and aggregated:
            predicates[declared.name] = replace(declared, aggregated=aggregated)
    types = vocabulary.types | {name: Type(name) for name in names.values() if name not in vocabulary.types}
    constants = ConstantCheck(types, mistakes)
    constants.check_uses((uses.classes.name_of(use.key), use) for use in uses.constants)
    for rows in uses.rows:
        constants.check_rows(rows, predicates[rows.predicate])
    constants.check_numeric((uses.classes.name_of(key), variable) for key, variable in uses.numeric)
    types |= {name: replace(types[name], kind=kind) for name, kind in constants.kinds.items()}
    spelled = {**theory.spelled, **theory.made_for}
    made, strict = frozenset(theory.made_for), vocabulary.strict
    signature = Signature(types, predicates, strict, constants.mentioned, spelled, made, theory.calls)
    for one in () if len(mistakes) else with_inner(apart.definitions):
        for mistake in wrong_dates(one, signature):
            constants.note(mistake)
    return signature


def _refuse_negated_equations(statements: Iterable[Statement], mistakes: Mistakes) -> None:
    """Note ``not x = y`` in bodies, where only atoms may be negated.

    The parser cannot refuse it: whether ``m = "x"`` is an atom is known only with all declarations. Formulas
    and bounds have bodies only inside computed values; the caller leaves them out where nothing is computed,
    as there may be many.
    """
    for statement in statements:
        for literal, equation in negated_equations(_bodies(statement)):
            mistakes.note(BODY_HOLDS, literal.span, opposite_hint(equation.operator))


def _bodies(statement: Statement) -> Iterator[Formula]:
    """Literals of the body of a rule or choice; of a formula or bound the computed comparisons, whose
    aggregates have bodies."""
    match statement:
        case Rule(body=body) | Choice(body=body):
            yield from body
        case WeightedFormula() | Bound():
            parts = chain.from_iterable(map(walk, formulas_in(statement)))
            yield from (part for part in parts if isinstance(part, Computed))


def _typed(predicate: Predicate, names: dict[Slot, str]) -> Predicate:
    if not predicate.column_types:
        return predicate
    *types, value = (names.get(Slot(predicate.name, i)) for i in range(predicate.arity + 1))
    if predicate.value_type == value and predicate.types == tuple(types):
        return predicate
    return replace(predicate, types=tuple(types), value_type=value)


def _declared(theory: Theory, mistakes: Mistakes) -> Vocabulary:
    """Collect the declared types and predicates; note names and labels that are given twice."""
    vocabulary = Vocabulary(strict=bool(theory.predicates))
    _check_labels(theory.statements, mistakes)
    for declaration in theory.types:
        if _is_new("type", declaration, vocabulary.types, mistakes):
            vocabulary.types[declaration.name] = _declared_type(declaration, mistakes)
    for declaration in theory.predicates:
        for name in declaration.named_types:
            vocabulary.types.setdefault(name, Type(name))
    for declaration in theory.predicates:
        if _is_new("predicate", declaration, vocabulary.predicates, mistakes):
            _declare(declaration, vocabulary, mistakes)
    return vocabulary


def _check_labels(statements: Iterable[Statement], mistakes: Mistakes) -> None:
    seen: dict[str, tuple[Statement, int]] = {}
    for statement in statements:
        if isinstance(statement, BoundRows) and seen.keys().isdisjoint(statement.labels):
            seen.update(_labelled(statement))
            continue
        for label, row in _labelled(statement):
            first = seen.setdefault(label, row)
            if first is not row:
                message = f"the label [{label}] is given twice"
                mistakes.note(message, _row_span(*row), related=[("first here", _row_span(*first))])


def _labelled(statement: Statement) -> Iterable[tuple[str, tuple[Statement, int]]]:
    """Labels in a statement, each with its statement and row; the labels within a run of bounds differ."""
    if isinstance(statement, BoundRows):
        return zip(statement.labels, zip(repeat(statement), count()), strict=False)
    return [] if statement.label is None else [(statement.label, (statement, 0))]


def _row_span(statement: Statement, row: int) -> Span | None:
    return statement.row_span(row) if isinstance(statement, BoundRows) else statement.span


def _is_new(
    what: str,
    declaration: TypeDeclaration | PredicateDeclaration,
    known: dict[str, Type] | dict[str, Predicate],
    mistakes: Mistakes,
) -> bool:
    first = known.get(declaration.name)
    if first is None:
        return True
    message = f"{what} '{declaration.name}' is declared twice"
    mistakes.note(message, declaration.span, related=[("first here", first.span)])
    return False


def _declared_type(declaration: TypeDeclaration, mistakes: Mistakes) -> Type:
    if declaration.bounds is not None:
        first, last = declaration.bounds
        return Type(declaration.name, range(first, last + 1), "number", True, declaration.span)
    if declaration.values is not None:
        return _closed_type(declaration.name, declaration.values, declaration.span, mistakes)
    kind = "number" if declaration.numeric else "text" if declaration.calendar else None
    return Type(declaration.name, None, kind, True, declaration.span, declaration.calendar)


def _closed_type(name: str, constants: Sequence[Constant], span: Span | None, mistakes: Mistakes) -> Type:
    first = constants[0].value
    for constant in constants:
        if kind_of(constant.value) != kind_of(first):
            message = f"{shown_constant(first)} and {shown_constant(constant.value)} stand in one set"
            mistakes.note(message, constant.span, "a type holds text or numbers, not both")
    return Type(name, tuple(constant.value for constant in constants), kind_of(first), True, span)


def _declare(declaration: PredicateDeclaration, vocabulary: Vocabulary, mistakes: Mistakes) -> None:
    name, values, span = declaration.name, declaration.values, declaration.span
    value_type = values if isinstance(values, str) else None
    if isinstance(values, tuple):
        value_type = not_taken(f"{name} value", vocabulary.types)
        vocabulary.types[value_type] = _closed_type(value_type, values, span, mistakes)
    vocabulary.predicates[name] = Predicate(
        name,
        declaration.types,
        value_type,
        declaration.role,
        True,
        span,
        declaration.tells_world,
        declaration.query,
        declaration.function,
    )
