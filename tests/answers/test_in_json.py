"""Every answer is JSON as it stands, whatever its numbers are."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.bindings import Bindings
from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.language.theory import Theory
from herbrand.learning.learned import LearnedWeight, Learning
from tests.conftest import Outcome

STATUS = Status(False, 1, 0.5, "more")
EXACT = Guarantee.EXACT


def answers(number: float) -> dict[str, Any]:
    """An answer of each kind with such a number in it."""
    return {
        "infer": Marginals("gibbs", EXACT, STATUS, (), diagnostics={"r_hat": number}),
        "query": Bindings("proof", EXACT, STATUS, ("x",), (("a",),), np.array([number])),
        "explain": Explanation("p", "log-odds", number, "e", EXACT, (Reason("s", {}, number),), number),
        "learn": Learning(
            *("proof", Theory(()), STATUS, (LearnedWeight("?: p", {}, number, number, number),)),
            {"loss": number},
        ),
    }


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, np.float64(math.inf)])
@pytest.mark.parametrize("kind", ["infer", "query", "explain", "learn"])
def test_what_is_not_finite_is_told_by_name(kind: str, number: float) -> None:
    text = json.dumps(answers(number)[kind].to_dict(), allow_nan=False)
    assert f'"{float(number)!s}"' in text


@pytest.mark.parametrize("kind", ["infer", "query", "explain", "learn"])
def test_what_is_finite_stays_a_number(kind: str) -> None:
    text = json.dumps(answers(0.25)[kind].to_dict(), allow_nan=False)
    assert "0.25" in text and '"0.25"' not in text


def test_few_samples_tell_no_figure(herbrand: Callable[..., Outcome], tmp_path: Any) -> None:
    (tmp_path / "t.hb").write_text("1.0: p => q\n0.5: q => r\n")
    outcome = herbrand(
        *("infer", tmp_path / "t.hb", "--engine", "gibbs", "--samples", "20", "--iterations", "1"),
        *("--format", "json"),
    )
    assert outcome.status == 3, outcome.err
    assert json.loads(outcome.out)["diagnostics"]["r_hat"] in ("inf", "nan")


NAMES = ["a<b", 'quote"d', "back\\slash", "new\nline", "tab\t", "& amp", "日本", "😀", "<script>", " "]


@pytest.mark.parametrize("ask", [
    lambda m: m.infer("likes"),
    lambda m: m.infer("likes(x, y) or likes(y, x)"),
    lambda m: m.query("both(x, y)"),
    lambda m: hb.compare(m, ["exact", "bp"], query="likes"),
    lambda m: hb.size_report(m),
])  # fmt: skip
def test_odd_names_in_every_form(ask: Callable[[hb.Model], Any]) -> None:
    """JSON and tables hold them, and a page takes none for markup."""
    theory = hb.parse(
        "type t = {"
        + ", ".join(map(json.dumps, NAMES))
        + "}\npredicate likes(t, t)\npredicate knows(t, t): observed\n"
        "predicate both(t, t)\nboth(x, y) :- knows(x, y)"
    )
    model = hb.Model(theory, {"knows": [(name, name) for name in NAMES]})
    found = ask(model)
    text = json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False)
    json.loads(text)
    page = found._repr_html_()
    assert "<script>" not in page and "a<b" not in page
    assert page.count("<tr>") == len(found) + 1 or "the first 200" in page
    assert len(repr(found).splitlines()) <= 22 + repr(found).count("\n... ")
    rows = found.to_arrow().num_rows
    assert len(found.to_pandas()) == found.to_polars().height == rows


def test_odd_names_are_what_was_given() -> None:
    theory = hb.parse("type t = {" + ", ".join(map(json.dumps, NAMES)) + "}\npredicate p(t)\n0.5: p(x)")
    told = json.loads(json.dumps(hb.Model(theory).infer().to_dict()))["marginals"]
    assert sorted(row["arguments"][0] for row in told) == sorted(NAMES)
    for row in told:
        atom = hb.parse(row["atom"]).facts[0]
        assert atom.columns[0][0] == row["arguments"][0]
