"""Queries by rules, beside the same sums written by hand (``query_limits``) and DuckDB.

    python -m benchmarks query        (make bench-query)

``HERBRAND_BENCH_FACTS=1000000,10000000`` says how many facts the random relations have (default: a million).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

import herbrand as hb
from benchmarks import query_limits as limits
from benchmarks.measurement import Measurement, race, seconds, table
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import Request
from herbrand.facts.load import load_facts
from herbrand.facts.source import fact_sources

WEIGHT = 0.2
SIZES = tuple(map(int, os.environ.get("HERBRAND_BENCH_FACTS", "1000000").split(",")))
PATHS = """\
type node = number
predicate edge(node, node): observed
predicate path(node, node)
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y)
"""
RANDOM = """\
type node = number
predicate q(node, node): observed
predicate r(node, node): observed
predicate s(node, node): observed
predicate three(node, node)
predicate beside(node, node)
three(x, y) :- q(x, z), r(z, w), s(w, y)
beside(x, y) :- q(x, w), r(x, y), s(w, y)
"""
LINKED = """\
type node = number
predicate q(node, node): observed
predicate linked(node, node)
linked(x, y) :- q(x, y)
"""
SMOKERS = """\
stress(x) :- person(x) @ 0.3
influences(x, y) :- person(x), person(y), x != y @ 0.2
smokes(x) :- stress(x)
smokes(x) :- friend(x, y), influences(y, x), smokes(y)
"""


def report() -> str:
    return f"{table(measure())}\n\n{_beside_others()}"


def measure() -> list[Measurement]:
    return [*_grids(), *(row for facts in SIZES for row in _large(facts))]


# Grids


def grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Each cell is linked to the cells around it and to itself."""
    cells = np.arange(size * size)
    rows, columns = np.divmod(cells, size)
    ends = []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            inside = (
                (rows + down >= 0) & (rows + down < size) & (columns + right >= 0) & (columns + right < size)
            )
            ends.append((cells[inside], (cells + down * size + right)[inside]))
    starts, stops = (np.concatenate(part) for part in zip(*ends, strict=True))
    return starts, stops


def _grids() -> Iterator[Measurement]:
    for size, depth, batch in ((16, 10, 256), (32, 10, 1024), (32, 32, 1024), (64, 10, 1024), (64, 64, 1024)):
        yield from _grid(size, depth, batch)


def _grid(size: int, depth: int, batch: int) -> Iterator[Measurement]:
    starts, stops = grid(size)
    weights = np.full(len(starts), WEIGHT)
    matrix = sp.csr_matrix((weights, (starts, stops)), shape=(size * size,) * 2)
    transposed = matrix.T.tocsr()
    proof = _proof(PATHS, {"edge": pa.table({"x": starts, "y": stops, "weight": weights})})
    goal, request = proof.read("path(0, y)"), Request(depth=depth)
    rows = [(row,) for row in range(batch)]
    one = proof.found(goal.shape, [(0,)], request).table
    by_hand = limits.closure_of_one(transposed, 0, depth)
    assert np.allclose(one.values, by_hand[one.columns[1]]) and len(one) == (by_hand > 0).sum()
    many = proof.found(goal.shape, rows, request).table
    checked = limits.closure_dense(transposed, batch, depth)
    assert np.allclose(many.values, checked[many.columns[1], many.columns[0]])
    shallow = depth <= 10 and size >= 64
    limit = limits.closure_sparse if shallow else limits.closure_dense
    operand = matrix if shallow else transposed
    yield _one_by_one(
        f"grid of {size} × {size}, one start, depth {depth}",
        f"{len(starts):,} edges",
        lambda row: proof.found(goal.shape, [(row,)], request),
        "scipy, dense vector",
        lambda row: limits.closure_of_one(transposed, row, depth),
        range(20),
    )
    yield race(
        f"grid of {size} × {size}, {batch:,} starts, depth {depth}",
        f"{len(many):,} answers",
        lambda: proof.found(goal.shape, rows, request),
        "scipy, sparse × sparse" if shallow else "scipy, sparse × dense",
        lambda: limit(operand, batch, depth),
        repeats=3,
    )


def _one_by_one(
    what: str,
    size: str,
    ours: Callable[[int], object],
    limit_name: str,
    limit: Callable[[int], object],
    constants: Iterable[int],
) -> Measurement:
    """The mean of single questions about constants in turn: one alone would measure a cold cache."""
    chosen = list(constants)
    row = race(
        what, size, lambda: [ours(one) for one in chosen], limit_name, lambda: [limit(one) for one in chosen]
    )
    return replace(row, ours=row.ours / len(chosen), limit=row.limit / len(chosen))


def _proof(rules: str, facts: object) -> Proof:
    theory = hb.parse(rules)
    signature = hb.Model(theory).signature
    sources = fact_sources(facts)
    return Proof.of(theory.rules, *load_facts(theory.facts, signature, sources))


# Random relations


def _large(count: int) -> Iterator[Measurement]:
    constants = count // 5 if count <= 2_000_000 else count // 10
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for name in "qrs":
            tails = (constants * rng.random(count) ** 2).astype(np.int64)
            rows = pa.table({"a": rng.integers(0, constants, count), "b": tails})
            pyarrow.parquet.write_table(rows, Path(folder) / f"{name}.parquet")
        yield race(
            "loading one relation",
            f"{count:,} facts",
            lambda: _proof(LINKED, [f"{folder}/q.parquet"]),
            "DuckDB, distinct rows",
            lambda: _distinct_rows(folder, "q"),
            repeats=3,
        )
        yield race(
            "loading three relations",
            f"3 × {count:,} facts",
            lambda: _proof(RANDOM, [folder]),
            "DuckDB, distinct rows",
            lambda: _distinct_rows(folder, "qrs"),
            repeats=3,
        )
        proof = _proof(RANDOM, [folder])
    size = f"3 × {count:,} facts"
    yield from _hops(proof, rng, size)
    yield _beside(proof, size)


def _distinct_rows(folder: str, names: str) -> None:
    for name in names:
        duckdb.execute(f"SELECT count(DISTINCT (a, b)) FROM '{folder}/{name}.parquet'").fetchall()


def _hops(proof: Proof, rng: np.random.Generator, told: str) -> Iterator[Measurement]:
    size = proof.program.sizes["node"]
    indexes = [proof.program.relation(name).index((0,)) for name in "qrs"]
    pointers = tuple(index.pointers for index in indexes)
    columns = tuple(index.column(1) for index in indexes)
    sums, found, other = np.zeros(size), np.empty(size, np.int64), np.empty(size, np.int64)
    goal, request = proof.read(f"three({proof.program.facts.domains['node'].value(5)}, y)"), Request()
    assert len(proof.found(goal.shape, [(5,)], request).table) == limits.chain_of_one(
        pointers, columns, 5, sums, found, other
    )
    yield _one_by_one(
        "three hops from one constant",
        told,
        lambda start: proof.found(goal.shape, [(start,)], request),
        "numba push",
        lambda start: limits.chain_of_one(pointers, columns, start, sums, found, other),
        rng.integers(0, size, 100).tolist(),
    )
    starts = rng.integers(0, size, 256)
    matrices = [
        sp.csr_matrix((np.ones(len(c)), c, p), shape=(size, size))
        for p, c in zip(pointers, columns, strict=True)
    ]
    rows = [(start,) for start in starts.tolist()]
    assert len(proof.found(goal.shape, rows, request).table) == limits.chain_of_many(matrices, starts).nnz
    yield race(
        "three hops from 256 constants",
        told,
        lambda: proof.found(goal.shape, rows, request),
        "scipy, sparse × sparse",
        lambda: limits.chain_of_many(matrices, starts),
    )


def _beside(proof: Proof, told: str) -> Measurement:
    """A cyclic body, for all pairs."""
    goal, request = proof.read("beside(x, y)"), Request()
    q, r, s = (proof.program.relation(name).index((0,)) for name in "qrs")
    arrays = (q.pointers, q.column(1), s.pointers, s.column(1), r.pointers, r.column(1))
    width = proof.program.sizes["node"]
    answers = proof.found(goal.shape, [()], request).table
    assert answers.values.sum() == limits.masked_product(*arrays, width).sum()
    return race(
        "q(x, w), r(x, y), s(w, y) for all x and y",
        told,
        lambda: proof.found(goal.shape, [()], request),
        "numba masked product",
        lambda: limits.masked_product(*arrays, width),
        repeats=3,
    )


# Other systems, whose semantics differ


def _beside_others() -> str:
    rows = [*_reachability(16), *_reachability(32)]
    for people in (8, 20):
        rows += _smokers(people)
    rows += [*_grid_by_name(), *_planning()]
    lines = ["| what | system | seconds | what it computes |", "| --- | --- | ---: | --- |"]
    lines += [f"| {what} | {system} | {took} | {meaning} |" for what, system, took, meaning in rows]
    return "\n".join(lines)


Told = Iterator[tuple[str, str, str, str]]


def _reachability(size: int) -> Told:
    """All pairs that are linked by a path."""
    what = f"grid of {size} × {size}, all pairs"
    starts, stops = grid(size)
    proof = _proof(PATHS, {"edge": pa.table({"x": starts, "y": stops})})
    goal, request = proof.read("path(x, y)"), Request(algebra="boolean", depth="fixpoint")
    matrix = sp.csr_matrix((np.ones(len(starts)), (starts, stops)), shape=(size * size,) * 2)
    assert len(proof.found(goal.shape, [()], request).table) == limits.reachable(matrix) == size**4
    yield what, "herbrand", _took(lambda: proof.found(goal.shape, [()], request)), "fixpoint, boolean"
    yield what, "scipy by hand", _took(lambda: limits.reachable(matrix)), "rounds of products"
    connection = duckdb.connect()
    connection.register("edge", pa.table({"a": starts, "b": stops}))
    yield what, "DuckDB", _took(lambda: connection.execute(limits.REACHABLE).fetchall()), "recursive SQL"


def _took(work: object, repeats: int = 3) -> str:
    work()  # type: ignore[operator]
    return f"{median(seconds(work) for _ in range(repeats)):.3f}"  # type: ignore[arg-type]


def _smokers(people: int) -> Told:
    """Sums over proofs, and exact probabilities for few people."""
    friends = _friendships(people)
    facts = {"friend": friends, "person": [(name,) for name in sorted({p for pair in friends for p in pair})]}
    model = hb.Model(hb.parse(SMOKERS), facts)
    what = f"smokers, {people} people, all persons"
    yield what, "herbrand", _took(lambda: model.query("smokes(x)")), "sum over proofs to depth 10"
    if people <= 8:
        exact = _took(lambda: model.query("smokes(x)", algebra="probability", depth="fixpoint"), 1)
        yield what, "herbrand", exact, "exact probability"


def _grid_by_name() -> Told:
    starts, stops = grid(16)
    edges = pa.table({"x": starts, "y": stops, "weight": np.full(len(starts), WEIGHT)})
    model = hb.Model(hb.parse(PATHS), {"edge": edges})
    took = _took(lambda: model.query("path(0, y)"))
    yield "grid of 16 × 16, one start, depth 10", "herbrand", took, "sum over proofs"


def _planning() -> Told:
    """Reading the goal and planning it and all that it rests on, before the first question."""
    starts, stops = grid(64)
    program = _proof(PATHS, {"edge": pa.table({"x": starts, "y": stops})}).program

    def plan() -> None:
        proof = Proof(program)
        goal = proof.read("path(0, y)")
        proof.plans.plan(proof.plans.with_goal(goal.shape.clause), goal.shape.mode)
        proof.plans.plan("path", (0,))

    yield (
        "grid of 64 × 64, one start",
        "herbrand",
        f"{median(seconds(plan) for _ in range(9)):.4f}",
        "the plan",
    )


def _friendships(people: int) -> list[tuple[str, str]]:
    """Each newcomer befriends one or two of those before, the popular ones more often; it is mutual."""
    rng = np.random.default_rng(people)
    friends, ends = [("p0", "p1"), ("p1", "p0")], [0, 1]
    for newcomer in range(2, people):
        for other in set(rng.choice(ends, 2).tolist()):
            friends += [(f"p{newcomer}", f"p{other}"), (f"p{other}", f"p{newcomer}")]
            ends += [newcomer, other]
    return friends
