"""One most probable world, from the counts that a summation in the max algebra chose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.engines.lifted.pairs import turned
from herbrand.engines.lifted.summation import Summation, Sums
from herbrand.engines.lifted.terms import PROPOSITIONS, Own
from herbrand.row_keys import places_among


@dataclass(frozen=True)
class _Pair:
    """A kind of pair of a group: the pools of its two elements, and the pattern of evidence."""

    group: int
    left: int
    right: int
    pattern: int


@dataclass(frozen=True, eq=False)
class AlikeWorld:
    """A most probable world. Any exchangeable element may get any state of its group, so the first ones get
    the first state."""

    summation: Summation
    sums: Sums

    @cached_property
    def cell_of(self) -> tuple[np.ndarray, ...]:
        """For each family, the cell of each element."""
        model, tabulated = self.summation.model, self.summation.tabulated
        cell_numbers = tuple(np.empty(elements.count, np.int64) for elements in model.elements)
        for element_group, expected in zip(self.summation.element_groups.all, self.sums.states, strict=True):
            family = model.pools[element_group.pool].family
            cells = tabulated.cells[element_group.pool]
            weights = tabulated.own_weights(element_group.pool, element_group.klass).detach().numpy()
            best = [
                int(np.where(cells.state == state, weights, -np.inf).argmax())
                for state in range(cells.states)
            ]
            chosen = np.repeat(np.arange(cells.states), np.rint(expected).astype(np.int64))
            cell_numbers[family][element_group.elements] = np.array(best)[chosen]
        return cell_numbers

    def of(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        """1 for the value of each atom, 0 for its others [atom, value]."""
        model = self.summation.model
        types = model.program.signature.predicates[predicate].types
        one_hot = np.eye(model.program.value_count(predicate))
        if len(types) < 2:
            return one_hot[self._own(types[0] if types else PROPOSITIONS, Own(predicate))[codes]]
        rows, columns = np.divmod(codes, model.evidence.sizes(predicate)[1])
        values = np.zeros(len(codes), dtype=np.int64)
        diagonal = (rows == columns) & (types[0] == types[1])
        if diagonal.any():
            values[diagonal] = self._own(types[0], Own(predicate, diagonal=True))[rows[diagonal]]
        values[~diagonal] = self._between(predicate, rows[~diagonal], columns[~diagonal])
        return one_hot[values]

    def _own(self, type_name: str, own: Own) -> np.ndarray:
        model = self.summation.model
        family = model.family_with(type_name, own)
        return model.families[family].values(own)[self.cell_of[family]]

    def _between(self, predicate: str, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Values of atoms of two different elements."""
        model = self.summation.model
        number = model.group_with(predicate)
        group = model.groups[number]
        way = np.ones(len(rows), dtype=bool)
        if group.within:
            way = rows < columns
            rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
        elif model.program.signature.predicates[predicate].types != group.types:
            rows, columns = columns, rows
        pattern = self._patterns(number, rows, columns)
        left, right = group.families
        pools = np.column_stack([model.pool_of[left][rows], model.pool_of[right][columns]])
        cells = (self.cell_of[left][rows], self.cell_of[right][columns])
        values = np.zeros(len(rows), dtype=np.int64)
        keys = np.column_stack([pools, pattern, way])
        for key in np.unique(keys, axis=0):
            here = (keys == key).all(1)
            of_pair = _Pair(number, *map(int, key[:3]))
            values[here] = self._best(of_pair, (predicate, bool(key[3])), cells[0][here], cells[1][here])
        return values

    def _patterns(self, number: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Pattern of evidence on each pair."""
        knowledge = self.summation.model.knowledge[number]
        if not len(knowledge.pairs):
            return np.zeros(len(rows), dtype=np.int64)
        width = int(max(columns.max(initial=0), knowledge.pairs[:, 1].max())) + 1
        stated = knowledge.pairs[:, 0] * width + knowledge.pairs[:, 1]
        codes = rows * width + columns
        at = places_among(stated, codes)
        return np.where(at >= 0, knowledge.pattern_of[at], 0)

    def _best(self, pair: _Pair, atom: tuple[str, bool], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The best value of an atom, given the cells of the left elements and of the right ones."""
        model, tabulated = self.summation.model, self.summation.tabulated
        link, is_turned = tabulated.link(pair.group, pair.left, pair.right)
        shown = model.knowledge[pair.group].patterns[pair.pattern]
        if is_turned:
            shown, atom = turned(model.groups[pair.group], shown), (atom[0], not atom[1])
            left, right = right, left
        tables = tabulated.tables[link]
        return tables.share(shown, atom).argmax(2)[tables.kinds[0][left], tables.kinds[1][right]]
