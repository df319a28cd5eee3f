"""Atoms that hard statements make one, and atoms that infinite logits decide.

The layer is that of the theory in which one name stands for both, or a fact says so.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import herbrand as hb
from herbrand.errors import ContradictionError
from tests.laws import tries

ATOMS = ("a", "b", "c", "d")
DECLARED = (
    'type k = {"0", "1"}\n'
    + "".join(f"predicate {name}(k)\n" for name in ATOMS)
    + 'predicate m(k) in {"u", "v", "w"}\n'
)
"""Statements are about "0"; the other atoms keep every predicate open."""

seeds = st.integers(0, 10_000)


def formula(dice: random.Random, depth: int = 2) -> str:
    if not depth or dice.random() < 0.2:
        return dice.choice([*ATOMS, 'm = "u"', 'm in {"v", "w"}'])
    left, right = formula(dice, depth - 1), formula(dice, depth - 1)
    return f"({left} {dice.choice(['and', 'or', '=>', 'xor'])} {right})"


def formulas(dice: random.Random) -> list[str]:
    return [f"{dice.uniform(-1.5, 1.5):.3f}: {formula(dice)}" for _ in range(3)]


def layer_of(statements: list[str], iterations: int | None = 3) -> hb.nn.LogicLayer:
    text = re.sub(r"\b([abcd])\b(?!\()", r'\1("0")', "\n".join(statements))
    theory = hb.parse(DECLARED + re.sub(r"\bm (=|in)", r'm("0") \1', text))
    layer = hb.nn.LogicLayer(hb.Model(theory), iterations=iterations, tolerance=1e-13).double()
    with torch.no_grad():
        for parameter, one in zip(layer.weights, theory.formulas, strict=False):
            if isinstance(one.weight, float):
                parameter.fill_(one.weight)
    return layer


def drawn(dice: random.Random, *lead: int) -> dict[str, Tensor]:
    made = torch.Generator().manual_seed(dice.randrange(10**6))
    shapes = dict.fromkeys(ATOMS, (2,)) | {"m": (2, 3)}
    return {n: torch.randn((*lead, *s), generator=made, dtype=torch.float64) for n, s in shapes.items()}


def score(found: dict[str, Tensor]) -> Tensor:
    return sum(((i + 1) * table.sin().sum() for i, table in enumerate(found.values())), start=torch.zeros(()))


def assert_slopes(
    value: Callable[[], Tensor], inputs: list[Tensor], where: Callable[[Tensor], Tensor]
) -> None:
    """Gradients are those of central differences, along a random direction over the finite inputs, which has
    a part of each; 0 where an input is infinite."""
    slopes = torch.autograd.grad(value(), inputs, allow_unused=True, materialize_grads=True)
    for one, slope in zip(inputs, slopes, strict=True):
        assert slope.isfinite().all() and (slope[~where(one)] == 0).all()
    made = torch.Generator().manual_seed(1)
    ways = [torch.randn(one.shape, generator=made, dtype=one.dtype) * where(one) for one in inputs]
    ends = []
    for step in (1e-5, -1e-5):
        for one, way in zip(inputs, ways, strict=True):
            one.data.add_(way, alpha=step)
        ends.append(value().item())
        for one, way in zip(inputs, ways, strict=True):
            one.data.sub_(way, alpha=step)
    along = sum((slope * way).sum().item() for slope, way in zip(slopes, ways, strict=True))
    assert along == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=3e-6)


TIES = {"b <=> a": "a", "a xor b": "(not a)", "not (a <=> b)": "(not a)"}


@pytest.mark.parametrize("iterations", [1, 3, None])
@given(seed=seeds)
@settings(max_examples=tries(12, 4), deadline=None)
def test_two_atoms_that_are_one(iterations: int | None, seed: int) -> None:
    """As if one name stood for both, its logit the sum of theirs."""
    dice = random.Random(seed)
    tie, name = dice.choice(sorted(TIES.items()))
    stated = formulas(dice)
    tied = layer_of([*stated, f"hard: {tie}"], iterations)
    plain = layer_of([re.sub(r"\bb\b", name, one) for one in stated], iterations)
    logits = {n: t.requires_grad_() for n, t in drawn(dice).items()}
    sign = 1 if name == "a" else -1
    merged = logits | {"a": logits["a"] + sign * logits["b"]}
    odds, expected = tied.log_odds(logits), plain.log_odds(merged)
    found = tied(logits)
    for one in ("a", "c", "d"):
        assert odds[one][0].item() == pytest.approx(expected[one][0].item(), abs=1e-6)
    torch.testing.assert_close(odds["b"][0], sign * odds["a"][0])
    for one in ATOMS:
        torch.testing.assert_close(odds[one], torch.logit(found[one]), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(torch.softmax(odds["m"], -1), found["m"])
    parameters = list(tied.parameters())
    inputs = [*logits.values(), *parameters]
    assert_slopes(lambda: score(tied.log_odds(logits)), inputs, torch.isfinite)


RELATIONS = """
type t = {"x", "y", "z"}
predicate f(t, t)
predicate g(t, t)
predicate s(t)
"""


@given(seed=seeds)
@settings(max_examples=tries(12, 5), deadline=None)
def test_relations_that_hard_statements_tie(seed: int) -> None:
    """Log-odds are those of the marginals, whoever leads; their slopes those of differences."""
    dice = random.Random(seed)
    ties = ["hard: f(x, y) => f(y, x)", "hard: g(x, y) <=> not f(x, y)", 'hard: s("x") <=> s("y")']
    rules = [
        "f(x, y) and s(x) => s(y)",
        "g(x, y) or s(y)",
        "f(x, y) xor g(y, z)",
        "exists y: f(x, y) and s(y)",
    ]
    stated = dice.sample(ties, 2) + [f"{dice.uniform(-1, 1):.2f}: {one}" for one in dice.sample(rules, 2)]
    iterations = dice.choice([1, 2, None])
    model = hb.Model(hb.parse(RELATIONS + "\n".join(stated) + '\nf("x", "z")'))
    layer = hb.nn.LogicLayer(model, iterations=iterations, tolerance=1e-13).double()
    made = torch.Generator().manual_seed(seed)
    logits = {
        name: torch.randn(shape, generator=made, dtype=torch.float64).requires_grad_()
        for name, shape in layer.shapes.items()
    }
    odds, found = layer.log_odds(logits), layer(logits)
    for name, table in odds.items():
        torch.testing.assert_close(table, torch.logit(found[name]), rtol=1e-6, atol=1e-6)
    assert odds["f"][0, 2] == math.inf

    def value() -> Tensor:
        odds = layer.log_odds(logits)
        return sum(
            (torch.where(t.isfinite(), t, 0).sin().sum() for t in odds.values()), start=torch.zeros(())
        )

    assert_slopes(value, [logits["s"], *layer.parameters()], torch.isfinite)


def masked(dice: random.Random, logits: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Some logits infinite, and the facts that say the same."""
    found, facts = dict(logits), []
    for name in dice.sample(ATOMS, 2):
        true = dice.random() < 0.5
        found[name] = logits[name].index_fill(0, torch.tensor(0), math.inf if true else -math.inf)
        facts.append(name if true else f"not {name}")
    kind, value = dice.choice(["free", "sure", "not"]), dice.randrange(3)
    if kind != "free":
        found["m"] = logits["m"].clone()
        found["m"][0, value] = math.inf if kind == "sure" else -math.inf
        facts.append(f'{"not " if kind == "not" else ""}m = "{"uvw"[value]}"')
    return found, facts


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("iterations", [1, 3, None])
@given(seed=seeds)
@settings(max_examples=tries(8, 3), deadline=None)
def test_an_infinite_logit_is_a_fact(iterations: int | None, dtype: torch.dtype, seed: int) -> None:
    """Each row of a batch has masks of its own; outputs and slopes are finite."""
    dice = random.Random(seed)
    stated = formulas(dice)
    layer = layer_of(stated, iterations).to(dtype)
    rows = [masked(dice, drawn(dice)) for _ in range(3)] + [(drawn(dice), [])]
    logits = {n: torch.stack([row[n] for row, _ in rows]).to(dtype).requires_grad_() for n in rows[0][0]}
    found, odds = layer(logits), layer.log_odds(logits)
    close = 1e-4 if dtype == torch.float32 or iterations is None else 1e-9
    for number, (row, facts) in enumerate(rows):
        free = {n: torch.where(t.isinf(), 0.0, t) for n, t in row.items()}
        for name, table in layer_of([*stated, *facts], iterations)(free).items():
            torch.testing.assert_close(found[name][number].double(), table, rtol=0, atol=close)
    for name, table in found.items():
        assert table.isfinite().all() and not odds[name].isnan().any()
    inputs = [*logits.values(), *layer.parameters()]
    if dtype == torch.float64:
        assert_slopes(lambda: score(layer(logits)), inputs, torch.isfinite)
        return
    for one, slope in zip(
        inputs,
        torch.autograd.grad(score(found), inputs, materialize_grads=True, allow_unused=True),
        strict=True,
    ):
        assert slope.isfinite().all() and (slope[one.isinf()] == 0).all()


@pytest.mark.parametrize("iterations", [2, None])
def test_a_mask_on_one_of_two_tied_atoms_is_on_both(iterations: int | None) -> None:
    layer = layer_of(["hard: a xor b", "0.7: b => c"], iterations)
    found = layer({"b": torch.tensor([[math.inf, 0], [-math.inf, 0], [0.3, 0]], dtype=torch.float64)})
    assert found["a"][:2, 0].tolist() == [0, 1] and found["b"][:2, 0].tolist() == [1, 0]
    assert 0 < found["a"][2, 0] < 1
    assert found["c"][0, 0].item() == pytest.approx(1 / (1 + math.exp(-0.7)), abs=0.1 if iterations else 1e-6)


CONFLICTS = [
    (["hard: a <=> b"], {"a": math.inf, "b": -math.inf}, "a"),
    (["hard: a xor b", "hard: b <=> c"], {"a": math.inf, "c": math.inf}, "a"),
    (["hard: a"], {"a": -math.inf}, "a"),
    (["not c"], {"c": math.inf}, "c"),
    (["hard: d => a", "hard: a => d", "a"], {"d": -math.inf}, "d"),
]


@pytest.mark.parametrize(("stated", "logits", "atom"), CONFLICTS)
def test_what_is_infinite_must_not_contradict(stated: list[str], logits: dict[str, float], atom: str) -> None:
    layer = layer_of([*stated, "0.3: a and b and c and d"])
    with pytest.raises(ContradictionError, match=rf"^{atom}\(\"0\"\): "):
        layer({name: torch.tensor([[0.0, 0.0], [one, 0.0]]) for name, one in logits.items()})


@pytest.mark.parametrize(
    ("facts", "row"),
    [
        ([], [-math.inf] * 3),
        ([], [math.inf, math.inf, 0]),
        (['m = "u"'], [-math.inf, 0, 0]),
        (['m = "u"'], [0, math.inf, 0]),
        (['not m = "u"'], [0, -math.inf, -math.inf]),
    ],
)
def test_a_many_valued_atom_keeps_a_value(facts: list[str], row: list[float]) -> None:
    layer = layer_of([*facts, '0.3: a and m = "u"'])
    with pytest.raises(ContradictionError, match=r'^m\("0"\): '):
        layer({"m": torch.tensor([[[0.0] * 3, [0.0] * 3], [row, [0.0] * 3]])})


def test_what_facts_say_too_is_no_contradiction() -> None:
    layer = layer_of(["a", "hard: not b", 'm = "u"', "0.3: a and b and c"])
    sure = torch.tensor([math.inf, 0])
    found = layer({"a": sure, "b": -sure, "m": torch.tensor([[math.inf, 0, 0], [0, 0, 0]])})
    assert (found["a"][0], found["b"][0], found["m"][0].tolist()) == (1, 0, [1, 0, 0])
