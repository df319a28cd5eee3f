"""The input of every engine: signature, facts, and templates lowered from the statements.

Built by :func:`herbrand.program.lower.lower`. The log-weight of a world is, over all templates and all
assignments for which a template's conjunction holds, the sum of ``sign * weight``, plus the soft evidence; a
world in which a forbidden conjunction holds is impossible. Each of the ``tables`` multiplies the weight by
one entry; :func:`herbrand.program.lower.in_cells` turns tables into templates for code that reads only these.

Templates are the exact pieces that formulas are lowered to: conjunctions over typed variables, each with one
potential. A :class:`Conjunction` holds for an assignment of its variables when all its literals and blocks
hold. A :class:`Template` gives every assignment for which its conjunction holds one weight, added (or
subtracted) in the log-weight of a world, or forbids it. Arguments are a variable's name (``str``) or a
constant's index in its domain (``int``), so a template knows no texts and no arrays.

>>> smokes_x = Literal("smokes", ("x",), (1,))
>>> print(Template(Conjunction((("x", "person"),), (smokes_x,)), weight=0, sign=-1))
-w0  {x: person}  smokes(x)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from herbrand.errors import Span
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.formulas import ValueIs
from herbrand.language.network_tables import NetworkTable
from herbrand.language.signature import Predicate, Signature
from herbrand.language.syntax import Choice, Rule, Statement

Argument = str | int
Pair = tuple[Argument, Argument]

Allowed = tuple[int, ...]
"""The values that an atom may have, rising."""

FALSE: Allowed = (0,)
TRUE: Allowed = (1,)


def in_both(one: Allowed, other: Allowed) -> Allowed:
    """The values that both allow."""
    among = frozenset(other)
    return tuple(value for value in one if value in among)


def other_values(size: int, allowed: Sequence[int]) -> Allowed:
    """The values of ``size`` that are not allowed."""
    among = frozenset(allowed)
    return tuple(value for value in range(size) if value not in among)


@dataclass(frozen=True, slots=True)
class Literal:
    """States that the atom has one of the ``allowed`` values: 0 is false and 1 true for an atom that is not
    many-valued; for an atom that may have no value, "none" is the number after the last value."""

    predicate: str
    arguments: tuple[Argument, ...]
    allowed: Allowed

    @property
    def atom(self) -> tuple[str, tuple[Argument, ...]]:
        return self.predicate, self.arguments

    def __str__(self) -> str:
        atom = f"{self.predicate}({', '.join(map(shown_argument, self.arguments))})"
        if self.allowed == TRUE:
            return atom
        if self.allowed == FALSE:
            return f"not {atom}"
        return f"{atom} in {set(self.allowed)}"


@dataclass(frozen=True, slots=True)
class Block:
    """Existential over ``pieces`` if ``some``: one of them holds for some assignment of its own variables.
    Otherwise the negation: none of them holds for any assignment."""

    pieces: tuple[Conjunction, ...]
    some: bool

    def __str__(self) -> str:
        return f"{'some' if self.some else 'none'}[{' | '.join(map(str, self.pieces))}]"


@dataclass(frozen=True)
class Conjunction:
    """Typed variables, pairs of arguments that must differ, and the literals and blocks that must hold.

    ``equal``: pairs with arguments of enclosing conjunctions that must be equal; only used during lowering,
    since shattering settles them in the conjunction that owns the variables.
    """

    variables: tuple[tuple[str, str], ...] = ()
    literals: tuple[Literal, ...] = ()
    distinct: frozenset[Pair] = frozenset()
    blocks: tuple[Block, ...] = ()
    equal: frozenset[Pair] = frozenset()

    @cached_property
    def types(self) -> Mapping[str, str]:
        """The type of each variable."""
        return dict(self.variables)

    def __str__(self) -> str:
        variables = ", ".join(f"{name}: {type_}" for name, type_ in self.variables)
        parts = [f"{{{variables}}}"]
        if self.distinct:
            pairs = sorted(f"{shown_argument(a)} != {shown_argument(b)}" for a, b in self.distinct)
            parts.append(f"[{', '.join(pairs)}]")
        return "  ".join([*parts, " and ".join(map(str, (*self.literals, *self.blocks)))]).rstrip()


@dataclass(frozen=True)
class Template:
    """A conjunction with its weight: ``sign`` times a weight of the program, or forbidden where it is
    ``None``.

    The sign is 1 or -1, or these times the factor that a statement multiplies its weight by.

    ``weight_arguments`` choose among the values of a weight that is learned for each constant. Templates with
    the same ``formula`` are pieces of one formula. ``instance`` holds the arguments that replaced the
    formula's free variables in this piece: pieces whose instances are equal after grounding belong to one
    ground formula. ``free`` has the names and types of these variables.
    """

    conjunction: Conjunction
    weight: int | None
    sign: float = 1
    weight_arguments: tuple[Argument, ...] = ()
    statement: int = 0
    formula: int = 0
    instance: tuple[Argument, ...] = ()
    free: tuple[tuple[str, str], ...] = ()

    @property
    def predicates(self) -> set[str]:
        """Predicates of all literals, those inside blocks included."""
        return {literal.predicate for literal in literals_of(self.conjunction)}

    def __str__(self) -> str:
        times = "" if abs(self.sign) == 1 else f"{abs(self.sign):g} "
        log_weight = (
            "forbidden" if self.weight is None else f"{'-' if self.sign < 0 else '+'}{times}w{self.weight}"
        )
        return f"{log_weight}  {self.conjunction}"


def different(left: Argument, right: Argument) -> Pair:
    """The pair in its one canonical order: variables by name, then constants."""
    return (left, right) if _order(left) <= _order(right) else (right, left)


def _order(argument: Argument) -> tuple[bool, str, int]:
    return (False, argument, 0) if isinstance(argument, str) else (True, "", argument)


def shown_argument(argument: Argument) -> str:
    return argument if isinstance(argument, str) else f"#{argument}"


def substituted(conjunction: Conjunction, name: str, by: Argument) -> Conjunction | None:
    """The conjunction with ``name`` replaced by ``by``; ``None`` if arguments that must differ became equal,
    or arguments that must be equal became different constants."""

    def image(argument: Argument) -> Argument:
        return by if argument == name else argument

    def images(pairs: frozenset[Pair]) -> list[Pair]:
        return [different(image(left), image(right)) for left, right in pairs]

    distinct, equal = images(conjunction.distinct), images(conjunction.equal)
    if any(left == right for left, right in distinct) or any(map(_settled_apart, equal)):
        return None
    return Conjunction(
        tuple(v for v in conjunction.variables if v[0] != name),
        tuple(replace(x, arguments=tuple(map(image, x.arguments))) for x in conjunction.literals),
        frozenset(pair for pair in distinct if not _settled_apart(pair)),
        tuple(
            Block(tuple(p for piece in b.pieces if (p := substituted(piece, name, by)) is not None), b.some)
            for b in conjunction.blocks
        ),
        frozenset(pair for pair in equal if pair[0] != pair[1]),
    )


def _settled_apart(pair: Pair) -> bool:
    """True if both are constants and differ."""
    return all(isinstance(argument, int) for argument in pair) and pair[0] != pair[1]


def renamed(conjunction: Conjunction, names: Mapping[str, str]) -> Conjunction:
    """The conjunction with other names for some variables, those inside blocks included; in their order."""

    def image(argument: Argument) -> Argument:
        return names.get(argument, argument) if isinstance(argument, str) else argument

    return Conjunction(
        tuple(sorted((names.get(name, name), kind) for name, kind in conjunction.variables)),
        tuple(replace(x, arguments=tuple(map(image, x.arguments))) for x in conjunction.literals),
        frozenset((image(a), image(b)) for a, b in conjunction.distinct),
        tuple(Block(tuple(renamed(p, names) for p in b.pieces), b.some) for b in conjunction.blocks),
    )


def _with_inner(conjunction: Conjunction) -> Iterator[Conjunction]:
    """Iterate over the conjunction and those nested inside its blocks."""
    yield conjunction
    for block in conjunction.blocks:
        for piece in block.pieces:
            yield from _with_inner(piece)


def variables_of(conjunction: Conjunction) -> set[str]:
    """Names of all variables, those inside blocks included."""
    return {name for part in _with_inner(conjunction) for name, _ in part.variables}


def literals_of(conjunction: Conjunction) -> Iterator[Literal]:
    """Iterate over all literals, those inside blocks included."""
    return (literal for part in _with_inner(conjunction) for literal in part.literals)


def ranged_over(conjunction: Conjunction) -> set[str]:
    """Types of all variables, those inside blocks included."""
    return {kind for part in _with_inner(conjunction) for _, kind in part.variables}


def unequal(conjunction: Conjunction) -> tuple[frozenset[tuple[str, str]], list[tuple[str, int]]]:
    """Pairs of variables that must differ, and pairs of a variable and a constant; blocks not included."""
    pairs = sorted((different(left, right) for left, right in conjunction.distinct), key=repr)
    variables = frozenset((a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str))
    return variables, [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, int)]


def differing(conjunction: Conjunction) -> Iterator[Pair]:
    """Iterate over all pairs that must differ, those inside blocks included."""
    return (pair for part in _with_inner(conjunction) for pair in part.distinct)


@dataclass(frozen=True)
class Weight:
    """A number that templates refer to. ``by``: types for each of whose values one number is learned, from
    0."""

    value: float
    learned: bool = False
    by: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Program:
    """Templates, weights and tables over the facts of one theory. Immutable: a copy is the program itself."""

    signature: Signature
    facts: Facts
    statements: tuple[Statement, ...]
    weights: tuple[Weight, ...]
    templates: tuple[Template, ...]
    uncertain: tuple[Choice | Rule, ...] = ()
    """Choices, and the rules that depend on them: the predicates that these derive are open here."""
    tables: tuple[NetworkTable, ...] = ()
    whole: Callable[[], Program] | None = None
    """Lowers the same without atoms for parts of formulas, where this program has some."""

    def __deepcopy__(self, memo: object) -> Program:
        return self

    @property
    def undivided(self) -> Program:
        """The program without atoms for parts of formulas; raises UnsupportedError where a formula falls into
        too many cases."""
        return self if self.whole is None else self.whole()

    def domain(self, type_name: str) -> Domain:
        return self.facts.domains[type_name]

    def domains_of(self, predicate: Predicate) -> tuple[Domain, ...]:
        return tuple(self.facts.domains[name] for name in predicate.types)

    def table(self, predicate: str) -> FactTable:
        return self.facts.tables[predicate]

    def atom_text(self, predicate: str, row: Iterable[int]) -> str:
        """Text of the atom of a row of indices, with its value if it is many-valued."""
        return self.facts.atom_text(self.signature.predicates[predicate], row)

    def value_count(self, predicate: str) -> int:
        """Number of values of an atom of this predicate: 2 unless it is many-valued."""
        value_type = self.signature.predicates[predicate].value_type
        return 2 if value_type is None else len(self.facts.domains[value_type])

    @cached_property
    def incomplete(self) -> frozenset[str]:
        """Many-valued predicates whose values are chosen by choices: their atoms may have no value."""
        choices = (statement for statement in self.uncertain if isinstance(statement, Choice))
        heads = (head for choice in choices for head in choice.alternatives)
        return frozenset(head.predicate for head in heads if isinstance(head.head, ValueIs))

    def outcome_count(self, predicate: str) -> int:
        """Number of outcomes of an atom: its values, and one more where it may have none."""
        return self.value_count(predicate) + (predicate in self.incomplete)

    def is_open(self, predicate: str) -> bool:
        return self.facts.tables[predicate].world == "open"

    @property
    def states_laws(self) -> bool:
        """Whether some statement or table forbids worlds, so that no world may be possible."""
        impossible = any(not table.values.all() for table in self.tables)
        return impossible or any(template.weight is None for template in self.templates)

    def log_weight(self, template: Template) -> float:
        """Log-weight that a row of the template adds to a world; minus infinity if it is forbidden."""
        if template.weight is None:
            return -math.inf
        return template.sign * self.weights[template.weight].value

    def span_of(self, template: Template) -> Span | None:
        """Span of the statement that the template was lowered from; ``None`` for a template that a query
        added."""
        stated = template.statement < len(self.statements)
        return self.statements[template.statement].span if stated else None


def expected_rows(
    conjunction: Conjunction, sizes: Callable[[str], int], listed: Callable[[Literal], int | None]
) -> float:
    """Estimated number of ground rows of a conjunction, those of its blocks' pieces included.

    ``sizes``: sizes of types. ``listed``: number of rows for which a literal can be true, ``None`` if these
    are not listed; a known relation bounds its variables jointly.
    """
    free = {name: float(sizes(kind)) for name, kind in conjunction.variables}
    rows = 1.0
    for literal in conjunction.literals:
        names = {a for a in literal.arguments if isinstance(a, str)} & set(free)
        known = listed(literal) if names else None
        if known is not None and known < math.prod(free[name] for name in names):
            rows *= max(1, known)
            for name in names:
                del free[name]
    rows *= math.prod(free.values())
    pieces = (piece for block in conjunction.blocks for piece in block.pieces)
    return rows * (1 + sum(expected_rows(piece, sizes, listed) for piece in pieces))
