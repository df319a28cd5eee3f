"""Tables of an answer, from probabilities of atoms and what the question asks for.

An engine gives the probabilities of latent atoms by number, or a function that looks them up by code.
Constants become Python values only when they are read.

:class:`ChosenWorld` evaluates closed formulas in a single world: a formula is true if no ground row holds
of the templates that forbid worlds without it. Only atoms that the formulas mention are grounded.

:class:`ExplainedAtom` is the atom, or the value of an atom, that an explanation is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import AtomTable
from herbrand.budget import Budget, refuse_beyond
from herbrand.language.names import shown_constant
from herbrand.language.signature import Predicate
from herbrand.language.syntax import Formula, Value
from herbrand.program.evidence import LATENT, Evidence, Known, arguments_of, codes_of, rows_of
from herbrand.program.ground import SATISFIED, Ground, GroundConjunction, LatentAtoms, ground_template
from herbrand.program.lower import forbidding
from herbrand.program.program import Program
from herbrand.program.question import AtomPattern, Question
from herbrand.row_keys import key_columns, row_keys

MOST_BYTES = 4e9

LookUp = Callable[[str, np.ndarray], np.ndarray]
"""Function from a predicate and codes or numbers of its latent atoms to their probabilities [atom, value]."""


@dataclass(frozen=True, eq=False)
class QueriedTable:
    """Queried atoms of a predicate, with the values of those that are known. The ``latent`` ones, by code or
    number, are at ``places``; None if these are all atoms, in this order."""

    table: AtomTable
    latent: np.ndarray
    places: np.ndarray | None

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        predicate: str,
        codes: np.ndarray,
        numbers: Callable[[str, np.ndarray], np.ndarray] | None = None,
    ) -> QueriedTable:
        """Table of the atoms with these codes; latent ones are kept by their ``numbers`` if given,
        else by code."""
        program, known = evidence.program, evidence.known(predicate)
        shares, latent, places = np.zeros((len(codes), program.value_count(predicate))), codes, None
        if not len(codes) or not known.all_latent:
            settled = known.lookup(codes)
            places, at = np.flatnonzero(settled == LATENT), np.flatnonzero(settled != LATENT)
            latent, shares[at, settled[at]] = codes[places], 1.0
        domains = program.domains_of(program.signature.predicates[predicate])
        columns = arguments_of(codes, tuple(map(len, domains)))
        constants = tuple(domain.at(column) for domain, column in zip(domains, columns, strict=True))
        if numbers is not None and len(latent):
            latent = numbers(predicate, latent)
        return cls(AtomTable(predicate, constants, shares, _values(evidence, predicate)), latent, places)

    def filled(self, look_up: LookUp) -> AtomTable:
        """The table with the probabilities of its latent atoms filled in."""
        if not len(self.latent):
            return self.table
        latent_shares = look_up(self.table.predicate, self.latent)[:, : self.table.probabilities.shape[1]]
        if self.places is None:
            return AtomTable(self.table.predicate, self.table.columns, latent_shares, self.table.values)
        shares = self.table.probabilities.copy()
        shares[self.places] = latent_shares
        return replace(self.table, probabilities=shares)


@dataclass(frozen=True, eq=False)
class QueriedTables:
    """Tables of a question, listed when they are first filled in."""

    ground: Ground
    question: Question

    @cached_property
    def _listed(self) -> list[QueriedTable]:
        """Each table with its latent atoms by number."""
        evidence, numbers = self.ground.evidence, self.ground.atoms.numbers
        return [
            QueriedTable.of(evidence, *queried, numbers) for queried in queried_codes(evidence, self.question)
        ]

    def filled(self, probabilities: np.ndarray) -> Iterator[AtomTable]:
        """Yield the tables filled in from ``probabilities`` [latent atom, value]."""
        for one in self._listed:
            yield one.filled(lambda _, numbers: probabilities[numbers])


def atom_tables(ground: Ground, probabilities: np.ndarray, question: Question) -> Iterator[AtomTable]:
    """A table for each queried predicate; ``probabilities`` [latent atom, value]."""
    return QueriedTables(ground, question).filled(probabilities)


def by_number(ground: Ground, probabilities: np.ndarray) -> LookUp:
    """Look-up in ``probabilities`` [latent atom, value]."""

    def look_up(predicate: str, codes: np.ndarray) -> np.ndarray:
        numbers = ground.atoms.numbers(predicate, codes)
        return probabilities[numbers, : ground.program.value_count(predicate)]

    return look_up


def looked_up(evidence: Evidence, look_up: LookUp, question: Question) -> Iterator[AtomTable]:
    """A table for each queried predicate, its latent atoms looked up."""
    return listed_tables(evidence, look_up, queried_codes(evidence, question))


def listed_tables(
    evidence: Evidence, look_up: LookUp, queried: Iterable[tuple[str, np.ndarray]]
) -> Iterator[AtomTable]:
    """The same for atoms by their codes."""
    for predicate, codes in queried:
        yield QueriedTable.of(evidence, predicate, codes).filled(look_up)


def queried_codes(
    evidence: Evidence, question: Question, possible: Mapping[str, np.ndarray] | None = None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each queried predicate with the codes of its queried atoms.

    ``possible``: for some predicates, the sorted codes of the atoms that may hold, to which the listing is
    restricted; an atom that is named is listed anyway.
    """
    possible = possible or {}
    if question.everything:
        for predicate in evidence.program.signature.listed:
            if evidence.known(predicate).latent_count():
                yield predicate, _latent_codes(evidence.known(predicate), possible.get(predicate))
        return
    queried: dict[str, list[AtomPattern]] = {}
    for pattern in question.atoms:
        queried.setdefault(pattern.predicate, []).append(pattern)
    for predicate, patterns in queried.items():
        if all(pattern.is_ground for pattern in patterns):
            rows = np.array([*dict.fromkeys(pattern.arguments for pattern in patterns)], np.int64)
            yield predicate, codes_of(rows, evidence.sizes(predicate))
            continue
        parts = [_codes(evidence, pattern, possible.get(predicate)) for pattern in patterns]
        if len(parts) == 1:
            yield predicate, parts[0]
            continue
        codes = np.concatenate(parts)
        _, first = np.unique(codes, return_index=True)
        yield predicate, codes[np.sort(first)]


def _latent_codes(known: Known, possible: np.ndarray | None) -> np.ndarray:
    return known.latent_codes() if possible is None else known.latent(possible)


def _codes(evidence: Evidence, pattern: AtomPattern, possible: np.ndarray | None) -> np.ndarray:
    """Codes of the atoms that match a pattern. For a predicate whose atoms are all known, such as a derived
    one, the bare name asks for those that hold."""
    if pattern.latent:
        known = evidence.known(pattern.predicate)
        if known.latent_count():
            return _latent_codes(known, possible)
        return known.codes if evidence.is_valued(pattern.predicate) else known.codes[known.values == 1]
    if possible is not None and not pattern.is_ground:
        return possible[pattern.fits(rows_of(possible, evidence.sizes(pattern.predicate)))]
    sizes = evidence.sizes(pattern.predicate)
    own = {one: size for one, size in zip(pattern.arguments, sizes, strict=True) if isinstance(one, str)}
    count = math.prod(own.values())
    needed, hint = 16.0 * count * (1 + len(sizes)), "put constants in place of variables"
    refuse_beyond(needed, MOST_BYTES, f"a question of {count:,} atoms needs", hint)
    values = dict(zip(own, key_columns(np.arange(count), tuple(own.values())), strict=True))
    columns = [values[one] if isinstance(one, str) else np.full(count, one) for one in pattern.arguments]
    codes = row_keys(columns, sizes, count)
    if pattern.possible and not evidence.is_valued(pattern.predicate):
        return codes[evidence.known(pattern.predicate).lookup(codes) != 0]
    return codes


def _values(evidence: Evidence, predicate: str) -> tuple[Value, ...] | None:
    value_type = evidence.program.signature.predicates[predicate].value_type
    return None if value_type is None else tuple(evidence.program.domain(value_type))


@dataclass(frozen=True, eq=False)
class ChosenWorld:
    """A single world. ``look_up`` gives 1 for the value of each latent atom; ``budget`` limits grounding."""

    evidence: Evidence
    look_up: LookUp
    budget: Budget
    _known: dict[frozenset[str], tuple[LatentAtoms, np.ndarray]] = field(default_factory=dict)

    def holds(self, formula: Formula) -> bool:
        """Whether a closed formula is true in the world; raises ``BudgetError`` if it has too many atoms."""
        templates = forbidding(self.evidence.program, formula)
        atoms, values = self._atoms(frozenset(name for t in templates for name in t.predicates))
        grounded = (ground_template(t, self.evidence, atoms, self.budget) for t in templates)
        return not any(g.multiplicity and rows_that_hold(g.conjunction, values).any() for g in grounded)

    def _atoms(self, predicates: frozenset[str]) -> tuple[LatentAtoms, np.ndarray]:
        """Latent atoms of these predicates, and their values."""
        if predicates not in self._known:
            atoms = LatentAtoms(self.evidence, self.budget, sorted(predicates))
            values = [self.look_up(name, codes).argmax(1) for name, codes in atoms.codes.items()]
            self._known[predicates] = atoms, np.concatenate([np.empty(0, np.int64), *values])
        return self._known[predicates]


def rows_that_hold(conjunction: GroundConjunction, values: np.ndarray) -> np.ndarray:
    holds = np.ones(len(conjunction), dtype=bool)
    for column, allowed in zip(conjunction.atoms.T, conjunction.allowed, strict=True):
        latent = column != SATISFIED
        holds[latent] &= np.isin(values[column[latent]], allowed)
    for block in conjunction.blocks:
        some = np.zeros(len(conjunction), dtype=bool)
        for piece in block.pieces:
            some[piece.origin[rows_that_hold(piece, values)]] = True
        holds &= some == block.some
    return holds


@dataclass(frozen=True, eq=False)
class ExplainedAtom:
    """The atom of an explanation. ``codes`` holds its one code; ``value`` is 1 for its truth, or one
    of its values."""

    evidence: Evidence
    predicate: str
    codes: np.ndarray
    value: int

    @classmethod
    def of(cls, question: Question, evidence: Evidence) -> ExplainedAtom:
        """The atom of a question made by :func:`~herbrand.program.question.read_explained`."""
        (pattern,) = question.atoms
        codes = codes_of(np.array([pattern.arguments], np.int64), evidence.sizes(pattern.predicate))
        return cls(evidence, pattern.predicate, codes, question.value)

    @property
    def atom(self) -> str:
        """Text of the atom."""
        return self.evidence.atom_text(self.predicate, self.codes)[0]

    @property
    def text(self) -> str:
        """Text of the atom, with its value if it is many-valued."""
        text = self.atom
        value_type = self.evidence.program.signature.predicates[self.predicate].value_type
        if value_type is None:
            return text
        return f"{text} = {shown_constant(self.evidence.program.domain(value_type).value(self.value))}"

    @property
    def arguments(self) -> tuple[int, ...]:
        """Numbers of its constants."""
        columns = arguments_of(self.codes, self.evidence.sizes(self.predicate))
        return tuple(int(column[0]) for column in columns)

    @property
    def row(self) -> tuple[int, ...]:
        """Its arguments as a row of facts, with the value of a many-valued atom."""
        return (*self.arguments, self.value) if self.evidence.is_valued(self.predicate) else self.arguments

    def axis(self, atoms: LatentAtoms) -> int:
        """Its number among latent atoms."""
        return int(atoms.numbers(self.predicate, self.codes)[0])

    @property
    def known(self) -> bool | None:
        """Whether facts make it true or false; None if it is latent."""
        settled = int(self.evidence.known(self.predicate).lookup(self.codes)[0])
        return None if settled == LATENT else settled == self.value

    def explained(
        self,
        log_odds: float,
        engine: str,
        guarantee: Guarantee,
        reasons: Iterable[Reason],
        base: float = 0.0,
        note: str = "",
    ) -> Explanation:
        """Explanation of its log-odds as a base, reasons and a remainder; infinite log-odds
        have reasons alone."""
        reasons = tuple(reasons)
        if math.isfinite(log_odds):
            remainder = log_odds - base - math.fsum(reason.contribution for reason in reasons)
        else:
            base = remainder = 0.0
        about = self.text, "log-odds", log_odds, engine, guarantee
        return Explanation(*about, reasons, base, remainder, note)


def forced(log_odds: float) -> Reason:
    """Fallback reason when no single statement forces the value."""
    return Reason("(facts and hard statements settle it)", {}, log_odds)


def known_fact(
    program: Program, question: Question, origin: Callable[[Predicate, Sequence[int], bool], str]
) -> Explanation | None:
    """Explanation of the queried atom if facts determine it, else None. ``origin`` says why a row of indices
    is known to hold or not."""
    queried = ExplainedAtom.of(question, Evidence(program))
    if queried.known is None:
        return None
    predicate, evidence = program.signature.predicates[queried.predicate], queried.evidence
    value = int(evidence.known(predicate.name).lookup(queried.codes)[0])
    valued = evidence.is_valued(predicate.name)
    row = (*queried.arguments, value) if valued else queried.arguments
    why = origin(predicate, row, valued or bool(value))
    share = float(queried.known)
    reason = Reason(f"{evidence.literal_text(predicate.name, queried.codes)} {why}", {}, share)
    return Explanation(queried.text, "probability", share, "facts", Guarantee.EXACT, (reason,))
