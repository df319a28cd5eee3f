"""Terms and formulas as frozen values with source spans, and functions that walk and rebuild them.

Spans do not take part in equality.

>>> formula = And((Atom("smokes", (Variable("x"),)), Not(Atom("rain"))))
>>> [type(part).__name__ for part in walk(formula)]
['And', 'Atom', 'Not', 'Atom']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import add, attrgetter, eq, ge, gt, is_, le, lt, mul, ne, neg, sub
from typing import Any, Literal

from herbrand.errors import LanguageError, Span
from herbrand.quick_values import quickly_made

Value = str | int | float
"""A constant: text or a number; ``1`` and ``"1"`` differ."""

DEEPEST_NESTING = 200
"""Statements refuse formulas nested deeper than this, so that code that works on them may recurse."""


# Terms


@quickly_made
@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def anonymous(self) -> bool:
        """True for ``_``, which is a new variable at each place."""
        return self.name == "_"


@quickly_made
@dataclass(frozen=True, slots=True)
class Constant:
    value: Value
    span: Span | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and same_value(self.value, other.value)

    def __hash__(self) -> int:
        return hash((isinstance(self.value, str), self.value))


def same_value(left: Value, right: Value) -> bool:
    """Whether two constants are equal; ``1`` and ``1.0`` are one number, ``1`` and ``"1"`` differ."""
    return isinstance(left, str) == isinstance(right, str) and left == right


Term = Variable | Constant


# Values that are computed from others

Sign = Literal[
    "+", "-", "*", "/", "//", "%", "negative", "abs", "min", "max",
    "exp", "log", "sqrt", "round", "power", "jaro_winkler", "levenshtein", "jaccard", "prefix", "lower",
]  # fmt: skip
OF_NUMBERS = ("exp", "log", "sqrt", "round", "power")
OF_TEXTS = ("jaro_winkler", "levenshtein", "jaccard", "prefix", "lower")
FUNCTIONS = ("abs", "min", "max", *OF_NUMBERS, *OF_TEXTS)
"""Signs that are written as functions; a predicate of such a name may need back-quotes."""
ARGUMENTS = {
    "abs": 1,
    "lower": 1,
    **dict.fromkeys(OF_NUMBERS, 1),
    **dict.fromkeys(OF_TEXTS[:-1], 2),
    "power": 2,
}
"""Number of arguments of each function; functions that are not listed take two or more."""
AGGREGATES = ("count", "sum", "min", "max", "avg")


@quickly_made
@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``n * 1.19``, ``-x``, ``max(x, y)``."""

    sign: Sign
    operands: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Aggregate:
    """``sum(a, y: pays(x, y, a))``: over the distinct ``terms`` for which the conjunction ``body`` holds.

    The first term is the one that is added up or compared. Variables that also stand outside the aggregate
    are fixed within it.
    """

    function: str
    terms: tuple[Expression, ...]
    body: tuple[Formula, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Expression = Variable | Constant | Arithmetic | Aggregate


# Formulas


@quickly_made
@dataclass(frozen=True, slots=True)
class Atom:
    predicate: str
    arguments: tuple[Term, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class ValueIs:
    """``area(p) = "ai"``: the many-valued atom has this value."""

    atom: Atom
    value: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class ValueIn:
    """``area(p) in {"ai", "theory"}``: the many-valued atom has one of these values."""

    atom: Atom
    values: tuple[Constant, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Operator = Literal["=", "!=", "<", "<=", ">", ">="]
OPPOSITES: dict[str, Operator] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=", "=": "!="}
ORDERS: dict[str, Callable[[Any, Any], Any]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "!=": ne, "=": eq}
"""Comparison function of each operator, for two numbers, two texts or arrays of numbers."""
ARITHMETIC: dict[str, Callable[..., Any]] = {"+": add, "-": sub, "*": mul, "negative": neg}
"""Function of each sign that means the same for numbers and for expressions over columns of numbers."""
BODY_HOLDS = "a rule's body holds atoms, 'not' before an atom, and comparisons"


def compares(operator: str, left: Value, right: Value) -> bool:
    """Whether ``left operator right`` holds of two constants; every number is less than every text."""
    text, other = isinstance(left, str), isinstance(right, str)
    return ORDERS[operator](left, right) if text == other else ORDERS[operator](text, other)


@quickly_made
@dataclass(frozen=True, slots=True)
class Comparison:
    operator: Operator
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Computed:
    """A comparison with at least one computed side: ``p = n * 1.19``, ``e - d > 2``."""

    operator: Operator
    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Not:
    operand: Formula
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Formula, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Formula, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Xor:
    """True when an odd number of operands is true."""

    operands: tuple[Formula, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Implies:
    premise: Formula
    conclusion: Formula
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Iff:
    left: Formula
    right: Formula
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Exists:
    variables: tuple[Variable, ...]
    body: Formula
    span: Span | None = field(default=None, compare=False, repr=False)


@quickly_made
@dataclass(frozen=True, slots=True)
class Forall:
    variables: tuple[Variable, ...]
    body: Formula
    span: Span | None = field(default=None, compare=False, repr=False)


AnyAtom = Atom | ValueIs | ValueIn
"""The leaves that bind variables."""
Leaf = AnyAtom | Comparison | Computed | Truth
Formula = Leaf | Not | And | Or | Xor | Implies | Iff | Exists | Forall


_PARTS: dict[type, Callable[[Any], tuple[Formula, ...]]] = {
    Not: lambda formula: (formula.operand,),
    And: attrgetter("operands"),
    Or: attrgetter("operands"),
    Xor: attrgetter("operands"),
    Implies: attrgetter("premise", "conclusion"),
    Iff: attrgetter("left", "right"),
    Exists: lambda formula: (formula.body,),
    Forall: lambda formula: (formula.body,),
}


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly inside this one."""
    parts = _PARTS.get(type(formula))
    return () if parts is None else parts(formula)


def walk(formula: Formula) -> Iterator[Formula]:
    """Yield the formula and all formulas inside it, outermost first, left to right."""
    if type(formula) not in _PARTS:
        yield formula
        return
    waiting = [formula]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def unnegated(literal: Formula) -> Formula:
    """The literal without its ``not``."""
    return literal.operand if isinstance(literal, Not) else literal


def predicates_in(formula: Formula) -> Iterator[str]:
    """Yield the predicate of each atom in a formula, with repetitions."""
    for part in walk(formula):
        if isinstance(part, AnyAtom):
            yield unvalued(part).predicate


_WITH_PARTS: dict[type, Callable[[Any, Sequence[Formula]], Formula]] = {
    Not: lambda formula, parts: Not(parts[0], formula.span),
    And: lambda formula, parts: And(tuple(parts), formula.span),
    Or: lambda formula, parts: Or(tuple(parts), formula.span),
    Xor: lambda formula, parts: Xor(tuple(parts), formula.span),
    Implies: lambda formula, parts: Implies(parts[0], parts[1], formula.span),
    Iff: lambda formula, parts: Iff(parts[0], parts[1], formula.span),
    Exists: lambda formula, parts: Exists(formula.variables, parts[0], formula.span),
    Forall: lambda formula, parts: Forall(formula.variables, parts[0], formula.span),
}


def with_children(formula: Formula, parts: Sequence[Formula]) -> Formula:
    """The same connective or quantifier over other formulas."""
    rebuild = _WITH_PARTS.get(type(formula))
    return formula if rebuild is None else rebuild(formula, parts)


def replace_leaves(formula: Formula, change: Callable[[Leaf], Formula]) -> Formula:
    """The formula with every atom, comparison and truth value changed."""
    if isinstance(formula, Leaf):
        return change(formula)
    return with_children(formula, [replace_leaves(part, change) for part in children(formula)])


def with_changed_terms(
    leaf: Leaf, term: Callable[[Term], Term], formula: Callable[[Formula], Formula]
) -> Leaf:
    """The leaf with ``term`` applied to every term, and ``formula`` to every literal of its aggregates."""

    def atom(whole: Atom) -> Atom:
        changed = tuple(map(term, whole.arguments))
        same = all(map(is_, changed, whole.arguments))
        return whole if same else Atom(whole.predicate, changed, whole.span)

    match leaf:
        case Atom():
            return atom(leaf)
        case ValueIs(atom=whole, value=value, span=span):
            return ValueIs(atom(whole), term(value), span)
        case ValueIn(atom=whole, values=values, span=span):
            return ValueIn(atom(whole), values, span)
        case Comparison(operator=operator, left=left, right=right, span=span):
            return Comparison(operator, term(left), term(right), span)
        case Computed(operator=operator, left=left, right=right, span=span):
            left, right = (changed_value(side, term, formula) for side in (left, right))
            return Computed(operator, left, right, span)
    return leaf


def changed_value(
    value: Expression, term: Callable[[Term], Term], formula: Callable[[Formula], Formula]
) -> Expression:
    """The value with ``term`` applied to every term, and ``formula`` to every literal of its aggregates."""
    match value:
        case Arithmetic(sign=sign, operands=operands, span=span):
            return Arithmetic(sign, tuple(changed_value(x, term, formula) for x in operands), span)
        case Aggregate(function=function, terms=terms, body=body, span=span):
            inside = tuple(changed_value(x, term, formula) for x in terms)
            return Aggregate(function, inside, tuple(map(formula, body)), span)
    return term(value)


def leaf_terms(leaf: Formula) -> tuple[Term, ...]:
    """The terms written directly in an atom or a comparison."""
    match leaf:
        case Atom(arguments=arguments):
            return arguments
        case ValueIs(atom=atom, value=value):
            return (*atom.arguments, value)
        case ValueIn(atom=atom):
            return atom.arguments
        case Comparison(left=left, right=right):
            return (left, right)
    return ()


def unvalued(leaf: AnyAtom) -> Atom:
    """The atom of a leaf, without its value or values if it is many-valued."""
    return leaf if isinstance(leaf, Atom) else leaf.atom


def row_atom(leaf: Atom | ValueIs) -> Atom:
    """The atom in the form of a table row: the value of a many-valued one is its last argument."""
    return leaf if isinstance(leaf, Atom) else replace(leaf.atom, arguments=leaf_terms(leaf))


def with_valued_names(formula: Formula, names: Collection[str]) -> Formula:
    """The formula with ``season = "winter"`` as an atom, where ``names`` holds ``season``.

    ``names``: many-valued predicates without arguments, which look like variables.
    """

    def resolved(leaf: Leaf) -> Formula:
        match leaf:
            case Comparison(
                operator=("=" | "!=") as operator, left=Variable(name=name) as season, right=right
            ):
                if name in names:
                    known = ValueIs(Atom(name, (), season.span), right, leaf.span)
                    return known if operator == "=" else Not(known, leaf.span)
            case Computed():
                return with_changed_terms(
                    leaf, lambda term: term, lambda part: with_valued_names(part, names)
                )
        return leaf

    return replace_leaves(formula, resolved) if names else formula


def opposite_hint(operator: str) -> str:
    """Hint to write the opposite comparison in place of one after ``not``."""
    return f"write its opposite: {OPPOSITES[operator]} instead of {operator}"


_INSIDE: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    **_PARTS,
    Atom: lambda atom: tuple(x for x in atom.arguments if type(x) is Arithmetic or type(x) is Aggregate),
    ValueIs: lambda leaf: (leaf.atom, leaf.value),
    ValueIn: lambda leaf: (leaf.atom,),
    Computed: attrgetter("left", "right"),
    Arithmetic: attrgetter("operands"),
    Aggregate: lambda one: (*one.terms, *one.body),
}
"""Parts of formulas and of computed values, including computed arguments of atoms."""


def refuse_deep(*formulas: Formula | None) -> None:
    """Raise LanguageError if a formula, computed values included, is nested too deep for recursion."""
    for formula in formulas:
        # Level by level and not recursively: the check must survive the very formulas that it refuses.
        level = [] if formula is None else [formula]
        for _ in range(DEEPEST_NESTING):
            if not level:
                break
            level = [x for part in level if (parts := _INSIDE.get(type(part))) for x in parts(part)]
        if level and formula is not None:
            raise nested_too_deep(formula.span)


def nested_too_deep(span: Span | None) -> LanguageError:
    """Error for a formula that has more levels than :data:`DEEPEST_NESTING`."""
    return LanguageError(
        f"the formula is nested more than {DEEPEST_NESTING} levels deep",
        span=span,
        hint="name its parts by predicates of their own",
    )
