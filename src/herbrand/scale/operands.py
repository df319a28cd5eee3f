"""The operands of products as tables of a database, and the messages that products send, as queries.

A product of literals is multilinear in its marginals, so the message to one of its literals is the product of
all others, summed over every variable that the literal lacks: one contraction a literal, planned once and
rendered for the tables that hold the marginals now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from herbrand.contraction.expression import Contraction
from herbrand.contraction.planner import Plan
from herbrand.contraction.relational import Query, Stored, planned, rendered
from herbrand.contraction.relational_algebras import meaning_of
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.products import Observed, Operand, Product, is_relation
from herbrand.errors import UnsupportedError
from herbrand.program.template import FALSE, Argument
from herbrand.relations.dialects import Dialect
from herbrand.scale.evidence import StoredEvidence

REAL = meaning_of("real")


@dataclass(frozen=True)
class Marginals:
    """A table of one predicate's atoms: their arguments and ``q``; ``val`` too, where they have many values.

    ``others``: the probability of all atoms that no row lists; None where every atom has a row.
    """

    table: str
    rows: int
    others: float | None = None


Beliefs = Mapping[str, Marginals]


@dataclass(frozen=True, eq=False)
class Message:
    """What a product tells one of its literals, times what the product counts and the literal's sign.

    ``rows``: a query for arguments and ``v``; None for none. ``everywhere``: an expression that all atoms are
    told beside their rows.
    """

    rows: str | None
    everywhere: str | None


class Sender:
    """The messages of one product, planned once."""

    def __init__(self, product: Product, evidence: StoredEvidence, dialect: Dialect) -> None:
        self.product, self.evidence, self.dialect = product, evidence, dialect
        self._plans: dict[int | None, Plan] = {}

    @cached_property
    def readings(self) -> list[tuple[int, Reading]]:
        """The literals that are latent, with their places."""
        return [(place, one) for place, one in enumerate(self.product.operands) if isinstance(one, Reading)]

    def message(self, place: int, beliefs: Beliefs, worth: float) -> Message:
        """To the literal at ``place``."""
        reading = self.product.operands[place]
        assert isinstance(reading, Reading)
        query = self._query(place, beliefs)
        valued = self.evidence.is_valued(reading.source)
        opposite = reading.allowed == FALSE and not valued
        factor = REAL.number(-worth if opposite else worth)
        names = dict(zip(reading.axes, query.columns, strict=True))
        whole = tuple(reading.arguments) == tuple(reading.axes)
        background = None if query.background is None else f"({query.background}) * {factor}"
        whole = whole and not valued
        arguments = [self._argument(argument, names) for argument in reading.arguments]
        columns = [f"{one} AS a{number}" for number, one in enumerate(arguments)]
        rows = None
        if query.rows is not None:
            rows = f"SELECT {', '.join((*columns, f'v * {factor} AS v'))} FROM ({query.rows}) m"
        if background is not None and not whole:
            told = self._in_region(reading, background)
            rows, background = told if rows is None else f"{rows} UNION ALL {told}", None
        return Message(_by_value(rows, reading) if valued and rows is not None else rows, background)

    def value(self, beliefs: Beliefs) -> str:
        """The sum of the whole product, as an expression."""
        query = self._query(None, beliefs)
        parts = [query.background] if query.background else []
        if query.rows is not None:
            parts.append(f"COALESCE((SELECT SUM(v) FROM ({query.rows}) t), 0)")
        return " + ".join(parts) or "0"

    @property
    def joined_rows(self) -> float:
        """Rows that all messages of one step go through, as expected."""
        tables = {place: self._statistics(one) for place, one in enumerate(self.product.operands)}
        return sum(
            planned(self._contraction(place), [tables[o] for o in tables if o != place]).operations
            for place, _ in self.readings
        )

    def _statistics(self, operand: Operand) -> Stored:
        if isinstance(operand, Observed):
            return self.observed(operand)
        assert isinstance(operand, Reading)
        known = self.evidence.known(operand.source)
        return Stored("", operand.axes, rows=known.atom_count)

    def _argument(self, argument: Argument, names: Mapping[str, str]) -> str:
        return names[argument] if isinstance(argument, str) else str(argument)

    def _in_region(self, reading: Reading, value: str) -> str:
        """The same message to all atoms that a reading with constants or repeated variables is about."""
        numbers = {axis: f"n{place}.i" for place, axis in enumerate(reading.axes)}
        sources = [
            f"{self.dialect.numbers.format(count=self.product.sizes[axis])} n{place}"
            for place, axis in enumerate(reading.axes)
        ]
        columns = [
            f"{self._argument(argument, numbers)} AS a{place}"
            for place, argument in enumerate(reading.arguments)
        ]
        text = f"SELECT {', '.join((*columns, f'{value} AS v'))}"
        return f"{text} FROM {' CROSS JOIN '.join(sources)}" if sources else text

    def _contraction(self, left_out: int | None) -> Contraction:
        operands = self.product.operands
        axes = tuple(one.axes for place, one in enumerate(operands) if place != left_out)
        output = () if left_out is None else operands[left_out].axes
        return Contraction(axes, output, self.product.sizes)

    def _query(self, left_out: int | None, beliefs: Beliefs) -> Query:
        tables = [
            self._stored(one, beliefs) for place, one in enumerate(self.product.operands) if place != left_out
        ]
        if left_out not in self._plans:
            self._plans[left_out] = planned(self._contraction(left_out), tables)
        return rendered(self._plans[left_out], tables, self.dialect)

    def _stored(self, operand: Operand, beliefs: Beliefs) -> Stored:
        if isinstance(operand, Observed):
            return self.observed(operand)
        assert isinstance(operand, Reading)
        return self._read(operand, beliefs[operand.source])

    def observed(self, observed: Observed) -> Stored:
        """What is known of a literal, as an operand."""
        literal, evidence = observed.literal, self.evidence
        tables = evidence.tables(literal.predicate)
        relation = is_relation(literal, evidence)
        conditions = [
            f"{_place(left, observed)} <> {_place(right, observed)}" for left, right in observed.apart
        ]
        if evidence.is_valued(literal.predicate):
            values = ", ".join(map(str, literal.allowed))
            conditions.append(f"a{len(literal.arguments)} IN ({values or 'NULL'})")
        source, columns = selected(tables.true, literal.arguments, observed.axes, conditions, "")
        listed, background = (1.0, None) if relation else (0.0, 1.0)
        return Stored(source, columns, REAL.number(listed), background, tables.counts[0])

    def _read(self, reading: Reading, marginals: Marginals) -> Stored:
        table = marginals.table
        if self.evidence.is_valued(reading.source):
            columns = self.evidence.columns(reading.source)
            values = ", ".join(map(str, reading.allowed))
            groups = f" GROUP BY {', '.join(columns)}" if columns else ""
            table = (
                f"(SELECT {', '.join((*columns, 'SUM(q) AS q'))} FROM {table} "
                f"WHERE val IN ({values}){groups}) r"
            )
        opposite = reading.allowed == FALSE and not self.evidence.is_valued(reading.source)
        source, columns = selected(table, reading.arguments, reading.axes, [], "q")
        background = marginals.others
        if background is not None and opposite:
            background = 1 - background
        return Stored(source, columns, "1 - q" if opposite else "q", background, marginals.rows)


def _by_value(rows: str, reading: Reading) -> str:
    """The same message to each value that a reading allows."""
    return " UNION ALL ".join(f"SELECT *, {value} AS val FROM ({rows}) m" for value in reading.allowed)


def _place(argument: Argument, observed: Observed) -> str:
    """The column in which a literal has an argument, or the constant."""
    if isinstance(argument, int):
        return str(argument)
    return f"a{observed.literal.arguments.index(argument)}"


def selected(
    table: str,
    arguments: tuple[Argument, ...],
    axes: tuple[str, ...],
    conditions: list[str],
    value: str,
) -> tuple[str, tuple[str, ...]]:
    """The rows that fit constants and repeated variables, and the columns of the axes."""
    first: dict[str, str] = {}
    conditions = list(conditions)
    for place, argument in enumerate(arguments):
        if isinstance(argument, int):
            conditions.append(f"a{place} = {argument}")
        elif argument in first:
            conditions.append(f"a{place} = {first[argument]}")
        else:
            first[argument] = f"a{place}"
    columns = tuple(first[axis] for axis in axes)
    if not conditions:
        return table, columns
    kept = ", ".join((*columns, *([value] if value else ()))) or "1 AS one"
    return f"(SELECT {kept} FROM {table} WHERE {' AND '.join(conditions)}) o", columns


def served(product: Product) -> tuple[Operand, ...]:
    """The operands of a product; raises where one has no rendering."""
    for operand in product.operands:
        if not isinstance(operand, Reading | Observed):
            raise UnsupportedError(
                f"a quantifier inside a weighted formula is not served on a database: {operand}",
                hint="leave out --on, or write the formula without exists and forall",
            )
    return product.operands
