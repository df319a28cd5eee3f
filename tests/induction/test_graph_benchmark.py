"""The made graph of the benchmark of knowledge graphs, beside plain loops, and what is mined of it."""

import numpy as np

import herbrand as hb
from benchmarks.induction_graphs import made, split


def test_the_composed_relation_is_a_part_of_the_join():
    triples = made(np.random.default_rng(1), triples=550, entities=40)
    joined = {(x, y) for x, z in triples["r0"] for other, y in triples["r1"] if z == other and x != y}
    composed = triples["composed"]
    assert set(composed) < joined
    assert len(composed) == len(set(composed))
    assert 0.6 < len(composed) / len(joined) < 0.95


def test_a_split_keeps_or_leaves_out_each_triple():
    triples = made(np.random.default_rng(2), triples=1_100, entities=100)
    kept, left_out = split(triples, np.random.default_rng(0))
    for name, rows in triples.items():
        assert sorted(kept[name] + left_out[name]) == sorted(rows)
    assert 0 < sum(map(len, left_out.values())) < 0.2 * sum(map(len, triples.values()))


def test_the_planted_rule_has_the_largest_weight():
    triples = made(np.random.default_rng(3), triples=1_100, entities=100)
    found = hb.mine(facts=triples, length=2)
    assert found.rules[0].text(found.graph).startswith("composed(x, y) :- r0(x, z), r1(z, y)")
