"""The marginals of latent atoms as tables: made once from the evidence, then replaced step after step.

A row is an atom: its arguments ``a0`` ..., soft evidence ``u`` and known truth ``f`` (null where latent), its
logit ``z``, its marginal ``q`` and the one before, ``b``; ``g`` is its part of the bound's slope. A
many-valued atom has a row for each value ``val`` that is possible. Where most atoms receive the same, only
exceptions have rows, and one :class:`Others` stands for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from herbrand.budget import refuse_beyond_disk
from herbrand.contraction.expression import Contraction, Sizes
from herbrand.contraction.over_relations import contracted, planned
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.products import SHARE, SMALLEST, Observed, Product, is_relation
from herbrand.engines.mean_field.stride import Slope
from herbrand.relations.database import Database
from herbrand.relations.expression import Kind, column
from herbrand.relations.fold import total
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.operands import Marginals, Sender, query_of
from herbrand.scale.sql_phrases import double, equal, sigmoid_of

BYTES_A_ROW = 64
"""On disk, of one atom in both of its tables; measured without compression."""


@dataclass(frozen=True)
class Others:
    """The atoms that have no row: how many, and what they all have."""

    count: int
    z: float = 0.0
    q: float = 0.5
    b: float = 0.5

    @property
    def entropy(self) -> float:
        return self.count * (max(self.z, 0) + math.log1p(math.exp(-abs(self.z))) - self.z * self.q)

    def moved(self, target: float, stride: float) -> Others:
        z = self.z + stride * (target - self.z)
        return Others(self.count, z, _sigmoid(z), self.q)

    def slope(self, target: float) -> Slope:
        """Of the bound along the last move."""
        came, lacks = self.q - self.b, target - self.z
        return Slope(came * lacks, abs(came) * (1 + abs(self.z) + abs(lacks))) * self.count


@dataclass(frozen=True)
class BeliefLayout:
    """One latent predicate: the columns of its arguments, whether rows are values, how many there are, and
    the atoms without a row, where there are such."""

    number: int
    columns: tuple[str, ...]
    valued: bool
    rows: int
    others: Others | None = None

    @classmethod
    def of(
        cls, evidence: StoredEvidence, predicate: str, rows: int, others: Others | None = None
    ) -> BeliefLayout:
        number = list(evidence.program.signature.predicates).index(predicate)
        columns, valued = tuple(evidence.columns(predicate)), evidence.is_valued(predicate)
        return cls(number, columns, valued, rows, others)

    def table(self, step: int) -> str:
        """Two tables take turns, so that one is whole while the other is made."""
        return f"belief_{self.number}_{step % 2}"

    def marginals(self, step: int, queries: Scratch) -> Marginals:
        kinds: dict[str, Kind] = {**dict.fromkeys(self.columns, "int"), "q": "float", "latent": "bool"}
        if self.valued:
            kinds["val"] = "int"
        rows = queries.query(f"SELECT *, f IS NULL AS latent FROM {self.table(step)}", kinds)
        return Marginals(rows, self.rows, None if self.others is None else self.others.q)


@dataclass(frozen=True)
class Move:
    """The slope of the bound along the last move, and how far the farthest marginal has moved now."""

    slope: Slope
    far: float

    def __add__(self, other: Move) -> Move:
        return Move(self.slope + other.slope, max(self.far, other.far))


def laid_out(
    evidence: StoredEvidence, products: Sequence[Product], room: int | None
) -> dict[str, BeliefLayout]:
    """The tables of all latent predicates, filled from the evidence; ``room``: free bytes of disk."""
    latent = (name for name in evidence.program.signature.predicates if evidence.known(name).latent_count())
    return {name: _filled(name, evidence, _exceptions(name, products, evidence), room) for name in latent}


def _filled(predicate: str, evidence: StoredEvidence, listed: str | None, room: int | None) -> BeliefLayout:
    layout, sizes = BeliefLayout.of(evidence, predicate, 0), evidence.sizes(predicate)
    atoms = math.prod(sizes) * (evidence.program.value_count(predicate) if layout.valued else 1)
    if listed is None:
        said = f"mean field keeps a row for each of the {atoms:,} latent atoms of {predicate}:"
        hint = f"declare {predicate} as observed if what is not listed is false, or use another disk"
        refuse_beyond_disk(atoms * BYTES_A_ROW, room, said, hint)
    source = listed or query_of(evidence.every_atom(predicate))
    start = _valued_start if layout.valued else _start
    evidence.database.make(layout.table(0), start(predicate, source, evidence))
    rows = evidence.database.number(f"SELECT COUNT(*) FROM {layout.table(0)}")
    return replace(layout, rows=rows, others=None if listed is None else Others(atoms - rows))


def _start(predicate: str, source: str, evidence: StoredEvidence) -> str:
    tables, columns = evidence.tables(predicate), evidence.columns(predicate)
    known = evidence.settled(predicate).text
    values = "COALESCE(o.odds, 0) AS u", "CAST(k.value AS DOUBLE) AS f"
    atoms = _listed([f"CAST(x.{column} AS INT) AS {column}" for column in columns], *values)
    joined = (
        f"SELECT {atoms} FROM ({source}) x LEFT JOIN ({known}) k ON {equal('k', 'x', columns)} "
        f"LEFT JOIN {tables.soft} o ON {equal('o', 'x', columns)}"
    )
    q = f"CASE WHEN f IS NULL THEN {sigmoid_of('u')} ELSE f END"
    chosen = _listed(columns, "u", "f", "u AS z", f"{q} AS q", f"{q} AS b", "CAST(0 AS DOUBLE) AS g")
    return f"SELECT {chosen} FROM ({joined}) j"


def _valued_start(predicate: str, source: str, evidence: StoredEvidence) -> str:
    """A row for each value that facts leave to an atom."""
    tables, columns = evidence.tables(predicate), evidence.columns(predicate)
    count, value = evidence.program.value_count(predicate), f"a{len(columns)}"
    numbers = evidence.database.dialect.numbers.format(count=count)
    all_columns = [*columns, value]
    atoms = [f"CAST(x.{column} AS INT) AS {column}" for column in columns]
    atoms = _listed(atoms, f"CAST(v.i AS INT) AS {value}")
    every = f"SELECT {atoms} FROM ({source}) x CROSS JOIN {numbers} v"
    worth = f"COALESCE(o.odds + {double(math.log(max(1, count - 1)))}, 0) AS u"
    known = f"CASE WHEN k.{value} IS NULL THEN NULL ELSE CAST(1 AS DOUBLE) END AS f"
    chosen = _listed([f"e.{column}" for column in columns], f"e.{value} AS val", worth, known)
    joined = (
        f"SELECT {chosen} FROM ({every}) e LEFT JOIN {tables.true} k ON {equal('k', 'e', columns)} "
        f"LEFT JOIN {tables.false} n ON {equal('n', 'e', all_columns)} "
        f"LEFT JOIN {tables.soft} o ON {equal('o', 'e', all_columns)} "
        f"WHERE n.{value} IS NULL AND (k.{value} IS NULL OR k.{value} = e.{value})"
    )
    shares = _shares(f"SELECT *, u AS z FROM ({joined}) j", columns)
    chosen = _listed(columns, "val", "u", "f", "z", "q", "q AS b", "CAST(0 AS DOUBLE) AS g")
    return f"SELECT {chosen} FROM ({shares}) s"


def moved(
    database: Database,
    layout: BeliefLayout,
    step: int,
    received: Sequence[Relation],
    everywhere: float,
    stride: float,
) -> tuple[BeliefLayout, Move]:
    """The next step's table: every atom moved by ``stride`` towards the sum of its messages.

    ``received``: messages with arguments and ``v``; ``everywhere`` is added to all atoms.
    """
    columns, now = layout.columns, layout.table(step)
    names = (*columns, "val") if layout.valued else columns
    target, source = f"s.u + {double(everywhere)}", f"{now} s"
    if received:
        messages = received[0].stack(*received[1:]).group(names, v=total(column("v")))
        source += f" LEFT JOIN ({query_of(messages)}) m ON {equal('m', 's', names)}"
        target += " + COALESCE(m.v, 0)"
    kept = [f"s.{name}" for name in names]
    before = _listed(kept, "s.u", "s.f", "s.z AS old", "s.q AS now", "s.b AS was", f"{target} AS t")
    part, whole = double(stride), double(1 - stride)
    z = f"old + {part} * (t - old)" if stride < 0.5 else f"t - {whole} * (t - old)"
    after = f"SELECT {_listed(names, 'u', 'f', f'{z} AS z', 'now', '(t - old) * (now - was) AS g')}"
    after = f"{after} FROM (SELECT {before} FROM {source}) w"
    if layout.valued:
        found = _listed(names, "u", "f", "z", "q", "now AS b", "g")
        database.make(layout.table(step + 1), f"SELECT {found} FROM ({_shares(after, columns)}) s")
    else:
        q = f"CASE WHEN f IS NULL THEN {sigmoid_of('z')} ELSE f END"
        found = _listed(names, "u", "f", "z", f"{q} AS q", "now AS b", "g")
        database.make(layout.table(step + 1), f"SELECT {found} FROM ({after}) s")
    value, lacked, far = database.rows(
        f"SELECT SUM(g), SUM(ABS(g)), MAX(ABS(q - b)) FROM {layout.table(step + 1)} WHERE f IS NULL"
    )[0]
    came = database.rows(f"SELECT SUM(ABS(q - b) * (1 + ABS(z))) FROM {now} WHERE f IS NULL")[0][0]
    move = Move(Slope(value or 0.0, (lacked or 0.0) + (came or 0.0)), far or 0.0)
    if layout.others is None:
        return layout, move
    before, after = layout.others, layout.others.moved(everywhere, stride)
    return replace(layout, others=after), move + Move(before.slope(everywhere), abs(after.q - before.q))


def bound_part(database: Database, layout: BeliefLayout, step: int) -> float:
    """The soft evidence and the entropy of a predicate's atoms."""
    q = "CASE WHEN f IS NULL AND q > 0 THEN q * LN(q) ELSE 0 END"
    entropy = f"-({q})"
    if not layout.valued:
        entropy = "CASE WHEN f IS NULL THEN GREATEST(z, 0) + LN(1 + EXP(-ABS(z))) - z * q ELSE 0 END"
    listed = database.number(f"SELECT COALESCE(SUM(u * q + {entropy}), 0) FROM {layout.table(step)}")
    return listed + (layout.others.entropy if layout.others is not None else 0.0)


def _exceptions(predicate: str, products: Iterable[Product], evidence: StoredEvidence) -> str | None:
    """The atoms to list, as a query; None where every atom gets a row.

    As :func:`herbrand.engines.mean_field.listing.exceptions`, by which both sides keep the same tables.
    """
    atoms = math.prod(evidence.sizes(predicate))
    if evidence.is_valued(predicate) or atoms < SMALLEST:
        return None
    tables = evidence.tables(predicate)
    listed = tables.true, tables.false, tables.soft
    parts: list[Relation] = [evidence.relation(name, predicate) for name in listed]
    for product in products:
        for place, reading in enumerate(product.operands):
            if isinstance(reading, Reading) and reading.source == predicate:
                found = _singled_out(reading, place, product, evidence)
                if found is None:
                    return None
                parts += found
    every = parts[0].stack(*parts[1:]).distinct()
    return query_of(every) if every.count() * SHARE <= atoms else None


def _singled_out(
    reading: Reading, place: int, product: Product, evidence: StoredEvidence
) -> list[Relation] | None:
    """The atoms that a product moves; nothing where it moves all alike; None where each may differ."""
    axes = reading.axes
    if len(axes) < len(reading.arguments):
        return None
    others = [one for number, one in enumerate(product.operands) if number != place]
    if not any(set(one.axes) & set(axes) for one in others):
        return []
    known = [one for one in others if isinstance(one, Observed) and is_relation(one.literal, evidence)]
    bound = {axis for one in known for axis in one.axes}
    if not set(axes) <= bound:
        return None
    inside = Sizes({axis: size for axis, size in product.sizes.items() if axis in bound})
    sender = Sender(product, evidence)
    operands = [sender.observed(one) for one in known]
    contraction = Contraction(tuple(one.axes for one in known), axes, inside)
    plan = planned(contraction, [one.statistics for one in operands])
    found = contracted(plan, operands, evidence.queries.numbers)
    names = {f"a{number}": column(name) for number, name in enumerate(found.columns)}
    return [] if found.rows is None else [found.rows.select(**names)]


def _shares(query: str, columns: Sequence[str]) -> str:
    """With ``q``: each row's share of its atom, by its ``z``."""
    over = f"PARTITION BY {', '.join(columns)}" if columns else ""
    peaks = f"SELECT *, EXP(z - MAX(z) OVER ({over})) AS e FROM ({query}) p"
    return f"SELECT *, e / SUM(e) OVER ({over}) AS q FROM ({peaks}) e"


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def _listed(columns: Iterable[str], *more: str) -> str:
    return ", ".join((*columns, *more))
