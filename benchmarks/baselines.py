"""Rankings written by hand, for those data that have an obvious one: what learning has to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from benchmarks.labelled_worlds import LabelledWorld
from herbrand.program.program import Program
from herbrand.reports.metrics import average_precision


@dataclass(frozen=True)
class Field:
    """What a publication of Cora has, and the predicates that speak of it."""

    name: str

    @property
    def words(self) -> str:
        return f"HasWord{self.name}"

    @property
    def same(self) -> str:
        return f"Same{self.name}"


FIELDS = (Field("Author"), Field("Title"), Field("Venue"))


def matrix(program: Program, predicate: str) -> np.ndarray:
    """1 where a fact is listed."""
    shape = [len(program.facts.domains[name]) for name in program.signature.predicates[predicate].types]
    found = np.zeros(shape)
    found[tuple(program.facts.tables[predicate].true.T)] = 1.0
    return found


def advisers(program: Program) -> np.ndarray:
    """UW-CSE: students times professors, by what they published together and whether they taught so."""
    publication, taught, assisted = (matrix(program, n) for n in ("publication", "taughtBy", "ta"))
    student, professor = matrix(program, "student"), matrix(program, "professor")
    together = publication.T @ publication + (np.einsum("csq,cpq->sp", assisted, taught) > 0)
    return student[:, None] * professor[None] * (1 + together)


def word_overlap(program: Program, field: Field) -> np.ndarray:
    """Cora: shared words as a share of all words of two fields."""
    has = matrix(program, field.words)
    both = has @ has.T
    return both / np.maximum(has.sum(1)[:, None] + has.sum(1)[None] - both, 1)


def closure(program: Program, field: Field) -> np.ndarray:
    """Cora: whether two fields are tied by a chain of records that are known to be the same."""
    of, same = matrix(program, field.name), matrix(program, "SameBib")
    tied = connected_components(csr_array(of.T @ (same + same.T) @ of))[1]
    return (tied[:, None] == tied[None]).astype(float)


def by_hand(world: LabelledWorld) -> tuple[str, dict[str, np.ndarray]] | None:
    """What the ranking is called, and a table for each asked predicate."""
    program = world.program
    if world.name.startswith("uw_cse"):
        return "student × professor × together", {"advisedBy": advisers(program)}
    if world.name.startswith("cora"):
        tables = {f.same: 2 * closure(program, f) + word_overlap(program, f) for f in FIELDS}
        return "closure of links + word overlap", tables
    return None


def precision_by_hand(world: LabelledWorld) -> float:
    """Of the ranking written by hand."""
    ranking = by_hand(world)
    assert ranking is not None
    scores = np.concatenate([ranking[1][name][places] for name, places in world.asked])
    return average_precision(world.labels, scores)
