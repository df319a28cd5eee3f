"""Uses of names in a theory: checks every atom against its predicate, and infers types by union-find.

Takes the statements and the declared vocabulary; collects the classes, constants and rows that the last stage
needs to name the types and to check the constants. Predicates that are used undeclared enter the vocabulary,
unless it is strict.

Argument positions and variables that share a type form a class with at most one declared type. A clash is a
mistake that shows both places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from herbrand.errors import Mistakes, Related, Span, counted, nearest
from herbrand.graphs import Classes
from herbrand.language.comparisons import bound_variables
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Computed,
    Constant,
    Exists,
    Forall,
    Formula,
    Term,
    Value,
    ValueIn,
    ValueIs,
    Variable,
    children,
    leaf_terms,
    walk,
)
from herbrand.language.names import is_made, not_taken, shown_constant, shown_name
from herbrand.language.scope import Renaming, free_variables, quantified_names, written
from herbrand.language.show import show_atom, show_formula
from herbrand.language.signature import Predicate, Vocabulary
from herbrand.language.syntax import (
    Bound,
    BoundRows,
    Choice,
    FactRows,
    NetworkTable,
    Rule,
    Statement,
    WeightedFormula,
    formulas_in,
    learned_by,
)
from herbrand.language.theory import Theory


class Slot(NamedTuple):
    """An argument position of a predicate; the position after the last is its value."""

    predicate: str
    position: int


class VariableKey(NamedTuple):
    """A variable of one statement, after renaming apart."""

    statement: int
    name: str


Key = Slot | VariableKey


class TypeClasses:
    """Classes of keys that must have one type; the key at its root identifies a class."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._classes: Classes[Key] = Classes()
        self._type: dict[Key, str] = {}
        self._witness: dict[Key, Span | None] = {}
        self._with_slot: set[Key] = set()
        self._clashes: set[tuple[str, Span | None]] = set()

    def add_slots(self, predicate: Predicate) -> None:
        """Add the argument positions of a predicate whose types are to be inferred."""
        for position in range(predicate.arity):
            self._with_slot.add(self._classes.leader(Slot(predicate.name, position)))

    def settle(self, slot: Slot, name: str, span: Span | None) -> None:
        """Give a position its declared type."""
        root = self._classes.leader(slot)
        self._with_slot.add(root)
        self._type[root] = name
        self._witness[root] = span

    def has_slot(self, key: Key) -> bool:
        """Whether the class of the key contains an argument position, which gives its range."""
        return self._classes.leader(key) in self._with_slot

    def join(self, variable: VariableKey, other: Key, span: Span | None) -> None:
        """Join the classes of a variable and another key; note a mistake if their declared types differ."""
        left, right = self._classes.leader(variable), self._classes.leader(other)
        if left == right:
            return
        ours, theirs = self._type.get(left), self._type.get(right)
        if ours is not None and theirs is not None and ours != theirs:
            self._clash(variable.name, ours, theirs, self._witness.get(left), span)
            return
        self._classes.join(left, right)
        if ours is not None and theirs is None:
            self._type[right] = ours
            self._witness[right] = self._witness.get(left)
        else:
            self._witness[right] = span if theirs is not None else self._witness.get(right, span)
        if left in self._with_slot:
            self._with_slot.add(right)

    def names(self, predicates: Mapping[str, Predicate]) -> dict[Slot, str]:
        """Type of every argument position; classes without a declared type get a new name."""
        slots = [
            Slot(p.name, position) for p in predicates.values() for position in range(len(p.column_types))
        ]
        first_slots: dict[Key, Slot] = {}
        # Made predicates come last: a type named after one would bear a name that nobody wrote.
        for slot in sorted(slots, key=lambda slot: is_made(slot.predicate)):
            first_slots.setdefault(self._classes.leader(slot), slot)
        unnamed = {root: slot for root, slot in first_slots.items() if root not in self._type}
        taken = set(self._type.values())
        for root, slot in unnamed.items():
            name = "thing" if len(unnamed) == 1 else f"{slot.predicate}_{slot.position + 1}"
            unique = not_taken(name, taken)
            taken.add(unique)
            self._type[root] = unique
        return {slot: self._type[self._classes.leader(slot)] for slot in slots}

    def name_of(self, key: Key) -> str | None:
        """Type of a key after :meth:`names`; ``None`` for a variable in no atom."""
        return self._type.get(self._classes.leader(key))

    def _clash(self, name: str, ours: str, theirs: str, first: Span | None, span: Span | None) -> None:
        if (name, span) in self._clashes:  # the typing rule of a computed value repeats the rule's variables
            return
        self._clashes.add((name, span))
        message = f"{shown_name(written(name))} stands for a {ours} and for a {theirs}"
        self._mistakes.note(message, span, related=[(f"as {ours}", first)])


_MOST_PLACES = 5


class ConstantUse(NamedTuple):
    """A constant in a formula or rule, and the key whose type it must have.

    ``limit``: it stands in an order comparison, so it must be text or a number as the type is, but need not
    be a constant of the type.
    """

    key: Key
    value: Value
    span: Span | None
    limit: bool = False


class Uses:
    """One pass over the statements; mistakes are added to ``mistakes``.

    ``unread``: names in statements that could not be read, which may be declared there.
    """

    def __init__(
        self, theory: Theory, vocabulary: Vocabulary, mistakes: Mistakes, unread: Collection[str] = ()
    ) -> None:
        self.constants: list[ConstantUse] = []
        self.numeric: list[tuple[VariableKey, Variable]] = []
        self.rows: list[FactRows] = []
        self.classes = TypeClasses(mistakes)
        self._vocabulary = vocabulary
        self._mistakes = mistakes
        self._unread = unread
        self._undeclared: dict[str, list[Span | None]] = {}
        for predicate in vocabulary.predicates.values():
            for position, name in enumerate(predicate.column_types):
                self.classes.settle(Slot(predicate.name, position), name, predicate.span)
        for number, statement in enumerate(theory.statements):
            if isinstance(statement, FactRows):
                self._use_rows(statement)
            elif isinstance(statement, BoundRows):
                self._use_bound_rows(statement)
            elif isinstance(statement, NetworkTable):
                self._use_table(statement)
            elif not self._use_ground(_formulas_alone(statement)):
                _StatementUses(self, number).use(statement)
        self._report_undeclared()

    def refuse(self, message: str, span: Span | None, hint: str = "", related: Related = ()) -> None:
        self._mistakes.note(message, span, hint, related)

    @property
    def refusals(self) -> int:
        return len(self._mistakes) + len(self._undeclared)

    def predicate(self, atom: Atom) -> Predicate | None:
        """The predicate of an atom, inferred if undeclared; ``None`` if its name or arity is refused."""
        name, arity, span = atom.predicate, len(atom.arguments), atom.span
        predicate = self._vocabulary.predicates.get(name)
        if predicate is None:
            computed = is_made(name)
            if (self._vocabulary.strict and not computed) or name in self._unread:
                self._undeclared.setdefault(name, []).append(span)
                return None
            predicate = Predicate(name, ("",) * arity, span=span, computed=computed)
            self._vocabulary.predicates[name] = predicate
            self.classes.add_slots(predicate)
        if predicate.arity != arity:
            expected = counted(predicate.arity, "argument") if predicate.arity else "no arguments"
            message = f"{shown_name(name)} takes {expected}, not {arity}"
            self.refuse(message, span, related=[_origin(predicate)])
            return None
        return predicate

    def plain_predicate(self, atom: Atom) -> Predicate | None:
        """The predicate of a true-or-false atom; ``None`` with a mistake if it is many-valued."""
        predicate = self.predicate(atom)
        if predicate is not None and predicate.value_type is not None:
            message = f"{shown_name(atom.predicate)} is many-valued and needs a value"
            self.refuse(message, atom.span, f"write {show_formula(atom)} = value", [_origin(predicate)])
            return None
        return predicate

    def valued_predicate(self, atom: Atom, span: Span | None, value: Value | None = None) -> Predicate | None:
        """The predicate of an atom with a value; ``None`` with a mistake if it is not many-valued.

        ``value``: the value if it is constant, for the hint.
        """
        known = atom.predicate in self._vocabulary.predicates
        if not known and not self._vocabulary.strict and atom.predicate not in self._unread:
            self.refuse(
                f"{shown_name(atom.predicate)} is not declared as many-valued",
                span,
                _soft_instead(value) or f"declare it: predicate {_as_declared(atom)} in {{...}}",
            )
            return None
        placed = atom if atom.span is not None else Atom(atom.predicate, atom.arguments, span)
        predicate = self.predicate(placed)
        if predicate is not None and predicate.value_type is None:
            self.refuse(
                f"{shown_name(atom.predicate)} is true or false and has no other value",
                span,
                _soft_instead(value)
                or f"a many-valued predicate is declared with its values: predicate {predicate} in {{...}}",
                [_origin(predicate)],
            )
            return None
        return predicate

    def is_valued_name(self, name: str) -> bool:
        predicate = self._vocabulary.predicates.get(name)
        return predicate is not None and predicate.value_type is not None and not predicate.types

    def _use_ground(self, formulas: Sequence[Formula]) -> bool:
        """Check formulas that consist of ground atoms alone and return True; return False for all others.

        Files have hundreds of thousands of such bounds and choices; without variables there is little else to
        check.
        """
        atoms: list[Atom] = []
        if not formulas or not all(_only_ground(formula, atoms) for formula in formulas):
            return False
        known = self._vocabulary.predicates
        for atom in atoms:
            predicate = known.get(atom.predicate)
            plain = predicate is not None and _is_plain(predicate, len(atom.arguments))
            if plain or self.plain_predicate(atom) is not None:
                for position, term in enumerate(atom.arguments):
                    assert isinstance(term, Constant)
                    self.constants.append(ConstantUse(Slot(atom.predicate, position), term.value, term.span))
        return True

    def _use_bound_rows(self, rows: BoundRows) -> None:
        """Check a run of bounds: name by name if there is no mistake, else row by row for the messages."""
        known = self._vocabulary.predicates
        new = {name for name in rows.names if name not in known}
        closed = new and (self._vocabulary.strict or not new.isdisjoint(self._unread))
        if closed or not all(_is_plain(known[name], 0) for name in rows.names if name not in new):
            for bound in rows.bounds():
                self._use_ground(formulas_in(bound))
            return
        for index, name in enumerate(rows.names):
            if name in new:
                known[name] = Predicate(name, span=rows.name_span(index))

    def _use_rows(self, rows: FactRows) -> None:
        span, first = rows.row_span(0), rows.row(0)
        arguments = first[:-1] if rows.valued else first
        atom = Atom(rows.predicate, tuple(map(Constant, arguments)), span)
        known = self.valued_predicate(atom, span, first[-1]) if rows.valued else self.plain_predicate(atom)
        if known is not None:
            self.rows.append(rows)

    def _use_table(self, table: NetworkTable) -> None:
        """Check that every variable of a table is declared with exactly the values of the table."""
        for name, labels in zip(table.scope, table.labels, strict=True):
            known = self.valued_predicate(Atom(name, (), table.span), table.span)
            values = None if known is None else self._vocabulary.types[known.value_type or ""].values
            if known is not None and values != labels:
                message = f"the table of {shown_name(name)} has other values than its declaration"
                self.refuse(message, table.span, related=[_origin(known)])

    def _report_undeclared(self) -> None:
        """Note one mistake for each undeclared name, as a name is often misspelt everywhere alike."""
        for name, places in self._undeclared.items():
            if name in self._unread:
                continue
            spans = list(dict.fromkeys(places))  # the typing rule of an aggregate names its atoms again
            hint = "as soon as one predicate is declared, all must be"
            if name in self._vocabulary.types:
                hint = f"'{name}' is a type: variables range over their types without such a condition"
            elif not self._mistakes.full:
                hint = nearest(name, self._vocabulary.predicates) or hint
            others = [("also here", span) for span in spans[1:_MOST_PLACES]]
            more = len(spans) - 1 - len(others)
            if more > 0:
                hint += f" ({more:,} more place{'s' if more > 1 else ''})"
            self.refuse(f"predicate '{name}' is not declared", spans[0], hint, others)


class _StatementUses:
    """Checker of one statement; its variables are distinct from those of all others."""

    def __init__(self, uses: Uses, number: int) -> None:
        self._uses = uses
        self._number = number
        self._variables: dict[str, Variable] = {}

    def use(self, statement: Statement) -> None:
        renaming = Renaming()
        match statement:
            case WeightedFormula(formula=formula, where=where, weight=weight, times=times):
                renamed = renaming.formula(formula)
                self._use_formulas([renamed, *where])
                named = [t for c in where for t in (c.left, c.right) if isinstance(t, Variable)]
                factors = [] if times is None else [times]
                self._check_free([*named, *learned_by(weight), *factors], [renamed], formula)
            case Bound(event=event, given=given):
                self._use_formulas([renaming.formula(part) for part in (event, given) if part is not None])
            case Rule(head=head, body=body, weight=weight):
                parts: list[Formula] = [renaming.atom(head), *map(renaming.formula, body)]
                self._use_formulas(parts, ordered=True)
                self._check_free(learned_by(weight), parts)
            case Choice():
                self._use_choice(statement, renaming)

    def _use_choice(self, choice: Choice, renaming: Renaming) -> None:
        body = [renaming.formula(literal) for literal in choice.body]
        heads = [renaming.formula(alternative.head) for alternative in choice.alternatives]
        if not self._use_formulas([*heads, *body], ordered=True):
            return
        chances = [alternative.probability for alternative in choice.alternatives]
        numbers = [chance for chance in chances if isinstance(chance, Variable)]
        named = [*numbers, *(v for chance in chances for v in learned_by(chance))]
        if not self._variables and not named:
            return
        of_heads = (term.name for head in heads for term in leaf_terms(head) if isinstance(term, Variable))
        bound = bound_variables(body).union(of_heads)  # unbound head variables range over their whole type
        terms = chain(named, chain.from_iterable(map(leaf_terms, body)))
        free = dict.fromkeys(x for x in terms if isinstance(x, Variable) and x.name not in bound)
        for variable in free:
            self._refuse_unbound(variable)
        if not free:
            self._uses.numeric.extend((self._key(number), number) for number in numbers)

    def _refuse_unbound(self, variable: Variable) -> None:
        name = shown_name(written(variable.name))
        self._uses.refuse(
            f"{name} stands in no head and no atom of the body, so the instances of this choice are unknown",
            variable.span,
            f"bind it by an atom that is not negated: 0.3 :: rains({name}) :- day({name})",
        )

    def _check_free(
        self, named: Iterable[Variable], formulas: Iterable[Formula], original: Formula | None = None
    ) -> None:
        named = list(named)
        free = {name for formula in formulas if named for name in free_variables(formula)}
        for variable in named:
            if variable.name not in free:
                quantified = original is not None and variable.name in quantified_names(original)
                self._uses.refuse(
                    f"{shown_name(variable.name)} is not a free variable of the "
                    f"{'rule' if original is None else 'formula'}",
                    variable.span,
                    "'where' and '?[ ]' cannot name quantified variables" if quantified else "",
                )

    def _use_formulas(self, formulas: Sequence[Formula], ordered: bool = False) -> bool:
        """Check formulas and the ranges of their variables; return whether nothing was refused."""
        before = self._uses.refusals
        for formula in formulas:
            for part in walk(formula):
                self._use_part(part, ordered)
        if self._uses.refusals > before:
            return False
        known = [self._check_variable(written(name), variable) for name, variable in self._variables.items()]
        return all(known)

    def _check_variable(self, name: str, variable: Variable) -> bool:
        """Whether the range of a variable is known; refuse it if not."""
        if self._uses.is_valued_name(name):
            message = f"{shown_name(name)} is a many-valued predicate, and stands here for a variable"
            self._uses.refuse(message, variable.span, "give the variable another name")
            return False
        if not self._uses.classes.has_slot(VariableKey(self._number, variable.name)):
            message = f"nothing says what {shown_name(name)} ranges over: it occurs in no atom"
            self._uses.refuse(message, variable.span)
            return False
        return True

    def _use_part(self, part: Formula, ordered: bool) -> None:
        match part:
            case Atom():
                if self._uses.plain_predicate(part) is not None:
                    self._use_terms(part)
            case ValueIs(atom=atom, value=value):
                shown = value.value if isinstance(value, Constant) else None
                self._use_valued(atom, [value], part.span, shown)
            case ValueIn(atom=atom, values=values):
                self._use_valued(atom, values, part.span)
            case Comparison():
                self._use_comparison(part, ordered)
            case Computed():
                hint = "define a predicate by a rule, and use it here"
                self._uses.refuse("values are computed in rules and in weighted formulas", part.span, hint)
            case Exists(variables=bound) | Forall(variables=bound):
                self._variables.update((variable.name, variable) for variable in bound)

    def _use_valued(
        self, atom: Atom, values: Sequence[Term], span: Span | None, shown: Value | None = None
    ) -> None:
        predicate = self._uses.valued_predicate(atom, span, shown)
        if predicate is not None:
            self._use_terms(atom)
            for value in values:
                self._use_term(Slot(atom.predicate, predicate.arity), value)

    def _use_terms(self, atom: Atom) -> None:
        for position, term in enumerate(atom.arguments):
            self._use_term(Slot(atom.predicate, position), term)

    def _use_term(self, slot: Slot, term: Term) -> None:
        if isinstance(term, Constant):
            self._uses.constants.append(ConstantUse(slot, term.value, term.span))
        else:
            self._variables.setdefault(term.name, term)
            self._uses.classes.join(self._key(term), slot, term.span)

    def _use_comparison(self, comparison: Comparison, ordered: bool) -> None:
        if comparison.operator not in ("=", "!=") and not ordered:
            message = f"{comparison.operator} compares numbers in the body of a rule only"
            self._uses.refuse(message, comparison.span, "define a predicate by a rule and use it here")
            return
        sides = (comparison.left, comparison.right)
        variables = [term for term in sides if isinstance(term, Variable)]
        for variable in variables:
            self._variables.setdefault(variable.name, variable)
        if len(variables) == 2:
            left, right = variables
            self._uses.classes.join(self._key(left), self._key(right), comparison.span)
        for constant in sides:
            if isinstance(constant, Constant) and variables:
                key = self._key(variables[0])
                limit = comparison.operator not in ("=", "!=")
                self._uses.constants.append(ConstantUse(key, constant.value, constant.span, limit))

    def _key(self, variable: Variable) -> VariableKey:
        return VariableKey(self._number, variable.name)


def _is_plain(predicate: Predicate, arity: int) -> bool:
    """Whether a predicate has this arity and is true or false."""
    return predicate.arity == arity and predicate.value_type is None


def _formulas_alone(statement: Statement) -> Sequence[Formula]:
    """The formulas of a bound, or of a choice without a body whose probabilities are numbers; none of other
    statements."""
    if isinstance(statement, Choice):
        numbers = all(isinstance(one.probability, int | float) for one in statement.alternatives)
        return () if statement.body or not numbers else formulas_in(statement)
    return formulas_in(statement) if isinstance(statement, Bound) else ()


def _only_ground(formula: Formula, atoms: list[Atom]) -> bool:
    """Whether a formula connects ground atoms and nothing else; its atoms are added to ``atoms``."""
    if type(formula) is Atom:
        atoms.append(formula)
        return all(type(term) is Constant for term in formula.arguments)
    parts = children(formula)
    return (
        bool(parts)
        and type(formula) not in (Exists, Forall)
        and all(_only_ground(part, atoms) for part in parts)
    )


def _soft_instead(value: Value | None) -> str:
    """Hint for soft evidence if an atom was given a number between 0 and 1 as its value, else empty."""
    if isinstance(value, int | float) and 0 < value < 1:
        return f"soft evidence is written '~ {shown_constant(value)}'"
    return ""


def _as_declared(atom: Atom) -> str:
    return show_atom(atom.predicate, ()) + ("(...)" if atom.arguments else "")


def _origin(predicate: Predicate) -> tuple[str, Span | None]:
    return ("declared here" if predicate.declared else "first used here"), predicate.span
