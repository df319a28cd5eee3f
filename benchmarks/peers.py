"""Beside the tools that people use today, on the same inputs in the same run.

    python -m benchmarks peers      (make bench-peers)

A peer is installed from PyPI into an environment of its own below ``.benchmarks/peers`` the first time, and
run by a script of ``peer_scripts`` that reads the task and prints its seconds and its answers. Each task is
stopped after a minute. A peer that cannot be installed is shown as such.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import herbrand as hb
from benchmarks.measurement import seconds, told_in_time

ROOT = Path(__file__).parents[1]
SCRIPTS, PLACES = Path(__file__).parent / "peer_scripts", ROOT / ".benchmarks" / "peers"
REPEATS, STOPPED = 5, 60
BESIDE = {"pgmpy": ["-c", str(ROOT / "constraints.txt")], "dedupe": ["BTrees<6"]}
"""What a peer is installed with: dedupe 3.0 calls what later trees no longer have."""
SMOKERS = """\
predicate friends(person, person): observed
predicate smokes(person)
predicate cancer(person)
1.1: smokes(x) and friends(x, y) => smokes(y)
1.5: smokes(x) => cancer(x)
-0.7: smokes(x)
-2.0: cancer(x)
"""
REACH = "reach(x, y) :- link(x, y)\nreach(x, y) :- link(x, z), reach(z, y)\n"


class Race(NamedTuple):
    """``theirs``: seconds, or why there are none; ``agree``: how far their answers are from ours at most."""

    what: str
    size: str
    ours: float
    peer: str
    theirs: float | str
    agree: str = ""


def report() -> str:
    """The page's table."""
    lines = [
        "Times are medians of 5. *Differ by*: the largest difference between the peer's answers and ours; "
        "empty where the peer answers another question.",
        "",
        "| what | size | ours (s) | peer | peer (s) | times ours | differ by |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for race in (*exact(), *queries(), *credal(), *map_states(), *absent()):
        theirs = race.theirs if isinstance(race.theirs, str) else f"{race.theirs:.3f}"
        times = "" if isinstance(race.theirs, str) else f"{race.theirs / race.ours:.1f}"
        cells = (race.what, race.size, f"{race.ours:.3f}", race.peer, theirs, times, race.agree)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


@cache
def python_with(package: str) -> str | None:
    """The Python of the package's own environment; ``None`` where it cannot be installed."""
    folder = PLACES / package
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {package} ...", file=sys.stderr)
        wanted = [package, *BESIDE.get(package, [])]
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
            subprocess.run(
                [str(python), "-m", "pip", "install", "--quiet", *wanted],
                check=True, capture_output=True, timeout=600,
            )  # fmt: skip
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        (folder / "ready").touch()
    return str(python)


def run_peer(package: str, script: str, task: dict[str, Any]) -> dict[str, Any] | str:
    """Seconds and answers of the peer, or what became of it."""
    python = python_with(package)
    if python is None:
        return "does not install"
    try:
        told = told_in_time([python, str(SCRIPTS / f"{script}.py")], STOPPED, json.dumps(task))
    except subprocess.CalledProcessError as error:
        return f"fails: {error.stderr.strip().splitlines()[-1][:80]}"
    return f"stopped after {STOPPED} s" if told is None else json.loads(told.strip().splitlines()[-1])


def raced(
    what: str,
    size: str,
    ours: Callable[[], dict[str, Any]],
    peer: tuple[str, str],
    task: dict[str, Any],
    compared: bool = True,
) -> Race:
    """Ours, then the peer's; a peer that is stopped is tried once more with a single run."""
    answers = ours()
    took = median(seconds(ours) for _ in range(REPEATS))
    found = run_peer(*peer, task | {"repeats": REPEATS})
    if isinstance(found, str) and found.startswith("stopped"):
        found = run_peer(*peer, task | {"repeats": 1})
    if isinstance(found, str):
        return Race(what, size, took, peer[0], found)
    agree = ""
    if compared:
        differences = [
            np.abs(np.subtract(found["values"][name], value)).max() for name, value in answers.items()
        ]
        agree = f"{max(differences):.0e}"
    return Race(what, size, took, peer[0], median(found["seconds"]), agree)


def circle(people: int, seed: int = 0) -> list[tuple[str, str]]:
    """Friends next to each other, and a few across; everybody's friend is theirs."""
    rng = random.Random(seed)
    near = [(i, i + 1) for i in range(people - 1)]
    far = [(i, rng.randrange(people)) for i in range(0, people, 5)]
    pairs = {pair for a, b in [*near, *far] if a != b for pair in ((a, b), (b, a))}
    return [(f"p{a}", f"p{b}") for a, b in sorted(pairs)]


def exact() -> Iterator[Race]:
    """All marginals of the ground network, its factors handed to pgmpy ready made."""
    for people in (10, 40, 160):
        theory, friends = hb.parse(SMOKERS), circle(people)

        def ours(theory=theory, friends=friends) -> dict[str, float]:
            answer = hb.Model(theory, {"friends": friends}).infer(engine="exact")
            return {row.atom: row.probability for row in answer.rows()}

        task = ground_factors(people, friends)
        yield raced(
            "exact marginals, friends and smokers", f"{people} people", ours, ("pgmpy", "pgmpy_exact"), task
        )


def ground_factors(people: int, friends: list[tuple[str, str]]) -> dict[str, Any]:
    """A factor for each grounding: exp(weight) where it holds, 1 where it does not."""
    names = [f"p{i}" for i in range(people)]
    factors: list[dict[str, Any]] = []

    def add(weight: float, *literals: tuple[str, bool]) -> None:
        variables = [name for name, _ in literals]
        cells = np.ndindex(*[2] * len(literals))
        holds = [any(bool(v) == sign for v, (_, sign) in zip(cell, literals, strict=True)) for cell in cells]
        factors.append({"variables": variables, "values": np.exp(weight * np.array(holds)).tolist()})

    for one, other in friends:
        add(1.1, (f'smokes("{one}")', False), (f'smokes("{other}")', True))
    for name in names:
        smokes, cancer = f'smokes("{name}")', f'cancer("{name}")'
        add(1.5, (smokes, False), (cancer, True))
        add(-0.7, (smokes, True))
        add(-2.0, (cancer, True))
    variables = [f'{predicate}("{name}")' for predicate in ("smokes", "cancer") for name in names]
    return {"variables": variables, "factors": factors}


def queries() -> Iterator[Race]:
    """The probability that one can get from one corner to the other, links being independent."""
    for side in (3, 4, 5):
        links = [
            ((row, column), near)
            for row in range(side)
            for column in range(side)
            for near in ((row + 1, column), (row, column + 1))
            if max(near) < side
        ]
        names = [(f"n{a}_{b}", f"n{c}_{d}") for (a, b), (c, d) in links]
        last = f"n{side - 1}_{side - 1}"
        goal = f'reach("n0_0", "{last}")'
        theory = hb.parse(REACH + "".join(f'link("{a}", "{b}") ~ 0.8\n' for a, b in names))

        def ours(theory=theory, goal=goal, last=last) -> dict[str, float]:
            found = hb.Model(theory).query(goal, algebra="probability", depth="fixpoint")
            return {f"reach(n0_0,{last})": found.weight}

        program = "".join(f"0.8::link({a},{b}).\n" for a, b in names)
        program += "reach(X,Y) :- link(X,Y).\nreach(X,Y) :- link(X,Z), reach(Z,Y).\n"
        program += f"query(reach(n0_0,{last})).\n"
        yield raced(
            "probability of a path across a grid", f"{side} × {side}", ours, ("problog", "problog_query"),
            {"program": program},
        )  # fmt: skip


def credal() -> Iterator[Race]:
    """A binary tree with intervals in its tables, where interval messages are exact."""
    for count in (10, 100, 1000):
        rng = random.Random(count)
        nodes = [f"x{i}" for i in range(count)]
        parents = {name: [nodes[rng.randrange(i)]] if i else [] for i, name in enumerate(nodes)}
        cases = {name: [[0], [1]] if parents[name] else [[]] for name in nodes}
        tables = {}
        for name in nodes:
            lows = [rng.uniform(0.1, 0.7) for _ in cases[name]]
            tables[name] = [[low, low + 0.1] for low in lows]
        lines = []
        for name in nodes:
            for case, (low, high) in zip(cases[name], tables[name], strict=True):
                given = "".join(f" | {'' if case[0] else 'not '}{parent}" for parent in parents[name])
                lines.append(f"P({name}{given}) in [{low!r}, {high!r}]")
        theory = hb.parse("\n".join(lines))

        def ours(theory=theory) -> dict[str, list[float]]:
            found = hb.Model(theory).bound(engine="ariel")
            return {row.query: [row.lower, row.upper] for row in found.rows()}

        task = {"nodes": nodes, "parents": parents, "cases": cases, "tables": tables}
        yield raced(
            "bounds of all atoms, a credal tree",
            f"{count:,} atoms",
            ours,
            ("pyagrum", "pyagrum_credal"),
            task,
        )


def map_states() -> Iterator[Race]:
    """PSL's truth values lie between 0 and 1 and it gives the likeliest; ours are marginals."""
    for people in (200, 2_000, 20_000):
        theory, friends = hb.parse(SMOKERS), circle(people)
        smokers = [f"p{i}" for i in range(0, people, 20)]
        facts = {"friends": friends, "smokes": [(name,) for name in smokers]}

        def ours(theory=theory, facts=facts) -> dict[str, float]:
            hb.Model(theory, facts, open=["smokes"]).infer(engine="mean-field")
            return {}

        task = {"people": people, "friends": friends, "smokers": smokers}
        what = "truth values (PSL) beside mean-field marginals"
        yield raced(what, f"{people:,} people", ours, ("pslpython", "psl_map"), task, compared=False)


def absent() -> Iterator[Race]:
    """pracmln, where it does not even install, is told."""
    if python_with("pracmln") is None:
        theory, friends = hb.parse(SMOKERS), circle(40)
        took = seconds(lambda: hb.Model(theory, {"friends": friends}).infer(engine="exact"))
        yield Race("exact marginals, friends and smokers", "40 people", took, "pracmln", "does not install")


if __name__ == "__main__":
    print(report())
