"""Templates as sums of products without conditions: the terms of the expected log-weight.

Under a product distribution the expected truth of a shattered conjunction is the product of its literals', so
a template's part of the expected log-weight is a sum of products over its variables. Pairs that must differ
are settled here, as all assignments minus those where they agree, or within a known relation. Then only named
axes are left, and equal products of different templates become one with the sum of their weights.

>>> import herbrand as hb
>>> model = hb.Model(hb.parse("1.5: p(x) and f(x, y) => p(y)"), {"f": [("a", "b")]})
>>> program = model.program
>>> for product, counts in products_of(program, program.templates, Evidence(program)).items():
...     print(product, dict(counts))
1 over a0 a1 {0: 1}
p(a0) × f(a0, a1) [a0 != a1] × not p(a1) {0: -1}
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from herbrand.contraction.expression import Sizes
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.quantifiers import groups
from herbrand.program.evidence import Evidence
from herbrand.program.program import (
    TRUE,
    Argument,
    Conjunction,
    Literal,
    Pair,
    Program,
    Template,
    substituted,
    unequal,
)

SMALLEST = 4096
"""Tables of fewer atoms are kept whole; others may list their exceptions."""
SHARE = 4
"""Exceptions are listed if at most one atom in so many is one."""

RIDER = ""
"""Predicate of a literal that carries a weight's arguments through substitutions."""


@dataclass(frozen=True)
class Observed:
    """A literal whose atoms are all known; ``apart``: pairs of its arguments that differ."""

    literal: Literal
    apart: frozenset[Pair] = frozenset()

    @property
    def axes(self) -> tuple[str, ...]:
        """Distinct variables, in the order of their first appearance."""
        return tuple(dict.fromkeys(a for a in self.literal.arguments if isinstance(a, str)))

    def __str__(self) -> str:
        apart = ", ".join(sorted(f"{left} != {right}" for left, right in self.apart))
        return f"{self.literal} [{apart}]" if apart else str(self.literal)


@dataclass(frozen=True)
class Together:
    """Known literals multiplied beforehand, summed over all axes but ``axes``."""

    literals: tuple[Observed, ...]
    axes: tuple[str, ...]
    sizes: Sizes

    def __str__(self) -> str:
        return f"({' × '.join(map(str, self.literals))})"


@dataclass(frozen=True)
class PerConstant:
    """The values of a weight that is learned for each constant."""

    weight: int
    arguments: tuple[Argument, ...]

    @property
    def reading(self) -> Reading:
        return Reading("", self.arguments)

    @property
    def axes(self) -> tuple[str, ...]:
        return self.reading.axes

    def __str__(self) -> str:
        return f"w{self.weight}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class Unequal:
    """1 where the axis is not this constant, else 0."""

    axis: str
    constant: int
    size: int

    @property
    def axes(self) -> tuple[str, ...]:
        return (self.axis,)


@dataclass(frozen=True)
class Piece:
    """The product of the operands for every assignment of ``axes``, 0 where a pair in ``distinct`` agrees."""

    operands: tuple[Operand, ...]
    axes: tuple[str, ...]
    sizes: Sizes
    distinct: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Quantified:
    """The probability that no piece holds for any assignment of its inner variables, or, if ``some``, that
    one does.

    Each group has pieces over ``axes`` and then its inner variables. Different groups, and different
    assignments within one, share no ground atom; the pieces of a group exclude each other under each
    assignment.
    """

    groups: tuple[tuple[Piece, ...], ...]
    some: bool
    axes: tuple[str, ...]
    shape: tuple[int, ...]

    def __str__(self) -> str:
        pieces = (" × ".join(map(shown, piece.operands)) for group in self.groups for piece in group)
        return f"{'some' if self.some else 'none'}[{' | '.join(pieces)}]"


Operand = Reading | Observed | Together | PerConstant | Unequal | Quantified


@dataclass(frozen=True)
class Product:
    """The sum over all axes of the product of the operands."""

    operands: tuple[Operand, ...]
    sizes: Sizes

    @cached_property
    def piece(self) -> Piece:
        """The product as a piece without axes."""
        return Piece(self.operands, (), self.sizes, frozenset())

    def __str__(self) -> str:
        factors = " × ".join(map(shown, self.operands)) or "1"
        named = {axis for operand in self.operands for axis in operand.axes}
        idle = [axis for axis in self.sizes if axis not in named]
        return f"{factors} over {' '.join(idle)}" if idle else factors


def shown(operand: Operand) -> str:
    if isinstance(operand, Reading):
        return str(Literal(operand.source, operand.arguments, operand.allowed))
    return str(operand)


def products_of(
    program: Program,
    templates: Iterable[Template],
    evidence: Evidence,
    whole: Collection[str] = (),
) -> dict[Product, dict[int, float]]:
    """Each product with its count for each weight; hard templates have no weight and are left out.

    ``whole``: open predicates that are read as whole tables, so that a reading may keep pairs apart.
    """
    products: dict[Product, dict[int, float]] = {}
    for template in templates:
        if template.weight is None:
            continue
        for sign, product in _products(template, program, evidence, whole):
            counts = products.setdefault(product, {})
            counts[template.weight] = counts.get(template.weight, 0) + sign
    return {p: w for p, w in products.items() if any(w.values()) and 0 not in p.sizes.values()}


def _products(
    template: Template, program: Program, evidence: Evidence, wholly: Collection[str]
) -> Iterator[tuple[float, Product]]:
    rider = Literal(RIDER, template.weight_arguments, TRUE)
    whole = template.conjunction
    whole = replace(whole, literals=(*whole.literals, rider))
    for sign, conjunction in unconstrained(whole, evidence, wholly):
        yield sign * template.sign, _product(conjunction, template.weight, program, evidence, wholly)


def unconstrained(
    conjunction: Conjunction, evidence: Evidence, whole: Collection[str] = ()
) -> Iterator[tuple[int, Conjunction]]:
    """Signed conjunctions that add up to this one; each pair that they keep apart is in one relation or
    table."""
    distinct = sorted(conjunction.distinct, key=repr)
    pair = next((p for p in distinct if _holder(conjunction, p, evidence, whole) is None), None)
    if pair is None:
        yield 1, conjunction
        return
    without = replace(conjunction, distinct=conjunction.distinct - {pair})
    yield from unconstrained(without, evidence, whole)
    left, right = pair
    name, by = (left, right) if isinstance(left, str) else (right, left)
    assert isinstance(name, str)
    merged = substituted(without, name, by)
    if merged is not None:
        for sign, part in unconstrained(merged, evidence, whole):
            yield -sign, part


def _holder(conjunction: Conjunction, pair: Pair, evidence: Evidence, whole: Collection[str]) -> int | None:
    """The place of a literal with both of the pair's arguments, which can be zero where they agree: in a
    known relation, else in a table that is read whole."""
    fits = [
        place
        for place, literal in enumerate(conjunction.literals)
        if literal.predicate != RIDER
        and all(isinstance(argument, int) or argument in literal.arguments for argument in pair)
    ]
    tables = [p for p in fits if conjunction.literals[p].predicate in whole]
    known = (p for p in fits if p not in tables and is_relation(conjunction.literals[p], evidence))
    return next(chain(known, tables), None)


def is_relation(literal: Literal, evidence: Evidence) -> bool:
    """Whether the literal's atoms are all known and those that make it true are listed."""
    if evidence.known(literal.predicate).latent_count():
        return False
    return evidence.is_valued(literal.predicate) or literal.allowed == TRUE


def _product(
    conjunction: Conjunction,
    weight: int | None,
    program: Program,
    evidence: Evidence,
    whole: Collection[str],
) -> Product:
    held: dict[int, set[Pair]] = {}
    for pair in conjunction.distinct:
        place = _holder(conjunction, pair, evidence, whole)
        assert place is not None
        held.setdefault(place, set()).add(pair)
    operands: list[Operand] = []
    for place, literal in enumerate(conjunction.literals):
        if literal.predicate == RIDER:
            if literal.arguments:
                assert weight is not None
                operands.append(PerConstant(weight, literal.arguments))
        else:
            operands.append(operand_of(literal, evidence, frozenset(held.get(place, ())), whole))
    sizes = {name: len(program.domain(type_name)) for name, type_name in conjunction.variables}
    operands += quantified(conjunction, sizes, program, evidence)
    return renamed(Product(tuple(operands), Sizes(sizes)))


def operand_of(
    literal: Literal, evidence: Evidence, apart: frozenset[Pair] = frozenset(), whole: Collection[str] = ()
) -> Operand:
    if literal.predicate in whole or evidence.known(literal.predicate).latent_count():
        return Reading(literal.predicate, literal.arguments, literal.allowed, apart)
    return Observed(literal, apart)


def quantified(
    conjunction: Conjunction, sizes: Mapping[str, int], program: Program, evidence: Evidence
) -> Iterator[Quantified]:
    """The blocks of a conjunction, each over the surrounding variables that it names."""
    for block in conjunction.blocks:
        names = sorted({name for piece in block.pieces for name in _names(piece)})
        axes = tuple(name for name in names if name in sizes)
        pieces = tuple(
            tuple(_piece(piece, axes, sizes, program, evidence) for piece in group.pieces)
            for group in groups(block)
        )
        yield Quantified(pieces, block.some, axes, tuple(sizes[axis] for axis in axes))


def _piece(
    piece: Conjunction, axes: tuple[str, ...], sizes: Mapping[str, int], program: Program, evidence: Evidence
) -> Piece:
    own = {name: len(program.domain(type_name)) for name, type_name in piece.variables}
    sizes = {**sizes, **own}
    operands = [operand_of(literal, evidence) for literal in piece.literals]
    distinct, constants = unequal(piece)
    operands += [Unequal(name, constant, sizes[name]) for name, constant in constants]
    operands += quantified(piece, sizes, program, evidence)
    output = (*axes, *own)
    return Piece(tuple(operands), output, Sizes({a: sizes[a] for a in output}), distinct)


def _names(piece: Conjunction) -> Iterator[str]:
    """The variables of enclosing conjunctions that a piece names, in literals or in pairs that differ."""
    inside = {name for name, _ in piece.variables}
    arguments = [a for x in piece.literals for a in x.arguments] + [a for p in piece.distinct for a in p]
    yield from (a for a in arguments if isinstance(a, str) and a not in inside)
    for block in piece.blocks:
        for inner in block.pieces:
            yield from (name for name in _names(inner) if name not in inside)


def renamed(product: Product) -> Product:
    """The product with axes named by their first appearance, so that like products are equal."""
    if any(isinstance(operand, Quantified) for operand in product.operands):
        return product
    names: dict[str, str] = {}
    for operand in product.operands:
        for axis in operand.axes:
            names.setdefault(axis, f"a{len(names)}")
    for axis in product.sizes:
        names.setdefault(axis, f"a{len(names)}")
    operands = tuple(_with_names(operand, names) for operand in product.operands)
    return Product(operands, Sizes({names[axis]: size for axis, size in product.sizes.items()}))


def _with_names(operand: Operand, names: Mapping[str, str]) -> Operand:
    def image(argument: Argument) -> Argument:
        return names[argument] if isinstance(argument, str) else argument

    match operand:
        case Reading(arguments=arguments, apart=apart):
            pairs = frozenset((image(left), image(right)) for left, right in apart)
            return replace(operand, arguments=tuple(map(image, arguments)), apart=pairs)
        case PerConstant(arguments=arguments):
            return replace(operand, arguments=tuple(map(image, arguments)))
        case Observed(literal=literal, apart=apart):
            moved = replace(literal, arguments=tuple(map(image, literal.arguments)))
            return Observed(moved, frozenset((image(left), image(right)) for left, right in apart))
    return operand
