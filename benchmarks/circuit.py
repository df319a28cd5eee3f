"""Circuits beside ProbLog in one process, from a program's text to its numbers, and theories of determinism.

    python -m benchmarks circuit      (make bench-circuit)

ProbLog is no dependency: where it is not installed only our times are told. ``HERBRAND_PROBLOG`` names a
folder of ProbLog's own programs; these are raced first, while the process has run nothing large, which slows
small ones of both systems. They run in turn, so that a busy machine disturbs them alike. A run is stopped
after half a minute of the processor.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import herbrand as hb
from benchmarks.measurement import in_turn, race
from herbrand.language.dialects import read_theory_text

LIMIT, SLOW, REPEATS = 30, 2.0, 15
PROGRAMS = Path(os.environ.get("HERBRAND_PROBLOG", "../shared/cases/problog/programs"))
PATHS = "path(X, Y) :- edge(X, Y).\npath(X, Y) :- edge(X, Z), path(Z, Y).\n"
Answers = dict[str, float]


def two_hops(count: int) -> str:
    text = "".join(f"0.3::edge(s, m{i}). 0.4::edge(m{i}, t).\n" for i in range(count))
    return f"{text}hops(X, Y) :- edge(X, Z), edge(Z, Y).\nquery(hops(s, t))."


def chain(count: int) -> str:
    text = "".join(f"0.99::edge({i}, {i + 1}).\n" for i in range(count))
    return f"{text}{PATHS}query(path(0, {count}))."


def hidden_chain(steps: int) -> str:
    """Two states, of which every third step shows something."""
    seen = "".join(f"evidence(o({step}, {'xy'[step % 2]})). " for step in range(0, steps + 1, 3))
    return f"""0.5::s(0, a); 0.5::s(0, b).
0.7::s(T, a); 0.3::s(T, b) :- T > 0, U is T - 1, s(U, a).
0.4::s(T, a); 0.6::s(T, b) :- T > 0, U is T - 1, s(U, b).
0.9::o(T, x); 0.1::o(T, y) :- s(T, a).
0.2::o(T, x); 0.8::o(T, y) :- s(T, b).
{seen}query(s({steps}, a))."""


def ladder(count: int) -> str:
    """Two rails and a rung at each step, both ways."""
    pairs = [(f"a{i}", f"a{i + 1}") for i in range(count)] + [(f"b{i}", f"b{i + 1}") for i in range(count)]
    pairs += [(f"a{i}", f"b{i}") for i in range(count + 1)] + [(f"b{i}", f"a{i}") for i in range(count + 1)]
    text = "".join(f"0.8::edge({a}, {b}).\n" for a, b in pairs)
    return f"{text}{PATHS}query(path(a0, b{count}))."


def grid(side: int) -> str:
    """Edges to the right and down."""
    cells = [(i, j) for i in range(side) for j in range(side)]
    pairs = [(f"c{i}_{j}", f"c{i}_{j + 1}") for i, j in cells if j + 1 < side]
    pairs += [(f"c{i}_{j}", f"c{i + 1}_{j}") for i, j in cells if i + 1 < side]
    text = "".join(f"0.8::edge({a}, {b}).\n" for a, b in pairs)
    return f"{text}{PATHS}query(path(c0_0, c{side - 1}_{side - 1}))."


def circles(count: int) -> str:
    """Two edges from each node, so that nearly every edge is on circles."""
    pairs = [(i, (a * i + b) % count) for i in range(count) for a, b in ((7, 3), (3, 1))]
    text = "".join(f"0.5::edge({a}, {b}).\n" for a, b in pairs)
    paths = "path(X, Y) :- edge(X, Y).\npath(X, Y) :- path(X, Z), edge(Z, Y).\n"
    return f"{text}{paths}query(path(0, {count - 1}))."


def smokers(people: int) -> str:
    """Each newcomer befriends one or two of those before, the popular ones more often; it is mutual."""
    rng = np.random.default_rng(people)
    friends, ends = {("p0", "p1"), ("p1", "p0")}, [0, 1]
    for newcomer in range(2, people):
        for other in sorted(set(rng.choice(ends, 2).tolist())):
            friends |= {(f"p{newcomer}", f"p{other}"), (f"p{other}", f"p{newcomer}")}
            ends += [newcomer, other]
    text = "".join(f"person(p{i}).\n" for i in range(people))
    text += "".join(f"friend({a}, {b}).\n" for a, b in sorted(friends))
    return f"""{text}0.3::stress(X) :- person(X).
0.2::influences(X, Y) :- friend(Y, X).
smokes(X) :- stress(X).
smokes(X) :- friend(X, Y), influences(Y, X), smokes(Y).
query(smokes(_))."""


def programs() -> Iterator[tuple[str, str]]:
    yield from _its_tests()
    yield "two-hop paths, 99", two_hops(99)
    yield "chain, 400 edges", chain(400)
    yield "chain, 1,500 edges", chain(1500)
    for steps in (20, 100, 300):
        yield f"hidden chain, {steps} steps", hidden_chain(steps)
    for count in (20, 40, 80):
        yield f"ladder, {count} rungs", ladder(count)
    for side in (4, 5, 6):
        yield f"directed grid, {side} × {side}", grid(side)
    for count in (17, 22, 25):
        yield f"graph with circles, {count} nodes", circles(count)
    for people in (12, 16):
        yield f"smokers, {people} people", smokers(people)


def _its_tests() -> Iterator[tuple[str, str]]:
    """Those of its programs that both answer."""
    found = sorted(PROGRAMS.glob("*.pl")) if PROGRAMS.is_dir() else []
    for path in found:
        text = path.read_text()
        if isinstance(_answers(_ours, text), dict) and isinstance(_answers(_problog, text), dict):
            yield f"its test {path.name}", text


def _ours(text: str) -> Answers:
    found = hb.Model(read_theory_text(text, "pl")).infer()
    return {_plain(row.atom): row.probability for row in found.rows()}


def _problog(text: str) -> Answers:
    from problog import get_evaluatable  # pyright: ignore[reportMissingImports]
    from problog.program import PrologString  # pyright: ignore[reportMissingImports]

    found = get_evaluatable().create_from(PrologString(text)).evaluate()
    return {_plain(str(atom)): float(probability) for atom, probability in found.items()}


def _plain(atom: str) -> str:
    return "".join(letter for letter in atom if letter not in "\"'` ")


def _answers(system: Callable[[str], Answers], text: str) -> Answers | str:
    """What a system gives, or why it gives nothing."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return system(text)
    except TimeoutError:
        return f"stopped after {LIMIT}"
    except (Exception, SystemExit) as error:
        return type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _took(text: str, *systems: Callable[[str], Answers]) -> list[tuple[float | str, Answers]]:
    """For each system the median seconds of the processor after a run to warm up, and the answers."""
    found = [_answers(system, text) for system in systems]
    able = [system for system, one in zip(systems, found, strict=True) if isinstance(one, dict)]
    works = [partial(system, text) for system in able]
    times = dict(zip(able, in_turn(works, REPEATS, SLOW), strict=True))
    return [
        (one, {}) if isinstance(one, str) else (times[system], one)
        for system, one in zip(systems, found, strict=True)
    ]


def beside_problog() -> Iterator[str]:
    yield "| program | ours (s) | ProbLog (s) | ProbLog ÷ ours | largest difference |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    installed = find_spec("problog") is not None
    _ours(ladder(80))  # loads the compiled loops, which a process does once
    for what, text in programs():
        told = _took(text, _ours, _problog) if installed else [*_took(text, _ours), ("not installed", {})]
        (ours, mine), (other, theirs) = told
        both = mine.keys() & theirs.keys()
        times = f"{other / ours:.1f}" if isinstance(ours, float) and isinstance(other, float) else ""
        apart = f"{max(abs(mine[atom] - theirs[atom]) for atom in both):.0e}" if both else ""
        yield f"| {what} | {_shown(ours)} | {_shown(other)} | {times} | {apart} |"


def _shown(took: float | str) -> str:
    return took if isinstance(took, str) else f"{took:.4f}"


def deterministic() -> Iterator[tuple[str, str, dict[str, list[tuple[int, int]]], float | None]]:
    """A theory, its facts, and the number of its worlds where every weight is 0."""
    size = 8
    cells = [(i, j) for i in range(size) for j in range(size)]
    lines = [(i, j) for i in cells for j in cells if i < j and abs(i[0] - j[0]) == abs(i[1] - j[1])]
    attacks = "".join(f"hard: not (queen({a}, {b}) and queen({c}, {d}))\n" for (a, b), (c, d) in lines)
    once = "hard: count(y: {p}(x, y)) = 1\nhard: count(x: {p}(x, y)) = 1\n"
    queens = f"type n = 0..{size - 1}\npredicate queen(n, n)\n{once.format(p='queen')}{attacks}"
    yield "8 queens with soft preferences", f"{queens}0.3: queen(x, x)\n", {}, None
    yield "8 queens", queens, {}, 92
    for n in (9,):
        text = f"type n = 1..{n}\npredicate pairs(n, n)\n{once.format(p='pairs')}"
        yield f"one-to-one matching, {n} × {n}", text, {}, math.factorial(n)
    text = "type n = 1..12\npredicate maps(n) in {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}\n"
    yield "functions of 12 into 12", f"{text}0: maps(x) = 1\n", {}, 12.0**12
    for n in (8, 10, 12):
        text = f"type n = 1..{n}\npredicate before(n, n)\nhard: before(x, y) xor before(y, x) where x != y\n"
        text += "hard: not before(x, x)\nhard: before(x, y) and before(y, z) => before(x, z)\n"
        yield f"total orders of {n}", text, {}, math.factorial(n)
    for n in (8, 10, 12):
        text = f"type n = 1..{n}\npredicate same(n, n)\nhard: same(x, x)\nhard: same(x, y) => same(y, x)\n"
        text += "hard: same(x, y) and same(y, z) => same(x, z)\n"
        yield f"equivalence relations of {n}", text, {}, _bell(n)


def _bell(size: int) -> float:
    """How many partitions a set has, by Aitken's triangle."""
    row = [1]
    for _ in range(size - 1):
        below = [row[-1]]
        for number in row:
            below.append(below[-1] + number)
        row = below
    return float(row[-1])


def worlds() -> Iterator[str]:
    yield "| theory | seconds | worlds by the circuit | worlds |"
    yield "| --- | ---: | ---: | ---: |"
    for what, text, facts, count in deterministic():

        def ours(text: str, facts: dict[str, list[tuple[int, int]]] = facts) -> Answers:
            found = hb.Model(hb.parse(text), facts or None).infer(engine="circuit", log_partition=True)
            return {"log": found.log_partition or 0.0}

        ((took, found),) = _took(text, ours)
        told = f"{math.exp(found['log']):.10g}" if found else ""
        yield f"| {what} | {_shown(took)} | {told} | {'' if count is None else f'{count:.10g}'} |"


def hierarchical() -> Iterator[str]:
    """One question over many uncertain facts, or choices: is there a thing in some box?"""
    yield "| question over what is uncertain | facts | ours (s) | DuckDB's SQL by hand (s) | ratio | apart |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    model_text = "found(x) :- box(x), thing(x, y)\nsome :- found(x)"
    for count in (1_000, 10_000, 100_000, 1_000_000):
        draw = np.random.default_rng(count)
        box = pa.table({"x": np.arange(count), "weight": draw.random(count) / count})
        places = {"x": draw.integers(0, count, 5 * count), "y": np.arange(5 * count)}
        thing = pa.table({**places, "weight": draw.random(5 * count)})
        model = hb.Model(hb.parse(model_text), {"box": box, "thing": thing})
        drawn = hb.Model(hb.parse(CHOICES), {"box": _unweighted(box), "thing": _unweighted(thing)})
        connection = duckdb.connect()
        connection.execute("CREATE TABLE box AS FROM box")
        connection.execute("CREATE TABLE thing AS FROM thing")

        def ours(model: hb.Model = model) -> float:
            return model.query("some", algebra="probability").weight

        def limit(connection: duckdb.DuckDBPyConnection = connection) -> float:
            ((found,),) = connection.execute(BY_HAND).fetchall()
            return found

        def by_choices(model: hb.Model = drawn) -> float:
            return model.infer("some")["some"]

        for what, asked in (("facts with weights, `query`", ours), ("choices, `infer`", by_choices)):
            raced = race("some", f"{6 * count:,}", asked, "", limit)
            apart = abs(asked() - limit())
            yield (
                f"| is there a thing in some box? {what} | {raced.size} | {raced.ours:.4f} "
                f"| {raced.limit:.4f} | {raced.ratio:.1f} | {apart:.0e} |"
            )


CHOICES = """
w :: open(x) :- box(x, w)
w :: good(x, y) :- thing(x, y, w)
found(x) :- open(x), good(x, y)
some :- found(x)"""


def _unweighted(table: pa.Table) -> pa.Table:
    """Its weights as numbers that a variable may stand for."""
    return table.rename_columns([*table.column_names[:-1], "chance"])


BY_HAND = """
SELECT 1 - exp(sum(ln(1 - b.weight * t.weight))) FROM box b
JOIN (SELECT x, 1 - exp(sum(ln(1 - weight))) AS weight FROM thing GROUP BY x) t ON t.x = b.x"""


def report() -> str:
    return "\n".join([*beside_problog(), "", *worlds(), "", *hierarchical()])


if __name__ == "__main__":
    print(report())
