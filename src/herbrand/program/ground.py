"""Ground a program: number its latent atoms, and list which of them each template binds together.

Takes a :class:`Program`; returns a :class:`Ground`: numbered latent atoms, and for every template the rows of
atom numbers that its conjunction ranges over once evidence is absorbed. Contradictions between facts and hard
statements are detected here.

Numbers of assignments are computed without listing these:

>>> assignments({"x": 3, "y": 3}, [("x", "y")])
6
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from herbrand.budget import UNLIMITED, Budget, readable, refuse_beyond
from herbrand.errors import BudgetError, ContradictionError, Mistake, counted
from herbrand.facts.facts import Facts
from herbrand.language.formulas import Constant, Formula, Term, Value
from herbrand.language.scope import Renaming, free_variables, variable_types
from herbrand.language.show import statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import WeightedFormula
from herbrand.program.bindings import Bindings, Limit, enumerate_bindings
from herbrand.program.dependencies import derived_by
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.lower import forbidding
from herbrand.program.program import Argument, Conjunction, Program, Template, differing, literals_of
from herbrand.program.question import Question
from herbrand.row_keys import fit, places_among, row_of

# Counting groundings without listing them


Key = str | Constant


def groundings(statement: WeightedFormula, signature: Signature, facts: Facts) -> int:
    """Number of groundings of a formula that satisfy its ``where``."""
    formula = Renaming().formula(statement.formula)
    types = variable_types([formula, *statement.where], signature)
    sizes = {name: len(facts.domains[types[name]]) for name in free_variables(formula)}
    pairs = [(_key(c.left), _key(c.right), c.operator == "=") for c in statement.where]
    equal = [(left, right) for left, right, same in pairs if same]
    return assignments(sizes, [(left, right) for left, right, same in pairs if not same], equal)


def assignments(
    sizes: Mapping[str, int], distinct: Iterable[tuple[Key, Key]], equal: Iterable[tuple[Key, Key]] = ()
) -> int:
    """Number of assignments to variables of these domain sizes in which some pairs differ and others are
    equal."""
    sizes, distinct, waiting = dict(sizes), list(distinct), list(equal)
    while waiting:
        left, right = waiting.pop()
        if left == right:
            continue
        name, by = (left, right) if isinstance(left, str) else (right, left)
        if not isinstance(name, str):  # two constants
            return 0
        del sizes[name]
        distinct, waiting = (
            [(by if one == name else one, by if other == name else other) for one, other in pairs]
            for pairs in (distinct, waiting)
        )
    if any(one == other for one, other in distinct):
        return 0
    return _differing(sizes, frozenset(map(frozenset, distinct)))


def _differing(sizes: Mapping[str, int], pairs: frozenset[frozenset[Key]]) -> int:
    """Number of assignments in which all pairs differ, eliminating one variable after the other.

    If all terms that a variable must differ from differ among each other, it has that many values less. If
    there is no such variable: the assignments in which a pair differs are all those without this condition,
    less those in which the pair is equal (deletion and contraction, as for chromatic polynomials).
    """
    for name, size in sizes.items():
        own = frozenset(pair for pair in pairs if name in pair)
        others = frozenset[Key]().union(*own) - {name}
        named = [other for other in others if isinstance(other, str)]
        if all(frozenset((one, other)) in pairs for one in named for other in others if other != one):
            rest = {other: size for other, size in sizes.items() if other != name}
            return (size - len(others)) * _differing(rest, pairs - own)
    if not sizes:
        return 1
    first = next(pair for pair in pairs if any(isinstance(one, str) for one in pair))
    left = [(one, other) for one, other in pairs - {first}]
    one, other = first
    return _differing(sizes, pairs - {first}) - assignments(sizes, left, [(one, other)])


def _key(term: Term) -> Key:
    return term if isinstance(term, Constant) else term.name


# Grounding


SATISFIED = -1
BYTES_AN_ATOM = 180
"""Memory for answering per latent atom that occurs in no template, measured over 16 million atoms: 117 by bp,
153 by mean field, 177 by exact."""
BYTES_A_LISTED_ATOM = 75
"""Memory of the answer alone per atom, measured with lifted inference."""
MOST_GROUNDINGS = 3_000_000
"""Most groundings if each becomes a part of a table or a circuit: beyond this another engine is better."""
ROWS_A_SECOND = 1e5
"""Ground rows a second of a queried formula, to decide beforehand if a time limit can be kept. Elimination
plans and sums 3e4 to 1.3e5, a circuit 1e5."""


@dataclass(frozen=True, eq=False)
class GroundConjunction:
    """Row i binds the atoms ``atoms[i]``, each to a value in ``allowed`` of its column.

    ``SATISFIED`` marks a literal that evidence already makes true. ``origin`` is the row of the enclosing
    conjunction that a block's piece belongs to.
    """

    atoms: np.ndarray
    allowed: tuple[tuple[int, ...], ...]
    origin: np.ndarray
    blocks: tuple[GroundBlock, ...] = ()

    def __len__(self) -> int:
        return len(self.origin)


@dataclass(frozen=True, eq=False)
class GroundBlock:
    pieces: tuple[GroundConjunction, ...]
    some: bool


@dataclass(frozen=True, eq=False)
class GroundTemplate:
    """Ground rows of a template, with the constants of its variables in each.

    ``weight_rows``: index of the number that applies in each row, for a weight that is learned for each
    constant. Every row counts ``multiplicity`` times: once for each assignment of the variables that the
    template does not name.
    """

    template: Template
    conjunction: GroundConjunction
    weight_rows: np.ndarray
    bindings: Bindings
    multiplicity: int = 1

    def log_weight(self, program: Program) -> float:
        """Log-weight that a row adds to a world."""
        return program.log_weight(self.template) * self.multiplicity if self.multiplicity else 0.0

    @property
    def bound_names(self) -> list[str]:
        """Free variables of the formula that are bound in each row; the others may have any constant."""
        free = zip(self.template.free, self.template.instance, strict=True)
        return [name for (name, _), became in free if self.bindings.binds([became])]

    def groundings(self, program: Program) -> list[tuple[tuple[str, Value], ...]]:
        """Constants of the bound variables in each row, as pairs of name and value."""
        free = zip(self.template.free, self.template.instance, strict=True)
        bound = [(name, kind, became) for (name, kind), became in free if self.bindings.binds([became])]
        columns = [program.domain(kind).values_at(self.bindings.column(became)) for _, kind, became in bound]
        if not bound:
            return [()] * len(self.bindings)
        names = [name for name, *_ in bound]
        return [tuple(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


class LatentAtoms:
    """Numbers of the latent ground atoms, predicate by predicate in the order of the signature.

    ``only``: restrict to these predicates, in their order. ``counts``: numbers of latent atoms. Atoms of the
    predicates ``derived`` from choices may be more than memory holds, as few of them are ever named: they are
    listed only if all are requested.
    """

    def __init__(self, evidence: Evidence, budget: Budget, only: Collection[str] | None = None) -> None:
        self.evidence, self._allowed = evidence, budget.bytes
        names = evidence.program.signature.predicates if only is None else only
        counts = {name: evidence.known(name).latent_count() for name in names}
        self.counts = {name: count for name, count in counts.items() if count}
        self.derived = derived_by(evidence.program.uncertain)
        self._refuse_too_many({name: n for name, n in self.counts.items() if name not in self.derived})
        if not fit([sum(self.counts.values())]):  # 64 bits do not suffice to number them
            self._refuse_too_many(self.counts)
        self.codes: Mapping[str, np.ndarray] = _LatentCodes(evidence, self.counts, self._refuse_too_many)
        starts = list(accumulate(self.counts.values(), initial=0))
        self._names, self._starts, self.count = list(self.counts), starts[:-1], starts[-1]
        self.start = dict(zip(self._names, self._starts, strict=True))

    @cached_property
    def value_counts(self) -> np.ndarray:
        """Number of outcomes of each atom, with one more for atoms that may have no value."""
        self._refuse_too_many(self.counts)
        program = self.evidence.program
        parts = [np.full(count, program.outcome_count(name)) for name, count in self.counts.items()]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    @property
    def axes(self) -> np.ndarray:
        """Numbers of all latent atoms."""
        return np.arange(self.count)

    def places(self, predicate: str) -> slice:
        """Range of the numbers of a predicate's atoms."""
        return slice(self.start[predicate], self.start[predicate] + self.counts[predicate])

    def numbers(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        """Numbers of latent atoms given by their codes."""
        known = self.evidence.known(predicate)
        if known.all_latent:
            return self.start[predicate] + codes
        listed = predicate not in self.derived
        places = places_among(self.codes[predicate], codes) if listed else known.latent_places(codes)
        return self.start[predicate] + places

    def atom(self, number: int) -> tuple[str, np.ndarray]:
        """Predicate and code, as an array of one, of the atom with a number."""
        name, code = self.coded(number)
        return name, np.array([code])

    def coded(self, number: int) -> tuple[str, int]:
        """Predicate and code of the atom with a number."""
        name = self._names[bisect(self._starts, number) - 1]
        return name, self.evidence.known(name).latent_code(number - self.start[name])

    def row(self, number: int) -> tuple[str, tuple[int, ...]]:
        """Predicate and arguments of the atom with a number."""
        name, code = self.coded(number)
        return name, row_of(code, self.evidence.sizes(name))

    def _refuse_too_many(self, counts: Mapping[str, int]) -> None:
        total = sum(counts.values())
        if total * BYTES_AN_ATOM <= self._allowed:
            return
        largest = max(counts, key=lambda name: counts[name])
        instead = f"declare {largest} as observed if what is not listed is false"
        if largest in self.derived:
            instead = f"rules derive {largest}: give its arguments types of fewer constants"
        are = "is" if total == 1 else "are"
        raise BudgetError(
            f"there {are} {counted(total, 'latent ground atom')}, {counts[largest]:,} of them of {largest}: "
            f"about {readable(total * BYTES_AN_ATOM)}, and {readable(self._allowed)} are allowed",
            hint=f"{instead}, or allow more by --memory",
        )


class _LatentCodes(Mapping[str, np.ndarray]):
    """Codes of each predicate's latent atoms, listed on first use."""

    def __init__(
        self, evidence: Evidence, counts: dict[str, int], refuse: Callable[[Mapping[str, int]], None]
    ) -> None:
        self._evidence, self._counts, self._refuse_too_many = evidence, counts, refuse
        self._listed: dict[str, np.ndarray] = {}

    def __getitem__(self, predicate: str) -> np.ndarray:
        if predicate not in self._listed:
            self._refuse_too_many({predicate: self._counts[predicate]})
            self._listed[predicate] = self._evidence.known(predicate).latent_codes()
        return self._listed[predicate]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)


@dataclass(frozen=True, eq=False)
class OwnWeights:
    """Log-weights of single atoms from facts: soft evidence, and values that atoms are known not to have.

    ``log_weights[i]`` is added to the log-weight of worlds in which atom ``atoms[i]`` has value
    ``values[i]``; an atom may occur more than once. ``constant``: the sum of those about settled atoms."""

    atoms: np.ndarray
    values: np.ndarray
    log_weights: np.ndarray
    constant: float

    def items(self) -> Iterator[tuple[int, int, float]]:
        """Iterate over atoms, values and log-weights."""
        return zip(self.atoms.tolist(), self.values.tolist(), self.log_weights.tolist(), strict=True)


@dataclass(frozen=True, eq=False)
class Ground:
    program: Program
    evidence: Evidence
    atoms: LatentAtoms
    templates: tuple[GroundTemplate, ...]

    def negation(self, formula: Formula, budget: Budget, most_rows: float = MOST_GROUNDINGS) -> Ground:
        """The cases in which a closed formula is false, each forbidden, in place of the program's
        templates; raise ``BudgetError`` if one has more than ``most_rows``."""
        limit = Limit(budget, most_rows, formula.span)
        if most_rows < MOST_GROUNDINGS:
            limit = replace(limit, hint="a longer --time-limit allows more")
        cases = forbidding(self.program, formula)
        rows = tuple(_template_within(limit, case, self.evidence, self.atoms) for case in cases)
        return replace(self, templates=rows)

    def own_weights(self) -> OwnWeights:
        """Log-weights from facts for all latent atoms."""
        atoms, values, log_weights = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        constant = 0.0
        for predicate in filter(self.evidence.weighs, self.program.signature.predicates):
            codes, about, added = self.evidence.weights(predicate)
            settled = self.evidence.known(predicate).lookup(codes)
            constant += float(added[settled == about].sum())
            latent = settled == LATENT
            if latent.any():
                atoms.append(self.atoms.numbers(predicate, codes[latent]))
                values.append(about[latent])
                log_weights.append(added[latent])
        return OwnWeights(
            np.concatenate(atoms), np.concatenate(values), np.concatenate(log_weights), constant
        )


def ground(program: Program, budget: Budget = UNLIMITED, most_rows: float = math.inf) -> Ground:
    """Ground the program over its latent atoms, within the budget and ``most_rows`` for each template."""
    evidence = Evidence(program)
    atoms = LatentAtoms(evidence, budget)
    templates = tuple(ground_template(t, evidence, atoms, budget, most_rows) for t in program.templates)
    for template in templates:
        _refuse_contradiction(template, evidence)
    return Ground(program, evidence, atoms, templates)


def rows_in(budget: Budget) -> float:
    """Number of ground rows that a queried formula may have for the time left."""
    return min(MOST_GROUNDINGS, ROWS_A_SECOND * budget.seconds_left)


def ground_template(
    template: Template, evidence: Evidence, atoms: LatentAtoms, budget: Budget, most_rows: float = math.inf
) -> GroundTemplate:
    limit = Limit(budget, most_rows, evidence.program.span_of(template))
    return _template_within(limit, template, evidence, atoms)


def _template_within(
    limit: Limit, template: Template, evidence: Evidence, atoms: LatentAtoms
) -> GroundTemplate:
    """Ground one template within the limit."""
    named, multiplicity = without_idle(template, evidence.program)
    rows = enumerate_bindings(named, Bindings.nothing(), evidence, limit)
    conjunction = _grounded(named, rows, evidence, atoms, limit)
    numbers = weight_rows(template, rows, evidence.program)
    return GroundTemplate(template, conjunction, numbers, rows, multiplicity)


def without_idle(template: Template, program: Program) -> tuple[Conjunction, int]:
    """The conjunction restricted to the variables that it names, and the number of assignments of the
    others."""
    conjunction = template.conjunction
    sizes = {name: len(program.domain(type_name)) for name, type_name in conjunction.variables}
    named = {a for x in literals_of(conjunction) for a in x.arguments} | set(template.weight_arguments)
    named |= {a for block in conjunction.blocks for p in block.pieces for pair in differing(p) for a in pair}
    if not named & set(sizes):
        return replace(conjunction, variables=(), distinct=frozenset()), choices_of(conjunction, program)
    named |= {a for pair in conjunction.distinct for a in pair}
    kept = tuple(variable for variable in conjunction.variables if variable[0] in named)
    choices = math.prod(size for name, size in sizes.items() if name not in named)
    return replace(conjunction, variables=kept), choices


def choices_of(conjunction: Conjunction, program: Program) -> int:
    """Number of assignments of constants to the variables of a conjunction."""
    sizes = {name: len(program.domain(type_name)) for name, type_name in conjunction.variables}
    return assignments(sizes, [(_argument(a), _argument(b)) for a, b in conjunction.distinct])


def _argument(argument: Argument) -> Key:
    return argument if isinstance(argument, str) else Constant(argument)


def _grounded(
    conjunction: Conjunction, rows: Bindings, evidence: Evidence, atoms: LatentAtoms, limit: Limit
) -> GroundConjunction:
    """Replace the literals of listed bindings by atom numbers."""
    numbers = np.empty((len(rows), len(conjunction.literals)), dtype=np.int64)
    for position, literal in enumerate(conjunction.literals):
        known = evidence.known(literal.predicate)
        if not known.latent_count():
            numbers[:, position] = SATISFIED
            continue
        codes = rows.codes(literal.arguments, known.sizes)
        if known.all_latent:
            numbers[:, position] = atoms.numbers(literal.predicate, codes)
            continue
        latent = known.lookup(codes) == LATENT
        numbers[~latent, position] = SATISFIED
        if latent.any():
            numbers[latent, position] = atoms.numbers(literal.predicate, codes[latent])
    blocks = tuple(
        GroundBlock(
            tuple(_grounded_piece(piece, rows, evidence, atoms, limit) for piece in block.pieces), block.some
        )
        for block in conjunction.blocks
    )
    return GroundConjunction(numbers, tuple(x.allowed for x in conjunction.literals), rows.origin, blocks)


def _grounded_piece(
    piece: Conjunction, rows: Bindings, evidence: Evidence, atoms: LatentAtoms, limit: Limit
) -> GroundConjunction:
    start = Bindings(rows.columns, np.arange(len(rows)))
    return _grounded(piece, enumerate_bindings(piece, start, evidence, limit), evidence, atoms, limit)


def weight_rows(template: Template, rows: Bindings, program: Program) -> np.ndarray:
    """Which number of the template's weight applies in each row, as one mixed-radix index."""
    if template.weight is None or not template.weight_arguments:
        return np.zeros(len(rows), dtype=np.int64)
    sizes = [len(program.domain(name)) for name in program.weights[template.weight].by]
    return rows.codes(template.weight_arguments, sizes)


def _refuse_contradiction(ground: GroundTemplate, evidence: Evidence) -> None:
    """Raise ContradictionError if the facts alone make a forbidden conjunction true."""
    template, conjunction = ground.template, ground.conjunction
    if template.weight is not None or conjunction.blocks or not len(conjunction) * ground.multiplicity:
        return
    violated = np.flatnonzero((conjunction.atoms == SATISFIED).all(axis=1))
    if not len(violated):
        return
    row = ground.bindings.take(violated[:1])
    facts = [
        evidence.literal_text(
            literal.predicate, row.codes(literal.arguments, evidence.known(literal.predicate).sizes)
        )
        for literal in template.conjunction.literals
    ]
    contradict = "the facts {} contradict" if len(facts) > 1 else "the fact {} contradicts"
    statement = evidence.program.statements[template.statement]
    raise ContradictionError(
        Mistake(
            f"{contradict.format(', '.join(facts))} this hard statement"
            if facts
            else "this hard statement never holds",
            statement.span,
            "" if statement.span else f"the statement: {statement_text(statement)}",
        )
    )


def refuse_long_answer(
    evidence: Evidence, question: Question, budget: Budget, but: Collection[str] = ()
) -> None:
    """Raise BudgetError if the question asks for all atoms, or all of some predicates, and listing them takes
    more memory than allowed. ``but``: predicates of which few atoms are listed."""
    whole = {pattern.predicate for pattern in question.atoms if pattern.latent}
    names = evidence.program.signature.predicates if question.everything else whole
    count = sum(evidence.known(name).latent_count() for name in names if name not in but)
    what = f"the answer would list {count:,} atoms:"
    hint = "ask for the predicates or atoms that matter by --query"
    refuse_beyond(count * BYTES_A_LISTED_ATOM, budget.bytes, what, hint)
