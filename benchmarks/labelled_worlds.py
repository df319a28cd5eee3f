"""Worlds with labelled atoms, published or made here, and how well a ranking of these atoms does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

import herbrand as hb
from benchmarks import generated_worlds
from benchmarks.published_data import DATA
from herbrand.language.dialects.benchmark import Benchmark, read_benchmark
from herbrand.program.program import Program
from herbrand.reports.metrics import average_precision

KINSHIP = ("S1", "S2", "S3", "S4")
UW_CSE = ("ai", "graphics", "language", "systems", "theory")
CORA = ("S1", "S2", "S3")


@dataclass(frozen=True, eq=False)
class LabelledWorld:
    """A theory with facts, and atoms that are asked."""

    name: str
    data: Benchmark

    @cached_property
    def program(self) -> Program:
        """Open world: what is not listed is unknown."""
        names = [predicate.name for predicate in self.data.theory.predicates]
        return hb.Model(self.data.theory, open=names).program

    @cached_property
    def labels(self) -> np.ndarray:
        return np.concatenate([np.full(rows.row_count, rows.kind != "false") for rows in self.data.queries])

    @cached_property
    def asked(self) -> list[tuple[str, tuple[np.ndarray, ...]]]:
        """Predicates and the places of their asked atoms, in the order of the labels."""
        return [
            (rows.predicate, tuple(query_indices(self.program, rows.predicate, rows.columns).T))
            for rows in self.data.queries
        ]

    def precision(self, log_odds: Mapping[str, Tensor]) -> float:
        """Average precision over all asked atoms; what differs by rounding only is a tie."""
        scores = [log_odds[name][places].detach().numpy() for name, places in self.asked]
        return average_precision(self.labels, np.round(np.concatenate(scores), 9))


def query_indices(program: Program, predicate: str, columns: Sequence[Sequence]) -> np.ndarray:
    """Rows of domain indices for columns of constants."""
    types = program.signature.predicates[predicate].types
    found = [program.domain(t).indices_of(list(c)) for t, c in zip(types, columns, strict=True)]
    return np.stack(found, axis=1).astype(np.int64)


def published(folder: str, names: Sequence[str]) -> Iterator[LabelledWorld]:
    """The splits of published data that are at hand; data without splits have one without a name."""
    for name in names:
        if (DATA / folder / name).is_dir():
            yield LabelledWorld(f"{folder}/{name}".rstrip("/"), read_benchmark(DATA / folder / name))


def own() -> Iterator[LabelledWorld]:
    """One of each shape, made here."""
    yield LabelledWorld("own friends", generated_worlds.friends(60))
    yield LabelledWorld("own family", generated_worlds.family(60))
    yield LabelledWorld("own department", generated_worlds.department(40))
    yield LabelledWorld("own citations", generated_worlds.citations(30))
