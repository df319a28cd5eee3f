"""The ground Markov network of a program: tables over latent atoms, ready to be contracted.

Takes a :class:`Ground`; gives a :class:`Network`. Rows of one shape become tables together;
tables over the same atoms are added up. A quantifier that cannot be seen away becomes a chain of helper
variables, one a piece, each "some piece so far holds", so that its width stays small however many pieces it
has.

Axes are numbers: the latent atoms first, then the helpers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.language.network_tables import NetworkTable
from herbrand.program.evidence import LATENT
from herbrand.program.ground import SATISFIED, Ground, GroundBlock, GroundConjunction, GroundTemplate
from herbrand.program.program import Weight
from herbrand.row_keys import key_columns, row_keys, unique_rows

Scope = tuple[int, ...]
FORBIDDEN = -math.inf
WIDEST_TABLE = 12


@dataclass
class Network:
    """Log-potential tables by scope, and what does not depend on any latent atom.

    ``sizes`` gives every axis its number of values; axes from ``atom_count`` on are helpers. The clock of
    ``budget`` is asked at each table that is added, as there may be millions.
    """

    sizes: list[int]
    atom_count: int
    tables: dict[Scope, np.ndarray] = field(default_factory=dict)
    constant: float = 0.0
    budget: Budget = UNLIMITED

    def add(self, scope: Sequence[int], table: np.ndarray) -> None:
        """Add a log-potential; axes are put in rising order."""
        order = sorted(range(len(scope)), key=lambda place: scope[place])
        self.add_ordered(tuple(scope[place] for place in order), np.transpose(table, order))

    def add_ordered(self, scope: Scope, table: np.ndarray) -> None:
        """Add a log-potential whose axes already rise. Tables may be shared: none is changed in place."""
        self.budget.check()
        known = self.tables.get(scope)
        self.tables[scope] = table if known is None else known + table

    def helper(self) -> int:
        """A new true-or-false axis."""
        self.sizes.append(2)
        return len(self.sizes) - 1


def network_of(ground: Ground, budget: Budget = UNLIMITED) -> Network:
    """The network of all templates, soft evidence and excluded values included."""
    network = Network(ground.atoms.value_counts.tolist(), ground.atoms.count, budget=budget)
    for template in ground.templates:
        add_template(network, template, ground.program.weights)
    for table in ground.program.tables:
        add_table(network, ground, table)
    add_unary(network, ground)
    return network


def links(ground: Ground) -> np.ndarray:
    """Pairs of atoms that will share a table, [pair, 2], read from the rows before any table is made."""
    conjunctions = [
        template.conjunction
        for template in ground.templates
        if worth_of(template, ground.program.weights) and not template.conjunction.blocks
    ]
    pairs = [
        conjunction.atoms[own][:, pair]
        for conjunction in conjunctions
        for columns, own in by_pattern(conjunction.atoms)
        if len(columns) <= WIDEST_TABLE
        for pair in map(list, combinations(columns, 2))
    ]
    return np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)


def add_table(network: Network, ground: Ground, table: NetworkTable) -> None:
    """The logarithms of a table's entries, cut down to those that evidence leaves possible."""
    with np.errstate(divide="ignore"):
        values = np.log(table.values)
    scope: list[int] = []
    code = np.zeros(1, np.int64)
    for name in table.scope:
        settled = int(ground.evidence.known(name).lookup(code)[0])
        if settled == LATENT:
            scope.append(ground.atoms.start[name])
        else:
            values = np.take(values, settled, axis=len(scope))
    if scope:
        network.add(scope, values)
    else:
        network.constant += float(values)


def add_template(network: Network, ground: GroundTemplate, weights: Sequence[Weight]) -> None:
    """Add a template's rows at the weight it has in the program."""
    worth = worth_of(ground, weights)
    if worth:
        add_conjunction(network, ground.conjunction, worth)


def worth_of(ground: GroundTemplate, weights: Sequence[Weight]) -> float:
    """The log-weight of one of its rows."""
    template = ground.template
    if not ground.multiplicity:
        return 0.0
    worth = FORBIDDEN if template.weight is None else template.sign * weights[template.weight].value
    return worth * ground.multiplicity


def add_conjunction(network: Network, conjunction: GroundConjunction, worth: float) -> None:
    """``worth`` for every row that holds."""
    if not len(conjunction):
        return
    if conjunction.blocks:
        for _, piece in ground_rows(network, conjunction):
            add_row(network, [axis for axis, _ in piece], [values for _, values in piece], worth)
        return
    for columns, own in by_pattern(conjunction.atoms):
        allowed = [conjunction.allowed[column] for column in columns]
        _add_rows(network, conjunction.atoms[own][:, columns], allowed, worth)


def by_pattern(atoms: np.ndarray) -> Iterator[tuple[list[int], np.ndarray]]:
    """Rows grouped by which of their literals are not yet satisfied: those columns, and the rows' places."""
    latent = atoms != SATISFIED
    patterns, own = unique_rows(latent.astype(np.int64), [2] * latent.shape[1])
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(pattern).tolist(), np.flatnonzero(own == number)


def _add_rows(network: Network, rows: np.ndarray, allowed: Sequence[Sequence[int]], worth: float) -> None:
    """Rows over as many different atoms each; equal ones are counted, not repeated."""
    if not rows.shape[1]:
        network.constant += worth * len(rows)
        return
    sizes = [len(network.sizes)] * rows.shape[1]
    found, counts = np.unique(row_keys(list(rows.T), sizes), return_counts=True)
    unique = np.stack(key_columns(found, sizes), axis=1)
    if rows.shape[1] > WIDEST_TABLE:
        for scope, count in zip(unique.tolist(), counts.tolist(), strict=True):
            add_row(network, scope, allowed, worth * count)
        return
    orders = np.argsort(unique, axis=1)
    scopes = np.take_along_axis(unique, orders, axis=1).tolist()
    sizes = [network.sizes[axis] for axis in unique[0]]

    @cache
    def table(order: tuple[int, ...], count: int) -> np.ndarray:
        made = np.zeros(sizes)
        made[np.ix_(*allowed)] = worth * count
        return np.ascontiguousarray(np.transpose(made, order))

    for scope, order, count in zip(scopes, map(tuple, orders.tolist()), counts.tolist(), strict=True):
        network.add_ordered(tuple(scope), table(order, count))


def add_row(network: Network, scope: Sequence[int], allowed: Sequence[Sequence[int]], worth: float) -> None:
    """One conjunction, as a table over its axes; a long one by way of a helper, so that no table is wide."""
    together = _together(zip(scope, allowed, strict=True))
    if not all(together.values()):
        return
    if not together:
        network.constant += worth
        return
    if len(together) > WIDEST_TABLE:
        excluded = [
            [(axis, tuple(set(range(network.sizes[axis])) - values))] for axis, values in together.items()
        ]
        together = {_some_holds(network, excluded): {0}}
    table = np.zeros([network.sizes[axis] for axis in together])
    table[_corner(together)] = worth
    network.add(list(together), table)


def _together(literals: Iterable[tuple[int, Sequence[int]]]) -> dict[int, set[int]]:
    """Literals by atom; those of one atom (rows of blocks may have them) are intersected."""
    together: dict[int, set[int]] = {}
    for axis, values in literals:
        together[axis] = together.get(axis, set(values)) & set(values)
    return together


def _corner(together: Mapping[int, set[int]]) -> tuple[np.ndarray, ...]:
    """Where in a table over these axes all of them have an allowed value."""
    return np.ix_(*(sorted(values) for values in together.values()))


Piece = list[tuple[int, tuple[int, ...]]]
"""Ground literals that hold together: axes and the values they may have."""


def ground_rows(network: Network, conjunction: GroundConjunction) -> Iterator[tuple[int, Piece]]:
    """The rows that evidence leaves open, with their origins; a block stands as a helper axis, 0 or 1."""
    blocks = [_grouped(network, block, len(conjunction)) for block in conjunction.blocks]
    for row, origin in enumerate(conjunction.origin.tolist()):
        piece = _literals(conjunction, row)
        for block, pieces in zip(conjunction.blocks, blocks, strict=True):
            settled = _settled(pieces[row])
            if settled is None:
                piece.append((_some_holds(network, pieces[row]), (int(block.some),)))
            elif settled != block.some:
                break
        else:
            yield origin, piece


def _literals(conjunction: GroundConjunction, row: int) -> Piece:
    return [
        (axis, allowed)
        for axis, allowed in zip(conjunction.atoms[row].tolist(), conjunction.allowed, strict=True)
        if axis != SATISFIED
    ]


def _grouped(network: Network, block: GroundBlock, count: int) -> list[list[Piece]]:
    """The ground pieces of a block, for each of the ``count`` rows around it."""
    found: list[list[Piece]] = [[] for _ in range(count)]
    for piece in block.pieces:
        for origin, literals in ground_rows(network, piece):
            found[origin].append(literals)
    return found


def _settled(pieces: list[Piece]) -> bool | None:
    """Whether some piece holds, where evidence settles it."""
    if any(not piece for piece in pieces):
        return True
    return None if pieces else False


def _some_holds(network: Network, pieces: Sequence[Piece]) -> int:
    """An axis that is 1 exactly where some piece holds: an "or" built up piece by piece."""
    before: int | None = None
    for piece in pieces:
        after = network.helper()
        _add_link(network, before, after, piece)
        before = after
    assert before is not None
    return before


def _add_link(network: Network, before: int | None, after: int, piece: Piece) -> None:
    """``after = before or piece``, as a table of zeros and impossibilities."""
    together = _together(piece)
    holds = np.zeros([network.sizes[axis] for axis in together], dtype=bool)
    if all(together.values()):
        holds[_corner(together)] = True
    if before is None:
        network.add([after, *together], _only_where(np.stack([~holds, holds])))
        return
    holds = np.stack([holds, np.ones_like(holds)])
    network.add([after, before, *together], _only_where(np.stack([~holds, holds])))


def _only_where(possible: np.ndarray) -> np.ndarray:
    return np.where(possible, 0.0, FORBIDDEN)


def add_unary(network: Network, ground: Ground) -> None:
    """Soft evidence as log-odds; excluded values as impossible."""
    for predicate in ground.program.signature.predicates:
        known = ground.evidence.known(predicate)
        for codes, values, worths in (soft_evidence(ground, predicate), excluded_values(ground, predicate)):
            settled = known.lookup(codes)
            network.constant += float(worths[settled == values].sum())
            latent = settled == LATENT
            if not latent.any():
                continue
            axes = ground.atoms.numbers(predicate, codes[latent])
            for axis, value, worth in zip(axes.tolist(), values[latent], worths[latent], strict=True):
                row = np.zeros(network.sizes[axis])
                row[value] = worth
                network.add([axis], row)


def soft_evidence(ground: Ground, predicate: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of atoms, the value an opinion is about, and what it adds to the log-weight of worlds with it."""
    return ground.evidence.opinions(predicate)


def excluded_values(ground: Ground, predicate: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of many-valued atoms, a value that each is known not to have, and its impossibility."""
    codes, values = ground.evidence.excluded(predicate)
    return codes, values, np.full(len(codes), FORBIDDEN)
