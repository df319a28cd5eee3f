"""Answers of a database against sums over all worlds, feature by feature of the language, and their laws."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import Marginals
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles.worlds import GroundAtom, Universe, exact_answers

T = ("a", "b")
PREDICATES: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {
    "p": (("t",), None),
    "q": (("t",), None),
    "f": (("t", "t"), None),
    "rain": ((), None),
    "area": (("t",), ("x", "y", "z")),
}
DECLARED = {
    "p": "predicate p(t)",
    "q": "predicate q(t)",
    "f": "predicate f(t, t)",
    "rain": "predicate rain",
    "area": 'predicate area(t) in {"x", "y", "z"}',
}

FORESTS = {
    "one weight": "0.7: p(x)",
    "weights add up": "0.7: p(x)\n-0.2: p(x)\n0.1: not p(x)",
    "a weight of nothing": "0.0: p(x)\n1e-300: q(x)",
    "large and small weights": "30.0: p(x)\n-30.0: q(x)",
    "weights beyond what a share shows": "1000.0: p(x)\n-1000.0: q(x)\n0.5: p(x) and q(x)",
    "two atoms": "1.1: p(x) => q(x)\n0.4: q(x)",
    "parity": "0.9: p(x) xor q(x)\n0.3: p(x)",
    "equivalence": "0.9: p(x) <=> q(x)\n-0.6: q(x)",
    "three atoms of one instance": "0.8: p(x) and q(x) => f(x, x)\n0.3: p(x)",
    "an atom without arguments": "0.8: rain => p(x)\n0.3: rain",
    "constants": '0.8: p("a") and q(x)\n0.2: p("b") or p("a")',
    "a place that is left out": '0.6: p(x) => q(x) where x != "a"',
    "a place that is chosen": '0.6: p(x) => q(x) where x = "b"',
    "the same atom twice": "0.5: f(x, y) or f(y, x)\n0.2: f(x, x)",
    "many values": '0.5: area(x) = "x"\n0.3: area(x) in {"x", "y"} and p(x)',
    "each value": '0.5: area(x) = v and p(x) where v != "z"',
    "hard": "hard: p(x) => q(x)\n0.7: p(x)",
    "hard values": 'hard: area(x) in {"x", "y"} <=> p(x)\n0.7: p(x)',
    "true and false": "0.5: true\n0.3: false\n0.2: p(x) and true\n0.1: p(x) or false",
    "nothing weighs": "0.0: p(x) and q(x)",
    "facts": '0.6: p(x) => q(x)\np("a")\nnot p("b")',
    "facts of values": '0.6: area(x) = "x" => q(x)\narea("a") = "x"\nnot area("b") = "z"',
    "opinions": '0.6: p(x) => q(x)\np("a") ~ 0.8\nq("a") ~ 0.1\np("b") ~ 1e-9',
    "opinions of values": '0.6: area(x) = "x" => q(x)\narea("a") = "x" ~ 0.7\narea("a") = "y" ~ 0.2',
    "opinions of what is known": '0.6: p(x) => q(x)\np("a") ~ 0.8\np("a")\nnot p("b")\np("b") ~ 0.25',
    "opinions of 0 and 1": '0.6: p(x) => q(x)\np("a") ~ 1\np("b") ~ 0',
}
"""Each grounding is about atoms of its own, so that messages are exact."""


def case(text: str, number: int = 0) -> tuple[Theory, Universe]:
    """A theory whose predicates have a number of their own, and the same for the oracle."""
    used = [name for name in PREDICATES if re.search(rf"\b{name}\b", text)]
    whole = "\n".join(('type t = {"a", "b"}', *(DECLARED[name] for name in used), text))
    theory = hb.parse(re.sub(rf"\b({'|'.join(PREDICATES)})\b", rf"\g<1>_{number}", whole))
    predicates = {f"{name}_{number}": PREDICATES[name] for name in used}
    return theory, universe_of(theory, predicates)


def universe_of(theory: Theory, predicates: Any, closed: tuple[str, ...] = ()) -> Universe:
    known: dict[GroundAtom, object] = {}
    soft: list[tuple[GroundAtom, object, float]] = []
    excluded: list[tuple[GroundAtom, object]] = []
    for rows in theory.facts:
        for index in range(rows.row_count):
            row = rows.row(index)
            arguments, value = (row[:-1], row[-1]) if rows.valued else (row, True)
            p = rows.numbers[index] if rows.kind == "soft" else float(rows.kind == "true")
            if 0 < p < 1:
                others = 2 if rows.valued else 1
                soft.append(((rows.predicate, arguments), value, math.log(p) - math.log((1 - p) / others)))
            elif p:
                known[rows.predicate, arguments] = value
            elif rows.valued:
                excluded.append(((rows.predicate, arguments), value))
            else:
                known[rows.predicate, arguments] = False
    domains: dict[str, Sequence[s.Value]] = {
        "t": T, **{f"{name} value": values for name, (_, values) in predicates.items() if values}
    }  # fmt: skip
    return Universe(domains, predicates, known, frozenset(closed), soft, excluded)


def together(theories: Sequence[Theory]) -> Theory:
    """What has no predicate in common has no influence on each other."""
    statements = [one for theory in theories for one in theory.statements]
    types = [one for one in statements if isinstance(one, s.TypeDeclaration)]
    return Theory((types[0], *(one for one in statements if not isinstance(one, s.TypeDeclaration))))


def on_database(theory: Theory, folder: Path, facts: Any = None, **options: Any) -> Marginals:
    path = folder / f"{len(list(folder.iterdir()))}.duckdb"
    return hb.Model(theory, facts, on=f"duckdb:{path}").infer(**options)


def chances(found: Marginals) -> dict[str, float]:
    return {row.text: row.probability for row in found.rows()}


def by_worlds(universe: Universe, theory: Theory) -> tuple[float, dict[str, float]]:
    """Log Z, and the chance of every value of every latent atom under the text of an answer."""
    log_partition, marginals, _ = exact_answers(universe, theory.formulas)
    found = {}
    for name, arguments in universe.atoms():
        if (name, arguments) in universe.known:
            continue
        shown = ", ".join(f'"{argument}"' for argument in arguments)
        text = f"{name}({shown})" if arguments else name
        for value in universe.predicates[name][1] or (True,):
            key = text if value is True else f'{text} = "{value}"'
            found[key] = marginals.get(((name, arguments), value), 0.0)
    return log_partition, found


def check_exact(folder: Path, texts: Iterable[str], engine: str, tolerance: float) -> Marginals:
    cases = [case(text, number) for number, text in enumerate(texts)]
    found = on_database(together([theory for theory, _ in cases]), folder, engine=engine)
    told, total = chances(found), 0.0
    for theory, universe in cases:
        log_partition, expected = by_worlds(universe, theory)
        total += log_partition
        assert {text: told.pop(text) for text in expected} == pytest.approx(expected, abs=tolerance)
    assert not told, "nothing else is answered"
    assert found.log_partition == pytest.approx(total, abs=tolerance, rel=1e-12)
    return found


FEW = (
    "weights beyond what a share shows",
    "each value",
    "hard values",
    "opinions of what is known",
    "constants",
)


@pytest.mark.parametrize(
    "names", [FEW, pytest.param(tuple(FORESTS), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_belief_propagation_is_exact_on_forests(tmp_path: Path, names: tuple[str, ...]) -> None:
    found = check_exact(tmp_path, [FORESTS[name] for name in names], "bp", 1e-9)
    assert found.guarantee is Guarantee.EXACT and found.status.converged


def test_mean_field_is_exact_where_atoms_are_independent(tmp_path: Path) -> None:
    names = ("one weight", "weights add up", "a weight of nothing", "large and small weights")
    check_exact(tmp_path, [FORESTS[name] for name in names], "mean-field", 1e-6)


LOOPS = """0.6: p(x) and f(x, y) => p(y)
-0.3: p(x)
0.4: p(x) => q(x)
0.2: f(x, y) and q(y)
0.5: area(x) = "x" and f(x, y) => area(y) = "x"
q("b") ~ 0.9
f("a", "b")
f("b", "a")
"""


def test_the_bound_of_mean_field_is_one(tmp_path: Path) -> None:
    theory, universe = case(LOOPS)
    theory = hb.parse(hb.show(theory).replace("f_0(t, t)", "f_0(t, t): observed"))
    universe = universe_of(theory, universe.predicates, ("f_0",))
    log_partition, _, _ = exact_answers(universe, theory.formulas)
    bounds = [
        on_database(theory, tmp_path, engine="mean-field", iterations=iterations).log_partition
        for iterations in (1, 20)
    ]
    assert all(bound is not None and bound <= log_partition + 1e-9 for bound in bounds)


LINKS = (("a", "b"), ("b", "c"), ("a", "c"))
RULES = ("0.6: p(x) and f(x, y) => p(y)", "0.4: p(x) => q(x)", "-0.3: q(x)")
NAMES = {"a": "zoë", "b": "it's", "c": 'c "q"'}


@pytest.mark.parametrize("engine", ["mean-field", "bp"])
def test_what_is_said_otherwise_is_the_same(tmp_path: Path, engine: str) -> None:
    """In another order and twice, in parts, within less memory, as a fact or given for one call."""

    def answers(rules: Sequence[str], links: Iterable[Any] = LINKS, **options: Any) -> dict[str, float]:
        declared = "predicate f(t, t): observed\npredicate p(t)\npredicate q(t)"
        theory = hb.parse("\n".join((declared, *rules)))
        found = on_database(theory, tmp_path, {"f": list(links)}, engine=engine, iterations=4, **options)
        assert found.log_partition is not None
        return {**chances(found), "log partition": found.log_partition}

    plain = answers(RULES)
    assert answers(RULES[::-1], [*LINKS[::-1], LINKS[0]]) == pytest.approx(plain, abs=1e-9)
    parts = ("0.2: p(x) and f(x, y) => p(y)", *RULES[1:], "0.4: p(x) and f(x, y) => p(y)")
    assert answers(parts, memory="200MB") == pytest.approx(plain, abs=1e-9)
    given = answers(RULES, given=['p("a")', 'not q("b")'])
    assert given == pytest.approx(answers((*RULES, 'p("a")', 'not q("b")')), abs=1e-9)
    renamed = answers(RULES, [tuple(NAMES[name] for name in link) for link in LINKS])
    assert renamed['p("zoë")'] == pytest.approx(plain['p("a")'], abs=1e-9)
    assert renamed['q("c \\"q\\"")'] == pytest.approx(plain['q("c")'], abs=1e-9)
    assert sorted(renamed.values()) == pytest.approx(sorted(plain.values()), abs=1e-9)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('type t = {"a"}\npredicate p(t)\n1.0: p(x)', 1),
        ("predicate p(t)\npredicate r\n1.0: p(x)\n0.5: r", 1),
        ("predicate p(t): observed\n1.0: p(x)\np(1)\np(2)", 0),
    ],
)
def test_types_of_none_and_of_one(tmp_path: Path, text: str, count: int) -> None:
    """As in memory, where there is nothing to answer too."""
    theory = hb.parse(text)
    here, found = hb.Model(theory).infer(engine="bp"), on_database(theory, tmp_path, engine="bp")
    assert len(list(found.rows())) == len(list(here.rows())) == count
    assert found.log_partition == pytest.approx(here.log_partition, abs=1e-9)
