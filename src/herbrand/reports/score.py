"""Score a result against labelled facts: ranking and calibration.

All rows of the result that have a label are scored: an atom that the facts list as true or false, a value of
a many-valued atom whose true value is listed, whether that value has a row or not. Rows without a label are
counted and left out. If their predicate is given as closed they are false; many-valued atoms, one value of
which always holds, stay without a label.

>>> rows = [Scored('p("a")', "p", ("a",), 0.9), Scored('p("b")', "p", ("b",), 0.2)]
>>> report = score(rows, {("p", ("a",)): True, ("p", ("b",)): False})
>>> report.average_precision, report.accuracy, round(report.log_loss, 4)
(1.0, 1.0, 0.1643)
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from herbrand.answers.marginals import Row
from herbrand.answers.sheet import Sheet
from herbrand.errors import FactsError, HerbrandError, nearest
from herbrand.facts.load import load_facts
from herbrand.facts.source import fact_sources
from herbrand.language.check import check
from herbrand.language.drawing import Drawing
from herbrand.language.show import show_atom
from herbrand.language.syntax import Value
from herbrand.language.theory import Theory
from herbrand.options.kinds import texts
from herbrand.reports.label_constants import read_as_result
from herbrand.reports.metrics import (
    Bin,
    Cut,
    average_precision,
    calibration,
    calibration_error,
    cut_at,
    cuts,
    equal,
    expected_average_precision,
    log_loss,
    roc_area,
)
from herbrand.reports.result_file import Scored, rows_of
from herbrand.reports.score_drawing import score_drawing, score_page

POINTS = 200
"""Largest number of points of a curve in JSON; longer curves are thinned, while figures use all points."""
COUNTS = ("rows", "true", "unlabelled")
PREDICATES_DRAWN = 12
"""Largest number of predicates with pictures of their own on a page."""
Key = tuple[str, tuple[Value, ...]]
"""A predicate and its arguments; the last one is the value of a many-valued atom."""
NamedAtom = tuple[str | None, tuple[Value, ...]]
"""A predicate and its arguments, without a value."""


@dataclass(frozen=True)
class Score:
    """Scores of a predicate, or of all rows. Undefined figures are ``nan``, such as average precision without
    a true row."""

    rows: int
    true: int
    unlabelled: int
    average_precision: float
    expected_average_precision: float
    log_loss: float
    brier: float
    calibration_error: float
    accuracy: float
    roc_area: float
    precision: float
    recall: float
    f1: float
    best_threshold: float
    best_f1: float
    bins: tuple[Bin, ...]
    cuts: tuple[Cut, ...]

    def to_dict(self) -> dict[str, Any]:
        curves = {
            "calibration": [asdict(one) for one in self.bins],
            "curve": [_point(one) for one in thinned(self.cuts)],
        }
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: _number(value) for name, value in named if name not in ("bins", "cuts")} | curves


@dataclass(frozen=True, repr=False)
class ScoreReport(Sheet):
    """Scores of all rows and of each predicate; ``missing``: labels for which the result has no row."""

    pooled: Score
    predicates: Mapping[str, Score]
    missing: int

    @property
    def average_precision(self) -> float:
        return self.pooled.average_precision

    @property
    def log_loss(self) -> float:
        return self.pooled.log_loss

    @property
    def accuracy(self) -> float:
        return self.pooled.accuracy

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand score``."""
        by_predicate = {name: score.to_dict() for name, score in self.predicates.items()}
        return self.pooled.to_dict() | {"missing": self.missing, "predicates": by_predicate}

    @property
    def title(self) -> str:
        return "score"

    @property
    def heads(self) -> tuple[str, ...]:
        figures = ("average precision", "roc area", "precision", "recall", "f1", "best f1", "from")
        return "predicate", "rows", "true", *figures, "log loss", "brier", "calibration error", "accuracy"

    def cells(self) -> Iterator[tuple[str, ...]]:
        for name, score in self._shown().items():
            figures = (score.average_precision, score.roc_area, score.precision, score.recall, score.f1)
            figures += (score.best_f1, score.best_threshold, score.log_loss, score.brier)
            figures += (score.calibration_error, score.accuracy)
            yield (name, f"{score.rows:,}", f"{score.true:,}", *(f"{figure:.4f}" for figure in figures))

    def __len__(self) -> int:
        return len(self._shown())

    def _shown(self) -> dict[str, Score]:
        several = self.predicates if len(self.predicates) > 1 else {}
        return {**several, "(all)": self.pooled}

    bin_heads = ("probability", "rows", "mean probability", "share true")

    def bin_cells(self) -> Iterator[tuple[str, ...]]:
        for one in self.pooled.bins:
            interval = f"{one.lower:.1f} to {one.upper:.1f}"
            yield interval, f"{one.rows:,}", f"{one.probability:.4f}", f"{one.truth:.4f}"

    def plot(self, rows: int = 0) -> Drawing:
        """Pictures of calibration and both curves for all rows, and for the first ``rows`` predicates."""
        groups = {"(all)": self.pooled} | dict(islice(self._shown().items(), rows))
        return score_drawing([(name, one.bins, one.cuts) for name, one in groups.items()])

    def to_svg(self) -> str:
        """SVG of calibration and curves, for the first predicates too."""
        return self.plot(PREDICATES_DRAWN).svg

    def to_html(self) -> str:
        """HTML page without further files: the table, the intervals of probabilities, and the pictures."""
        return score_page(self._repr_html_(), self.bin_heads, self.bin_cells(), self.plot(PREDICATES_DRAWN))

    def to_arrow(self) -> pa.Table:
        """A row for each predicate, and a last one for all rows."""
        rows = [
            {"predicate": name, **score.to_dict()}
            for name, score in [*self.predicates.items(), ("", self.pooled)]
        ]
        figures = [name for name in rows[0] if name not in ("calibration", "curve")]
        kinds = {"predicate": pa.string(), **dict.fromkeys(COUNTS, pa.int64())}
        return pa.table(
            {name: pa.array([row[name] for row in rows], kinds.get(name, pa.float64())) for name in figures}
        )


def score_file(
    result: str | Path | Iterable[Row | Scored],
    facts: Any,
    closed: Collection[str] = (),
    header: bool | None = None,
    note: Callable[[str], None] | None = None,
) -> ScoreReport:
    """Score a ``result`` of ``infer``, an answer or a file, against labels from any source of ``facts``.

    ``closed``: predicates whose atoms are false if they are not listed.
    ``header`` and ``note`` are those of a model."""
    rows = rows_of(result)
    return score(rows, read_labels(facts, header, note), texts(closed, "--closed"))


def read_labels(
    facts: Any, header: bool | None = None, note: Callable[[str], None] | None = None
) -> dict[Key, bool]:
    """Read the labels: whether the facts list each atom as true or as false."""
    signature, loaded = load_facts((), check(Theory()), fact_sources(facts), header=header)
    if note is not None:
        for text in loaded.notes:
            note(text)
    labels: dict[Key, bool] = {}
    for name, predicate in signature.predicates.items():
        table = loaded.tables[name]
        for what, found_some in (("probabilities", len(table.soft)), ("weights", table.weights is not None)):
            if found_some:
                raise FactsError(f"labels are true or false; {name} has {what}", hint="leave that column out")
        for rows, truth in ((table.false, False), (table.true, True)):
            labels |= {(name, tuple(row)): truth for row in loaded.rows(predicate, rows)}
    return labels


def score(rows: Sequence[Scored], labels: Mapping[Key, bool], closed: Collection[str] = ()) -> ScoreReport:
    """Score the rows of a result by the labels."""
    named = {row.predicate for row in rows if row.predicate is not None}
    for name in closed:
        if name not in named:
            raise HerbrandError(f"--closed: the result has no rows of '{name}'", hint=nearest(name, named))
    labels = read_as_result(labels, rows)
    judged = _judged(rows, labels, closed)
    if not judged:
        known = {name for name, _ in labels}
        alike = min(known & named, default=None)
        raise HerbrandError(
            "no row of the result has a label",
            hint=f"the result is about {_listed(named)}, the labels about {_listed(known)}"
            if alike is None
            else _first_of(alike, map(_key, rows), labels),
        )
    have = {_key(row) for row in rows}
    missing = sum(1 for key in labels if key not in have)
    counts, apart = Counter(row.predicate for row in rows), defaultdict[str, list[_Judged]](list)
    for one in judged:
        apart[str(one.row.predicate)].append(one)
    by_predicate = {name: _score(apart[name], counts[name]) for name in sorted(apart)}
    return ScoreReport(_score(judged, len(rows)), by_predicate, missing)


@dataclass(frozen=True)
class _Judged:
    """A row with its label. ``settled``: the true value of its many-valued atom is known."""

    row: Scored
    label: bool
    settled: bool = False


def _key(row: Scored) -> Key:
    return str(row.predicate), row.constants


def _judged(rows: Sequence[Scored], labels: Mapping[Key, bool], closed: Collection[str]) -> list[_Judged]:
    """Rows that have a label; all values of an atom whose true value is known have one."""
    true_values, judged = _true_values(rows, labels), []
    for row in rows:
        true = None if row.value is None else true_values.get((row.predicate, row.arguments))
        if true is not None:
            judged.append(_Judged(row, row.value == true, settled=True))
            continue
        label = labels.get(_key(row)) if row.predicate is not None else None
        if label is None and row.value is None and row.predicate in closed:
            label = False
        if label is not None:
            judged.append(_Judged(row, label))
    return judged


def _true_values(rows: Sequence[Scored], labels: Mapping[Key, bool]) -> dict[NamedAtom, Value]:
    """True value of each many-valued atom of the result that the labels have."""
    valued = {(row.predicate, row.arguments): row.text for row in rows if row.value is not None}
    values: dict[NamedAtom, Value] = {}
    for (name, constants), truth in labels.items():
        atom = (name, constants[:-1])
        if not truth or not constants or atom not in valued:
            continue
        if values.setdefault(atom, constants[-1]) != constants[-1]:
            raise FactsError(f"the labels give {valued[atom]} two values: {values[atom]}, {constants[-1]}")
    return values


def _score(judged: Sequence[_Judged], rows: int) -> Score:
    """``rows``: how many there are, those without a label too."""
    truth = np.array([one.label for one in judged], dtype=np.int64)
    probabilities = np.array([one.row.probability for one in judged])
    chances, right = _chances(judged)
    bins, curve = calibration(truth, probabilities), cuts(truth, probabilities)
    half = cut_at(truth, probabilities, 0.5)
    best = max(curve, key=lambda cut: cut.f1, default=half)  # of equal ones the highest threshold
    return Score(
        len(judged),
        int(truth.sum()),
        rows - len(judged),
        average_precision(truth, probabilities),
        expected_average_precision(truth, probabilities),
        log_loss(chances),
        float(((probabilities - truth) ** 2).mean()),
        calibration_error(bins),
        float(right.mean()),
        roc_area(curve),
        half.precision,
        half.recall,
        half.f1,
        best.threshold,
        best.f1,
        tuple(bins),
        tuple(curve),
    )


def _chances(judged: Sequence[_Judged]) -> tuple[np.ndarray, np.ndarray]:
    """For each atom the probability given to the truth, and whether the most probable value is the true
    one."""
    valued: dict[NamedAtom, list[_Judged]] = {}
    chances, right = [], []
    for one in judged:
        if one.row.value is not None:
            valued.setdefault((one.row.predicate, one.row.arguments), []).append(one)
            continue
        chance = one.row.probability if one.label else 1 - one.row.probability
        chances.append(chance)
        right.append(0.5 if equal(chance, 0.5) else float(chance > 0.5))
    for values in valued.values():
        chances.append(_chance_of_truth(values))
        if values[0].settled:
            right.append(_likeliest_right(values))
    return np.array(chances), np.array(right or [math.nan])


def _chance_of_truth(values: Sequence[_Judged]) -> float:
    """Probability of the true value; if it has no row or is unknown, the rest that the false values leave."""
    true = [one.row.probability for one in values if one.label]
    return sum(true) if true else max(0.0, 1 - sum(one.row.probability for one in values))


def _likeliest_right(values: Sequence[_Judged]) -> float:
    """Whether the most probable value is the true one; equally probable values share the point."""
    best = max(one.row.probability for one in values)
    likeliest = [one for one in values if equal(one.row.probability, best)]
    return sum(one.label for one in likeliest) / len(likeliest)


def thinned(curve: Sequence[Cut], most: int = POINTS) -> list[Cut]:
    """At most ``most`` cuts spread over the ranks, with the first and the last."""
    places = np.unique(np.linspace(0, max(len(curve) - 1, 0), min(most, len(curve))).round().astype(int))
    return [curve[place] for place in places]


def _point(one: Cut) -> dict[str, Any]:
    figures = ("threshold", "rows", "right", "precision", "recall", "f1", "false_positive_rate")
    return {name: _number(getattr(one, name)) for name in figures}


def _number(value: Any) -> Any:
    """None for ``nan``, which JSON lacks; other values unchanged."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _first_of(name: str, rows: Iterable[Key], labels: Iterable[Key]) -> str:
    """Texts of the first row and the first label of a predicate, for a message."""
    row, label = (next(key for key in keys if key[0] == name) for keys in (rows, labels))
    return f"the result has rows such as {show_atom(*row)}, the labels such as {show_atom(*label)}"


def _listed(names: Collection[str | None]) -> str:
    return ", ".join(sorted(map(str, names))) or "nothing"
