"""A classifier of pairs and links with the interface of scikit-learn, which it does not import.

>>> theory = '''
... predicate word(record, token): observed
... predicate same(record, record)
... ?: word(x, w) and word(y, w) and x != y => same(x, y)
... ?: same(x, y)
... '''
>>> words = {"word": [("a", "ada"), ("b", "ada"), ("c", "bob"), ("d", "bob"), ("e", "eve")]}
>>> links = LinkClassifier(theory, "same", words)
>>> pairs = [("a", "b"), ("a", "c"), ("b", "e"), ("d", "e")]
>>> links.fit(pairs, [True, False, False, False]).predict([("c", "d"), ("c", "e")]).tolist()
[True, False]
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
import pyarrow as pa

from herbrand.errors import FactsError, UnsupportedError, counted
from herbrand.facts.column import ABSENT
from herbrand.facts.place import Place
from herbrand.facts.source import FactSource, fact_sources
from herbrand.facts.sources.memory import python_array, python_columns
from herbrand.language.check import check
from herbrand.language.files import read
from herbrand.language.names import moment, shown_name
from herbrand.language.parse import parse_theory
from herbrand.language.show import show_atom
from herbrand.language.signature import Signature
from herbrand.language.syntax import Learned, PredicateDeclaration, Value
from herbrand.language.theory import Theory
from herbrand.model import Model
from herbrand.options.keywords import InferOptions, LearnOptions
from herbrand.options.kinds import Flag, Text

Row = tuple[Value, ...]
ASKED = "X to predict"
"""Predicate that lists the rows to predict, so that their constants belong to the types."""


class LinkClassifier:
    """Predicts whether a predicate holds for rows of constants, from rows for which that is known.

    ``theory``: a theory, its text, or with a path's ending ``.hb`` its file; its ``?`` weights are learned
    by ``fit``. ``target``: the predicate. ``facts``: tables, as :class:`~herbrand.model.Model` takes them.
    ``method`` and ``engine``: how to learn and to infer. ``known``: whether the rows of ``fit`` are evidence
    when other rows are predicted; a row of ``fit`` then keeps its label. ``seed``: equal ones give equal
    results. ``l2``: how strongly weights are drawn to 0. Rows that ``fit`` does not list are unknown, not
    false.
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        theory: Theory | str | None = None,
        target: str = "",
        facts: Any = None,
        method: str = "pseudo-likelihood",
        engine: str = "auto",
        known: bool = True,
        seed: int = 0,
        l2: float | None = None,
    ) -> None:
        self.theory = theory
        self.target = target
        self.facts = facts
        self.method = method
        self.engine = engine
        self.known = known
        self.seed = seed
        self.l2 = l2

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor and their values; ``deep`` changes nothing here."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"invalid parameter {name!r}; valid ones are {', '.join(known)}")
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights from rows of constants ``X`` [rows, arguments] and whether each holds, ``y``."""
        theory = _stated(self.theory)
        signature = check(theory)
        Text(path=False).check("target", self.target)
        if not self.target:
            raise UnsupportedError("a classifier needs a target", hint='such as target="smokes"')
        Flag().check("known", self.known)
        target = signature.predicate(self.target)
        if target.value_type is not None:
            raise UnsupportedError(
                f"{self.target} has many values, and this classifier predicts whether an atom holds",
                hint="model.infer gives the probability of each value",
            )
        rows = self._rows(X, signature)
        self._labels = _each_once(rows, _labels(y, len(rows)))
        weighs = any(isinstance(formula.weight, Learned) for formula in theory.formulas)
        if weighs or any(choice.learned for choice in theory.choices):
            options: LearnOptions = {"seed": self.seed, "l2": self.l2}
            model = Model(theory, self._sources(self._labels))
            aim = self.target if weighs else ()  # what choices derive is unknown unless listed, as it is
            self.learned_ = model.learn(self.method, target=aim, latent=aim, **options)
            theory = self.learned_.theory
        self.theory_ = theory
        self.classes_ = np.array([False, True])
        self.n_features_in_ = target.arity
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities that each row of ``X`` does not hold and that it holds, [rows, 2]."""
        if not hasattr(self, "theory_"):
            raise UnsupportedError("this classifier is not fitted", hint="call fit(X, y) first")
        signature = check(self.theory_)
        rows = self._rows(X, signature)
        known = self._labels if self.known else {}
        sources, theory = self._sources(known), self.theory_
        if signature.strict:
            types = signature.predicate(self.target).types
            theory = theory + Theory((PredicateDeclaration(ASKED, types, role="observed"),))
            sources = (*sources, *fact_sources({ASKED: rows}))
        model = Model(theory, sources, open=self.target)
        unknown_rows = [row for row in dict.fromkeys(rows) if row not in known]
        probabilities = {**self._inferred(model, unknown_rows), **known}
        holds = np.array([probabilities[row] for row in rows], np.float64)
        return np.stack([1 - holds, holds], axis=1)

    def _inferred(self, model: Model, rows: Sequence[Row]) -> dict[Row, float]:
        """The probability of each row: ``infer`` lists latent ones; those settled are asked for by name."""
        if not rows:
            return {}
        options: InferOptions = {"seed": self.seed}
        latent = model.infer(shown_name(self.target), engine=self.engine, **options)
        probabilities: dict[Row, float] = {}
        if self.target in latent:
            table = latent[self.target]
            probabilities = {row: table[row] for row in rows if row in table}
        settled = {row: show_atom(self.target, row) for row in rows if row not in probabilities}
        if settled:
            named = model.infer(settled.values(), engine=self.engine, **options)
            probabilities |= {row: named[atom] for row, atom in settled.items()}
        return probabilities

    def _sources(self, labels: Mapping[Row, bool]) -> tuple[FactSource, ...]:
        """The facts, and the labels as a table of true and false rows."""
        stated = fact_sources(self.facts)
        if not labels:
            return stated
        columns = {
            f"argument {place}": python_array(list(each))
            for place, each in enumerate(zip(*labels, strict=True))
        }
        table = pa.table({**columns, "truth": list(labels.values())})
        return (*stated, *fact_sources({self.target: table}))

    def predict(self, X: Any) -> np.ndarray:
        """Whether each row of ``X`` is more likely to hold than not."""
        return self.predict_proba(X)[:, 1] > 0.5

    def score(self, X: Any, y: Any) -> float:
        """The share of rows of ``X`` that are predicted right; ``y`` says which hold."""
        predicted = self.predict(X)
        return float((predicted == np.array(_labels(y, len(predicted)))).mean())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(target={self.target!r}, method={self.method!r})"

    def __sklearn_tags__(self) -> Any:
        """Tags of the estimator, in scikit-learn's classes; only scikit-learn calls this."""
        import sklearn.utils as of_sklearn  # only when the user has it

        return of_sklearn.Tags(
            estimator_type="classifier",
            target_tags=of_sklearn.TargetTags(required=True),
            classifier_tags=of_sklearn.ClassifierTags(multi_class=False),
            input_tags=of_sklearn.InputTags(string=True, categorical=True),
        )

    def _rows(self, X: Any, signature: Signature) -> list[Row]:
        """The rows of ``X``, constants in the one form that facts give them."""
        types = signature.predicate(self.target).types
        calendars = [signature.types[name].calendar for name in types]
        rows, arity = _rows(X), len(calendars)
        for row in rows:
            if len(row) != arity:
                takes = counted(arity, "argument")
                raise ValueError(f"{self.target} has {takes}, and a row of X has {len(row)}")
        rows = [tuple(map(_constant, row, calendars)) for row in rows]
        if rows:
            _refuse_what_is_no_constant(rows, types)
        return rows


def _refuse_what_is_no_constant(rows: Sequence[Row], types: Sequence[str]) -> None:
    """Raises an error with the row of ``X`` for empty cells and values that are no constants."""
    columns = python_columns([list(column) for column in zip(*rows, strict=True)], types, _place)
    for number, (column, name) in enumerate(zip(columns, types, strict=True), start=1):
        for row in np.flatnonzero(column.codes == ABSENT)[:1].tolist():
            message = f"column {number} is empty; expected a constant of type '{name}'"
            raise FactsError(_place(row).mistake(message))


def _place(row: int) -> Place:
    return Place("X", row + 1)


def _each_once(rows: Sequence[Row], labels: Sequence[bool]) -> dict[Row, bool]:
    """The label of each row; a row that has both is refused."""
    truths: dict[Row, bool] = {}
    for row, label in zip(rows, labels, strict=True):
        if truths.setdefault(row, label) != label:
            raise ValueError(f"the row {row} of X is labelled both True and False")
    return truths


def _stated(theory: Any) -> Theory:
    if isinstance(theory, Theory):
        return theory
    if isinstance(theory, str) and not theory.strip().endswith(".hb"):
        return parse_theory(theory)
    if isinstance(theory, str | PathLike):
        return read(theory)
    raise UnsupportedError("a classifier needs a theory", hint="a text, a file, or what hb.parse gives")


def _rows(X: Any) -> list[Row]:
    """Rows of constants of a list, an array or a DataFrame; a row of one constant may stand alone."""
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__iter__"):
        raise ValueError(f"X is a list, an array or a DataFrame of rows, not {type(X).__name__}")
    if hasattr(X, "itertuples"):  # of pandas: each column keeps its type, and moments are no numbers
        return list(X.itertuples(index=False, name=None))
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return [tuple(row) if isinstance(row, list | tuple | np.ndarray) else (row,) for row in listed]


def _constant(value: Any, calendar: str | None) -> Any:
    """Text of a date's or time's constant; other values unchanged."""
    with suppress(ValueError):
        if isinstance(value, date):
            return moment(calendar or ("time" if isinstance(value, datetime) else "date"), value.isoformat())
        if calendar is not None and isinstance(value, str):
            return moment(calendar, value.strip())
    return value


def _labels(y: Any, rows: int) -> list[bool]:
    """A label for each of so many rows."""
    listed = np.asarray(y).ravel().tolist()
    if wrong := [label for label in listed if not (isinstance(label, Real) and label in (True, False))]:
        raise ValueError(f"labels are True and False, not {wrong[0]!r}")
    if len(listed) != rows:
        raise ValueError(f"X has {rows} rows and y has {len(listed)} labels")
    if not rows:
        raise ValueError("X has 0 rows, and 1 is needed at least")
    return [bool(label) for label in listed]
