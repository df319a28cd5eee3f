"""Does a theory fit together? Types and predicates are collected, or inferred where nothing is declared.

Takes a :class:`Theory`; gives its :class:`Signature`, or raises one ``LanguageError`` with every mistake:
unknown predicates, wrong arities, type clashes, constants outside their type, variables nothing ranges over.

>>> from herbrand.language.parse import parse_theory
>>> signature = check(parse_theory('1.5: smokes(x) and friends(x, y) => smokes(y)'))
>>> print(signature.predicate("friends"))
friends(thing, thing)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from herbrand.errors import LanguageError, Mistake, Span, nearest
from herbrand.language.names import shown_constant
from herbrand.language.scope import Renaming, free_variables, written
from herbrand.language.show import show_atom, show_formula
from herbrand.language.signature import Kind, Predicate, Signature, Type
from herbrand.language.syntax import (
    Atom,
    Bound,
    Comparison,
    Constant,
    Exists,
    FactRows,
    Forall,
    Formula,
    Learned,
    PredicateDeclaration,
    Rule,
    Statement,
    Term,
    Theory,
    TypeDeclaration,
    Value,
    ValueIn,
    ValueIs,
    Variable,
    WeightedFormula,
    walk,
)
from herbrand.language.unification import Slot, TypeClasses, VariableKey


def check(theory: Theory) -> Signature:
    """The vocabulary of a theory that fits together."""
    checker = _Checker(theory)
    signature = checker.signature()
    if checker.mistakes:
        raise LanguageError(checker.mistakes)
    return signature


def kind_of(value: Value) -> Kind:
    return "text" if isinstance(value, str) else "number"


class _Checker:
    """Collects declarations first, then every use; what is wrong gathers in ``mistakes``."""

    def __init__(self, theory: Theory) -> None:
        self.mistakes: list[Mistake] = []
        self.classes = TypeClasses(self.mistakes)
        self.types: dict[str, Type] = {}
        self.predicates: dict[str, Predicate] = {}
        self.constants: list[tuple[Slot | VariableKey, Value, Span | None]] = []
        self.rows: list[FactRows] = []
        self.strict = bool(theory.predicates)
        self._check_labels(theory.statements)
        for declaration in theory.types:
            self._declare_type(declaration)
        for declaration in theory.predicates:
            self._declare_predicate(declaration)
        for number, statement in enumerate(theory.statements):
            self._use(number, statement)

    def signature(self) -> Signature:
        names = self.classes.names(self.predicates)
        for name in dict.fromkeys(names.values()):
            self.types.setdefault(name, Type(name))
        predicates = {
            p.name: replace(
                p,
                types=tuple(names[Slot(p.name, i)] for i in range(p.arity)),
                value_type=names[Slot(p.name, p.arity)] if p.value_type else None,
            )
            for p in self.predicates.values()
        }
        mentioned = self._check_constants(predicates)
        return Signature(self.types, predicates, self.strict, mentioned)

    def refuse(
        self, message: str, span: Span | None, hint: str = "", related: Sequence[tuple[str, Span | None]] = ()
    ) -> None:
        places = tuple((note, place) for note, place in related if place is not None)
        self.mistakes.append(Mistake(message, span, hint, places))

    # Declarations

    def _check_labels(self, statements: Iterable[Statement]) -> None:
        seen: dict[str, Statement] = {}
        for statement in statements:
            if statement.label is None:
                continue
            if statement.label in seen:
                self.refuse(
                    f"the label [{statement.label}] is given twice",
                    statement.span,
                    related=[("first here", seen[statement.label].span)],
                )
            seen.setdefault(statement.label, statement)

    def _declare_type(self, declaration: TypeDeclaration) -> None:
        known = self.types.get(declaration.name)
        if known is not None:
            self.refuse(
                f"type '{declaration.name}' is declared twice",
                declaration.span,
                related=[("first here", known.span)],
            )
            return
        values, kind = self._closed_values(declaration)
        self.types[declaration.name] = Type(declaration.name, values, kind, True, declaration.span)

    def _closed_values(self, declaration: TypeDeclaration) -> tuple[tuple[Value, ...] | None, Kind | None]:
        if declaration.bounds is not None:
            first, last = declaration.bounds
            return tuple(range(first, last + 1)), "number"
        if declaration.values is not None:
            return self._one_kind(declaration.values)
        return None, "number" if declaration.numeric else None

    def _one_kind(self, constants: Sequence[Constant]) -> tuple[tuple[Value, ...], Kind]:
        kind = kind_of(constants[0].value)
        for constant in constants:
            if kind_of(constant.value) != kind:
                self.refuse(
                    f"{shown_constant(constant.value)} and {shown_constant(constants[0].value)} stand in one "
                    "set",
                    constant.span,
                    "a type holds text or numbers, not both",
                )
        return tuple(constant.value for constant in constants), kind

    def _declare_predicate(self, declaration: PredicateDeclaration) -> None:
        known = self.predicates.get(declaration.name)
        if known is not None:
            self.refuse(
                f"predicate '{declaration.name}' is declared twice",
                declaration.span,
                related=[("first here", known.span)],
            )
            return
        for name in declaration.types:
            self.types.setdefault(name, Type(name))
        value_type = self._value_type(declaration)
        self._enter(
            Predicate(
                declaration.name, declaration.types, value_type, declaration.role, True, declaration.span
            )
        )
        for slot, name in enumerate(self.predicates[declaration.name].column_types):
            self.classes.settle(Slot(declaration.name, slot), name, declaration.span)

    def _value_type(self, declaration: PredicateDeclaration) -> str | None:
        if declaration.values is None:
            return None
        if isinstance(declaration.values, str):
            self.types.setdefault(declaration.values, Type(declaration.values))
            return declaration.values
        name = f"{declaration.name} value"
        values, kind = self._one_kind(declaration.values)
        self.types[name] = Type(name, values, kind, True, declaration.span)
        return name

    def _enter(self, predicate: Predicate) -> None:
        self.predicates[predicate.name] = predicate
        for slot in range(len(predicate.column_types)):
            self.classes.add_slot(Slot(predicate.name, slot))

    # Uses

    def _use(self, number: int, statement: Statement) -> None:
        match statement:
            case FactRows():
                self._use_rows(statement)
            case WeightedFormula():
                self._use_weighted(number, statement)
            case Bound(event=event, given=given):
                renaming = Renaming()
                parts = [renaming.formula(part) for part in (event, given) if part is not None]
                self._use_formulas(number, parts, ordered=False)
            case Rule(head=head, body=body):
                renaming = Renaming()
                parts: list[Formula] = [renaming.atom(head), *map(renaming.formula, body)]
                self._use_formulas(number, parts, ordered=True)

    def _use_weighted(self, number: int, statement: WeightedFormula) -> None:
        formula = Renaming().formula(statement.formula)
        self._use_formulas(number, [formula, *statement.where], ordered=False)
        free = free_variables(formula)
        named = [t for c in statement.where for t in (c.left, c.right) if isinstance(t, Variable)]
        if isinstance(statement.weight, Learned):
            named += statement.weight.by
        for variable in named:
            if variable.name not in free:
                quantified = any(
                    bound.name == variable.name
                    for part in walk(statement.formula)
                    if isinstance(part, Exists | Forall)
                    for bound in part.variables
                )
                self.refuse(
                    f"{variable.name} is not a free variable of the formula",
                    variable.span,
                    "'where' and '?[ ]' cannot name quantified variables" if quantified else "",
                )

    def _use_formulas(self, number: int, formulas: Sequence[Formula], ordered: bool) -> None:
        variables: dict[str, Variable] = {}
        mistakes_before = len(self.mistakes)
        for formula in formulas:
            for part in walk(formula):
                match part:
                    case Atom():
                        self._use_atom(number, part, variables)
                    case ValueIs(atom=atom, value=value):
                        self._use_valued(number, atom, [value], part.span, variables)
                    case ValueIn(atom=atom, values=values):
                        self._use_valued(number, atom, values, part.span, variables)
                    case Comparison():
                        self._use_comparison(number, part, ordered, variables)
                    case Exists(variables=bound) | Forall(variables=bound):
                        variables.update((v.name, v) for v in bound)
        if len(self.mistakes) > mistakes_before:
            return
        for name, variable in variables.items():
            if not self.classes.has_slot(VariableKey(number, name)):
                self.refuse(
                    f"nothing tells what {written(name)} ranges over: it occurs in no atom", variable.span
                )

    def _use_atom(self, number: int, atom: Atom, variables: dict[str, Variable]) -> None:
        predicate = self._predicate(atom.predicate, len(atom.arguments), atom.span)
        if predicate is None:
            return
        if predicate.value_type is not None:
            self.refuse(
                f"{atom.predicate} is many-valued and needs a value",
                atom.span,
                f"write {show_formula(atom)} = value",
                [("declared here", predicate.span)],
            )
            return
        self._use_terms(number, atom, atom.arguments, variables)

    def _use_valued(
        self,
        number: int,
        atom: Atom,
        values: Sequence[Term],
        span: Span | None,
        variables: dict[str, Variable],
    ) -> None:
        predicate = self._valued_predicate(atom, span)
        if predicate is None:
            return
        self._use_terms(number, atom, atom.arguments, variables)
        for value in values:
            self._use_term(number, Slot(atom.predicate, predicate.arity), value, variables)

    def _valued_predicate(self, atom: Atom, span: Span | None) -> Predicate | None:
        if atom.predicate not in self.predicates:
            self.refuse(
                f"{atom.predicate} is not declared as many-valued",
                span,
                f"declare it: predicate {atom.predicate}(...) in {{...}}"
                if not self.strict
                else nearest(atom.predicate, self.predicates),
            )
            return None
        predicate = self._predicate(atom.predicate, len(atom.arguments), atom.span)
        if predicate is not None and predicate.value_type is None:
            self.refuse(
                f"{atom.predicate} is true or false and has no other value",
                span,
                f"a many-valued predicate is declared with its values: predicate {predicate} in {{...}}",
                [("declared here" if predicate.declared else "first used here", predicate.span)],
            )
            return None
        return predicate

    def _use_terms(
        self, number: int, atom: Atom, terms: Sequence[Term], variables: dict[str, Variable]
    ) -> None:
        for position, term in enumerate(terms):
            self._use_term(number, Slot(atom.predicate, position), term, variables)

    def _use_term(self, number: int, slot: Slot, term: Term, variables: dict[str, Variable]) -> None:
        if isinstance(term, Constant):
            self.constants.append((slot, term.value, term.span))
            return
        variables.setdefault(term.name, term)
        self.classes.join(VariableKey(number, term.name), slot, written(term.name), term.span)

    def _use_comparison(
        self, number: int, comparison: Comparison, ordered: bool, variables: dict[str, Variable]
    ) -> None:
        if comparison.operator not in ("=", "!=") and not ordered:
            self.refuse(
                f"{comparison.operator} compares numbers in the body of a rule only",
                comparison.span,
                "define a predicate by a rule and use it here",
            )
            return
        left, right = comparison.left, comparison.right
        sides = [term for term in (left, right) if isinstance(term, Variable)]
        keys = [VariableKey(number, term.name) for term in sides]
        for term in sides:
            variables.setdefault(term.name, term)
        if len(keys) == 2:
            self.classes.join(keys[0], keys[1], written(sides[0].name), comparison.span)
        for constant in (left, right):
            if isinstance(constant, Constant) and keys:
                self.constants.append((keys[0], constant.value, constant.span))

    def _use_rows(self, rows: FactRows) -> None:
        arity = len(rows.columns) - rows.valued
        if rows.valued:
            predicate = self._valued_predicate(_head(rows, arity), rows.row_span(0))
        else:
            predicate = self._predicate(rows.predicate, arity, rows.row_span(0))
            if predicate is not None and predicate.value_type is not None:
                self.refuse(
                    f"{rows.predicate} is many-valued and needs a value",
                    rows.row_span(0),
                    f"write {show_atom(rows.predicate, rows.row(0))} = value",
                    [("declared here", predicate.span)],
                )
                return
        if predicate is not None:
            self.rows.append(rows)

    def _predicate(self, name: str, arity: int, span: Span | None) -> Predicate | None:
        predicate = self.predicates.get(name)
        if predicate is None:
            if self.strict:
                self.refuse(
                    f"predicate '{name}' is not declared",
                    span,
                    nearest(name, self.predicates) or "as soon as one predicate is declared, all must be",
                )
                return None
            predicate = Predicate(name, ("",) * arity, span=span)
            self._enter(predicate)
        if predicate.arity != arity:
            self.refuse(
                f"{name} takes {_counted(predicate.arity)}, not {arity}",
                span,
                related=[("declared here" if predicate.declared else "first used here", predicate.span)],
            )
            return None
        return predicate

    # Constants, when all types are known

    def _check_constants(self, predicates: dict[str, Predicate]) -> dict[str, tuple[Value, ...]]:
        seen: dict[str, tuple[Value, Span | None]] = {}
        mentioned: dict[str, dict[Value, None]] = defaultdict(dict)
        for key, value, span in self.constants:
            name = self.classes.name_of(key, predicates)
            if name is not None and self._fits(name, value, span, seen):
                mentioned[name].setdefault(value)
        for rows in self.rows:
            for name, column in zip(predicates[rows.predicate].column_types, rows.columns, strict=True):
                self._check_column(rows, name, column, seen)
        for name, (value, _) in seen.items():
            self.types[name] = replace(self.types[name], kind=kind_of(value))
        return {name: tuple(values) for name, values in mentioned.items()}

    def _check_column(
        self,
        rows: FactRows,
        name: str,
        column: tuple[Value, ...],
        seen: dict[str, tuple[Value, Span | None]],
    ) -> None:
        """A whole column at once; row by row only where something is wrong."""
        known = self.types[name]
        kinds = {"text" if kind is str else "number" for kind in set(map(type, column))}
        if known.values is not None:
            good = set(column) <= set(known.values) and kinds == {known.kind}
        else:
            first = seen.setdefault(name, (column[0], rows.row_span(0)))[0]
            good = kinds == {known.kind or kind_of(first)}
        if not good:
            for index, value in enumerate(column):
                self._fits(name, value, rows.row_span(index), seen)

    def _fits(
        self, name: str, value: Value, span: Span | None, seen: dict[str, tuple[Value, Span | None]]
    ) -> bool:
        known = self.types[name]
        if known.values is not None:
            if kind_of(value) == known.kind and value in known.values:
                return True
            near = nearest(str(value), map(str, known.values)) if known.kind == "text" else ""
            self.refuse(
                f"{shown_constant(value)} is not a {_type_name(name)}",
                span,
                near,
                [("declared here", known.span)],
            )
            return False
        first, place = seen.setdefault(name, (value, span))
        kind = known.kind or kind_of(first)
        if kind_of(value) == kind:
            return True
        if known.kind is not None:
            seen.pop(name) if seen[name][0] is value else None
            self.refuse(
                f"{shown_constant(value)} is not a number",
                span,
                related=[(f"type {name} is declared here", known.span)],
            )
            return False
        self.refuse(
            f"type {name} holds {shown_constant(first)} and {shown_constant(value)}",
            span,
            "a type holds text or numbers, not both",
            [("the other is here", place)],
        )
        return False


def _head(rows: FactRows, arity: int) -> Atom:
    arguments = tuple(Constant(value) for value in rows.row(0)[:arity])
    return Atom(rows.predicate, arguments, rows.row_span(0))


def _counted(arity: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(arity, f"{arity} arguments")


def _type_name(name: str) -> str:
    return f"value of {name.removesuffix(' value')}" if name.endswith(" value") else name
