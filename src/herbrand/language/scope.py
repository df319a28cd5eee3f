"""Scopes of variables: renaming apart, free and bound variables, and substitution.

A quantifier may reuse a name, and ``_`` is new at each place. After :class:`Renaming` each variable of a
statement has a distinct name, so the checker and the lowering can identify it by that name alone. New names
hold a back-quote, which no written name can.

>>> from herbrand.language.parse import parse_formula
>>> from herbrand.language.show import show_formula
>>> formula = parse_formula("p(x, _) and (exists x: q(x, _))")
>>> sorted(free_variables(Renaming().formula(formula)))
['_`1', '_`3', 'x']
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from herbrand.language.formulas import (
    Atom,
    Comparison,
    Constant,
    Exists,
    Expression,
    Forall,
    Formula,
    Leaf,
    Term,
    ValueIn,
    ValueIs,
    Variable,
    changed_value,
    children,
    compares,
    leaf_terms,
    unvalued,
    walk,
    with_changed_terms,
    with_children,
)
from herbrand.language.signature import Signature

NOTHING: Mapping[str, str] = {}


class Renaming:
    """Renaming within one statement: free variables keep their names, all others get new ones.

    ``quantified``: also rename variables that a quantifier binds; otherwise only ``_``. ``numbered``: new
    names are numbers alone, so that formulas that differ only in the names of bound variables become equal.
    """

    def __init__(self, quantified: bool = True, numbered: bool = False) -> None:
        self._quantified = quantified
        self._numbered = numbered
        self._made = 0

    def formula(self, formula: Formula, names: Mapping[str, str] = NOTHING) -> Formula:
        if isinstance(formula, Atom):
            return self.atom(formula, names)
        if isinstance(formula, Leaf):
            return with_changed_terms(
                formula, lambda term: self.term(term, names), lambda part: self.formula(part, names)
            )
        if isinstance(formula, Exists | Forall):
            names, variables = self._bound(formula.variables, names)
            formula = replace(formula, variables=variables)
        return with_children(formula, [self.formula(part, names) for part in children(formula)])

    def expression(self, value: Expression, names: Mapping[str, str]) -> Expression:
        return changed_value(
            value, lambda term: self.term(term, names), lambda part: self.formula(part, names)
        )

    def atom(self, atom: Atom, names: Mapping[str, str] = NOTHING) -> Atom:
        for term in atom.arguments:
            if isinstance(term, Variable) and (term.anonymous or term.name in names):
                arguments = tuple([self.term(each, names) for each in atom.arguments])
                return Atom(atom.predicate, arguments, atom.span)
        return atom

    def term(self, term: Term, names: Mapping[str, str]) -> Term:
        if not isinstance(term, Variable):
            return term
        if term.anonymous:
            return Variable(self.new("_"), term.span)
        name = names.get(term.name)
        return term if name is None else Variable(name, term.span)

    def _bound(
        self, variables: Iterable[Variable], names: Mapping[str, str]
    ) -> tuple[Mapping[str, str], tuple[Variable, ...]]:
        if not self._quantified:
            return names, tuple(variables)
        inner = dict(names)
        renamed = []
        for variable in variables:
            inner[variable.name] = self.new(variable.name)
            renamed.append(Variable(inner[variable.name], variable.span))
        return inner, tuple(renamed)

    def new(self, name: str) -> str:
        """A new name, which no other variable of the statement has."""
        self._made += 1
        return f"`{self._made}" if self._numbered else f"{name}`{self._made}"


def written(name: str) -> str:
    """Name of a renamed variable as the user wrote it."""
    return name.partition("`")[0]


def free_variables(formula: Formula) -> dict[str, Variable]:
    """The variables of a renamed formula that no quantifier binds, in the order they appear."""
    if isinstance(formula, Leaf):
        return {term.name: term for term in leaf_terms(formula) if isinstance(term, Variable)}
    bound = quantified_names(formula)
    return {
        term.name: term
        for part in walk(formula)
        for term in leaf_terms(part)
        if isinstance(term, Variable) and term.name not in bound
    }


def quantified_names(formula: Formula) -> set[str]:
    """Names of the variables that quantifiers of a formula bind."""
    quantifiers = (part for part in walk(formula) if isinstance(part, Exists | Forall))
    return {variable.name for quantifier in quantifiers for variable in quantifier.variables}


def free_names(formulas: Iterable[Formula]) -> list[str]:
    """Names of the free variables of several renamed formulas, each once."""
    return list(dict.fromkeys(name for formula in formulas for name in free_variables(formula)))


def variable_types(formulas: Iterable[Formula], signature: Signature) -> dict[str, str]:
    """Type of each variable of a checked, renamed statement, by its positions and comparisons."""
    types: dict[str, str] = {}
    compared: dict[str, list[str]] = defaultdict(list)
    for formula in formulas:
        for part in walk(formula):
            match part:
                case Atom() | ValueIs() | ValueIn():
                    columns = signature.predicates[unvalued(part).predicate].column_types
                    for term, column in zip(leaf_terms(part), columns, strict=False):
                        if isinstance(term, Variable):
                            types[term.name] = column
                case Comparison(left=Variable(name=left), right=Variable(name=right)):
                    compared[left].append(right)
                    compared[right].append(left)
    waiting = list(types)
    for name in waiting:
        for other in compared[name]:
            if other not in types:
                types[other] = types[name]
                waiting.append(other)
    return types


def with_terms(formula: Formula, values: Mapping[str, Term]) -> Formula:
    """Substitute terms for free variables of a formula; bound variables stay."""
    if isinstance(formula, Leaf):
        return with_changed_terms(
            formula,
            lambda term: values.get(term.name, term) if isinstance(term, Variable) else term,
            lambda part: with_terms(part, values),
        )
    if isinstance(formula, Exists | Forall):
        bound = {variable.name for variable in formula.variables}
        values = {name: value for name, value in values.items() if name not in bound}
    return with_children(formula, [with_terms(part, values) for part in children(formula)])


def conditions_with(where: Sequence[Comparison], values: Mapping[str, Term]) -> tuple[Comparison, ...] | None:
    """Substitute terms in conditions and drop those that hold; ``None`` if one of two constants fails."""
    kept = []
    for condition in where:
        changed = with_terms(condition, values)
        assert isinstance(changed, Comparison)
        if not isinstance(changed.left, Constant) or not isinstance(changed.right, Constant):
            kept.append(changed)
        elif not compares(changed.operator, changed.left.value, changed.right.value):
            return None
    return tuple(kept)
