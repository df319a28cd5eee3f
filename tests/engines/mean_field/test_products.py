"""Templates as sums of products, beside loops over constants: signs, pairs, quantifiers, folding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.contraction import Dense, Sparse
from herbrand.engines.mean_field.folding import folded
from herbrand.engines.mean_field.listing import exceptions
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.problem import prepared
from herbrand.engines.mean_field.products import (
    Observed,
    Product,
    Together,
    products_of,
    quantified,
    renamed,
    unconstrained,
)
from herbrand.engines.mean_field.quantifiers import independent
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.engines.mean_field.score import none_of
from herbrand.language.theory import Theory
from herbrand.program.evidence import Evidence
from herbrand.program.program import Argument, Block, Conjunction, Literal, literals_of
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program_generators import models

random_theories = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
HEAD = """\
type t = {"a", "b", "c"}
predicate s(t)
predicate f(t, t)
predicate k(t): observed
predicate e(t, t): observed
predicate m(t) in {"u", "v"}
k("a")
k("c")
e("a", "b")
e("b", "b")
e("c", "a")
"""
Atom = tuple[str, tuple[int, ...]]


def evidence_of(text: str) -> Evidence:
    return Evidence(hb.Model(hb.parse(HEAD + text)).program)


def sizes_of(conjunction: Conjunction, evidence: Evidence) -> dict[str, int]:
    return {name: len(evidence.program.domain(kind)) for name, kind in conjunction.variables}


def assignments(
    conjunction: Conjunction, evidence: Evidence, around: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    """Of a conjunction's own variables, in which its pairs differ."""
    sizes = sizes_of(conjunction, evidence)
    for row in itertools.product(*map(range, sizes.values())):
        binding = {**around, **dict(zip(sizes, row, strict=True))}
        if all(index(a, binding) != index(b, binding) for a, b in conjunction.distinct):
            yield binding


def index(argument: Argument, binding: Mapping[str, int]) -> int:
    return binding[argument] if isinstance(argument, str) else argument


def ground_atom(literal: Literal, binding: Mapping[str, int]) -> Atom:
    return literal.predicate, tuple(index(a, binding) for a in literal.arguments)


def is_open(literal: Literal, evidence: Evidence) -> bool:
    return bool(evidence.known(literal.predicate).latent_count())


def latent_atoms(conjunction: Conjunction, evidence: Evidence, binding: Mapping[str, int]) -> set[Atom]:
    """All open ground atoms of a conjunction under an assignment, those inside quantifiers included."""
    found = {ground_atom(x, binding) for x in conjunction.literals if is_open(x, evidence)}
    for block in conjunction.blocks:
        for piece in block.pieces:
            for inner in assignments(piece, evidence, binding):
                found |= latent_atoms(piece, evidence, inner)
    return found


def factors(block: Block, evidence: Evidence, binding: Mapping[str, int]) -> list[set[Atom]]:
    """What each assignment inside a quantifier speaks of; pieces of one assignment together."""
    found: dict[tuple[int, ...], set[Atom]] = {}
    for number, piece in enumerate(block.pieces):
        own = [name for name, _ in piece.variables]
        for inner in assignments(piece, evidence, binding):
            alike = next(n for n, one in enumerate(block.pieces) if one.variables == piece.variables)
            key = (alike if own else number, *(inner[name] for name in own))
            found.setdefault(key, set()).update(latent_atoms(piece, evidence, inner))
    return list(found.values())


def shares_nothing(conjunction: Conjunction, evidence: Evidence, around: Mapping[str, int]) -> bool:
    """No ground atom in two factors, in any grounding and at any depth."""
    for binding in assignments(conjunction, evidence, around):
        outside = {ground_atom(x, binding) for x in conjunction.literals if is_open(x, evidence)}
        parts = [outside]
        for block in conjunction.blocks:
            parts += factors(block, evidence, binding)
            if not all(shares_nothing(piece, evidence, binding) for piece in block.pieces):
                return False
        if sum(map(len, parts)) > len(set().union(*parts)):
            return False
    return True


QUANTIFIED = {
    "1: exists y: f(x, y)": True,
    "1: exists y: f(x, y) and k(y)": True,
    "1: exists y: f(x, y) and s(y)": True,
    "1: s(x) and (exists y: f(x, y) and s(y))": False,
    "1: s(x) and (exists y: f(x, y) and s(y) and x != y)": True,
    "1: exists y: f(x, y) and f(y, x)": True,
    "1: exists x, y: f(x, y) and f(y, x)": False,
    "1: exists x, y: f(x, y) and s(y)": False,
    "1: exists x, y: f(x, y)": True,
    "1: exists x: exists y: f(x, y)": True,
    "1: exists x: s(x) and (exists y: f(x, y))": True,
    "1: exists x: s(x) and (exists y: f(x, y) and s(y))": False,
    "1: (exists x: s(x)) and (exists y: s(y))": False,
    '1: f(x, "a") or (exists y: f(x, y))': False,
    '1: f(x, "a") or (exists y: f(x, y) and y != "a")': True,
    "1: exists y: f(x, y) xor s(y)": True,
    '1: exists y: m(y) = "u" and f(x, y)': True,
    "1: exists y: f(y, y)": True,
    "1: f(x, x) and (exists y: f(x, y))": False,
}


@pytest.mark.parametrize("text", QUANTIFIED)
def test_quantifiers_that_can_be_multiplied(text: str) -> None:
    """As decided on variables, and as loops over all constants find it."""
    evidence = evidence_of(text)
    blocks = [t.conjunction for t in evidence.program.templates if t.conjunction.blocks]
    assert blocks and all(independent(one, evidence) for one in blocks) == QUANTIFIED[text]
    assert all(shares_nothing(one, evidence, {}) for one in blocks) == QUANTIFIED[text]


@random_theories
@given(models())
def test_what_is_multiplied_shares_no_atom(model: tuple[Theory, Universe]) -> None:
    evidence = Evidence(hb.Model(model[0]).program)
    for template in evidence.program.templates:
        if template.conjunction.blocks and independent(template.conjunction, evidence):
            assert shares_nothing(template.conjunction, evidence, {})


def indicator(conjunction: Conjunction, evidence: Evidence, world: Mapping[Atom, int]) -> int:
    """How many assignments make all literals hold."""
    return sum(
        all(value_of(x, binding, evidence, world) in x.allowed for x in conjunction.literals if x.predicate)
        for binding in assignments(conjunction, evidence, {})
    )


def value_of(
    literal: Literal, binding: Mapping[str, int], evidence: Evidence, world: Mapping[Atom, int]
) -> int:
    atom = ground_atom(literal, binding)
    if is_open(literal, evidence):
        return world[atom]
    code = 0
    for argument, size in zip(atom[1], evidence.sizes(atom[0]), strict=True):
        code = code * size + argument
    return int(evidence.known(atom[0]).lookup(np.array([code]))[0])


APART = [
    "1: s(x) and s(y) where x != y",
    "1: f(x, y) and f(y, z) where x != y and y != z and x != z",
    '1: f(x, y) and s(x) where x != "a" and x != y',
    "1: e(x, y) and s(x) and s(y) where x != y",
    "1: e(x, y) and f(y, z) where x != y and x != z",
    "1: k(x) and k(y) and f(x, y) where x != y",
    "-2: s(x) and f(x, y) => s(y)",
]


@pytest.mark.parametrize("text", APART)
def test_pairs_that_differ_are_settled_by_sums_with_signs(text: str) -> None:
    """Parts keep only pairs within a known relation, and count what the whole does, in every world."""
    evidence = evidence_of(text)
    rng = np.random.default_rng(3)
    atoms = [("s", (i,)) for i in range(3)] + [("f", (i, j)) for i in range(3) for j in range(3)]
    for template in evidence.program.templates:
        parts = list(unconstrained(template.conjunction, evidence))
        for _, part in parts:
            for left, right in part.distinct:
                holders = [x for x in part.literals if not is_open(x, evidence)]
                assert any(
                    all(isinstance(a, int) or a in x.arguments for a in (left, right)) for x in holders
                )
        for _ in range(4):
            world = dict(zip(atoms, rng.integers(0, 2, len(atoms)).tolist(), strict=True))
            total = sum(sign * indicator(part, evidence, world) for sign, part in parts)
            assert total == indicator(template.conjunction, evidence, world)


def test_like_products_are_one() -> None:
    """Two statements that say the same of other variables share their product."""
    evidence = evidence_of("1: s(x) and f(x, y)\n2: s(y) and f(y, z)\n-1: s(x)\n")
    found = products_of(evidence.program, evidence.program.templates, evidence)
    told = {str(product): dict(worth) for product, worth in found.items()}
    assert told == {"s(a0) × f(a0, a1)": {0: 1, 1: 1}, "1 over a0": {2: 1}, "not s(a0)": {2: -1}}


def test_products_over_nobody_are_none() -> None:
    text = "type t\npredicate s(t)\npredicate rain\n1: s(x) and rain\n2: rain\n"
    evidence = Evidence(hb.Model(hb.parse(text)).program)
    found = products_of(evidence.program, evidence.program.templates, evidence)
    assert {str(product): dict(worth) for product, worth in found.items()} == {
        "1": {1: 1},
        "not rain()": {1: -1},
    }


def test_products_print_what_they_are() -> None:
    evidence = evidence_of(
        "1: exists y: f(x, y) and k(y)\n1: e(x, y) and s(y) where x != y\n2: s(x) or rain2\npredicate rain2"
    )
    found = products_of(evidence.program, evidence.program.templates, evidence)
    told = {str(product) for product in found}
    assert told == {
        "1 over a0",
        "none[f(x, y`1) × k(y`1)]",
        "e(a0, a1) [a0 != a1] × s(a1)",
        "not s(a0) × not rain2()",
    }


def test_names_of_axes_do_not_matter() -> None:
    one = Product((Reading("f", ("x", "y")), Reading("s", ("y",))), {"x": 3, "y": 3})  # type: ignore[arg-type]
    other = Product((Reading("f", ("q", "p")), Reading("s", ("p",))), {"p": 3, "q": 3})  # type: ignore[arg-type]
    assert renamed(one) == renamed(other)
    turned = Product((Reading("f", ("p", "q")), Reading("s", ("p",))), {"p": 3, "q": 3})  # type: ignore[arg-type]
    assert renamed(one) != renamed(turned)


@pytest.mark.parametrize(("kept", "sparse"), [(0, False), (1, False), (1, True), (2, True), (2, False)])
def test_the_probability_of_nothing(kept: int, sparse: bool) -> None:
    rng = np.random.default_rng(kept)
    chances = rng.random((3, 4)) * (rng.random((3, 4)) < 0.6)
    chances[1] = 0.0
    chances[2, 0] = 1.0
    where = np.argwhere(chances > 0)
    listed = Sparse.of(where, torch.from_numpy(chances[chances > 0]), (3, 4))
    table = listed if sparse else Dense(torch.from_numpy(chances))
    found = none_of(table, kept)
    expected = (1 - chances).prod(axis=tuple(range(kept, 2)))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-14)


def test_known_relations_are_multiplied_beforehand_only_where_that_saves() -> None:
    names = ", ".join(f'"{i}"' for i in range(40))
    links = [(f"{i}", f"{(3 * i + j) % 40}") for i in range(40) for j in range(3)]
    text = f"type t = {{{names}}}\npredicate s(t)\npredicate w(t, t): observed\npredicate h(t): observed\n"
    for statement, joined in (
        ("1: w(x, y) and h(y) and s(x)", True),
        ("1: s(x) and s(y) and w(x, y)", False),
    ):
        model = hb.Model(hb.parse(text + statement), {"w": links, "h": [("1",), ("7",)]})
        evidence = Evidence(model.program)
        relations = KnownRelations(evidence, 2**30)
        products = products_of(model.program, model.program.templates, evidence)
        made = [folded(product, relations) for product in products]
        together = [isinstance(x, Together) for product in made for x in product.operands]
        assert any(together) == joined
        whole = prepared(model.program)
        marginals = {"s": torch.full((40,), 0.25, dtype=torch.float64)}
        value = float(whole.value(marginals, [1.0]))
        held = {("1",), ("7",)}
        if joined:
            expected = sum(0.25 for x, y in set(links) if (y,) in held)
        else:
            expected = sum(0.25 if x == y else 0.0625 for x, y in set(links))
        assert value == pytest.approx(expected)


def test_relations_by_hand() -> None:
    """Constants, repeats and pairs within one known literal; negated, all that is not listed."""
    evidence = evidence_of("1: e(x, y) and k(x) and s(x)")
    relations = KnownRelations(evidence, 2**30)
    e, k = "e", "k"
    cases = {
        Observed(Literal(e, ("x", "y"), (1,))): [[0, 1, 0], [0, 1, 0], [1, 0, 0]],
        Observed(Literal(e, ("y", "x"), (1,))): [[0, 1, 0], [0, 1, 0], [1, 0, 0]],
        Observed(Literal(e, ("x", "x"), (1,))): [0, 1, 0],
        Observed(Literal(e, ("x", 1), (1,))): [1, 1, 0],
        Observed(Literal(e, (2, "y"), (1,))): [1, 0, 0],
        Observed(Literal(e, (2, 2), (1,))): 0,
        Observed(Literal(e, (2, 0), (1,))): 1,
        Observed(Literal(e, (2, 2), (0,))): 1,
        Observed(Literal(k, ("x",), (0,))): [0, 1, 0],
        Observed(Literal(e, ("x", "y"), (0,))): [[1, 0, 1], [1, 0, 1], [0, 1, 1]],
        Observed(Literal(e, ("x", "y"), (1,)), frozenset({("x", "y")})): [[0, 1, 0], [0, 0, 0], [1, 0, 0]],
        Observed(Literal(e, ("x", "y"), (1,)), frozenset({("x", 2)})): [[0, 1, 0], [0, 1, 0], [0, 0, 0]],
    }
    for observed, expected in cases.items():
        assert relations.relation(observed).to_dense().tolist() == expected, str(observed)
        assert relations.relation(observed) is relations.relation(observed)
        single = relations.relation(observed, "float32")
        assert single.dtype == "float32" and single.to_dense().tolist() == expected


LISTING = {
    "0.5: likes(x, i) => buys(x, i)": True,
    "0.5: likes(x, i) and rich(x) => buys(x, i)": True,
    "-1: buys(x, i)": True,
    '0.5: buys("x1", i)': False,
    "0.5: rich(x) => buys(x, i)": False,
    "0.5: likes(x, i) => buys(x, j)": False,
    "0.5: exists i: buys(x, i)": False,
    "0.5: buys(x, i) and buys(x, j) and likes(x, i) where i != j": False,
}


@pytest.mark.parametrize("statement", LISTING)
def test_exceptions_are_listed_where_all_others_hear_the_same(statement: str) -> None:
    """Whether they are, is told by rows; that they may be, by messages to the whole table."""
    rows = [(f"x{i}", f"i{(7 * i + j) % 90}") for i in range(80) for j in range(2)]
    text = "type p\ntype q\npredicate likes(p, q): observed\npredicate buys(p, q)\npredicate rich(p)\n"
    program = hb.Model(hb.parse(text + statement + "\n0.1: rich(x)\n"), {"likes": rows}).program
    evidence = Evidence(program)
    products = products_of(program, program.templates, evidence)
    found = exceptions("buys", products, evidence, KnownRelations(evidence, 2**30))
    assert (found is not None) == LISTING[statement]
    if found is None:
        return
    whole = prepared(program, listing=False)
    marginals = {n: torch.full(t.shape, 0.3, dtype=torch.float64) for n, t in whole.unknowns.tables.items()}
    _, said = whole.messages(marginals, whole.weights)
    others = np.setdiff1d(np.arange(said["buys"].numel()), found)
    assert len(set(said["buys"].reshape(-1)[torch.from_numpy(others)].tolist())) == 1


def test_quantified_blocks_are_over_what_they_name() -> None:
    evidence = evidence_of("1: s(x) and s(z) and (exists y: f(x, y) and k(y))")
    (template,) = [t for t in evidence.program.templates if t.conjunction.blocks][:1]
    sizes = sizes_of(template.conjunction, evidence)
    (block,) = quantified(template.conjunction, sizes, evidence.program, evidence)
    assert len(block.axes) == 1 and block.shape == (3,)
    ((piece,),) = block.groups
    assert len(piece.axes) == 2 and not piece.distinct
    assert math.prod(piece.sizes.values()) == 9
    assert {x.predicate for x in literals_of(template.conjunction)} == {"s", "f", "k"}
