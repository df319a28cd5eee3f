"""Random groundings of a program's statements, sampled with a preference for listed facts.

A grounding is built literal by literal: with a given probability from a listed fact that matches the
variables bound so far, otherwise with random constants. Statements are equally likely; among the templates of
one, each is chosen in proportion to its groundings. Groundings that the facts make true stay in the batch,
where they send no message: leaving them out would change the relative weights of rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.errors import UnsupportedError
from herbrand.language.show import statement_text
from herbrand.program.bindings import Bindings
from herbrand.program.evidence import Evidence, codes_of
from herbrand.program.ground import choices_of
from herbrand.program.program import Argument, Literal, Program, Template

Columns = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class _Pool:
    """Listed atoms of a predicate, sorted by their bound arguments."""

    rows: np.ndarray
    keys: np.ndarray
    sizes: tuple[int, ...]

    def drawn(self, counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Sample a row for each wanted key; also return a mask of the keys that have rows."""
        first = np.searchsorted(self.keys, counts, side="left")
        count = np.searchsorted(self.keys, counts, side="right") - first
        place = first + (rng.random(len(counts)) * count).astype(np.int64)
        is_any = count > 0
        return self.rows[np.where(is_any, place, 0)], is_any


class Sampler:
    """Samples groundings of templates with latent atoms; equal seeds give equal samples."""

    def __init__(self, evidence: Evidence, observed: float, seed: int) -> None:
        self.evidence, self.observed = evidence, observed
        self.rng = np.random.default_rng(seed)
        self.templates = [t for t in evidence.program.templates if bears(t, evidence)]
        self.shares = _shares(self.templates, evidence.program)
        self._pools: dict[tuple[str, tuple[int, ...]], _Pool] = {}

    def draw(self, count: int) -> list[tuple[Template, Bindings]]:
        """Sample about ``count`` groundings, by template; those in which variables that must differ are equal
        are dropped."""
        numbers = self.rng.multinomial(count, self.shares)
        return [
            (template, self._grounded(template, int(number)))
            for template, number in zip(self.templates, numbers, strict=True)
            if number
        ]

    def _grounded(self, template: Template, count: int) -> Bindings:
        conjunction = template.conjunction
        columns: Columns = {}
        # Random order, as the listed facts of the first literal determine what the others are about.
        for place in self.rng.permutation(len(conjunction.literals)):
            self._bind(conjunction.literals[place], columns, conjunction.types, count)
        for name in template.weight_arguments:
            if isinstance(name, str) and name not in columns:
                columns[name] = self._anything(conjunction.types[name], count)
        rows = Bindings(columns, np.arange(count))
        kept = np.ones(count, dtype=bool)
        for left, right in conjunction.distinct:
            if rows.binds((left, right)):
                kept &= rows.column(left) != rows.column(right)
        return rows if kept.all() else rows.take(np.flatnonzero(kept))

    def _bind(self, literal: Literal, columns: Columns, types: Mapping[str, str], count: int) -> None:
        """Choose constants for the literal's free variables."""
        free = [a for a in dict.fromkeys(literal.arguments) if isinstance(a, str) and a not in columns]
        if not free:
            return
        drawn = {name: self._anything(types[name], count) for name in free}
        pattern = tuple(_how_bound(a, literal.arguments, columns) for a in literal.arguments)
        pool = self._pool(literal.predicate, pattern)
        observed = self.rng.random(count) < self.observed
        if len(pool.rows) and observed.any():
            bound = [a for a, how in zip(literal.arguments, pattern, strict=True) if how == -1]
            own = Bindings(columns, np.arange(count))
            keys = np.stack([own.column(a) for a in bound], axis=1) if bound else np.empty((count, 0))
            rows, is_any = pool.drawn(codes_of(keys.astype(np.int64), pool.sizes), self.rng)
            taken = observed & is_any
            for name in free:
                drawn[name][taken] = rows[taken, literal.arguments.index(name)]
        columns |= drawn

    def _pool(self, predicate: str, pattern: tuple[int, ...]) -> _Pool:
        if (predicate, pattern) not in self._pools:
            self._pools[predicate, pattern] = self._made_pool(predicate, pattern)
        return self._pools[predicate, pattern]

    def _made_pool(self, predicate: str, pattern: tuple[int, ...]) -> _Pool:
        """Pool for a pattern: -1 for a bound argument, else the first argument with the same free
        variable."""
        table = self.evidence.program.table(predicate)
        sizes = self.evidence.sizes(predicate)
        rows = np.concatenate([table.true, table.false])[:, : len(sizes)].astype(np.int64)
        for position, first in enumerate(pattern):
            if first >= 0:
                rows = rows[rows[:, position] == rows[:, first]]
        bound = [position for position, first in enumerate(pattern) if first == -1]
        own = tuple(sizes[position] for position in bound)
        keys = codes_of(rows[:, bound], own)
        order = np.argsort(keys, kind="stable")
        return _Pool(rows[order], keys[order], own)

    def _anything(self, type_name: str, count: int) -> np.ndarray:
        return self.rng.integers(0, len(self.evidence.program.domain(type_name)), count)


def refuse_unsampled(program: Program) -> None:
    """Raise UnsupportedError for statements whose groundings cannot be sampled: hard or quantified ones."""
    for template in program.templates:
        if template.weight is None or template.conjunction.blocks:
            statement = program.statements[template.statement]
            kind = "is hard" if template.weight is None else "quantifies"
            shown = statement_text(statement)
            raise UnsupportedError(
                f"groundings cannot be sampled from a statement that {kind}: {shown}",
                span=statement.span,
                hint="leave --batch out to learn from all groundings at once",
            )


def bears(template: Template, evidence: Evidence) -> bool:
    """Whether the template has groundings, and a predicate with latent atoms."""
    latent = any(evidence.known(name).latent_count() for name in template.predicates)
    return latent and choices_of(template.conjunction, evidence.program) > 0


def _shares(templates: Sequence[Template], program: Program) -> np.ndarray:
    """Probability of each template."""
    counts = np.array([max(1.0, float(choices_of(t.conjunction, program))) for t in templates])
    statements = np.array([t.statement for t in templates])
    shares = np.zeros(len(templates))
    for statement in np.unique(statements):
        own = statements == statement
        shares[own] = counts[own] / counts[own].sum()
    # Statements are equally likely, whatever their groundings: one of many variables would outweigh the
    # others.
    return shares / max(shares.sum(), 1e-300)


def _how_bound(argument: Argument, arguments: Sequence[Argument], columns: Columns) -> int:
    if isinstance(argument, int) or argument in columns:
        return -1
    return list(arguments).index(argument)
