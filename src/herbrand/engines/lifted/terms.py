"""Convert templates to terms that counting can handle: about one element, about pairs, and about counts.

Takes a program's templates; gives :class:`Terms`. An element is a constant of a type (propositions belong to
the one element of an extra type); its own atoms are the unary ones and the diagonal ``f(x, x)`` of binary
ones. A variable pair that a binary atom links is split into equal and different first, so that every
:class:`PairTerm` is about two different elements; clusters of variables that nothing links stay apart, so
that a clause over independent variables depends on products of counts only.

Raises :class:`NotLiftableError` for links between three variables, atoms of three arguments, and quantifiers
over pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.fallback import HandOverError
from herbrand.graphs import linked
from herbrand.language.names import shown_predicate
from herbrand.program.program import Argument, Block, Conjunction, Literal, Pair, Program, Template, different
from herbrand.program.shatter import shattered, split

PROPOSITIONS = ""
"""The type whose one element has all propositions as its own atoms."""


class NotLiftableError(HandOverError):
    """The program cannot be answered by counting, and why."""


@dataclass(frozen=True, order=True)
class Own:
    """An atom of one element: ``p(x)``, or ``f(x, x)`` where ``diagonal``."""

    predicate: str
    diagonal: bool = False


Literals = tuple[tuple[Own, tuple[int, ...]], ...]
"""Own atoms of one element with the values they may have."""


@dataclass(frozen=True)
class Slot:
    """The range of a variable, one constant or all but some, and the literals that hold of its elements."""

    type: str
    literals: Literals = ()
    constant: int | None = None
    excluded: frozenset[int] = frozenset()

    @property
    def named(self) -> frozenset[int]:
        """The constants that it distinguishes from the others."""
        return self.excluded if self.constant is None else frozenset((self.constant,))


Number = tuple[tuple[int, tuple[Slot, ...]], ...]
"""A number of assignments: a sum of integer multiples of products of the numbers of elements in slots."""


@dataclass(frozen=True)
class Some:
    """1 where some (or, if not ``some``, none) of the pieces' numbers of assignments is above 0, else 0."""

    pieces: tuple[tuple[Number, ...], ...]
    some: bool


@dataclass(frozen=True)
class CountTerm:
    """A formula over counts: ``sign`` times a weight times a product of numbers; if ``weight`` is ``None``,
    that product must be 0."""

    weight: int | None
    sign: float
    numbers: tuple[Number, ...]
    conditions: tuple[Some, ...] = ()

    @property
    def single(self) -> Slot | None:
        """The slot of a term about one element at a time, else ``None``."""
        if self.conditions or len(self.numbers) != 1 or len(self.numbers[0]) != 1:
            return None
        times, slots = self.numbers[0][0]
        return slots[0] if times == 1 and len(slots) == 1 else None

    @property
    def slots(self) -> Iterator[Slot]:
        for number in self.numbers:
            for _, slots in number:
                yield from slots
        yield from self.quantified

    @property
    def quantified(self) -> Iterator[Slot]:
        """The slots of conditions."""
        for some in self.conditions:
            for piece in some.pieces:
                for number in piece:
                    for _, slots in number:
                        yield from slots


@dataclass(frozen=True)
class PairTerm:
    """A weight for every two different elements, one in each slot, whose shared atoms have allowed values.

    ``atoms``: predicate, whether its arguments are (left, right), and the values. ``given``: propositions
    that must hold as well. ``times``: how often each pair counts.
    """

    weight: int | None
    sign: float
    left: Slot
    right: Slot
    atoms: tuple[tuple[str, bool, tuple[int, ...]], ...]
    given: Literals = ()
    times: int = 1


@dataclass(frozen=True)
class Terms:
    counts: tuple[CountTerm, ...]
    pairs: tuple[PairTerm, ...]


def terms_of(program: Program, templates: Sequence[Template], budget: Budget = UNLIMITED) -> Terms:
    """Convert all templates of a weight other than 0; raises :class:`NotLiftableError`."""
    counts: list[CountTerm] = []
    pairs: list[PairTerm] = []
    for template in budget.each(templates):
        if template.weight is not None and program.weights[template.weight].value == 0:
            continue
        for part in _without_equal_links(template.conjunction, program):
            term = _Reading(program, part).term(template)
            if isinstance(term, CountTerm):
                counts.append(term)
            elif term.times:
                pairs.append(term)
    return Terms(tuple(counts), tuple(pairs))


def _without_equal_links(conjunction: Conjunction, program: Program) -> Iterator[Conjunction]:
    """Split until the two arguments of every binary atom are the same, or must differ."""

    def latent_value_count(predicate: str) -> int | None:
        return program.value_count(predicate) if program.is_open(predicate) else None

    waiting = shattered(conjunction, latent_value_count)
    while waiting:
        part = waiting.pop()
        pair = next(_unsettled(part, program), None)
        if pair is None:
            yield part
        else:
            waiting += [piece for half in split(part, pair) for piece in shattered(half, latent_value_count)]


def _unsettled(conjunction: Conjunction, program: Program) -> Iterator[Pair]:
    for literal in conjunction.literals:
        types = program.signature.predicates[literal.predicate].types
        if len(types) == 2 and types[0] == types[1] and literal.arguments[0] != literal.arguments[1]:
            pair = different(*literal.arguments)
            if pair not in conjunction.distinct and any(isinstance(a, str) for a in pair):
                yield pair


Place = tuple[str, Argument]
"""A variable or a constant with its type: the index of a constant alone is ambiguous."""

NOWHERE: Place = (PROPOSITIONS, 0)


@dataclass(frozen=True)
class _Reading:
    """Converts one conjunction into one term."""

    program: Program
    conjunction: Conjunction

    def term(self, template: Template) -> CountTerm | PairTerm:
        places = self._places(self.conjunction)
        owns, links = self._literals(self.conjunction.literals)
        clusters = self._clusters(places, owns, links, self.conjunction.distinct)
        linked = [cluster for cluster in clusters if any(set(link[1:3]) <= set(cluster) for link in links)]
        if not linked:
            numbers = tuple(self._number(c, owns, self.conjunction.distinct) for c in clusters)
            conditions = tuple(map(self._condition, self.conjunction.blocks))
            return CountTerm(template.weight, template.sign, numbers, conditions)
        return self._pair_term(template, clusters, linked, owns, links)

    def _pair_term(
        self,
        template: Template,
        clusters: Sequence[Sequence[Place]],
        linked: Sequence[Sequence[Place]],
        owns: Mapping[Place, Literals],
        links: Sequence[tuple[str, Place, Place, tuple[int, ...]]],
    ) -> PairTerm:
        if self.conjunction.blocks:
            raise NotLiftableError("a quantifier stands beside an atom of two arguments")
        if len(linked) > 1 or len(linked[0]) > 2:
            raise NotLiftableError("a formula links more than two variables through atoms of two arguments")
        times, given = 1, owns.get(NOWHERE, ())
        for cluster in clusters:
            if cluster == linked[0] or tuple(cluster) == (NOWHERE,):
                continue
            if any(owns.get(place) for place in cluster):
                raise NotLiftableError("a formula speaks of a linked pair and of another variable at once")
            times *= self._choices(cluster)
        _, left, right, _ = links[0]
        atoms = tuple((name, (a, b) == (left, right), allowed) for name, a, b, allowed in links)
        one, other = (self._slot(place, owns.get(place, ())) for place in (left, right))
        return PairTerm(template.weight, template.sign, one, other, atoms, given, times)

    def _places(self, conjunction: Conjunction) -> list[Place]:
        return [(type_name, name) for name, type_name in conjunction.variables]

    def _literals(
        self, literals: Iterable[Literal]
    ) -> tuple[dict[Place, Literals], list[tuple[str, Place, Place, tuple[int, ...]]]]:
        owns: dict[Place, Literals] = defaultdict(tuple)
        links = []
        for literal in literals:
            types = self.program.signature.predicates[literal.predicate].types
            places: list[Place] = list(zip(types, literal.arguments, strict=True))
            if len(places) > 2:
                raise NotLiftableError(f"{shown_predicate(literal.predicate)} has {len(places)} arguments")
            if len(places) == 2 and places[0] != places[1]:
                links.append((literal.predicate, *places, literal.allowed))
            else:
                place = places[0] if places else NOWHERE
                owns[place] += ((Own(literal.predicate, len(places) == 2), literal.allowed),)
        return owns, links

    def _clusters(
        self,
        places: Iterable[Place],
        owns: Mapping[Place, Literals],
        links: Iterable[tuple[str, Place, Place, tuple[int, ...]]],
        distinct: Iterable[Pair],
    ) -> list[tuple[Place, ...]]:
        """Connected components of places: those that are linked by binary atoms or must differ."""
        together = [*((place,) for place in (*places, *owns)), *(link[1:3] for link in links)]
        clusters = linked([*together, *self._apart(distinct)], lambda ends: ends)
        return [tuple(sorted({place for ends in own for place in ends}, key=repr)) for own in clusters]

    def _apart(self, distinct: Iterable[Pair]) -> Iterator[tuple[Place, Place]]:
        """Pairs of variables that must differ."""
        types = self.conjunction.types
        for left, right in distinct:
            if isinstance(left, str) and isinstance(right, str):
                if left not in types or right not in types:
                    raise NotLiftableError("a quantifier compares its variable with one outside")
                yield (types[left], left), (types[right], right)

    def _slot(self, place: Place, literals: Literals) -> Slot:
        type_name, argument = place
        if isinstance(argument, int):
            return Slot(type_name, literals, argument)
        excluded = frozenset(
            other
            for pair in self.conjunction.distinct
            for other in pair
            if argument in pair and isinstance(other, int)
        )
        return Slot(type_name, literals, None, excluded)

    def _choices(self, cluster: Sequence[Place]) -> int:
        """Number of assignments to a cluster without literals."""
        count = 0
        for times, slots in self._number(cluster, {}, self.conjunction.distinct):
            product = times
            for slot in slots:
                product *= len(self.program.domain(slot.type)) - len(slot.excluded)
            count += product
        return count

    def _number(
        self, cluster: Sequence[Place], owns: Mapping[Place, Literals], distinct: Iterable[Pair]
    ) -> Number:
        """Number of assignments that hold: for variables that must differ, all choices less those where they
        are equal."""
        apart = [pair for pair in self._apart(distinct) if pair[0] in cluster]
        slots = {place: self._slot(place, owns.get(place, ())) for place in cluster}
        return tuple(_counted(slots, apart))

    def _condition(self, block: Block) -> Some:
        """Convert a quantifier that binds all variables inside it, without binary atoms."""
        pieces = []
        for piece in block.pieces:
            if piece.blocks or any(a not in piece.types for x in piece.literals for a in x.arguments):
                raise NotLiftableError("a quantifier ties its variable to others")
            inner = _Reading(self.program, piece)
            if any(a not in piece.types for pair in piece.distinct for a in pair if isinstance(a, str)):
                raise NotLiftableError("a quantifier compares its variable with one outside")
            owns, links = inner._literals(piece.literals)
            if links:
                raise NotLiftableError("a quantifier speaks of atoms of two arguments")
            clusters = inner._clusters(inner._places(piece), owns, links, piece.distinct)
            pieces.append(tuple(inner._number(c, owns, piece.distinct) for c in clusters))
        return Some(tuple(pieces), block.some)


def _counted(
    slots: Mapping[Place, Slot], apart: Sequence[tuple[Place, Place]]
) -> Iterator[tuple[int, tuple[Slot, ...]]]:
    if not apart:
        yield 1, tuple(slots.values())
        return
    (left, right), rest = apart[0], apart[1:]
    yield from _counted(slots, rest)
    both = slots[left]
    both = replace(
        both, literals=both.literals + slots[right].literals, excluded=both.excluded | slots[right].excluded
    )
    merged = {place: slot for place, slot in slots.items() if place != right} | {left: both}
    renamed = [(left if a == right else a, left if b == right else b) for a, b in rest]
    if any(a == b for a, b in renamed):
        return
    for times, product in _counted(merged, renamed):
        yield -times, product
