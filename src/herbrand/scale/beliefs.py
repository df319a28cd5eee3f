"""Marginals of latent atoms as tables: filled from the evidence, then replaced step by step.

A row is an atom: its arguments ``a0`` ..., whether it is ``latent``, its soft evidence ``u``, its logit
``z``, its marginal ``q`` and the previous one ``b``; ``g`` is its part of the bound's slope. A many-valued
atom has a row for each possible value ``val``. If most atoms receive the same messages, only the exceptions
have rows, and one :class:`Others` represents the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from herbrand.budget import refuse_beyond_disk
from herbrand.contraction.over_relations import contracted, planned
from herbrand.engines.mean_field.listing import selecting, selection
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.products import SHARE, SMALLEST, Product
from herbrand.engines.mean_field.stride import Slope
from herbrand.program.evidence import LATENT
from herbrand.relations.expression import Kind, cast, choose, column, exp, greater, log, magnitude
from herbrand.relations.fold import largest, log_sum, total
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch, Stored
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.operands import Marginals, Sender

BYTES_A_ROW = 64
"""Disk for one atom in both of its tables; measured without compression."""
NUMBERS = ("u", "z", "q", "b", "g")


@dataclass(frozen=True)
class Others:
    """The atoms without rows: their number, and the logit and marginals that they share."""

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
        """Slope of the bound along the last move."""
        came, lacks = self.q - self.b, target - self.z
        return Slope(came * lacks, abs(came) * (1 + abs(self.z) + abs(lacks))) * self.count


@dataclass(frozen=True)
class BeliefLayout:
    """Layout of one latent predicate's table: argument columns, whether rows are values, the number of rows,
    and the atoms without rows, if any."""

    number: int
    columns: tuple[str, ...]
    valued: bool
    count: int
    others: Others | None = None

    @classmethod
    def of(
        cls, evidence: StoredEvidence, predicate: str, count: int, others: Others | None = None
    ) -> BeliefLayout:
        number = list(evidence.program.signature.predicates).index(predicate)
        columns, valued = tuple(evidence.columns(predicate)), evidence.is_valued(predicate)
        return cls(number, columns, valued, count, others)

    def table(self, step: int) -> str:
        """Name of a step's table. Two names alternate, so that one table is complete while the other is
        made."""
        return f"belief_{self.number}_{step % 2}"

    @property
    def names(self) -> tuple[str, ...]:
        """Key columns of the rows."""
        return (*self.columns, "val") if self.valued else self.columns

    def rows(self, step: int, queries: Scratch) -> Relation:
        numbers: dict[str, Kind] = dict.fromkeys(NUMBERS, "float")
        arguments: dict[str, Kind] = dict.fromkeys(self.names, "int")
        return queries.table(self.table(step), **arguments, latent="bool", **numbers)

    def make(self, step: int, rows: Relation) -> None:
        """Make the table of a step; indices of constants are 32-bit integers, as in the tables of facts."""
        arguments = [f"CAST({name} AS INT) AS {name}" for name in self.names]
        chosen = ", ".join((*arguments, "latent", *NUMBERS))
        assert isinstance(rows, Stored)
        rows.scratch.database.make(self.table(step), f"SELECT {chosen} FROM ({rows.text}) r")

    def marginals(self, step: int, queries: Scratch) -> Marginals:
        rows = self.rows(step, queries).only(*self.names, "q", "latent")
        return Marginals(rows, self.count, None if self.others is None else self.others.q)


@dataclass(frozen=True)
class Move:
    """Slope of the bound along the last move, and the largest change of a marginal in this one."""

    slope: Slope
    far: float

    def __add__(self, other: Move) -> Move:
        return Move(self.slope + other.slope, max(self.far, other.far))


def laid_out(
    evidence: StoredEvidence, products: Sequence[Product], room: int | None
) -> dict[str, BeliefLayout]:
    """Make the tables of all latent predicates from the evidence; ``room``: free bytes of disk."""
    latent = evidence.latent_predicates
    return {name: _filled(name, evidence, _exceptions(name, products, evidence), room) for name in latent}


def _filled(
    predicate: str, evidence: StoredEvidence, listed: Relation | None, room: int | None
) -> BeliefLayout:
    layout, sizes = BeliefLayout.of(evidence, predicate, 0), evidence.sizes(predicate)
    atoms = math.prod(sizes) * (evidence.program.value_count(predicate) if layout.valued else 1)
    if listed is None:
        what = f"mean field keeps a row for each of the {atoms:,} latent atoms of {predicate}:"
        hint = f"declare {predicate} as observed if what is not listed is false, or use another disk"
        refuse_beyond_disk(atoms * BYTES_A_ROW, room, what, hint)
    rows = evidence.every_atom(predicate) if listed is None else listed
    layout.make(0, _start(predicate, rows, layout, evidence))
    count = layout.rows(0, evidence.queries).count()
    return replace(layout, count=count, others=None if listed is None else Others(atoms - count))


def _start(predicate: str, atoms: Relation, layout: BeliefLayout, evidence: StoredEvidence) -> Relation:
    """Initial rows of these atoms from the facts; many-valued ones have a row for each possible value."""
    tables, columns, value = evidence.tables(predicate), layout.columns, column("value")
    rows = atoms.left_join(evidence.settled(predicate), columns, value=LATENT).let(latent=value == LATENT)
    opinions = evidence.opinion_rows(predicate).renamed(u="log_weight", val="about")
    if layout.valued:
        barred = evidence.relation(tables.false, predicate).renamed(val=f"a{len(columns)}")
        rows = rows.join(evidence.queries.numbers("val", evidence.program.value_count(predicate)))
        rows = rows.where(column("latent") | (value == column("val"))).without(barred, layout.names)
    rows = rows.left_join(opinions.only(*layout.names, "u"), layout.names, u=0.0)
    rows = rows.let(z=column("u"), b=cast(value, "float"), g=0.0)
    return _with_marginals(layout, rows).let(b=column("q"))


def _with_marginals(layout: BeliefLayout, rows: Relation) -> Relation:
    """Compute ``q`` from ``z``; a settled atom keeps its previous value ``b``."""
    z = column("z")
    if layout.valued:
        totals = rows.group(layout.columns, whole=log_sum(z))
        return rows.join(totals, layout.columns).let(q=exp(z - column("whole")))
    share = choose(z >= 0.0, 1.0 / (1.0 + exp(-z)), exp(z) / (1.0 + exp(z)))
    return rows.let(q=choose(column("latent"), share, column("b")))


def moved(
    layout: BeliefLayout,
    step: int,
    queries: Scratch,
    received: Sequence[Relation],
    everywhere: float,
    stride: float,
) -> tuple[BeliefLayout, Move]:
    """Make the next step's table: every atom moved by ``stride`` towards the sum of its messages.

    ``received``: messages with arguments and ``v``; ``everywhere`` is added to all atoms.
    """
    target, names = column("u") + everywhere, layout.names
    rows = layout.rows(step, queries)
    if received:
        messages = received[0].stack(*received[1:]).group(names, v=total(column("v")))
        rows, target = rows.left_join(messages, names, v=0.0), target + column("v")
    z, t, lacks = column("z"), column("t"), column("t") - column("z")
    # The two branches of torch.lerp, which moves logits in memory: steps are the same, and exact at stride 1.
    after = z + stride * lacks if stride < 0.5 else t - (1 - stride) * lacks
    rows = rows.let(t=target).let(z=after, b=column("q"), g=lacks * (column("q") - column("b")))
    layout.make(step + 1, _with_marginals(layout, rows))
    move = _move(layout.rows(step, queries), layout.rows(step + 1, queries))
    if layout.others is None:
        return layout, move
    old, new = layout.others, layout.others.moved(everywhere, stride)
    return replace(layout, others=new), move + Move(old.slope(everywhere), abs(new.q - old.q))


def _move(before: Relation, after: Relation) -> Move:
    """Slope and largest change over the atoms that have rows."""
    g, far = column("g"), magnitude(column("q") - column("b"))
    way = before.where(column("latent")).scalar(total(far * (1.0 + magnitude(column("z")))))
    folds = {"value": total(g), "size": total(magnitude(g)), "far": largest(far)}
    folded = after.where(column("latent")).group([], **folds).rows()
    value, size, farthest = folded[0] if folded else (0.0, 0.0, 0.0)
    return Move(Slope(value, size + way), farthest)


def bound_part(layout: BeliefLayout, step: int, queries: Scratch) -> float:
    """Soft evidence and entropy of a predicate's atoms, their part of the bound."""
    q, z = column("q"), column("z")
    entropy = greater(z, 0.0) + log(1.0 + exp(-magnitude(z))) - z * q
    if layout.valued:
        entropy = choose(q > 0.0, -q * log(q), 0.0)
    expected = column("u") * q + choose(column("latent"), entropy, 0.0)
    listed = layout.rows(step, queries).scalar(total(expected))
    return listed + (layout.others.entropy if layout.others is not None else 0.0)


def _exceptions(predicate: str, products: Iterable[Product], evidence: StoredEvidence) -> Relation | None:
    """The atoms that get rows; ``None`` if every atom gets one.

    As :func:`herbrand.engines.mean_field.listing.exceptions`, so that both keep the same tables.
    """
    atoms = math.prod(evidence.sizes(predicate))
    if evidence.is_valued(predicate) or atoms < SMALLEST:
        return None
    tables = evidence.tables(predicate)
    listed = tables.true, tables.false, tables.soft
    parts: list[Relation] = [evidence.relation(name, predicate) for name in listed]
    for product in products:
        for reading in product.operands:
            if isinstance(reading, Reading) and reading.source == predicate:
                singled_out = _singled_out(reading, product, evidence)
                if singled_out is None:
                    return None
                parts += singled_out
    every = parts[0].stack(*parts[1:]).distinct()
    return every if every.count() * SHARE <= atoms else None


def _singled_out(reading: Reading, product: Product, evidence: StoredEvidence) -> list[Relation] | None:
    """Atoms to which a product sends different messages; empty if all get the same, ``None`` if each may
    differ."""
    known = selecting(reading, product, evidence)
    if not known:
        return known if known is None else []
    sender = Sender(product, evidence)
    operands = [sender.observed(one) for one in known]
    plan = planned(selection(reading, known, product), [one.statistics for one in operands])
    touched = contracted(plan, operands, evidence.queries.numbers)
    names = {f"a{number}": column(name) for number, name in enumerate(touched.columns)}
    return [] if touched.rows is None else [touched.rows.select(**names)]


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
