"""Conversion of types of an ``.mln`` file whose numbers only databases list into types of numbers.

If a file lists the constants of a type, they are text, and ``t + 1`` is a table (:mod:`.numbers`). A type
with arithmetic or order but without a list becomes a type of numbers: its constants in formulas and databases
are numbers, and the relations between them become arithmetic and order comparisons.

>>> from herbrand.language.show import show_formula
>>> from herbrand.language.syntax import And, Variable
>>> types = NumericTypes({"time"}, {"H": ("time",)}, {"time_plus_1": Shift("time", 1)})
>>> step = Atom("time_plus_1", (Variable("t"), Variable("u")))
>>> print(show_formula(types.formula(And((step, Atom("H", (Constant("3"),)))))))
u = t + 1 and H(3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from herbrand.errors import LanguageError, Span
from herbrand.language.dialects.alchemy.formulas import Names
from herbrand.language.dialects.alchemy.numbers import Order, Shift, is_number, number_of
from herbrand.language.formulas import (
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Formula,
    Leaf,
    Term,
    ValueIs,
    Variable,
    leaf_terms,
    replace_leaves,
    unvalued,
    walk,
)
from herbrand.language.syntax import (
    FactRows,
    PredicateDeclaration,
    Statement,
    TypeDeclaration,
    WeightedFormula,
)


@dataclass(frozen=True)
class NumericTypes:
    """Types of numbers, by their ``names``.

    ``columns``: argument types of each predicate, with its value type last. ``relations``: relation that each
    predicate for arithmetic or order expresses.
    """

    names: Set[str]
    columns: Mapping[str, Sequence[str]]
    relations: Mapping[str, Shift | Order]

    @staticmethod
    def of(names: Names, listed: Set[str], statements: Iterable[Statement]) -> NumericTypes:
        """The types with arithmetic or order, or whose numbers are weights, that no statement lists."""
        declared = [statement for statement in statements if isinstance(statement, PredicateDeclaration)]
        for name, span in names.weighing.items():
            if name in listed:
                raise LanguageError(
                    f"the constants of '{name}' are listed, and so are text and no weights",
                    span=span,
                    hint=f"leave out the list {name} = {{...}}",
                )
        unlisted = [relation for relation in names.numbers if relation.type not in listed]
        return NumericTypes(
            {relation.type for relation in unlisted} | names.weighing.keys(),
            {statement.name: statement.named_types for statement in declared},
            {relation.predicate: relation for relation in unlisted},
        )

    def declarations(self) -> Iterator[TypeDeclaration]:
        return (TypeDeclaration(name, numeric=True) for name in sorted(self.names))

    def statement(self, statement: Statement) -> Statement:
        """The statement with numbers in place of text for constants of these types."""
        if not self.names:
            return statement
        if isinstance(statement, WeightedFormula):
            variables = self._variables(statement.formula)
            where = tuple(self._comparison(one, variables) for one in statement.where)
            return replace(statement, formula=self.formula(statement.formula), where=where)
        return self._rows(statement) if isinstance(statement, FactRows) else statement

    def formula(self, formula: Formula) -> Formula:
        variables = self._variables(formula)
        return replace_leaves(formula, lambda leaf: self._leaf(leaf, variables))

    def _variables(self, formula: Formula) -> set[str]:
        """Names of the variables whose values are numbers."""
        return {
            term.name
            for part in walk(formula)
            if isinstance(part, Atom | ValueIs)
            for term, is_numeric in self._placed(part)
            if is_numeric and isinstance(term, Variable)
        }

    def _placed(self, leaf: Atom | ValueIs) -> list[tuple[Term, bool]]:
        """Each term of an atom, and whether its type is one of these."""
        name, terms = unvalued(leaf).predicate, leaf_terms(leaf)
        relation = self.relations.get(name)
        types = self.columns.get(name, ()) if relation is None else (relation.type,) * len(terms)
        return [(term, place < len(types) and types[place] in self.names) for place, term in enumerate(terms)]

    def _leaf(self, leaf: Leaf, variables: Set[str]) -> Leaf:
        match leaf:
            case Comparison():
                return self._comparison(leaf, variables)
            case Atom(predicate=name) if name in self.relations:
                terms = [_numeric(term) for term, _ in self._placed(leaf)]
                return _related(self.relations[name], terms, leaf)
            case Atom(predicate=name, span=span):
                return Atom(name, self._terms(leaf), span)
            case ValueIs(atom=atom, span=span):
                *arguments, value = self._terms(leaf)
                return ValueIs(Atom(atom.predicate, tuple(arguments), atom.span), value, span)
        return leaf

    def _terms(self, leaf: Atom | ValueIs) -> tuple[Term, ...]:
        return tuple(_numeric(term) if is_numeric else term for term, is_numeric in self._placed(leaf))

    def _comparison(self, leaf: Comparison, variables: Set[str]) -> Comparison:
        if not any(isinstance(term, Variable) and term.name in variables for term in (leaf.left, leaf.right)):
            return leaf
        return replace(leaf, left=_numeric(leaf.left), right=_numeric(leaf.right))

    def _rows(self, rows: FactRows) -> FactRows:
        types = self.columns.get(rows.predicate, ())
        columns = list(rows.columns)
        for place, name in enumerate(types[: len(columns)]):
            if name in self.names:
                columns[place] = tuple(
                    _number(str(value), partial(rows.row_span, row))
                    for row, value in enumerate(columns[place])
                )
        return replace(rows, columns=tuple(columns))


def _related(relation: Shift | Order, terms: Sequence[Term], atom: Atom) -> Leaf:
    """The arithmetic or order comparison that the atom of a relation expresses."""
    if isinstance(relation, Shift):
        return Computed("=", terms[1], _moved(terms[0], relation.by), atom.span)
    if relation.bound is not None:
        return Comparison(relation.sign, terms[0], Constant(number_of(relation.bound), atom.span), atom.span)
    if not relation.by:
        return Comparison(relation.sign, terms[0], terms[1], atom.span)
    return Computed(relation.sign, terms[0], _moved(terms[1], relation.by), atom.span)


def _moved(term: Term, by: int) -> Arithmetic:
    return Arithmetic("+" if by >= 0 else "-", (term, Constant(abs(by))))


def _numeric(term: Term) -> Term:
    if not isinstance(term, Constant) or not isinstance(term.value, str):
        return term
    return Constant(_number(term.value, lambda: term.span), term.span)


def _number(text: str, span_of: Callable[[], Span | None]) -> int | float:
    if not is_number(text):
        message = f"'{text}' is no number; arithmetic or an order comparison is of constants of its type"
        raise LanguageError(message, span=span_of())
    return number_of(text)
