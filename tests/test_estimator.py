"""The classifier of links does what scikit-learn's tools expect, and what ``learn`` and ``infer`` give."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

import herbrand as hb
from herbrand.errors import UnsupportedError

THEORY = """\
predicate word(record, token): observed
predicate same(record, record)
?: word(x, w) and word(y, w) and x != y => same(x, y)
?: same(x, y)
"""
RECORDS = [f"r{number}" for number in range(12)]
WORDS = {"word": [(record, f"w{number // 2}") for number, record in enumerate(RECORDS)]}
PAIRS = [(x, y) for x in RECORDS for y in RECORDS if x < y]
LABELS = [
    any((x, w) in WORDS["word"] and (y, w) in WORDS["word"] for _, w in WORDS["word"]) for x, y in PAIRS
]


def links(**options: object) -> hb.LinkClassifier:
    return hb.LinkClassifier(THEORY, "same", WORDS, **options)  # type: ignore[arg-type]


def test_probabilities_are_those_of_learn_and_infer() -> None:
    train, test = PAIRS[:40], PAIRS[40:]
    fitted = links().fit(train, LABELS[:40])
    labels = [(*pair, label) for pair, label in zip(train, LABELS, strict=False)]
    table = pd.DataFrame(labels, columns=["a", "b", "truth"])
    model = hb.Model(hb.parse(THEORY), {**WORDS, "same": table})
    learned = model.learn("pseudo-likelihood", target="same", latent="same").theory
    found = hb.Model(learned, {**WORDS, "same": table}, open="same").infer("same")
    expected = [found["same"][pair] for pair in test]
    assert fitted.predict_proba(test)[:, 1] == pytest.approx(expected, abs=1e-12)
    assert fitted.predict_proba(test).sum(axis=1) == pytest.approx(1.0)
    assert fitted.score(test, LABELS[40:]) == 1.0


def test_weights_are_drawn_to_0_as_learn_draws_them() -> None:
    labels = [(*pair, label) for pair, label in zip(PAIRS, LABELS, strict=True)]
    model = hb.Model(hb.parse(THEORY), {**WORDS, "same": pd.DataFrame(labels, columns=["a", "b", "truth"])})
    learned = model.learn("pseudo-likelihood", target="same", latent="same", l2=2.0).theory
    assert links(l2=2.0).fit(PAIRS, LABELS).theory_ == learned
    with pytest.raises(UnsupportedError, match="distillation does not use --l2"):
        links(l2=2.0, method="distillation").fit(PAIRS, LABELS)


def test_rows_of_fit_keep_their_labels_unless_they_are_not_known() -> None:
    wrong = [not label for label in LABELS]
    assert links().fit(PAIRS, wrong).predict(PAIRS).tolist() == wrong
    apart = links(known=False).fit(PAIRS, LABELS).predict_proba(PAIRS)[:, 1]
    assert apart.min() > 0 and apart.max() < 1


def test_rows_that_facts_or_rules_settle() -> None:
    """``infer`` lists latent atoms; these have a probability all the same."""
    facts = {**WORDS, "same": [("r0", "r1")]}
    fitted = hb.LinkClassifier(THEORY, "same", facts).fit([("r2", "r3"), ("r4", "r9")], [True, False])
    assert fitted.predict_proba([("r0", "r1")])[:, 1].tolist() == [1.0]
    both = fitted.predict_proba([("r6", "r7"), ("r0", "r1"), ("r4", "r9")])[:, 1]
    assert 0 < both[0] < 1 and both[1:].tolist() == [1.0, 0.0]
    rules = "predicate road(p, p): observed\npredicate near(p, p)\nnear(x, y) :- road(x, y)"
    derived = hb.LinkClassifier(rules, "near", {"road": [("a", "b")]}).fit([("a", "b")], [True])
    assert derived.predict([("b", "a"), ("a", "b")]).tolist() == [False, True]
    odd = hb.LinkClassifier("predicate `is old`(p)\n1: `is old`(x)", "is old").fit(["a"], [True])
    assert odd.predict_proba(["b"])[0, 1] == pytest.approx(0.7310585786)


@pytest.mark.parametrize("kept", ["us", "ns"])
@pytest.mark.parametrize("calendar", ["date", "time", ""])
def test_rows_of_dates(calendar: str, kept: str) -> None:
    """As text, as Python's dates and as columns of frames they are the same constants."""
    declared = f"type day = {calendar}\n" if calendar else ""
    theory = (
        f"{declared}predicate free(day): observed\npredicate open(day)\n2.0: free(x) => open(x)\n?: open(x)"
    )
    days = [datetime.datetime(2026, 11, 22), datetime.datetime(2026, 11, 23), datetime.datetime(2026, 11, 24)]
    frame = pd.DataFrame({"day": pd.Series(days, dtype=f"datetime64[{kept}]")})
    fitted = hb.LinkClassifier(theory, "open", {"free": frame[:1]}, known=False).fit(frame[1:], [True, False])
    forms = [frame, days]
    if calendar:
        forms += [[day.date() for day in days], [day.date().isoformat() for day in days]]
    for rows in forms:
        found = fitted.predict_proba(rows)[:, 1]
        assert found[0] > 0.8 and found[1:].tolist() == pytest.approx([0.5, 0.5], abs=0.2)


def test_rows_of_frames_keep_their_types() -> None:
    theory = "type n = number\npredicate same(n, n)\n?: same(x, y)"
    rows = pd.DataFrame({"a": [2**53 - 1, 2], "b": [1.5, 2.5]})
    fitted = hb.LinkClassifier(theory, "same").fit(rows, [True, False])
    assert (
        fitted.predict(rows).tolist()
        == fitted.predict([(2**53 - 1, 1.5), (2, 2.5)]).tolist()
        == [True, False]
    )


def test_probabilities_of_choices_are_learned() -> None:
    theory = "predicate road(p): observed\npredicate wet(p)\n? :: wet(x) :- road(x)"
    roads = hb.LinkClassifier(theory, "wet", {"road": list("abcdef")}, method="auto", known=False)
    roads.fit(list("abcd"), [True, False, False, False])
    assert roads.predict_proba(["a", "e", "g"])[:, 1].tolist() == pytest.approx([0.25, 0.25, 0])


def test_rows_of_several_kinds_and_new_constants() -> None:
    fitted = links().fit(PAIRS, LABELS)
    rows = [("r0", "r1"), ("r0", "r5")]
    lists = fitted.predict(rows)
    assert (fitted.predict(np.array(rows)) == lists).all()
    assert (fitted.predict(pd.DataFrame(rows)) == lists).all()
    assert not fitted.predict([("new", "newer")])[0]
    assert fitted.predict_proba([]).shape == (0, 2)


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(ValueError, match="2 arguments"):
        links().fit([("a",)], [True])
    with pytest.raises(ValueError, match="2 rows and y has 1"):
        links().fit([("a", "b"), ("c", "d")], [True])
    with pytest.raises(ValueError, match="labelled both"):
        links().fit([("a", "b"), ("c", "d"), ("a", "b")], [True, True, False])
    with pytest.raises(ValueError, match="True and False"):
        links().fit([("a", "b")], ["yes"])
    with pytest.raises(ValueError, match="True and False, not <NA>"):
        links().fit([("a", "b")], pd.array([None], dtype="boolean"))
    with pytest.raises(hb.HerbrandError, match="colour has many values"):
        hb.LinkClassifier('predicate colour(p) in {"r", "b"}\n?: colour(x) = "r"', "colour").fit(
            ["a"], [True]
        )
    with pytest.raises(ValueError, match="0 rows"):
        links().fit([], [])
    fitted = links().fit(PAIRS, LABELS)
    with pytest.raises(ValueError, match="66 rows and y has 1 label"):
        fitted.score(PAIRS, [True])
    with pytest.raises(ValueError, match="0 rows"):
        fitted.score([], [])
    with pytest.raises(hb.HerbrandError, match="not fitted"):
        links().predict([("a", "b")])
    with pytest.raises(hb.HerbrandError, match="no predicate 'sane'"):
        hb.LinkClassifier(THEORY, "sane", WORDS).fit(PAIRS, LABELS)
    with pytest.raises(ValueError, match="invalid parameter"):
        links().set_params(engin="exact")


def test_scikit_learn_takes_it() -> None:
    base = pytest.importorskip("sklearn.base")
    selection = pytest.importorskip("sklearn.model_selection")
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    estimator = links()
    copy = base.clone(estimator)
    assert copy is not estimator and copy.get_params() == estimator.get_params()
    assert base.is_classifier(estimator)
    name = type(estimator).__name__
    for each in (
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_estimator_repr,
    ):
        each(name, estimator)
    X, y = np.array(PAIRS), np.array(LABELS)
    folds = selection.StratifiedKFold(3, shuffle=True, random_state=0)
    scores = selection.cross_val_score(estimator, X, y, cv=folds, scoring="roc_auc")
    assert scores.min() == 1.0
    search = selection.GridSearchCV(estimator, {"known": [True, False], "l2": [None, 1.0]}, cv=folds).fit(
        X, y
    )
    assert search.best_score_ == 1.0


def test_what_is_missing_is_named() -> None:
    with pytest.raises(UnsupportedError, match='needs a target\n  such as target="smokes"'):
        hb.LinkClassifier("1: smokes(x)").fit([("a",)], [1])
    with pytest.raises(ValueError, match="smokes has 1 argument, and a row of X has 2"):
        hb.LinkClassifier("1: smokes(x)", target="smokes").fit([("a", "b")], [1])


@pytest.mark.parametrize("row", [(None, "b"), (float("nan"), "b")])
def test_an_empty_cell_of_a_row_is_refused_with_its_place(row: tuple[object, str]) -> None:
    """A frame of text has NaN where a cell is empty."""
    rows = [("r0", "r1"), ("r0", "r1"), row]
    for X in (rows, pd.DataFrame(rows), np.array(rows, object)):
        with pytest.raises(hb.HerbrandError, match=r"X, row 3: column 1 is empty; .* of type 'record'"):
            links().fit(X, [True, True, False])
        with pytest.raises(hb.HerbrandError, match=r"X, row 3: column 1 is empty; .* of type 'record'"):
            links().fit(PAIRS, LABELS).predict(X)


def test_constants_of_other_kinds_are_refused_with_their_place() -> None:
    with pytest.raises(hb.HerbrandError, match=r'X, row 2: 1 is a number, but "a" \(X, row 1\) is text'):
        links().fit([("a", "b"), (1, "c")], [True, False])
    with pytest.raises(hb.HerbrandError, match=r"X, row 1: column 1 holds .* which is no constant"):
        links().fit(PAIRS, LABELS).predict([(["a"], "b")])
    with pytest.raises(hb.HerbrandError, match='X to predict, row 1: 1 is a number, but "r0"'):
        links().fit(PAIRS, LABELS).predict([(1, 2)])
