"""Queries of infer and bound about what depends on weights of proofs, which they do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, UnsupportedError

DECLARED = """
predicate edge(node, node): observed
predicate road(node, node): observed
predicate path(node, node)
predicate near(node, node)
predicate open_one(node)
road("a", "b")
edge("a", "c")
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y)
near(x, y) :- road(x, y)
"""
WEIGHTED = f'{DECLARED}edge("a", "b") @ 0.5\nedge("b", "c") @ 0.5\n'
BY_RULE = DECLARED + "path(x, y) :- road(x, y) @ 0.5"
CHOSEN = """
predicate edge(node, node): observed
predicate path(node, node)
predicate near(node, node)
edge("a", "b") @ 0.5
0.2 :: path(x, y) :- edge(x, y)
"""
ASKED = ('path("a", "c")', 'path("a", x)', "path", 'not path("a", "c")', 'open_one("a") and path("a", "c")')


@pytest.mark.parametrize("query", ASKED)
@pytest.mark.parametrize(
    ("text", "why"), [(WEIGHTED, "facts of edge have"), (BY_RULE, "this rule has a weight: p")]
)
def test_what_rests_on_weights_is_refused(query: str, text: str, why: str) -> None:
    message = f"path depends on weights of proofs, which infer does not count: {why}"
    with pytest.raises(UnsupportedError, match=f"{message}(.|\n)*--algebra probability"):
        hb.Model(hb.parse(text)).infer(query)


def test_what_counts_what_has_weights_rests_on_them() -> None:
    model = hb.Model(hb.parse(WEIGHTED + "open_one(x) :- road(x, _), count(y: path(x, y)) >= 1"))
    with pytest.raises(UnsupportedError, match="open_one depends on weights of proofs"):
        model.infer("open_one")


@pytest.mark.parametrize("on", [False, True])
def test_in_memory_and_on_a_database(tmp_path: Path, on: bool) -> None:
    model = hb.Model(hb.parse(WEIGHTED), on=f"duckdb:{tmp_path}/w.duckdb" if on else None)
    for query in ("path", 'path("a", "c")', 'edge("a", "b")'):
        message = "depends on weights of proofs, which infer does not count"
        with pytest.raises(UnsupportedError, match=message):
            model.infer(query)
    for query in ('P(path("a", "c"))', 'P(open_one("a") | path("a", "c"))'):
        message = "depends on weights of proofs, which bound does not count"
        with pytest.raises(UnsupportedError, match=message):
            model.bound(query)
    if not on:
        assert model.infer("near(x, y)")['near("a", "b")'] == 1.0


def test_an_interval_that_rests_on_weights_is_not_explained() -> None:
    model = hb.Model(hb.parse(WEIGHTED))
    for query in ('P(path("a", "c"))', 'P(open_one("a") | path("a", "c"))'):
        message = "depends on weights of proofs, which bound does not count"
        with pytest.raises(UnsupportedError, match=message):
            model.explain(query)


def test_weights_of_1_are_none() -> None:
    model = hb.Model(hb.parse(DECLARED + 'edge("c", "b") @ 1\npath(x, y) :- road(x, y) @ ?'))
    assert model.infer('path("a", "b")')['path("a", "b")'] == 1.0


def test_a_proof_with_a_weight_contradicts_nothing() -> None:
    """It may be false that a weighted edge is there; without weights nothing can give way."""
    with pytest.raises(UnsupportedError, match="path depends on weights of proofs, which this command"):
        hb.Model(hb.parse(WEIGHTED + 'not path("b", "c")')).infer("open_one(x)")
    with pytest.raises(ContradictionError):
        hb.Model(hb.parse(DECLARED + 'not path("a", "c")')).infer("open_one(x)")


def test_beside_choices_no_other_algebra_is_advised() -> None:
    """A theory with choices has one algebra, so that ``query --algebra probability`` refused it again."""
    model = hb.Model(hb.parse(f"{WEIGHTED}predicate rain\n0.2 :: rain"))
    for ask in (model.infer, model.query):
        with pytest.raises(
            UnsupportedError, match=r"this command does not count: facts of edge have"
        ) as error:
            ask('path("a", x)')
        assert str(error.value).endswith("state by choices, such as 0.3 :: p(x), what has a weight")


@pytest.mark.parametrize("more", ["", "near(x, y) :- path(x, y)\n"])
def test_choices_rest_on_weights_as_rules_do(more: str) -> None:
    """Below a choice alone, with no rule on the way, the weight went unseen: 0.2 where it is 0.2 of 0.5."""
    theory = hb.parse(f"{CHOSEN}{more}")
    model, layer = hb.Model(theory), hb.nn.QueryLayer(hb.Model(theory), "path(x, y)", algebra="probability")
    assert layer(["a"])[0].tolist() == pytest.approx([0, 0.1])
    message = (
        "(near|path) depends on weights of proofs, which this command does not count: facts of edge have"
    )
    for ask in (
        lambda: model.infer("path(x, y)"),
        lambda: model.infer(map=True),
        lambda: model.query("path(x, y)"),
        lambda: model.sample(10),
        lambda: model.explain('path("a", "b")'),
    ):
        with pytest.raises(UnsupportedError, match=message):
            ask()
