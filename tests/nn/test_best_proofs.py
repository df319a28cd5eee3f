"""Query layers by the best proof and by the likeliest ones, beside lists of all proofs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping

import pytest
import torch

import herbrand as hb
from herbrand.errors import UnsupportedError
from herbrand.language import syntax as s
from herbrand.nn import QueryLayer
from tests.oracles import best_proofs as best
from tests.oracles import proofs as oracle
from tests.oracles.possible_worlds import Worlds

NODES = ("a", "b", "c")
HEAD = """\
type node = {"a", "b", "c"}
predicate edge(node, node): observed
predicate red(node): observed
predicate path(node, node)
red("b")
red("c")
"""
RULES = {
    "two steps": "path(x, z) :- edge(x, y), edge(y, z)\n",
    "recursion": "path(x, y) :- edge(x, y)\npath(x, z) :- edge(x, y), path(y, z)\n",
    "a loop at one node": "path(x, y) :- edge(x, x), edge(x, y)\npath(x, y) :- edge(y, x), edge(x, y)\n",
    "a side branch": "path(x, y) :- edge(x, y), edge(y, z), edge(z, u)\n",
    "a certain absence": "path(x, y) :- edge(x, y), not red(x)\npath(x, y) :- edge(y, z), edge(x, z)\n",
}
DEPTH = 2


def proofs_of(rules: str) -> Mapping[oracle.Row, best.Proved]:
    theory = hb.parse(HEAD + rules)
    edges = {pair: best.Proved.of(pair) for pair in itertools.product(NODES, NODES)}
    facts = {"edge": edges, "red": {("b",): 1, ("c",): 1}}
    truths = {"red": frozenset({("b",), ("c",)})}
    return oracle.Proofs(theory.rules, facts, NODES, truths).answers("path", DEPTH + 1)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", [0, 1])
def test_best_and_likeliest_proofs_of_several_scenes(name: str, seed: int) -> None:
    model, listed = hb.Model(hb.parse(HEAD + RULES[name])), proofs_of(RULES[name])
    scores = torch.rand(2, 3, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)

    def found(algebra: str, k: int = 1) -> torch.Tensor:
        layer = QueryLayer(model, "path(x, y)", given=[], neural=["edge"], algebra=algebra, k=k, depth=DEPTH)
        return layer({}, {"edge": scores})

    largest = found("max")
    likeliest = {k: found("top-k", k) for k in (1, 2, 4)}
    for scene, (i, x), (j, y) in itertools.product(range(2), enumerate(NODES), enumerate(NODES)):
        chances = {(u, v): scores[scene, NODES.index(u), NODES.index(v)].item() for u in NODES for v in NODES}
        proofs = listed[x, y].proofs if (x, y) in listed else ()
        assert largest[scene, i, j].item() == pytest.approx(best.largest(proofs, chances))
        for k, table in likeliest.items():
            wanted = best.either(best.likeliest(proofs, chances, k), chances)
            assert table[scene, i, j].item() == pytest.approx(wanted)


@pytest.mark.parametrize("name", RULES)
def test_the_best_proof_is_that_of_a_query(name: str) -> None:
    scores = torch.rand(3, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    model = hb.Model(hb.parse(HEAD + RULES[name]))
    layer = QueryLayer(model, "path(x, y)", neural=["edge"], algebra="max", depth=DEPTH)
    facts = "".join(
        f'edge("{x}", "{y}") @ {scores[i, j]:.17g}\n'
        for i, x in enumerate(NODES)
        for j, y in enumerate(NODES)
    )
    weighed = hb.Model(hb.parse(HEAD + RULES[name] + facts))
    table = layer({"x": list(NODES)}, {"edge": scores})
    answers = weighed.query("path(x, y)", algebra="max", depth=DEPTH).to_arrow().to_pylist()
    assert len(answers) == int((table > 0).sum())
    for row in answers:
        place = NODES.index(row["x"]), NODES.index(row["y"])
        assert table[place].item() == pytest.approx(row["weight"])


@pytest.mark.parametrize("algebra", ["max", "top-k", "probability"])
def test_slopes_are_those_of_differences(algebra: str) -> None:
    model = hb.Model(hb.parse(HEAD + RULES["recursion"]))
    layer = QueryLayer(model, "path(x, y)", neural=["edge"], algebra=algebra, k=2, depth=DEPTH)
    scores = torch.rand(3, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)

    def answers(table: torch.Tensor) -> torch.Tensor:
        return layer({"x": ["a", "c"]}, {"edge": table})

    assert torch.autograd.gradcheck(answers, (scores.requires_grad_(),))


RULED = """\
type n = 1..2
predicate e(n, n): observed
predicate p(n)
p(x) :- e(x, y), e(y, z) @ 0.5
p(x) :- e(y, x) @ 0.8
"""


def test_instances_of_a_rule_are_choices_of_their_own() -> None:
    """All proofs together are all worlds, though a side branch hides a variable."""
    rows = list(itertools.product((1, 2), (1, 2)))
    chances = dict(zip(rows, (0.3, 0.9, 0.6, 0.2), strict=True))
    theory = hb.parse(RULED)
    ranges: dict[str, tuple[s.Value, ...]] = dict.fromkeys("xyz", (1, 2))
    choices = [[(p, ("e", row)), (1 - p, None)] for row, p in chances.items()]
    goal = s.Rule(s.Atom("goal", (s.Variable("x"),)), (s.Atom("p", (s.Variable("x"),)),))
    _, (wanted,) = Worlds([theory.rules], choices, ranges).conditional([goal], [])  # type: ignore[arg-type]
    scores = torch.tensor([chances[row] for row in rows], dtype=torch.float64).reshape(2, 2)
    for algebra in ("top-k", "probability"):
        layer = QueryLayer(hb.Model(theory), "p(x)", given=[], neural=["e"], algebra=algebra, k=100, depth=2)
        assert layer({}, {"e": scores})[0].tolist() == pytest.approx([wanted[1,], wanted[2,]])


def test_instances_that_known_atoms_tell_apart_are_choices_of_their_own() -> None:
    theory = hb.parse(
        "type n = 1..3\npredicate a(n)\npredicate k(n, n): observed\nk(1, 1)\nk(1, 2)\nk(2, 3)\n"
        "predicate p(n)\np(x) :- a(x), k(x, y), k(y, z) @ 0.5"
    )
    layer = QueryLayer(hb.Model(theory), "p(x)", given=[], neural=["a"], algebra="top-k", k=100)
    found = layer({}, {"a": torch.full((3,), 0.6)})[0].tolist()
    assert found == pytest.approx([0.6 * (1 - 0.5**3), 0, 0])  # 1 by 1 and 1, by 1 and 2, by 2 and 3


def test_few_proofs_that_very_many_trees_say_are_found() -> None:
    """Of two edges and back there are few proofs, and more trees than can be listed within ten calls."""
    text = "type n = 1..2\npredicate e(n, n): observed\npredicate p(n, n)\np(x, y) :- e(x, y)"
    text += "\np(x, y) :- p(x, z), p(z, y)"
    layer = QueryLayer(
        hb.Model(hb.parse(text)), "p(x, y)", given=["x"], neural=["e"], algebra="top-k", k=3, depth=10
    )
    found = layer([1], {"e": torch.tensor([[0.0, 0.5], [0.6, 0.0]], dtype=torch.float64)})
    assert found[0].tolist() == pytest.approx([0.3, 0.5])


HUES = """\
type n = 1..2
predicate hue(n) in {"red", "green", "blue"}: observed
predicate odd
odd :- hue(x) = "red", hue(x) = "green"
odd :- hue(1) = "red", hue(2) = "red"
odd :- hue(1) = "green", hue(2) = x, hue(2) = "red"
"""


def test_values_of_one_atom_exclude_each_other() -> None:
    theory = hb.parse(HUES)
    scores = torch.tensor([[0.2, 0.7, 0.1], [0.5, 0.4, 0.1]], dtype=torch.float64)
    for k, wanted in ((1, 0.35), (2, 0.45), (9, 0.45)):
        layer = QueryLayer(hb.Model(theory), "odd", neural=["hue"], algebra="top-k", k=k)
        assert layer({}, {"hue": scores}).item() == pytest.approx(wanted)


COINS, HEADS = ("a", "b", "c"), ("red", "green", "blue")


@pytest.mark.parametrize("seed", range(6))
def test_likeliest_proofs_by_choices_of_several_heads(seed: int) -> None:
    """Beside sums over all worlds of the choices; what is left of each to 1 gives no head."""
    draw = random.Random(seed)
    chances = [draw.uniform(0.05, 0.3) for _ in HEADS]
    needs = [
        {coin: draw.choice(HEADS) for coin in draw.sample(COINS, draw.randint(1, 3))}
        for _ in range(draw.randint(2, 6))
    ]
    rules = [", ".join(f'{head}("{coin}")' for coin, head in need.items()) for need in needs]
    choice = "; ".join(f"{p} :: {head}(x)" for p, head in zip(chances, HEADS, strict=True))
    lines = [
        f"{choice} :- coin(x), near(x, y)",
        *(f'coin("{c}")' for c in COINS),
        *(f"w :- {r}" for r in rules),
    ]
    lines += [f'near("{coin}", "far")' for coin in COINS] + ["w :- red(x), green(x)"]
    layer = QueryLayer(
        hb.Model(hb.parse("\n".join(lines))), "w", algebra="top-k", k=(k := draw.randint(1, 4))
    )

    def chance(world: Mapping[str, str]) -> float:
        return math.prod(
            dict(zip(HEADS, chances, strict=True)).get(world[coin], 1 - sum(chances)) for coin in world
        )

    kept = list[Mapping[str, str]]()
    for need in sorted(needs, key=chance, reverse=True):
        if not any(less.items() <= need.items() for less in kept):
            kept.append(need)
    worlds = [dict(zip(COINS, values, strict=True)) for values in itertools.product((*HEADS, ""), repeat=3)]
    right = sum(chance(w) for w in worlds if any(need.items() <= w.items() for need in kept[:k]))
    assert layer().item() == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_choices_of_several_heads_in_all_proofs(depth: int) -> None:
    """Where all proofs are among the likeliest, values and slopes are those of worlds, at each depth."""
    text = """\
        type t = {"1", "2", "3"}
        predicate s(t, t): observed
        predicate c(t, t)
        predicate d(t)
        predicate w(t)
        0.3 :: c(x, y); 0.2 :: d(x) :- s(x, y), s(y, z), x != z
        w(x) :- c(x, y), d(y)
        w(x) :- d(x)
    """
    model = hb.Model(hb.parse(text))
    scores = torch.rand(3, 3, generator=torch.Generator().manual_seed(depth), dtype=torch.float64)
    found = list[tuple[torch.Tensor, torch.Tensor]]()
    for algebra in ("top-k", "probability"):
        layer = QueryLayer(model, "w(x)", given=[], neural=["s"], algebra=algebra, k=1_000, depth=depth)
        given = scores.clone().requires_grad_()
        weights = layer({}, {"s": given})
        weights.square().sum().backward()
        assert given.grad is not None
        found.append((weights.detach(), given.grad))
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-12)
    assert bool((found[0][0] > 0).any()) == (depth > 0)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (
            "0.3 :: path(x, y); 0.2 :: red(x) :- edge(x, y), edge(y, _)\n",
            r"(?s)cannot use this statement.*algebra='probability' takes choices",
        ),
        ("path(x, y) :- edge(x, y), not edge(y, x)\n", "'not' stands before edge"),
        ('path(x, y) :- edge(x, y)\npath("a", "b")\n', "is evidence"),
    ],
)
def test_what_the_likeliest_proofs_do_not_tell(rules: str, told: str) -> None:
    model = hb.Model(hb.parse(HEAD + rules))
    with pytest.raises(UnsupportedError, match=told):
        QueryLayer(model, "path(x, y)", neural=["edge"], algebra="top-k")
    QueryLayer(model, "path(x, y)", neural=["edge"], algebra="probability")


def test_scores_of_what_rules_derive_too() -> None:
    theory = hb.parse(
        'type n = {"a", "b"}\npredicate link(n, n)\npredicate reach(n, n)\n'
        "link(x, y) :- link(y, x)\nreach(x, y) :- link(x, y)\n"
    )
    scores = torch.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=torch.float64)
    wanted = {"max": [[0.1, 0.3], [0.3, 0.4]], "top-k": [[0.1, 0.44], [0.44, 0.4]]}
    for algebra, table in {**wanted, "probability": wanted["top-k"]}.items():
        layer = QueryLayer(
            hb.Model(theory), "reach(x, y)", given=[], neural=["link"], algebra=algebra, depth=4
        )
        assert torch.allclose(layer({}, {"link": scores})[0], torch.tensor(table, dtype=torch.float64))


TWO_OF_TWO = """\
type n = {1}
predicate a(n)
predicate b(n)
predicate r(n)
predicate two(n)
r(x) :- a(x)
r(x) :- b(x)
two(x) :- r(x), r(y)
"""


def test_weights_below_0_have_no_best_proof() -> None:
    """The best of each part was taken, so of -1 and -2 the best pair weighed 1 instead of 4."""
    layer = QueryLayer(hb.Model(hb.parse(TWO_OF_TWO)), "two(x)", given=[], neural=["a", "b"], algebra="max")
    for wrong in (-2.0, math.nan):
        with pytest.raises(UnsupportedError, match=f"a fact of b weighs {wrong:g}"):
            layer({}, {"a": torch.tensor([0.5]), "b": torch.tensor([wrong])})
    for stated in (TWO_OF_TWO + "a(1) @ -1\n", TWO_OF_TWO.replace("a(x)\nr", "a(x) @ -1\nr")):
        with pytest.raises(UnsupportedError, match=r"max takes weights of 0 or more, and .* weighs -1"):
            QueryLayer(hb.Model(hb.parse(stated)), "two(x)", given=[], neural=["b"], algebra="max")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ('hue(x) = "red"', lambda red: 0.5 * red),
        ("hue(x) = v", lambda red: 0.5 + 0.0 * red),
        ('hue(x) in {"red", "blue"}', lambda red: 0.5 + 0.0 * red),
    ],
)
def test_choices_of_several_heads_may_need_values(
    body: str, wanted: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """They were refused, without a reason, as choices that no rules can express."""
    text = f"""\
        type t = {{"a", "b"}}
        predicate hue(t) in {{"blue", "red"}}: observed
        predicate h(t)
        predicate p(t)
        0.3 :: h(x); 0.5 :: p(x) :- {body}
    """
    layer = QueryLayer(
        hb.Model(hb.parse(text)), "p(x)", given=[], neural=["hue"], algebra="top-k", k=9, depth=2
    )
    scores = torch.tensor([[0.25, 0.75], [1.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(layer({}, {"hue": scores})[0], wanted(scores[:, 1]))
