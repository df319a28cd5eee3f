"""Lowering and grounding: formulas a second, and rows a second beside the same join in DuckDB.

python -m benchmarks lowering
"""

from __future__ import annotations

import random

import duckdb
import numpy as np

import herbrand as hb
from benchmarks.measurement import Measurement, race
from herbrand.budget import Budget
from herbrand.program.ground import ground
from herbrand.program.lower import lower

MEMORY = 8e9


def measure() -> list[Measurement]:
    return [_lowering(2_000), _grounding(100_000, 1_000_000)]


def _lowering(formulas: int) -> Measurement:
    """Random formulas to templates, beside parsing the same text."""
    chosen = random.Random(1)
    forms = [
        "p{0}(x) and f(x, y) => p{1}(y)",
        "p{0}(x) or not p{1}(x) or f(x, y)",
        "p{0}(x) <=> p{1}(x) xor p{2}(x)",
        "exists y: f(x, y) and p{0}(y)",
        "f(x, y) and f(y, z) => f(x, z)",
    ]
    text = "\n".join(
        f"{chosen.random():.3f}: {chosen.choice(forms).format(*(chosen.randrange(20) for _ in range(3)))}"
        for _ in range(formulas)
    )
    theory = hb.parse(f'{text}\np0("a")')
    program = hb.Model(theory).program
    return race(
        "lower formulas to templates",
        f"{formulas:,} formulas",
        lambda: lower(theory, program.signature, program.facts),
        "parsing the same text",
        lambda: hb.parse(text),
    )


def _grounding(people: int, links: int) -> Measurement:
    """The smokers rule over a random graph, beside the join that lists its groundings."""
    rng = np.random.default_rng(1)
    pairs = np.unique(rng.integers(0, people, (links, 2)), axis=0)
    theory = hb.parse(
        f"type person = 0..{people - 1}\n"
        "predicate friends(person, person): observed\npredicate smokes(person)\n"
        "1.5: smokes(x) and friends(x, y) => smokes(y)"
    )
    connection = duckdb.connect()
    connection.execute("create table friends as select unnest($1) as a, unnest($2) as b", [*pairs.T.tolist()])
    connection.execute(f"create table person as select range as x from range({people})")
    program = hb.Model(theory, {"friends": connection.table("friends").to_arrow_table()}).program
    join = (
        "create or replace temp table grounded as select f.a, f.b from friends f "
        "join person x on x.x = f.a join person y on y.x = f.b where f.a <> f.b"
    )
    return race(
        "ground the smokers rule",
        f"{people:,} people, {len(pairs):,} links",
        lambda: ground(program, Budget(int(MEMORY))),
        "DuckDB's join of the same rows",
        lambda: connection.execute(join),
    )
