"""``--map --of``: the best values of some atoms, against the probability of every joint value."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import duckdb
import pytest

import herbrand as hb
from herbrand.errors import UnsupportedError


def _program(seed: int) -> str:
    """Four choices, rules with ``not`` over them, and a weighted formula."""
    chance = random.Random(seed)
    lines = [f"{chance.uniform(0.1, 0.9):.3f} :: c{i}" for i in range(4)]
    for name in ("d0", "d1", "d2"):
        for _ in range(2):
            parts = [f"{chance.choice(('', 'not '))}c{i}" for i in chance.sample(range(4), 2)]
            lines.append(f"{name} :- {', '.join(parts)}")
    lines.append(f"{chance.uniform(-2, 2):.3f}: d0 => d1")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(25))
def test_no_joint_value_is_more_probable(seed: int) -> None:
    model = hb.Model(hb.parse(_program(seed)))
    of = random.Random(seed).sample(["c0", "c1", "d0", "d1", "d2"], 3)
    found = model.infer(map=True, of=of)
    texts = {
        values: " and ".join(name if value else f"not {name}" for name, value in zip(of, values, strict=True))
        for values in itertools.product((False, True), repeat=3)
    }
    every = model.infer(list(texts.values()))
    shares = [every.to_dict()["marginals"][place]["probability"] for place in range(len(texts))]
    chosen = tuple(found[name] == 1.0 for name in of)
    share = shares[list(texts).index(chosen)]
    assert share == pytest.approx(max(shares), abs=1e-12)
    assert found.log_weight is not None and every.log_partition is not None
    assert math.exp(found.log_weight - every.log_partition) == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_best_world_of_several_choices(seed: int) -> None:
    """What a choice does not come to counts for nothing: the best world takes each choice's best outcome."""
    chance = random.Random(seed)
    shares = [[chance.random() for _ in range(4)] for _ in range(2)]
    lines = []
    for place, own in enumerate(shares):
        total = sum(own)
        heads = (f"{share / total:.6f} :: h{place}{i}" for i, share in enumerate(own[:3]))
        lines.append("; ".join(heads))
    found = hb.Model(hb.parse("\n".join(lines))).infer(map=True)
    for place, own in enumerate(shares):
        held = [i for i in range(3) if found[f"h{place}{i}"] == 1.0]
        assert held == ([] if max(own) == own[3] else [own.index(max(own))])
    expected = sum(math.log(max(own) / sum(own)) for own in shares)
    assert found.log_weight == pytest.approx(expected, abs=1e-4)


def test_summing_out_is_not_the_best_world() -> None:
    """The best world has a = false, but more weight in all lies on a = true."""
    theory = 'type t = {"x", "y", "z"}\npredicate v in t\npredicate a\n'
    theory += '0.4 :: v = "x"; 0.3 :: v = "y"; 0.3 :: v = "z"\na :- v = "y"\na :- v = "z"\n'
    model = hb.Model(hb.parse(theory))
    assert model.infer("a", map=True)["a"] == 0.0
    best = model.infer(map=True, of="a")
    assert best["a"] == 1.0 and best.log_weight == pytest.approx(math.log(0.6))
    assert [row.value for row in model.infer(map=True, of="v").rows() if row.probability == 1.0] == ["x"]


@pytest.mark.parametrize(("fact", "weight"), [("", 0.25 * math.e + 0.75), ("\nhard: not b", 0.75)])
def test_the_rest_is_summed_out_where_what_is_asked_is_known(fact: str, weight: float) -> None:
    """d follows from facts, so that no choice is left to be the best of."""
    theory = (
        "predicate a\npredicate b\npredicate d\npredicate k: observed\nk\n0.25 :: a\nb :- a\nd :- k\n1.0: b"
    )
    best = hb.Model(hb.parse(theory + fact)).infer(map=True, of="d")
    assert best["d"] == 1.0 and best.log_weight == pytest.approx(math.log(weight))


def test_rows_of_the_best_values_are_chosen_as_others_are() -> None:
    model = hb.Model(hb.parse("0.7 :: a\n0.4 :: b\n0.8 :: c"))
    assert [row.text for row in model.infer(map=True, of=["a", "b", "c"], min=0.5).rows()] == ["a", "c"]
    assert [row.text for row in model.infer(map=True, of=["b", "c"], top=1).rows()] == ["c"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"map": True, "of": "a", "resume": True}, "only a run on a database can be resumed"),
        ({"of": "a"}, "--map is missing"),
        ({"map": True, "of": "a", "engine": "exact"}, "exact does not use --of"),
        ({"map": True, "of": "a or b"}, "predicates and atoms, and not formulas"),
    ],
)
def test_what_of_does_not_take(options: dict[str, object], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        hb.Model(hb.parse("1.0: a or b")).infer(**options)  # type: ignore[arg-type]


def test_the_rest_is_summed_out_in_memory_alone(tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "facts.duckdb").close()
    stored = hb.Model(hb.parse("1.0: a or b"), on=f"duckdb:{tmp_path / 'facts.duckdb'}")
    with pytest.raises(UnsupportedError, match="--of runs in memory alone"):
        stored.infer(map=True, of="a")
