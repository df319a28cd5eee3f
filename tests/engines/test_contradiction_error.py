"""Contradictions that messages find: a smallest set where that is affordable, else every hard statement."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.engines import contradiction
from herbrand.errors import ContradictionError
from tests import changed_theories as changed

TEXT = """\
type t = {"a", "b", "c"}
predicate p(t)
predicate q(t)
[any] hard: p(x) => q(x)
[one] hard: p("a")
[none] hard: not q("a")
[other] hard: p("b") or q("c")
0.4: q(x)
"""


def refusal(text: str) -> str:
    with pytest.raises(ContradictionError) as refused:
        hb.Model(hb.parse(text)).infer(engine="bp")
    return str(refused.value)


def labels(told: str) -> set[str]:
    return {label for label in ("any", "one", "none", "other") if f"[{label}]" in told}


def test_a_smallest_set_is_named() -> None:
    told = refusal(TEXT)
    assert labels(told) == {"any", "one", "none"}
    assert "no world satisfies these 3 statements together" in told


@pytest.mark.parametrize(("limit", "most"), [("MOST_ROWS", 0), ("MOST_OPERATIONS", -1.0)])
def test_where_looking_for_it_is_too_dear_every_hard_statement_is(
    limit: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contradiction, limit, most)
    told = refusal(TEXT)
    assert labels(told) == {"any", "one", "none", "other"}
    assert told.count("no world satisfies the hard statements together; this is one of them") == 4


def test_statements_that_stand_in_no_text_are_shown() -> None:
    """As those that a program made: there is no line to point at."""
    made = changed.renamed(hb.parse(TEXT))
    assert all(statement.span is None for statement in made.formulas)
    with pytest.raises(ContradictionError) as refused:
        hb.Model(made).infer(engine="bp")
    told = [mistake.message.rpartition("together: ")[2] for mistake in refused.value.mistakes]
    assert told == ["[any] hard: p(x) => q(x)", '[one] hard: p("a")', '[none] hard: not q("a")']
