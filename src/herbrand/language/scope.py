"""Which variable is which: every variable of a statement under a name of its own.

A quantifier may reuse a name, and ``_`` is new at each place. After :func:`renamed_apart` neither happens, so
the checker and the lowering can speak of a variable by its name alone. Made names hold a ``#``, which no
written name can.

>>> from herbrand.language.parse import parse_formula
>>> from herbrand.language.show import show_formula
>>> formula = parse_formula("p(x, _) and (exists x: q(x, _))")
>>> print(show_formula(Renaming().formula(formula)).replace("`", ""))
p(x, _#1) and (exists x#2: q(x#2, _#3))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from herbrand.language.syntax import (
    Atom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Term,
    ValueIn,
    ValueIs,
    Variable,
    children,
    leaf_terms,
    walk,
    with_children,
)


class Renaming:
    """Renames within one statement: free variables keep their names, all others get new ones."""

    def __init__(self) -> None:
        self._made = 0

    def formula(self, formula: Formula, names: Mapping[str, str] | None = None) -> Formula:
        names = names or {}
        match formula:
            case Exists(variables=variables, body=body, span=span):
                inner, renamed = self._bound(variables, names)
                return Exists(renamed, self.formula(body, inner), span)
            case Forall(variables=variables, body=body, span=span):
                inner, renamed = self._bound(variables, names)
                return Forall(renamed, self.formula(body, inner), span)
            case Atom():
                return self.atom(formula, names)
            case ValueIs(atom=atom, value=value, span=span):
                return ValueIs(self.atom(atom, names), self.term(value, names), span)
            case ValueIn(atom=atom, values=values, span=span):
                return ValueIn(self.atom(atom, names), values, span)
            case Comparison(operator=operator, left=left, right=right, span=span):
                return Comparison(operator, self.term(left, names), self.term(right, names), span)
        return with_children(formula, [self.formula(part, names) for part in children(formula)])

    def atom(self, atom: Atom, names: Mapping[str, str] | None = None) -> Atom:
        return Atom(atom.predicate, tuple(self.term(t, names or {}) for t in atom.arguments), atom.span)

    def term(self, term: Term, names: Mapping[str, str]) -> Term:
        if not isinstance(term, Variable):
            return term
        if term.anonymous:
            return Variable(self._new("_"), term.span)
        return Variable(names.get(term.name, term.name), term.span)

    def _bound(
        self, variables: Iterable[Variable], names: Mapping[str, str]
    ) -> tuple[dict[str, str], tuple[Variable, ...]]:
        inner = dict(names)
        renamed = []
        for variable in variables:
            inner[variable.name] = self._new(variable.name)
            renamed.append(Variable(inner[variable.name], variable.span))
        return inner, tuple(renamed)

    def _new(self, name: str) -> str:
        self._made += 1
        return f"{name}#{self._made}"


def written(name: str) -> str:
    """The name as the user wrote it."""
    return name.partition("#")[0]


def free_variables(formula: Formula) -> dict[str, Variable]:
    """The variables of a renamed formula that no quantifier binds, in the order they appear."""
    bound = {
        variable.name
        for part in walk(formula)
        if isinstance(part, Exists | Forall)
        for variable in part.variables
    }
    return {
        term.name: term
        for part in walk(formula)
        for term in leaf_terms(part)
        if isinstance(term, Variable) and term.name not in bound
    }
