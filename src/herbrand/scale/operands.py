"""Operands of products as relations in a database, and the messages that products send.

A product of literals is multilinear in its marginals, so the message to one of its literals is the product of
all others, summed over every variable that the literal lacks: one contraction for each literal, planned once
and executed over the current tables of marginals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from herbrand.contraction import over_relations
from herbrand.contraction.expression import Contraction
from herbrand.contraction.over_relations import VALUE, Contracted, contracted, planned
from herbrand.contraction.planner import Plan
from herbrand.contraction.steps import Statistics
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.products import Observed, Operand, Product, products_of
from herbrand.errors import UnsupportedError
from herbrand.language.show import statement_text
from herbrand.program import bindings
from herbrand.program.program import FALSE, Argument, Literal, Program, Template
from herbrand.relations.expression import Expression, column, literal
from herbrand.relations.fold import total
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Stored
from herbrand.scale.evidence import StoredEvidence, among

Rows = over_relations.Operand


@dataclass(frozen=True)
class Marginals:
    """Atoms of one predicate: arguments, ``q``, and whether they are ``latent``; for many-valued atoms
    ``val`` too.

    ``count``: number of rows; ``others``: probability of all atoms without rows; ``None`` if all have rows.
    """

    rows: Relation
    count: int
    others: float | None = None


Beliefs = Mapping[str, Marginals]


@dataclass(frozen=True, eq=False)
class Message:
    """A product's message to one of its literals, times the product's weight and the literal's sign.

    ``rows``: arguments and ``v``; ``everywhere``: the sum of its ``v`` is added to all atoms besides.
    """

    rows: Relation | None
    everywhere: Relation | None


class Sender:
    """Messages of one product, each planned once."""

    def __init__(self, product: Product, evidence: StoredEvidence) -> None:
        self.product, self.evidence = product, evidence
        self._plans: dict[int | None, Plan] = {}

    @cached_property
    def readings(self) -> list[tuple[int, Reading]]:
        """The latent literals, with their places."""
        return [(place, one) for place, one in enumerate(self.product.operands) if isinstance(one, Reading)]

    def message(self, place: int, beliefs: Beliefs, coefficient: float) -> Message:
        """The message to the literal at ``place``."""
        reading = self.product.operands[place]
        assert isinstance(reading, Reading)
        sums = self._contracted(place, beliefs)
        valued = self.evidence.is_valued(reading.source)
        opposite = reading.allowed == FALSE and not valued
        value = column(VALUE) * (-coefficient if opposite else coefficient)
        rows, everywhere = sums.rows, sums.everywhere
        if rows is not None:
            at = dict(zip(reading.axes, map(column, sums.columns), strict=True))
            rows = rows.select(**_atom(reading, at), v=value)
        if everywhere is not None:
            everywhere = everywhere.select(v=value)
        if everywhere is not None and (valued or tuple(reading.arguments) != tuple(reading.axes)):
            region = self._in_region(reading, everywhere)
            rows, everywhere = region if rows is None else rows.stack(region), None
        if valued and rows is not None:
            first, *others = (rows.let(val=value) for value in reading.allowed)
            rows = first.stack(*others)
        return Message(rows, everywhere)

    def terms(self, beliefs: Beliefs) -> list[Relation]:
        """Relations whose ``v`` sum to the value of the whole product."""
        sums = self._contracted(None, beliefs)
        return [rows.only(VALUE) for rows in (sums.everywhere, sums.rows) if rows is not None]

    @property
    def joined_rows(self) -> float:
        """Estimated number of rows that all messages of one step join."""
        known = [self._statistics(one) for one in self.product.operands]
        return sum(
            planned(self._contraction(place), known[:place] + known[place + 1 :]).operations
            for place, _ in self.readings
        )

    def _statistics(self, operand: Operand) -> Statistics:
        if isinstance(operand, Observed):
            return self.observed(operand).statistics
        assert isinstance(operand, Reading)
        return Statistics(self.evidence.known(operand.source).atom_count)

    def _in_region(self, reading: Reading, everywhere: Relation) -> Relation:
        """The message for all atoms that a literal with constants or repeated variables matches."""
        names = {axis: f"n{place}" for place, axis in enumerate(reading.axes)}
        for axis, name in names.items():
            everywhere = everywhere.join(self.evidence.queries.numbers(name, self.product.sizes[axis]))
        at = {axis: column(name) for axis, name in names.items()}
        return everywhere.select(**_atom(reading, at), v=column(VALUE))

    def _contraction(self, left_out: int | None) -> Contraction:
        operands = self.product.operands
        axes = tuple(one.axes for place, one in enumerate(operands) if place != left_out)
        output = () if left_out is None else operands[left_out].axes
        return Contraction(axes, output, self.product.sizes)

    def _contracted(self, left_out: int | None, beliefs: Beliefs) -> Contracted:
        operands = self.product.operands
        rows = [self._rows(one, beliefs) for place, one in enumerate(operands) if place != left_out]
        if left_out not in self._plans:
            known = [one.statistics for one in rows]
            self._plans[left_out] = planned(self._contraction(left_out), known)
        return contracted(self._plans[left_out], rows, self.evidence.queries.numbers)

    def _rows(self, operand: Operand, beliefs: Beliefs) -> Rows:
        if isinstance(operand, Observed):
            return self.observed(operand)
        assert isinstance(operand, Reading)
        return self._read(operand, beliefs[operand.source])

    def observed(self, observed: Observed) -> Rows:
        """Evidence on a literal as an operand."""
        operand = known_operand(observed.literal, self.evidence)
        rows = operand.rows
        for left, right in observed.apart:
            rows = rows.where(_place(left, observed) != _place(right, observed))
        return replace(operand, rows=rows)

    def _read(self, reading: Reading, marginals: Marginals) -> Rows:
        arguments, valued = self.evidence.columns(reading.source), self.evidence.is_valued(reading.source)
        rows = marginals.rows
        if valued:
            rows = rows.where(among(column("val"), reading.allowed)).group(arguments, q=total(column("q")))
        rows, columns = selected(rows, reading.arguments, reading.axes)
        if valued or reading.allowed != FALSE:
            return Rows(rows.renamed(v="q"), columns, marginals.others, marginals.count)
        others = None if marginals.others is None else 1 - marginals.others
        return Rows(rows.let(v=1.0 - column("q")), columns, others, marginals.count)


def expected(products: Iterable[tuple[Sender, float]], beliefs: Beliefs) -> float:
    """Sum of the products' values, each times its weight."""
    weighed = [(sender, coefficient) for sender, coefficient in products if coefficient]
    terms = ((number, rows) for number, (one, _) in enumerate(weighed) for rows in one.terms(beliefs))
    return math.fsum(weighed[number][1] * value for number, value in sums(terms).items())


def expected_count(templates: Iterable[Template], evidence: StoredEvidence, beliefs: Beliefs) -> float:
    """Expected number of groundings of templates that hold, each times its sign."""
    unweighed = [replace(template, weight=0) for template in templates]
    products = products_of(evidence.program, unweighed, evidence)
    return expected(((Sender(one, evidence), counts[0]) for one, counts in products.items()), beliefs)


def sums(terms: Iterable[tuple[int, Relation]]) -> dict[int, float]:
    """Sums of ``v`` over all relations with the same number, by one query."""
    parts = [rows.select(number=number, v=column(VALUE)) for number, rows in terms]
    if not parts:
        return {}
    totals = parts[0].stack(*parts[1:]).group(["number"], v=total(column(VALUE))).arrays()
    return dict(zip(totals["number"].tolist(), totals[VALUE].tolist(), strict=True))


def query_of(rows: Relation) -> str:
    """The query for rows that are in a database."""
    assert isinstance(rows, Stored)
    return rows.text


def _atom(reading: Reading, at: Mapping[str, Expression]) -> dict[str, Expression]:
    """Arguments of the literal's atom, with expressions for its variables."""
    return {
        f"a{place}": at[argument] if isinstance(argument, str) else literal(argument)
        for place, argument in enumerate(reading.arguments)
    }


def _place(argument: Argument, observed: Observed) -> Expression:
    """The column of a literal's argument, or the constant."""
    if isinstance(argument, int):
        return literal(argument)
    return column(f"a{observed.literal.arguments.index(argument)}")


def known_operand(atom: Literal, evidence: StoredEvidence) -> Rows:
    """Evidence on a literal as an operand over its variables: 1 where it holds."""
    listed = evidence.listed_atoms(atom)
    assert listed is not None
    rows, columns = selected(listed.rows, atom.arguments, Observed(atom).axes)
    if listed.needed:
        return Rows(rows, columns, None, listed.count)
    return Rows(rows.let(v=0.0), columns, 1.0, listed.count)


def selected(
    rows: Relation, arguments: tuple[Argument, ...], axes: tuple[str, ...]
) -> tuple[Relation, tuple[str, ...]]:
    """Rows that match constants and repeated variables, and the columns of the axes."""
    rows, first = bindings.fitting(rows, arguments)
    return rows, tuple(first[axis] for axis in axes)


def refuse_quantifiers(template: Template, program: Program, engine: str) -> None:
    """Raise UnsupportedError for a statement with a quantifier inside its formula, or a computed argument,
    which is one too."""
    if template.conjunction.blocks:
        statement = program.statements[template.statement]
        written = re.search(r"\b(exists|forall)\b", statement_text(statement))
        what = "quantifier" if written else "computed argument"
        raise UnsupportedError(
            f"on a database {engine} has no {what} inside a formula: {statement_text(statement)}",
            span=statement.span,
            hint="leave out --on" + (", or write the formula without exists and forall" if written else ""),
        )
