"""Marginal probabilities of ground atoms and formulas, stored as columns; rows are made on access.

>>> table = AtomTable("smokes", (("anna", "bob"),), np.array([[0.4, 0.6], [0.9, 0.1]]))
>>> answer = Marginals("exact", Guarantee.EXACT, Status(True, 1), (table,))
>>> answer['smokes("anna")'], answer["smokes"]["bob"]
(0.6, 0.1)
>>> answer
exact marginals
atom            probability
smokes("anna")       0.6000
smokes("bob")        0.1000
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, repeat
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from herbrand.answers.argument_columns import argument_kinds, column_array, constant_array, kind_of
from herbrand.answers.columns import Columns, in_columns, in_rows
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.lookup import Key, key_among, missing, missing_atom, text_among
from herbrand.answers.sheet import PROBABILITIES, Sheet, in_json
from herbrand.facts.column import Constants, number_array, text_array
from herbrand.language.comparisons import variables_of
from herbrand.language.names import is_made, shown_constant
from herbrand.language.show import atom_texts
from herbrand.language.syntax import Atom, Constant, Query, Value, Variable
from herbrand.quick_values import quickly_made
from herbrand.row_keys import zipped

Places = tuple[int, ...]
PIECE = 1 << 16
"""Number of rows of a long table that are converted to Python values at a time."""
SHOWN, SHOWN_STEPS = "{:.4f}", 10_000
"""Format of a probability in a table, and the number of steps between 0 and 1 that it has."""


@dataclass(frozen=True, eq=False, repr=False)
class AtomTable(Sheet):
    """Marginals of one predicate: ``columns`` of constants, ``probabilities`` [atom, value].

    ``values``: those of a many-valued predicate. ``rows`` and ``value_rows``: the entries that are reported,
    in this order; by default every atom's truth, or every value.
    """

    predicate: str
    columns: tuple[Sequence[Value], ...]
    probabilities: np.ndarray
    values: tuple[Value, ...] | None = None
    entries: np.ndarray | None = None
    reach: np.ndarray | None = None
    """Half-width of each entry's bounds, if the probabilities are the middles of bounds."""
    only_possible: bool = False
    """Whether atoms of probability 0 are left out because they are too many."""

    ticks: ClassVar[Sequence[str]] = PROBABILITIES

    @property
    def named(self) -> str | None:
        """Name of the predicate; None for a table of a queried formula."""
        return None if is_made(self.predicate) else self.predicate

    @cached_property
    def reported(self) -> np.ndarray:
        """Atom and value index of each reported row, [n, 2]."""
        if self.entries is not None:
            return self.entries
        atoms, values = self.probabilities.shape
        if self.values is None:
            truths = np.ones((atoms, 2), np.int64)
            truths[:, 0] = np.arange(atoms)
            return truths
        return np.stack([np.repeat(np.arange(atoms), values), np.tile(np.arange(values), atoms)], axis=1)

    @cached_property
    def reported_probabilities(self) -> np.ndarray:
        return self.probabilities[self.reported[:, 0], self.reported[:, 1]]

    def rows(self) -> Iterator[Row]:
        return chain.from_iterable(map(self._rows, self._pieces()))

    def _pieces(self) -> Iterator[slice]:
        """Slices of the rows, so that only part of a long table is converted to Python values at a time."""
        return (slice(begin, begin + PIECE) for begin in range(0, len(self), PIECE))

    def _rows(self, piece: slice) -> Iterator[Row]:
        atoms, values = self.reported[piece].T
        columns = [list(_at(column, atoms)) for column in self.columns]
        arguments = zip(*columns, strict=True) if columns and self.named else repeat(())
        named = repeat(None) if self.values is None else [self.values[value] for value in values.tolist()]
        reaches = repeat(None) if self.reach is None else self.reach[atoms, values].tolist()
        predicate = self.named
        probabilities = self.reported_probabilities[piece].tolist()
        for text, row, p, value, reach in zip(
            self._texts(piece), arguments, probabilities, named, reaches, strict=False
        ):
            yield Row(text, predicate, row, p, value, reach)

    def _texts(self, piece: slice) -> list[str]:
        atoms = self.reported[piece, 0]
        columns = [
            shown(atoms) if shown else [*map(shown_constant, _at(column, atoms))]
            for column, shown in zip(self.columns, self._shown, strict=True)
        ]
        return atom_texts(self.predicate, columns, len(atoms))

    @cached_property
    def _shown(self) -> list[Callable[[np.ndarray], list[str]] | None]:
        """For each column with repeated constants a function from atoms to their texts; None for others."""
        return [_shown_once(column) for column in self.columns]

    def only(self, kept: np.ndarray) -> AtomTable:
        """The table with the rows at these positions, in this order."""
        return replace(self, entries=self.reported[kept])

    def __len__(self) -> int:
        return len(self.reported)

    def __getitem__(self, arguments: Key) -> float | dict[Value, float]:
        """Probability of the atom with these arguments; for a many-valued atom a dict by value."""
        key = key_among(arguments, self._position)
        if key is None:
            raise missing_atom(self.predicate, arguments)
        row = self.probabilities[self._position[key]]
        if self.values is None:
            return float(row[1])
        return {value: float(p) for value, p in zip(self.values, row, strict=False)}

    @cached_property
    def _position(self) -> dict[tuple[Value, ...], int]:
        rows = zipped(self.columns, len(self.probabilities))
        return {arguments: atom for atom, arguments in enumerate(rows)}

    @property
    def title(self) -> str:
        return self.predicate

    @property
    def heads(self) -> tuple[str, str]:
        return "atom", "probability"

    def cells(self) -> Iterator[tuple[str, ...]]:
        return in_rows(self.cell_columns())

    def cell_columns(self) -> Columns:
        if self.values is not None or self.reach is not None:
            return in_columns(row.cells() for row in self.rows())
        probabilities = self.reported_probabilities
        return ((self._texts(piece), shown_numbers(probabilities[piece])) for piece in self._pieces())

    def spans(self) -> Iterator[tuple[float, float]]:
        return ((0.0, p) for p in self.reported_probabilities.tolist())

    def to_arrow(self) -> pa.Table:
        """Columns atom, argument_1 and so on, probability, and the value of a many-valued predicate."""
        columns = self.arrow_columns(
            argument_kinds([self.columns]), kind_of(self.values or ()), self.reach is not None
        )
        del columns["predicate"]
        value = columns.pop("value")
        if self.values is not None:
            columns["atom"] = pa.array([row.text for row in self.rows()], pa.string())
            columns["value"] = value
        return pa.table(columns)

    def arrow_columns(
        self, arguments: Sequence[pa.DataType], value: pa.DataType, bounds: bool
    ) -> dict[str, Any]:
        """Columns in the layout of a whole answer, with an argument column for each of the types."""
        texts = [text_array(self._texts(piece)).cast(pa.string()) for piece in self._pieces()]
        own = [_at(column, self.reported[:, 0]) for column in self.columns] if self.named else []
        columns: dict[str, Any] = {
            "atom": pa.chunked_array(texts, pa.string()),
            "predicate": pa.repeat(pa.scalar(self.named, pa.string()), len(self)),
        }
        for place, kind in enumerate(arguments):
            given = column_array(own[place], kind) if place < len(own) else pa.nulls(len(self), kind)
            columns[f"argument_{place + 1}"] = given
        columns["probability"] = pa.array(self.reported_probabilities)
        if self.values is None:
            columns["value"] = pa.nulls(len(self), value)
        else:
            columns["value"] = constant_array(self.values, value).take(number_array(self.reported[:, 1]))
        if bounds:
            reach = 0.0 if self.reach is None else self.reach[self.reported[:, 0], self.reported[:, 1]]
            columns["lower"] = pa.array(np.maximum(self.reported_probabilities - reach, 0.0))
            columns["upper"] = pa.array(np.minimum(self.reported_probabilities + reach, 1.0))
        return columns

    def __contains__(self, arguments: Key) -> bool:
        return key_among(arguments, self._position) is not None


def _at(column: Sequence[Value], atoms: np.ndarray) -> Sequence[Value]:
    return column.taken(atoms) if isinstance(column, Constants) else [column[atom] for atom in atoms.tolist()]


def _shown_once(column: Sequence[Value]) -> Callable[[np.ndarray], list[str]] | None:
    """Function from atoms to the texts of their constants, each text made once; ``None`` if there are as many
    constants as atoms, or too many for all texts at once."""
    if not isinstance(column, Constants) or column.indices is None:
        return None
    indices, count = column.indices, len(column.values)
    if count > min(len(indices), PIECE):
        return None
    texts = np.fromiter(map(shown_constant, Constants(column.values)), object, count)
    return partial(_looked_up, texts, indices)


def _looked_up(texts: np.ndarray, indices: np.ndarray, atoms: np.ndarray) -> list[str]:
    return texts[indices[atoms]].tolist()


def shown_numbers(numbers: np.ndarray) -> list[str]:
    """Texts of numbers with four decimals; for long arrays the texts of probabilities are looked up.

    >>> shown_numbers(np.array([0.25, 1 / 3]))
    ['0.2500', '0.3333']
    """
    if len(numbers) <= SHOWN_STEPS:
        return [*map(SHOWN.format, numbers.tolist())]
    within = (numbers <= 1) & ~np.signbit(numbers)
    scaled = np.where(within, numbers, 0) * SHOWN_STEPS
    nearest = np.rint(scaled)
    known = within & (abs(scaled - nearest) < 0.499)  # ties go by the digits behind
    texts = _all_shown()[nearest.astype(np.intp)]
    texts[~known] = [*map(SHOWN.format, numbers[~known].tolist())]
    return texts.tolist()


@cache
def _all_shown() -> np.ndarray:
    """Texts of all probabilities of four decimals."""
    return np.array([SHOWN.format(number / SHOWN_STEPS) for number in range(SHOWN_STEPS + 1)], object)


@quickly_made
@dataclass(frozen=True, slots=True)
class Row:
    """A reported probability; ``predicate`` is ``None`` for a queried formula.

    ``reach``: half-width of its bounds, if it has bounds.
    """

    atom: str
    predicate: str | None
    arguments: tuple[Value, ...]
    probability: float
    value: Value | None = None
    reach: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the probability."""
        reach = self.reach or 0.0
        return max(self.probability - reach, 0.0), min(self.probability + reach, 1.0)

    def to_dict(self) -> dict[str, Any]:
        fields = {
            "atom": self.atom,
            "predicate": self.predicate,
            "arguments": list(self.arguments),
            "probability": self.probability,
            "value": self.value,
        }
        return (
            fields if self.reach is None else fields | dict(zip(("lower", "upper"), self.bounds, strict=True))
        )

    @property
    def text(self) -> str:
        return self.atom if self.value is None else f"{self.atom} = {shown_constant(self.value)}"

    def cells(self) -> tuple[str, str]:
        if self.reach is None:
            return self.text, f"{self.probability:.4f}"
        return self.text, " to ".join(f"{bound:.4f}" for bound in self.bounds)

    def world_cells(self) -> tuple[str, str]:
        """Cells of a row of the most probable world: its text, and true or false."""
        return self.text, "true" if self.probability == 1 else "false"


def _formula_columns(
    rows: Sequence[Row], arguments: Sequence[pa.DataType], value: pa.DataType, bounds: bool
) -> dict[str, Any]:
    """Queried formulas, in the columns of the tables of atoms."""
    columns: dict[str, Any] = {
        "atom": pa.array([row.atom for row in rows], pa.string()),
        "predicate": pa.nulls(len(rows), pa.string()),
        **{f"argument_{place + 1}": pa.nulls(len(rows), kind) for place, kind in enumerate(arguments)},
        "probability": pa.array([row.probability for row in rows], pa.float64()),
        "value": pa.nulls(len(rows), value),
    }
    if bounds:
        columns["lower"] = pa.array([row.bounds[0] for row in rows], pa.float64())
        columns["upper"] = pa.array([row.bounds[1] for row in rows], pa.float64())
    return columns


@dataclass(frozen=True, eq=False, repr=False)
class Marginals(Sheet):
    """The answer of ``infer``. ``most_probable``: the rows are the most probable world, not marginals.

    ``diagnostics``: figures of an engine on the quality of its approximation.
    """

    engine: str
    guarantee: Guarantee
    status: Status
    tables: tuple[AtomTable, ...]
    formulas: tuple[Row, ...] = ()
    log_partition: float | None = None
    log_partition_guarantee: PartitionGuarantee | None = None
    most_probable: bool = False
    log_weight: float | None = None
    heaviest_first: bool = False
    diagnostics: Mapping[str, float] = field(default_factory=dict)

    ticks: ClassVar[Sequence[str]] = PROBABILITIES

    def rows(self) -> Iterator[Row]:
        rows = chain(*(table.rows() for table in self.tables), self.formulas)
        return iter(sorted(rows, key=lambda row: -row.probability)) if self.heaviest_first else rows

    def __len__(self) -> int:
        return sum(map(len, self.tables)) + len(self.formulas)

    def __getitem__(self, name: str) -> Any:
        """Table of a predicate, or the probability of an atom, of a value or of a queried formula by its
        text, which need not be as it is printed; for a many-valued atom a dict by value."""
        tables = {table.predicate: table for table in self.tables if table.columns}
        if name in tables:
            return tables[name]
        text = self._text_of(name)
        if text is None:
            raise missing(name, chain(tables, self._by_text))
        return self._by_text[text]

    def _text_of(self, name: object) -> str | None:
        """Printed text of the atom or the queried formula of a name."""
        return text_among(name, self._by_text)

    def __contains__(self, name: object) -> bool:
        """Whether there are rows of a predicate, of an atom or of a queried formula."""
        named = any(table.predicate == name and len(table) for table in self.tables)
        return named or self._text_of(name) is not None

    @cached_property
    def _by_text(self) -> dict[str, Any]:
        by_text: dict[str, Any] = {}
        for row in self.rows():
            if row.value is None:
                by_text[row.atom] = row.probability
            else:
                by_text.setdefault(row.atom, {})[row.value] = row.probability
                by_text[row.text] = row.probability
        return by_text

    def respelled(self, predicates: Mapping[str, str], formulas: Mapping[str, str]) -> Marginals:
        """The answer with other names of predicates and other texts of queried formulas."""
        if not predicates and not self.formulas:
            return self
        tables = tuple(
            replace(table, predicate=predicates[table.predicate]) if table.predicate in predicates else table
            for table in self.tables
        )
        rows = tuple(replace(row, atom=formulas.get(row.atom, row.atom)) for row in self.formulas)
        return replace(self, tables=tables, formulas=rows)

    def with_unanswered(self, queries: Iterable[Query]) -> Marginals:
        """The answer with a row of probability 0 for each query with variables that has no listed atom."""
        listed = cache(self._listed)
        rows = (
            Row(query.text, None, (), 0.0)
            for query in queries
            if isinstance(query.formula, Atom)
            and variables_of(query.formula)
            and not _is_listed(query.formula, listed)
        )
        return replace(self, formulas=(*self.formulas, *rows))

    def _listed(self, predicate: str, places: Places, first: Places) -> Set[tuple[Value, ...]]:
        """Constants of a predicate's atoms at these ``places``; ``first``: for each argument the first one
        that it must equal."""
        tables = [table for table in self.tables if table.predicate == predicate]
        if not places and first == tuple(range(len(first))):
            return {() for table in tables if len(table.probabilities)}
        return {
            tuple(row[place] for place in places)
            for table in tables
            for row in zip(*table.columns, strict=True)
            if all(row[place] == row[other] for place, other in enumerate(first))
        }

    def filtered(self, top: int | None = None, least: float | None = None) -> Marginals:
        """Keep rows of probability ``least`` or more; of these the ``top`` most probable, sorted."""
        if top is None and least is None:
            return self
        probabilities = np.array([row.probability for row in self.formulas], np.float64)
        parts = [*(table.reported_probabilities for table in self.tables), probabilities]
        every = np.concatenate(parts)
        kept = np.arange(len(every)) if least is None else np.flatnonzero(every >= least)
        if top is not None:
            kept = kept[np.argsort(-every[kept], kind="stable")[:top]]
        *begins, begin, _ = np.cumsum([0, *map(len, parts)])
        tables = tuple(
            table.only(kept[(start <= kept) & (kept < start + len(table))] - start)
            for table, start in zip(self.tables, begins, strict=True)
        )
        formulas = tuple(self.formulas[place - begin] for place in kept.tolist() if place >= begin)
        return replace(self, tables=tables, formulas=formulas, heaviest_first=top is not None)

    @property
    def notes(self) -> Iterator[str]:
        """Notes on the rows, such as on rows that are left out."""
        for name in (table.predicate for table in self.tables if table.only_possible):
            yield f"too many to list: atoms of {name} that cannot hold are left out; they have probability 0"

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the command line."""
        fields: dict[str, Any] = {
            "engine": self.engine,
            "guarantee": self.guarantee.value,
            "converged": self.status.converged,
            "iterations": self.status.iterations,
            "seconds": self.status.seconds,
            "log_partition": self.log_partition,
            "log_partition_guarantee": self.log_partition_guarantee and self.log_partition_guarantee.value,
        }
        if self.status.where:
            fields["where"] = self.status.where
        if self.diagnostics:
            fields["diagnostics"] = {name: in_json(value) for name, value in self.diagnostics.items()}
        if self.most_probable:
            fields |= {"map": True, "log_weight": self.log_weight}
        return fields | {"marginals": [row.to_dict() for row in self.rows()]}

    def to_arrow(self) -> pa.Table:
        """Columns atom, predicate, argument_1 and so on, probability, value."""
        arguments = argument_kinds([table.columns for table in self.tables if table.named])
        values = kind_of(chain.from_iterable(table.values or () for table in self.tables))
        bounds = any(part.reach is not None for part in (*self.tables, *self.formulas))
        asked = _formula_columns(self.formulas, arguments, values, bounds)
        parts = [*(table.arrow_columns(arguments, values, bounds) for table in self.tables), asked]
        whole = pa.concat_tables([pa.table(part) for part in parts])
        if not self.heaviest_first:
            return whole
        return whole.take(number_array(np.argsort(-whole["probability"].to_numpy(), kind="stable")))

    @property
    def title(self) -> str:
        what = "most probable world" if self.most_probable else "marginals"
        where = f" on {self.status.where}" if self.status.where else ""
        summary = self.guarantee.of(what, self.engine) + where
        if not self.status.converged:
            return f"{summary}, not converged: {self.status.advice}"
        return f"{summary}, {self.status.advice}" if self.status.advice else summary

    def cells(self) -> Iterator[tuple[str, ...]]:
        return in_rows(self.cell_columns())

    def cell_columns(self) -> Columns:
        """Cells of the table, column by column; in the most probable world a many-valued atom has one row."""
        if self.most_probable:
            return in_columns(row.world_cells() for row in self._shown())
        if self.heaviest_first:
            return in_columns(row.cells() for row in self.rows())
        formulas = in_columns(row.cells() for row in self.formulas)
        return chain(*(table.cell_columns() for table in self.tables), formulas)

    def _shown(self) -> Iterator[Row]:
        if not self.most_probable:
            return self.rows()
        return (row for row in self.rows() if row.value is None or row.probability == 1)

    @property
    def heads(self) -> tuple[str, str]:
        return "atom", "truth" if self.most_probable else "probability"

    def spans(self) -> Iterator[tuple[float, float]]:
        return ((0.0, row.probability) for row in self._shown())


def _is_listed(atom: Atom, listed: Callable[[str, Places, Places], Set[tuple[Value, ...]]]) -> bool:
    """Whether some listed atom is an instance of this one, whose arguments are constants and variables."""
    names = [term.name if isinstance(term, Variable) else None for term in atom.arguments]
    first = [names.index(name) if name and name != "_" else place for place, name in enumerate(names)]
    fixed = {place: term.value for place, term in enumerate(atom.arguments) if isinstance(term, Constant)}
    return tuple(fixed.values()) in listed(atom.predicate, tuple(fixed), tuple(first))
