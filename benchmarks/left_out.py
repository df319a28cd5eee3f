"""Published data with one split left out: likelihood beside pseudo-likelihood and layers.

    python -m benchmarks left_out      (some minutes; likelihood on UW-CSE takes most of them)

Each method learns the weights of all rules on the other splits, with its own defaults. The labels of the
split that is left out are read only to measure.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

import herbrand as hb
from benchmarks.labelled_worlds import KINSHIP, UW_CSE
from benchmarks.published_data import DATA
from herbrand.answers.marginals import Marginals
from herbrand.language.dialects.benchmark import Benchmark, read_benchmark
from herbrand.language.syntax import Learned, WeightedFormula
from herbrand.language.theory import Theory
from herbrand.learning.example import Aim, World
from herbrand.learning.learned import Learning
from herbrand.learning.methods import method_named
from herbrand.learning.settings import LearningSettings
from herbrand.reports.metrics import average_precision

METHODS = ("pseudo-likelihood", "layers", "likelihood")
ENGINE = "mean-field"
"""Answers for every method's weights."""


@dataclass(frozen=True)
class Data:
    """Splits of one kind, and what is asked; all else is closed."""

    name: str
    folder: str
    splits: Sequence[str]
    target: str


PUBLISHED = (
    Data("Kinship", "kinship", KINSHIP, "male"),
    Data("UW-CSE", "uw_cse", UW_CSE, "advisedBy"),
)


def report() -> str:
    """The page's table."""
    lines = [
        "| data | asked for | `--method` | learned by | average | by split | seconds a split |",
        "| --- | --- | --- | --- | ---: | --- | ---: |",
    ]
    for data in PUBLISHED:
        if (DATA / data.folder).is_dir():
            lines += [_line(data, method) for method in METHODS]
    return "\n\n".join(
        [
            "Weights of all rules are learned on the other splits in a closed world (everything but the "
            f"target is evidence), each method with its own defaults. Then `infer --engine {ENGINE}` runs "
            "on the split that is left out, whose labels were never used. Values are average precision, "
            "ties kept.",
            "\n".join(lines),
        ]
    )


def _line(data: Data, method: str) -> str:
    found = list(left_out(data, method))
    splits = ", ".join(f"{one.split} {one.precision:.3f}" for one in found)
    by = ", ".join(dict.fromkeys(one.learned_by for one in found))
    average, seconds = mean(one.precision for one in found), mean(one.seconds for one in found)
    return f"| {data.name} | {data.target} | {method} | {by} | {average:.3f} | {splits} | {seconds:.1f} |"


@dataclass(frozen=True)
class LeftOut:
    """How well a split is ranked by what the others taught; ``seconds`` to learn."""

    split: str
    learned_by: str
    precision: float
    seconds: float


def left_out(data: Data, method: str) -> Iterator[LeftOut]:
    """Each split in turn."""
    read = {name: read_benchmark(DATA / data.folder / name) for name in data.splits}
    worlds = {name: _world(one) for name, one in read.items()}
    for split, test in read.items():
        others = [world for name, world in worlds.items() if name != split]
        began = time.perf_counter()
        learning = method_named(method)(_rules(test), others, Aim((data.target,), (), ()), LearningSettings())
        took = time.perf_counter() - began
        yield LeftOut(split, learning.method, _precision(data, test, learning), took)


def _rules(data: Benchmark) -> Theory:
    """Declarations and rules, whose weights are to be learned."""
    return Theory((*data.theory.predicates, *map(_to_learn, data.theory.formulas)))


def _to_learn(rule: WeightedFormula) -> WeightedFormula:
    return WeightedFormula(Learned(), rule.formula, rule.where)


def _world(data: Benchmark) -> World:
    """The vocabulary; facts and labels."""
    model = hb.Model(Theory((*_rules(data).statements, *data.theory.facts, *data.queries)))
    return World(model.signature, model.stated_program.facts)


def _precision(data: Data, test: Benchmark, learning: Learning) -> float:
    names = [declared.name for declared in test.theory.predicates]
    closed = [name for name in names if name != data.target]
    theory = learning.theory + Theory(tuple(test.theory.facts))
    found = hb.Model(theory, open=[data.target], closed=closed).infer(data.target, engine=ENGINE)
    return _ranked(test, found)


def _ranked(test: Benchmark, found: Marginals) -> float:
    chances = {row.arguments: row.probability for row in found.rows()}
    asked = [
        (rows.kind != "false", chances[row])
        for rows in test.queries
        for row in zip(*rows.columns, strict=True)
    ]
    labels, scores = map(np.array, zip(*asked, strict=True))
    return average_precision(labels, np.round(scores, 12))
