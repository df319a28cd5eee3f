"""Horn clauses as engines read them: atoms and tests over variables, with a name for each constant too.

>>> print(Clause("p", ("x", "y"), (Lookup("q", ("x", "z")), Lookup("r", ("z", "y"))), {}))
p(x, y) :- q(x, z), r(z, y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from herbrand.errors import Span
from herbrand.language.formulas import Constant
from herbrand.language.names import shown_constant
from herbrand.language.scope import written
from herbrand.language.syntax import Rule
from herbrand.quick_values import quickly_made

PART_MARK = "`"
"""Part of the name of every generated predicate; no name that a user writes can contain it."""


@quickly_made
@dataclass(frozen=True, slots=True)
class Lookup:
    """An atom that must have a proof; if ``stated``, only facts count as proofs, not what rules derive."""

    predicate: str
    arguments: tuple[str, ...]
    stated: bool = False


@quickly_made
@dataclass(frozen=True, slots=True)
class Absence:
    """A negated atom: it must have no proof, for any value of the variables that occur only in it."""

    predicate: str
    arguments: tuple[str, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two variables of one type by their constants."""

    operator: str
    left: str
    right: str

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.left, self.right


@quickly_made
@dataclass(frozen=True, slots=True)
class OneOf:
    """A test that the variable has one of these constants, given by index."""

    variable: str
    allowed: tuple[int, ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.variable,)


@quickly_made
@dataclass(frozen=True, slots=True)
class Measured:
    """A comparison of the variable's number with one that need not be among the constants: an ``int`` if it
    is an integer that floats may round."""

    variable: str
    operator: str
    number: int | float

    @property
    def arguments(self) -> tuple[str, ...]:
        return (self.variable,)


@quickly_made
@dataclass(frozen=True, slots=True)
class Never:
    """A test that no row passes."""

    arguments: tuple[str, ...] = ()


Test = Compared | OneOf | Measured | Never
Literal = Lookup | Absence | Test


def renamed(literal: Literal, name_of: Callable[[str], str]) -> Literal:
    """The literal with its variables renamed."""
    match literal:
        case OneOf() | Measured():
            return replace(literal, variable=name_of(literal.variable))
        case Compared():
            return replace(literal, left=name_of(literal.left), right=name_of(literal.right))
        case Lookup() | Absence():
            return replace(literal, arguments=tuple(map(name_of, literal.arguments)))
    return literal


def constant_name(constant: Constant, type_name: str) -> str:
    """Name of a constant in a clause; it contains a back-quote, so no variable has it."""
    return f"{shown_constant(constant.value)}`{type_name}"


@dataclass(frozen=True)
class Clause:
    """A Horn clause over variables; ``constants`` gives the index of the constant for each variable that
    names one.

    ``weight`` is the index of the rule's weight among the program's, ``None`` if it has none. A clause
    without a ``rule`` was generated: for the facts of a derived predicate, or as a part of another clause.
    """

    predicate: str
    head: tuple[str, ...]
    body: tuple[Literal, ...]
    types: Mapping[str, str] = field(compare=False, hash=False)
    constants: Mapping[str, int] = field(default_factory=dict, compare=False, hash=False)
    weight: int | None = None
    rule: Rule | None = field(default=None, compare=False, hash=False)

    @property
    def span(self) -> Span | None:
        """Span of the rule that the clause was lowered from."""
        return None if self.rule is None else self.rule.span

    @property
    def weighted(self) -> Rule | None:
        """The clause's rule if it has a weight, else ``None``."""
        return None if self.weight is None else self.rule

    def variables(self) -> tuple[str, ...]:
        """Variables of the head and of the body without negated atoms; those that name constants are left
        out."""
        held = (part for part in self.body if not isinstance(part, Absence))
        names = [*self.head, *(name for part in held for name in part.arguments)]
        return tuple(name for name in dict.fromkeys(names) if name not in self.constants)

    def ranging(self) -> set[str]:
        """Variables that no positive atom binds, so that they range over their types."""
        atoms = (part for part in self.body if isinstance(part, Lookup))
        return set(self.variables()).difference(*(atom.arguments for atom in atoms))

    def predicates(self) -> set[str]:
        """Predicates of the body, those of negated atoms included."""
        return {part.predicate for part in self.body if isinstance(part, Lookup | Absence)}

    def __str__(self) -> str:
        body = ", ".join(_shown(part) for part in self.body) or "true"
        return f"{_atom(self.predicate, self.head)} :- {body}"


def _atom(predicate: str, arguments: Sequence[str]) -> str:
    return f"{predicate}({', '.join(map(written, arguments))})" if arguments else predicate


def _shown(part: Literal) -> str:
    match part:
        case Lookup(predicate=name, arguments=arguments):
            return _atom(name, arguments)
        case Absence(predicate=name, arguments=arguments):
            return f"not {_atom(name, arguments)}"
        case Compared(operator=sign, left=left, right=right):
            return f"{written(left)} {sign} {written(right)}"
        case OneOf(variable=name, allowed=allowed):
            return f"{written(name)} in {set(allowed)}"
        case Measured(variable=name, operator=sign, number=number):
            return f"{written(name)} {sign} {number:g}"
        case Never():
            return "false"
