"""Lint: each code where it belongs, with its place, and none where nothing is wrong."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.reports.lint import CODES, lint
from tests.conftest import ROOT, Outcome

TYPES = "predicate q(t, t): observed\npredicate r(t): observed\npredicate s(t)\npredicate d(t)\n"
FACTS: dict[str, Any] = {"q": [("a", "b"), ("b", "c")], "r": ["a"]}
USED = "0.1: q(x, y) and r(x) and d(x) => s(y)\n"


def warnings(text: str, facts: Any = None) -> list[tuple[str, str]]:
    """Codes and the text of the line that each is about."""
    whole = TYPES + USED + text
    found = lint(hb.Model(hb.parse(whole), FACTS if facts is None else facts)).warnings
    return [(one.code, "" if one.span is None else whole.splitlines()[one.span.line - 1]) for one in found]


CASES = {
    "unused-predicate": ["predicate never(t)"],
    "single-variable": ["d(x) :- q(x, y)", "1: q(x, y) => s(x)", "0.5 :: d(x) :- q(x, z)"],
    "duplicate": [
        "2: s(x) and d(x)\n1: s(y) and d(y)",
        "d(x) :- r(x)\nd(z) :- r(z)",
        "0.5 :: d(x) :- r(x)\n0.5 :: d(y) :- r(y)",
        "P(s(x) | d(x)) >= 0.2\nP(s(y) | d(y)) >= 0.2",
    ],
    "weights-cancel": ["2: s(x) and d(x)\n-2: s(y) and d(y)", "1: s(x)\n2: s(x)\n-3: s(w)"],
    "weight-of-nothing": [
        "0: s(x)",
        "d(x) :- r(x) @ 0",
        'r("a") @ 0',
        "0 :: d(x) :- r(x)",
        's("a") ~ 0.7\ns("b") ~ 0.5',
    ],
    "weight-without-effect": ["1: q(x, y) => r(x)", "1: r(x)"],
    "always-true": [
        "1: s(x) or not s(x)",
        "hard: s(x) => s(x)",
        "1: s(x) and d(y) => d(y) or s(y)",
        "1: s(x) => x = x",
    ],
    "never-true": [
        "1: s(x) and not s(x)",
        "d(x) :- r(x), not r(x)",
        "d(x) :- r(x), x != x",
        "1: not (s(x) => s(x))",
    ],
    "no-base": ["d(x) :- d(y), q(x, y)"],
    "never-fires": [
        "d(x) :- q(x, x)",
        "d(x) :- q(x, y), q(y, x)",
        'd(x) :- r(x), x = "b"',
        "0.3 :: d(x) :- q(x, x)",
    ],
    "never-applies": ["1: q(x, x) => s(x)", "1: q(x, y) and q(y, x) and d(y) => s(x)"],
    "broken-by-facts": [
        "hard: q(x, y) => q(y, x)",
        "hard: not (q(x, y) and r(x))",
        "hard: not q(x, y) or r(y)",
        "hard: r(x) => q(x, _)",
    ],
    "contradiction": ['hard: s("a")\nhard: not s("a")', "hard: r(x) => s(x)\nhard: r(x) => not s(x)"],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in CASES.items() for text in texts])
def test_each_code_at_its_statement(code: str, text: str) -> None:
    found = warnings(text)
    assert code in [one for one, _ in found], found
    if code != "contradiction":
        assert (code, text.splitlines()[-1]) in found


def test_an_observed_predicate_without_facts() -> None:
    assert ("no-facts", "predicate r(t): observed") in warnings("", {"q": [("a", "b")]})


def test_every_code_is_tried_and_documented() -> None:
    assert CODES.keys() == CASES.keys() | {"no-facts"}
    page = (ROOT / "docs" / "language.md").read_text()
    assert all(f"`{code}`" in page.partition("## Lint")[2] for code in CODES)


@pytest.mark.parametrize("text", [
    "1: q(x, y) and s(x) => s(y)",
    "d(x) :- q(x, _)",
    "1: exists y: q(x, y) and s(y) and s(x)",
    "?[y]: q(x, y) => s(x)",
    "d(x) :- r(x)\nd(x) :- d(y), q(y, x)",
    "hard: q(x, y) and s(x) => s(y)",
    "hard: r(x) => (exists y: q(x, y))",
    "d(x) :- r(x), count(y: q(x, y)) >= 1",
    "1: s(x)\n-1: s(x) and d(x)",
    "0.4 :: d(x) :- r(x)",
])  # fmt: skip
def test_nothing_is_wrong(text: str) -> None:
    assert warnings(text) == []


def test_facts_of_tables_begin_a_recursion() -> None:
    assert "no-base" not in [code for code, _ in warnings("d(x) :- d(y), q(y, x)", FACTS | {"d": ["a"]})]


def test_a_variable_is_named_where_it_stands() -> None:
    (one,) = lint(hb.Model(hb.parse("d(x) :- q(x, other), r(x)"), FACTS)).warnings
    assert (one.code, one.place) == ("single-variable", "<text>:1:14")


@pytest.mark.parametrize("seed", range(30))
def test_rules_that_never_fire_are_those_without_rows(seed: int) -> None:
    """Bodies of two or three atoms over random facts, against loops over all constants."""
    rng = random.Random(seed)
    names, variables = "abc", "xyz"
    facts = {"q": {(rng.choice(names), rng.choice(names)) for _ in range(3)}, "r": {(rng.choice(names),)}}
    body = [(rng.choice("qqr"), rng.random() < 0.2) for _ in range(3)]
    literals, bound = [], set[str]()
    for name, negated in sorted(body, key=lambda one: one[1]):
        terms = tuple(rng.choice(variables) for _ in range(2 if name == "q" else 1))
        if not negated or set(terms) <= bound:
            literals.append((name, terms, negated))
            bound |= set() if negated else set(terms)
    holds = any(
        all((tuple(dict(zip(variables, row, strict=True))[t] for t in terms) in facts[name]) != negated
            for name, terms, negated in literals)
        for row in itertools.product(names, repeat=3)
    )  # fmt: skip
    text = ", ".join(f"{'not ' * negated}{name}({', '.join(terms)})" for name, terms, negated in literals)
    found = warnings(f"d(x) :- {text}, x = x", {name: sorted(rows) for name, rows in facts.items()})
    codes = [code for code, line in found if line.startswith("d(")]
    assert ("never-fires" in codes or "never-true" in codes) == (not holds), (text, facts)


@pytest.mark.parametrize("name", ["smokers", "family", "university", "citations"])
def test_examples_have_few_warnings(name: str) -> None:
    """What ships is no example of what is warned of: nothing is contradictory or dead."""
    folder = ROOT / "examples" / name
    theories = sorted(folder.glob("*.hb"))[:1]
    found = lint(
        hb.Model(
            [str(path) for path in theories], str(folder / "facts") if (folder / "facts").is_dir() else None
        )
    )
    dead = {"contradiction", "broken-by-facts", "weights-cancel", "always-true", "never-true", "duplicate"}
    assert not dead & {one.code for one in found.warnings}


def test_the_command_and_its_formats(herbrand: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "t.hb").write_text("predicate p(t)\npredicate unused(t)\n1: p(x)\n-1: p(y)\n")
    outcome = herbrand("check", tmp_path / "t.hb", "--lint")
    assert outcome.status == 0 and outcome.out.startswith("2 warnings\ncode")
    told = json.loads(herbrand("check", tmp_path / "t.hb", "--lint", "--format", "json").out)["warnings"]
    assert [one["code"] for one in told] == ["unused-predicate", "weights-cancel"]
    assert told[0]["where"] == f"{tmp_path / 't.hb'}:2:1" and told[0]["message"] and "hint" in told[0]
    (tmp_path / "good.hb").write_text("predicate p(t)\n1: p(x)\n")
    assert herbrand("check", tmp_path / "good.hb", "--lint").out.startswith("0 warnings")


def ruled_theory(seed: int) -> str:
    """Rules over known relations, some of which derive nothing, and hard formulas that some rows break."""
    drawn = random.Random(seed)
    names = ["q", "p0", "p1", "p2", "p3"]
    lines = ["predicate q(t, t): observed", *(f"predicate {name}(t, t)" for name in names[1:])]
    for place, name in enumerate(names[1:], start=1):
        for _ in range(drawn.randint(1, 2)):
            one, other = (drawn.choice(names[: place + drawn.randint(0, 1)]) for _ in range(2))
            ends = drawn.choice(["x, z", "z, x", "x, x", '"c", z'])
            extra = drawn.choice(
                ["", ", x != y", f", not {names[place - 1]}(y, x)", " @ 0.5" * (seed % 7 == 0)]
            )
            lines.append(f"{name}(x, y) :- {one}({ends}), {other}(x, y), {names[place - 1]}(_, y){extra}")
        lines.append(f"hard: {name}(x, y) => {drawn.choice(names[:place])}(x, y)")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(12))
def test_deriving_once_warns_as_asking_each_rule_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(seed)
    facts = {"q": [(drawn.choice("abcd"), drawn.choice("abcd")) for _ in range(5)]}
    theory, listed = hb.parse(ruled_theory(seed)), list[int]()
    once = hb.Model.with_derived

    def counted(self: hb.Model, within: Any) -> hb.Model:
        listed.append(1)
        return once(self, within)

    monkeypatch.setattr(hb.Model, "with_derived", counted)
    found = lint(hb.Model(theory, facts)).warnings
    assert len(listed) == (0 if "@" in ruled_theory(seed) else 1)

    def refused(self: hb.Model, within: Any) -> hb.Model:
        raise hb.HerbrandError("not now")

    monkeypatch.setattr(hb.Model, "with_derived", refused)
    assert found == lint(hb.Model(theory, facts)).warnings


def test_a_broken_law_names_its_constants_as_the_language_does() -> None:
    found = lint(hb.Model(hb.parse('hard: q(x) => not r(x)\nq("u")\nr("u")'))).warnings
    assert found[0].message == 'facts break this: x = "u"'


def test_all_goals_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each had five seconds, so that a theory of many rules had minutes."""
    theory = hb.parse("".join(f"p{i}(x) :- q(x), r(x)\n" for i in range(4)))
    model = hb.Model(theory, {"q": ["a"], "r": ["b"]})
    assert [one.code for one in lint(model).warnings].count("never-fires") == 4
    monkeypatch.setattr("herbrand.reports.lint.ALL_GOALS", 0.0)
    assert "never-fires" not in [one.code for one in lint(model).warnings]
