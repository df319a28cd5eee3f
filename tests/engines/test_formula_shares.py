"""Many formulas read from one elimination: the same as one at a time, in a few eliminations."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

import herbrand as hb
from herbrand.engines import formula_shares
from herbrand.engines.elimination import Elimination
from herbrand.errors import ContradictionError
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program_generators import anchored, models

generated = settings(
    max_examples=tries(30),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def shares(theory: Theory, asked: list[str]) -> list[float]:
    return [row.probability for row in hb.Model(theory).infer(asked, engine="exact").rows()]


@generated
@given(models(hard=True), anchored, anchored)
def test_together_by_halves_and_alone(
    model: tuple[Theory, Universe], one: s.Formula, other: s.Formula
) -> None:
    """Whatever the formulas are, and however many eliminations it takes."""
    theory, asked = model[0], [show_formula(one), show_formula(other)]
    try:
        together = shares(theory, asked)
    except ContradictionError:
        assume(False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(formula_shares, "FEW", -1)
        patched.setattr(formula_shares, "GRADIENT", 0)
        by_halves = shares(theory, asked)
        patched.setattr(formula_shares, "MOST_CASES", 0)
        alone = shares(theory, asked)
    assert together == pytest.approx(alone, abs=1e-10)
    assert by_halves == pytest.approx(alone, abs=1e-10)


def ring(count: int) -> str:
    names = [f'"c{i}"' for i in range(count)]
    links = "".join(f"link({one}, {names[(i + 1) % count]})\n" for i, one in enumerate(names))
    return (
        f"type t = {{{', '.join(names)}}}\npredicate p(t)\npredicate link(t, t): observed\n{links}"
        "0.3: p(x)\n0.8: link(x, y) => (p(x) <=> p(y))\n"
    )


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each elimination that was run, by how."""
    seen: list[str] = []
    for name in ("run", "joint_shares"):
        run = getattr(Elimination, name)

        def counted(self: Elimination, *given: Any, run: Any = run, name: str = name) -> Any:
            seen.append(name)
            return run(self, *given)

        monkeypatch.setattr(Elimination, name, counted)
    return seen


def test_one_elimination_has_every_instance(runs: list[str]) -> None:
    theory = hb.parse(ring(12))
    found = hb.Model(theory).infer(["p(x) and link(x, y) and not p(y)", "p(x)"], engine="exact")
    assert len(list(found.rows())) == 144 + 12
    assert runs == ["run", "joint_shares"]


def test_pairs_of_all_are_read_by_parts(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A table over each two of many makes any elimination wide; those of a few with all others do not."""
    monkeypatch.setattr(formula_shares, "FEW", 3e4)
    count = 12
    found = hb.Model(hb.parse(ring(count))).infer("p(x) and p(y)", engine="exact")
    assert runs[0] == "run" and 2 < len(runs) < 66
    weights = {}
    for world in itertools.product((0, 1), repeat=count):
        alike = sum(world[i] == world[(i + 1) % count] for i in range(count))
        weights[world] = math.exp(0.3 * sum(world) + 0.8 * alike)
    total = math.fsum(weights.values())
    for row, (one, other) in zip(found.rows(), itertools.product(range(count), repeat=2), strict=True):
        share = math.fsum(weight for world, weight in weights.items() if world[one] and world[other]) / total
        assert row.probability == pytest.approx(share, abs=1e-12), row


def test_rare_formulas_keep_their_digits() -> None:
    """A share is a sum of entries, not one minus the others."""
    text = "-40: p\n-50: q\n0.2: p and q => r\n"
    (row,) = hb.Model(hb.parse(text)).infer(["p and q and r"], engine="exact").rows()
    both = hb.Model(hb.parse(text)).infer(["p and q and r", "p and q"], engine="exact").rows()
    expected = math.exp(-90 + 0.2) / (math.exp(-90 + 0.2) + math.exp(-90) + 2 * math.exp(0.2))
    assert row.probability == pytest.approx(expected, rel=1e-6)
    assert next(both).probability == pytest.approx(expected, rel=1e-6)
