"""A credal network as an exact program over cluster tables: linear except for the independences.

The table of a cluster (an atom x and its neighbours N) is kept as ``whole[n] = P(N = n)``,
``part[n] = P(N = n, x)`` and ``rest[n] = P(N = n, not x)``, so that no small probability is a difference of
large ones. ``whole`` is a marginal of earlier tables. Where x has neighbours that are not its parents,
``part[n] = theta[parents in n] * whole[n]``, with the same theta for all n that agree on
the parents: exactly the independence of x from the others. Atoms on and above cycles have one table over all
their cases, and the products that their own Markov statements require.

All rows are homogeneous in the tables: ``total`` is P(true). It is 1, unless P(given) is set to 1 instead.

Clusters must be such that tables over them that agree on common atoms are marginals of one distribution.
To find them, atoms are eliminated one after another; a cluster is an atom with its remaining neighbours.
Under the Markov condition an atom is eliminated only after all its children: then its parents are among those
neighbours, and it is independent of the other neighbours given them. Independence in every cluster makes the
joint the product of the P(x | parents of x), which is the whole Markov condition. The core, the atoms on and
above cycles, is not eliminated: it remains as one table.

>>> import numpy as np
>>> from herbrand.engines.credal.markov import Graph
>>> graph = Graph.of(4, np.array([[0, 2], [1, 2], [2, 3]]))
>>> for cluster in clusters_of(NetworkPart(graph, (), (0, 1, 2, 3), markov=True)):
...     print(cluster)
Cluster(atom=3, neighbours=(2,), parents=(2,))
Cluster(atom=2, neighbours=(0, 1), parents=(0, 1))
Cluster(atom=0, neighbours=(1,), parents=())
Cluster(atom=1, neighbours=(), parents=())
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations
from typing import NamedTuple

import numpy as np

from herbrand.engines.credal.network_part import NetworkPart, Sentence
from herbrand.engines.credal.polynomial import Assembly, PolynomialProgram
from herbrand.engines.credal.rounding import at_least, at_most, complement
from herbrand.engines.credal.shape import spread

# Clusters: tables over them that agree on common atoms are marginals of one distribution


class Cluster(NamedTuple):
    """An atom with its neighbours at its elimination; ``parents`` are the neighbours that it depends on.

    Without the Markov condition ``parents`` is all of ``neighbours``.
    """

    atom: int
    neighbours: tuple[int, ...]
    parents: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.neighbours) + 1


def clusters_of(
    part: NetworkPart, scopes: Iterable[Collection[int]] = (), most: int | None = None
) -> tuple[Cluster, ...]:
    """The clusters in elimination order; each sentence and scope lies within one of them or within the core.

    The core, the atoms on and above cycles, is not eliminated and has no clusters. The first cluster of more
    than ``most`` atoms is the last that is listed.
    """
    graph, core = part.graph, part.graph.core
    links = _Links(graph.count)
    for scope in (core, *scopes, *(sentence.atoms for sentence in part.sentences)):
        links.connect(scope)
    for atom in range(graph.count):
        links.connect((atom, *graph.parents(atom)))
    children = [len(out) for out in graph.out]
    ranks = {atom: links.rank(atom) for atom in set(range(graph.count)) - set(core) if not children[atom]}
    waiting = sorted(ranks.values())
    clusters = list[Cluster]()
    while waiting and not (most is not None and clusters and clusters[-1].width > most):
        rank = heappop(waiting)
        atom = rank[-1]
        if ranks.get(atom) != rank:
            continue
        del ranks[atom]
        neighbours, changed = links.eliminate(atom)
        parents = graph.parents(atom)
        clusters.append(Cluster(atom, neighbours, parents if part.markov else neighbours))
        for parent in parents:
            children[parent] -= 1
        ready = {parent for parent in set(parents) - set(core) if not children[parent]}
        for other in ready | (changed & ranks.keys()):
            ranks[other] = links.rank(other)
            heappush(waiting, ranks[other])
    return tuple(clusters)


class _Links:
    """Neighbours of each atom, and the fill-in of its elimination: the number of pairs of its neighbours that
    are no neighbours. Both are kept up link by link, as large networks are eliminated atom by atom."""

    def __init__(self, count: int) -> None:
        self._near: list[set[int]] = [set() for _ in range(count)]
        self._fill = [0] * count

    def rank(self, atom: int) -> tuple[int, int, int]:
        return self._fill[atom], len(self._near[atom]), atom

    def connect(self, scope: Collection[int]) -> set[int]:
        """Make the atoms neighbours of each other; the atoms whose rank changed."""
        near, fill, changed = self._near, self._fill, set[int]()
        for one, other in combinations(scope, 2):
            if one == other or other in near[one]:
                continue
            common = near[one] & near[other]
            for atom in (one, other):
                fill[atom] += len(near[atom]) - len(common)
            for atom in common:
                fill[atom] -= 1
            near[one].add(other)
            near[other].add(one)
            changed |= {one, other, *common}
        return changed

    def eliminate(self, atom: int) -> tuple[tuple[int, ...], set[int]]:
        """Take an atom out; its neighbours become neighbours of each other. They, and the atoms whose rank
        changed."""
        near, neighbours = self._near, tuple(sorted(self._near[atom]))
        changed = self.connect(neighbours)
        for other in neighbours:
            self._fill[other] -= len(near[other]) - len(neighbours)
            near[other].discard(atom)
        return neighbours, changed.union(neighbours)


# The program over the tables of the clusters


class Linear(NamedTuple):
    """A linear function of a program's variables."""

    variables: np.ndarray
    factors: np.ndarray


@dataclass(frozen=True, eq=False)
class CaseTable:
    """Variables for the probabilities of the cases of ``atoms``.

    Without a ``split``, ``whole`` is over all atoms. Else ``whole`` is over all but the last atom, and
    ``split`` is ``part``, over the cases where the last is true, and ``rest``, where it is false.
    """

    atoms: tuple[int, ...]
    whole: np.ndarray
    split: tuple[np.ndarray, np.ndarray] | None = None

    def expectation(self, atoms: Sequence[int], values: np.ndarray) -> Linear:
        """The expectation of a value for each case of ``atoms``, which are all in this table."""
        everywhere = spread(values, atoms, self.atoms).astype(float)
        if self.split is None:
            return _linear(self.whole, everywhere.reshape(-1))
        without, with_it = everywhere[..., 0].reshape(-1), everywhere[..., 1].reshape(-1)
        both = np.where(without == with_it, with_it, 0.0)
        factors = np.concatenate([both, with_it - both, without - both])
        return _linear(np.concatenate([self.whole, *self.split]), factors)

    def cases_of(self, atoms: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Variables that partition the table, and the case of ``atoms`` that each belongs to."""
        if self.split is None:
            return self.whole, _cases_of(self.atoms, atoms)
        if self.atoms[-1] not in atoms:
            return self.whole, _cases_of(self.atoms[:-1], atoms)
        cases = _cases_of(self.atoms, atoms).reshape(-1, 2)
        return np.concatenate(self.split[::-1]), cases.T.reshape(-1)


def _linear(variables: np.ndarray, factors: np.ndarray) -> Linear:
    kept = factors != 0
    return Linear(variables[kept], factors[kept])


@dataclass(frozen=True, eq=False)
class CaseTables:
    """Tables that agree on common atoms, and ``total``, the variable of P(true)."""

    total: int
    tables: list[CaseTable] = field(default_factory=list)
    _by_atom: dict[int, list[CaseTable]] = field(default_factory=dict)

    def add(self, table: CaseTable) -> None:
        self.tables.append(table)
        for atom in table.atoms:
            self._by_atom.setdefault(atom, []).append(table)

    def smallest(self, atoms: Sequence[int]) -> CaseTable:
        """The smallest table that contains these atoms: at least one, all within one cluster."""
        near = min((self._by_atom[atom] for atom in atoms), key=len)
        fitting = (table for table in near if set(atoms) <= set(table.atoms))
        return min(fitting, key=lambda table: len(table.atoms))

    def expectation(self, atoms: Sequence[int], values: np.ndarray) -> Linear:
        """The expectation of a value for each case of ``atoms``, which lie within one cluster.

        It is the probability of an event whose cases have the value 1, and the others 0.
        """
        if not len(atoms):
            return Linear(np.array([self.total]), values.reshape(-1).astype(float))
        return self.smallest(atoms).expectation(atoms, values)


@dataclass(frozen=True, eq=False)
class TableProgram:
    """A program and the case tables whose variables it has."""

    program: PolynomialProgram
    cases: CaseTables
    table_variables: np.ndarray  # numbers of all variables but conditional probabilities


def table_program(part: NetworkPart, scopes: Sequence[Collection[int]] = ()) -> TableProgram:
    """The program of all distributions that satisfy a part's sentences; each scope lies within one table."""
    assembly = Assembly()
    cases = CaseTables(int(assembly.variables(1, 1.0, 1.0)[0]))
    if part.graph.core:
        cases.add(_core_table(assembly, part, cases.total))
    for cluster in reversed(clusters_of(part, scopes)):
        cases.add(_cluster_table(assembly, cluster, cases, part))
    for sentence in part.sentences:
        _add_sentence(assembly, cases, sentence)
    program = assembly.program()
    conditional = np.zeros(program.size, bool)
    conditional[program.products[:, 1]] = True
    return TableProgram(program, cases, np.flatnonzero(~conditional))


def _cluster_table(assembly: Assembly, cluster: Cluster, cases: CaseTables, part: NetworkPart) -> CaseTable:
    neighbours, parents = cluster.neighbours, cluster.parents
    count = 2 ** len(neighbours)
    whole = assembly.variables(count, 0.0, 1.0) if neighbours else np.array([cases.total])
    holds, rest = assembly.variables(count, 0.0, 1.0), assembly.variables(count, 0.0, 1.0)
    if neighbours:
        assembly.shares(whole, *cases.smallest(neighbours).cases_of(neighbours))
    assembly.shares(whole, np.concatenate([holds, rest]), np.tile(np.arange(count), 2))
    if set(parents) != set(neighbours):
        theta = _conditional(assembly, cluster.atom, parents, part)
        assembly.products(holds, theta[_cases_of(neighbours, parents)], whole)
    return CaseTable((*neighbours, cluster.atom), whole, (holds, rest))


def _core_table(assembly: Assembly, part: NetworkPart, total: int) -> CaseTable:
    core = part.graph.core
    table = CaseTable(core, assembly.variables(2 ** len(core), 0.0, 1.0))
    assembly.shares(np.array([total]), *table.cases_of(()))
    inside = set(core)
    for atom in core:
        _, parents, others = part.graph.statement(atom)
        others = tuple(other for other in others if other in inside)
        if not others:
            continue
        around = (*parents, *others)
        theta = _conditional(assembly, atom, parents, part)
        whole, both = (assembly.variables(2 ** len(around), 0.0, 1.0) for _ in range(2))
        assembly.shares(whole, *table.cases_of(around))
        variables, which = table.cases_of((*around, atom))
        holds = which % 2 == 1
        assembly.shares(both, variables[holds], which[holds] // 2)
        assembly.products(both, theta[_cases_of(around, parents)], whole)
    return table


def _conditional(assembly: Assembly, atom: int, parents: Sequence[int], part: NetworkPart) -> np.ndarray:
    """Variables for P(atom | case of the parents), within the intervals that sentences give single cases."""
    return assembly.variables(2 ** len(parents), *part.row_ranges(atom, parents))


def _add_sentence(assembly: Assembly, cases: CaseTables, sentence: Sentence) -> None:
    """Add ``lower P(given) <= P(event) <= upper P(given)``, rounded so that it excludes no distribution."""
    tables = sentence.event, sentence.given
    least, most = at_least(*tables, sentence.lower), -at_most(*tables, sentence.upper)
    if sentence.lower == sentence.upper and np.diff(complement(sentence.lower)) == 0:
        rows = [(least, 0.0, 0.0)]
    else:
        rows = [(least, 0.0, np.inf)] if sentence.lower > 0 else []
        rows += [(most, -np.inf, 0.0)] if sentence.upper < 1 else []
    for form, low, high in rows:
        assembly.row(*cases.expectation(sentence.atoms, form), low, high)


def _cases_of(around: Sequence[int], parents: Sequence[int]) -> np.ndarray:
    """For each case of ``around``, the number of the case of ``parents`` in it."""
    cases = np.arange(2 ** len(around)).reshape((2,) * len(around))
    numbers = np.zeros_like(cases)
    for parent in parents:
        place = len(around) - 1 - list(around).index(parent)
        numbers = numbers * 2 + ((cases >> place) & 1)
    return numbers.reshape(-1)
