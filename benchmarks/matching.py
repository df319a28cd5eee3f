"""Tables matched and decided: beside SciPy's assignment, SCIP, logistic regression, Splink and dedupe.

    python -m benchmarks matching

The tables are made up: two shops list the same articles, the second with typos, words left out and prices of
its own.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import pyscipopt
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LogisticRegression

import herbrand as hb
from benchmarks.measurement import Measurement, race, table
from benchmarks.peers import run_peer
from herbrand.errors import ContradictionError
from herbrand.language.theory import Theory
from herbrand.reports.metrics import average_precision

SIDES = (50, 100, 200)
PROGRAMS = 50
ROWS = 100_000
ARTICLES, OF_A_BRAND = 500, 5
SYLLABLES = ("ba", "co", "di", "fe", "gu", "ha", "jo", "ki", "lu", "me", "no", "pa", "ra", "si", "to", "vu")

ONE_TO_ONE = """
predicate m(a, b)
hard: m(x, y) and m(x, z) => y = z
hard: m(x, z) and m(y, z) => x = y
"""

SAME = """
type a = number
type b = number
type pair = number
type text
type price = number
type share = 0..100
predicate ours(a, brand, text, price): observed
predicate theirs(b, brand, text, price): observed
predicate pair(pair, a, b)
predicate spelled(pair, share)
predicate worded(pair, share)
predicate apart(pair, share)
predicate same(pair)
pair(c, x, y) :- ours(x, k, _, _), theirs(y, k, _, _), c = x * {size} + y
spelled(c, s) :- pair(c, x, y), ours(x, _, n, _), theirs(y, _, m, _), s = jaro_winkler(n, m) * 100 // 1
worded(c, s) :- pair(c, x, y), ours(x, _, n, _), theirs(y, _, m, _), s = jaccard(n, m) * 100 // 1
apart(c, s) :- pair(c, x, y), ours(x, _, _, p), theirs(y, _, _, q), s = min(100, abs(p - q) * 100 // p)
{bias}: same(c)
{spelled} * s: spelled(c, s) and same(c)
{worded} * s: worded(c, s) and same(c)
{apart} * s: apart(c, s) and same(c)
"""
"""A pair that shares a brand is a number, of its two articles: so only these pairs have atoms."""
BY_HAND = {"bias": -18.0, "spelled": 0.18, "worded": 0.05, "apart": -0.05}
TO_LEARN = dict.fromkeys(BY_HAND, "?")


def report() -> str:
    """The page's tables."""
    return "\n\n".join(
        [
            "The best one-to-one matching of n by n with random scores (`--map`, proven best), compared "
            "with SciPy's assignment of the same scores, which only reads a matrix:",
            table(map(assignment, SIDES)),
            f"{PROGRAMS} random programs choose k of n items with worths, rewards of pairs and forbidden "
            f"pairs. They were solved by `--map` and by SCIP from a hand-written model: {programs()} have "
            "the same best log-weight to 1e-6.",
            f"Two tables of {ROWS:,} rows each, from Arrow tables to a probability for each pair that "
            "shares a block, in a separate process:",
            large(),
            f"Two catalogues of {ARTICLES} articles are matched. Weights are learned on the pairs of half "
            "of our articles, and measured on the pairs of the others. Logistic regression has the same "
            "features of the same pairs. dedupe learns from the same labels with its own features; Splink "
            "compares names and prices by levels and has no labels. Processor seconds include the features, "
            "except for the regression, where they are those of the fit alone.",
            learned(),
        ]
    )


# Matchings


def assignment(side: int) -> Measurement:
    """Ours against SciPy's, which find the same value."""
    scores = np.random.default_rng(side).uniform(0.02, 0.98, (side, side))
    rows = [(f"a{i}", f"b{j}", p) for (i, j), p in np.ndenumerate(scores)]
    facts = {"m": pd.DataFrame(rows, columns=["a", "b", "probability"])}
    theory = hb.parse(ONE_TO_ONE)
    worth = np.maximum(np.log(scores / (1 - scores)), 0)

    def ours() -> float:
        found = hb.Model(theory, facts).infer(map=True)
        assert found.guarantee.value == "exact"
        assert found.log_weight is not None
        return found.log_weight

    def theirs() -> float:
        return float(worth[linear_sum_assignment(-worth)].sum())

    assert abs(ours() - theirs()) < 1e-6
    return race("best matching", f"{side} × {side}", ours, "SciPy's assignment", theirs, repeats=3)


# Integer programs


def programs() -> int:
    """How many random programs have the same optimum as by SCIP."""
    return sum(
        abs(by_rules(*drawn) - by_scip(*drawn)) < 1e-6 for drawn in map(drawn_program, range(PROGRAMS))
    )


Pair = tuple[int, int]
Pairs = dict[Pair, float]


def drawn_program(seed: int) -> tuple[list[float], int, Pairs, list[tuple[int, int]]]:
    """Worths of items, how many are chosen, rewards of pairs, and pairs that exclude each other."""
    draw = random.Random(seed)
    count = draw.randint(6, 14)
    pairs = list(combinations(range(count), 2))
    rewards = {pair: round(draw.uniform(-2, 2), 2) for pair in draw.sample(pairs, count)}
    return (
        [round(draw.uniform(-1, 2), 2) for _ in range(count)],
        draw.randint(2, count // 2),
        rewards,
        draw.sample(pairs, draw.randint(0, count // 2)),
    )


def by_rules(worths: Sequence[float], chosen: int, rewards: Pairs, excluded: Sequence[Pair]) -> float:
    """The log-weight of the best world; infinitely low where there is none."""
    theory = hb.parse(
        f"""
        type item = 0..{len(worths) - 1}
        type worth = number
        predicate worth(item, worth): observed
        predicate reward(item, item, worth): observed
        predicate excluded(item, item): observed
        predicate chosen(item)
        1 * w: worth(x, w) and chosen(x)
        1 * w: reward(x, y, w) and chosen(x) and chosen(y)
        hard: excluded(x, y) => not (chosen(x) and chosen(y))
        hard: count(x: chosen(x)) = {chosen}
        """
    )
    facts = {
        "worth": list(enumerate(worths)),
        "reward": [(*pair, worth) for pair, worth in rewards.items()],
        "excluded": list(excluded),
    }
    try:
        best = hb.Model(theory, facts).infer(map=True, engine="integer").log_weight
    except ContradictionError:
        return -1e9
    assert best is not None
    return best


def by_scip(worths: Sequence[float], chosen: int, rewards: Pairs, excluded: Sequence[Pair]) -> float:
    """The same, each pair's reward by a variable of its own."""
    model = pyscipopt.Model()
    model.hideOutput()
    items = [model.addVar(vtype="B", obj=worth) for worth in worths]
    for (one, other), worth in rewards.items():
        both = model.addVar(vtype="B", obj=worth)
        model.addCons(both <= items[one])
        model.addCons(both <= items[other])
        model.addCons(both >= items[one] + items[other] - 1)
    for one, other in excluded:
        model.addCons(items[one] + items[other] <= 1)
    model.addCons(pyscipopt.quicksum(items) == chosen)
    model.setMaximize()
    model.optimize()
    return model.getObjVal() if model.getStatus() == "optimal" else -1e9


# Tables


def catalogues(count: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Our articles and theirs, of which the same number stands for the same article."""
    draw = random.Random(seed)
    known = ["".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))) for _ in range(count // 10)]
    ours, theirs = [], []
    for number in range(count):
        name = draw.sample(known, 3)
        price = round(draw.uniform(5, 500), 2)
        brand, again = f"k{number // OF_A_BRAND}", round(price * draw.uniform(0.85, 1.15), 2)
        ours.append((number, brand, " ".join(name), price))
        theirs.append((number, brand, " ".join(_misspelt(name, draw)), again))
    draw.shuffle(theirs)
    columns = ["brand", "text", "number"]
    return pd.DataFrame(ours, columns=["a", *columns]), pd.DataFrame(theirs, columns=["b", *columns])


def _misspelt(name: Sequence[str], draw: random.Random) -> Iterator[str]:
    """The words with a letter left out here and there, the last sometimes missing."""
    for place, word in enumerate(name):
        if place == len(name) - 1 and draw.random() < 0.3:
            return
        at = draw.randrange(2, len(word))
        yield word[:at] + word[at + 1 :] if draw.random() < 0.4 else word


def large() -> str:
    """Seconds and memory of the large tables, measured in a child process."""
    command = [sys.executable, "-m", "benchmarks.matching"]
    pairs, seconds, processor, peak = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.split()
    return "\n".join(
        [
            "| rows | pairs that share a block | seconds | processor seconds | peak memory, MB |",
            "| --- | ---: | ---: | ---: | ---: |",
            f"| {ROWS:,} × {ROWS:,} | {int(pairs):,} | {seconds} | {processor} | {peak} |",
        ]
    )


def _large() -> None:
    ours, theirs = catalogues(ROWS, 0)
    began, processor = time.perf_counter(), time.process_time()
    found = hb.Model(hb.parse(SAME.format(size=ROWS, **BY_HAND)), {"ours": ours, "theirs": theirs}).infer(
        "same"
    )
    pairs = found.to_arrow().num_rows
    took, processor = time.perf_counter() - began, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(pairs, f"{took:.1f} {processor:.1f} {peak}")


# Learned


def learned() -> str:
    """Average precision, F1 and processor seconds of all."""
    ours, theirs = catalogues(ARTICLES, 1)
    half = ARTICLES // 2
    taught, asked = ({"ours": ours[part], "theirs": theirs} for part in (slice(half), slice(half, None)))
    right = {"same": [(x * ARTICLES + x,) for x in range(half)]}

    began = time.process_time()
    theory = hb.parse(SAME.format(size=ARTICLES, **TO_LEARN))
    taught_by = hb.Model(theory, taught | right).learn(target="same")
    marginals = hb.Model(taught_by.theory, asked).infer("same")
    found = {row.arguments[0]: row.probability for row in marginals.rows()}
    took = time.process_time() - began

    rules = hb.parse(SAME.format(size=ARTICLES, **TO_LEARN))
    pairs, features = zip(*(_features(rules, part) for part in (taught, asked)), strict=True)
    labels = [np.array([pair // ARTICLES == pair % ARTICLES for pair in part]) for part in pairs]
    began = time.process_time()
    regression = LogisticRegression().fit(features[0], labels[0])
    chances = regression.predict_proba(features[1])[:, 1]
    fitted = time.process_time() - began
    lines = [
        f"Trained on {len(pairs[0]):,} pairs, measured on {len(pairs[1]):,}, of which {labels[1].sum():,} "
        "are the same.",
        "",
        "| weights | average precision | F1 at one half | processor seconds |",
        "| --- | ---: | ---: | ---: |",
    ]
    asked_pairs = [divmod(pair, ARTICLES) for pair in pairs[1]]
    taught_pairs = [divmod(pair, ARTICLES) for pair in pairs[0]]
    measured = [
        (
            f"by {taught_by.method}, and {marginals.engine} `infer`",
            np.array([found[pair] for pair in pairs[1]]),
            took,
        ),
        ("scikit-learn's logistic regression", chances, fitted),
        *_by_peers(ours, theirs, taught_pairs, asked_pairs),
    ]
    for name, scores, seconds in measured:
        if isinstance(scores, str):
            lines.append(f"| {name} | {scores} | | |")
            continue
        precision, f1 = average_precision(labels[1], scores), _f1(labels[1], scores > 0.5)
        lines.append(f"| {name} | {precision:.3f} | {f1:.3f} | {seconds:.2f} |")
    return "\n".join(lines)


def _by_peers(
    ours: pd.DataFrame, theirs: pd.DataFrame, taught: Sequence[Pair], asked: Sequence[Pair]
) -> Iterator[tuple[str, np.ndarray | str, float]]:
    """What tools for the linking of records say of the pairs that are asked, or why they say nothing."""
    columns = [
        [frame[name].tolist() for name in (number, "brand", "text", "number")]
        for frame, number in ((ours, "a"), (theirs, "b"))
    ]
    task = {
        **dict(zip(("ours", "theirs"), columns, strict=True)),
        "match": [pair for pair in taught if pair[0] == pair[1]],
        "distinct": [pair for pair in taught if pair[0] != pair[1]],
        "asked": asked,
        "prior": 1 / ARTICLES,
    }
    for package in ("splink", "dedupe"):
        told = run_peer(package, f"{package}_link", task)
        if isinstance(told, str):
            yield package, told, 0.0
            continue
        chances = {(one, other): chance for one, other, chance in told["pairs"]}
        yield package, np.array([chances.get(pair, 0.0) for pair in asked]), told["seconds"]


def _features(rules: Theory, tables: dict[str, pd.DataFrame]) -> tuple[list[int], np.ndarray]:
    """The pairs, and their three shares."""
    model = hb.Model(rules, tables, ignore="weights")
    columns = [dict(zip(*_two(model, name), strict=True)) for name in ("spelled", "worded", "apart")]
    pairs = sorted(columns[0])
    return pairs, np.array([[column[pair] / 100 for column in columns] for pair in pairs])


def _two(model: hb.Model, name: str) -> tuple[list[int], list[int]]:
    found = model.query(f"{name}(c, s)").to_arrow()
    return found["c"].to_pylist(), found["s"].to_pylist()


def _f1(labels: np.ndarray, chosen: np.ndarray) -> float:
    return 2 * float((labels & chosen).sum()) / float(labels.sum() + chosen.sum())


if __name__ == "__main__":
    _large()
