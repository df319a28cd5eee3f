"""Credal networks the slow way: all worlds, the Markov condition by its definition, programs solved by SCIP.

Atoms are x0, x1, ...; a sentence is Python text for its event and condition, with its bounds. Nothing here
knows of the engines: a formula is evaluated in each of the 2^n worlds, descendants are found by walking the
primal graph with its formula nodes, and a program has one variable for each world.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Sentence(NamedTuple):
    """``lower <= P(event | given) <= upper``; no ``given``: of everything."""

    event: str
    given: str | None
    lower: float
    upper: float
    independent: bool = False

    @property
    def statement(self) -> str:
        inner = self.event if self.given is None else f"{self.event} | {self.given}"
        flag = " independent" if self.independent else ""
        return f"P({inner}) in [{self.lower!r}, {self.upper!r}]{flag}"


class Independence(NamedTuple):
    """``atom`` is independent of ``others`` jointly given ``given``."""

    atom: int
    given: tuple[int, ...]
    others: tuple[int, ...]


def atoms_of(formula: str | None) -> tuple[int, ...]:
    words = (formula or "").replace("(", " ").replace(")", " ").split()
    return tuple(dict.fromkeys(int(word[1:]) for word in words if word[0] == "x" and word[1:].isdigit()))


def holds(formula: str | None, atoms: Sequence[int]) -> np.ndarray:
    """In which of the 2^k worlds of some atoms a formula is true; the first atom is the high bit."""
    return _holds(formula, tuple(atoms))


@lru_cache(maxsize=20_000)
def _holds(formula: str | None, atoms: tuple[int, ...]) -> np.ndarray:
    found = []
    for world in itertools.product((False, True), repeat=len(atoms)):
        truths = {f"x{atom}": truth for atom, truth in zip(atoms, world, strict=True)}
        found.append(True if formula is None else bool(eval(_python(formula), {}, truths)))
    return np.array(found)


def _python(formula: str) -> str:
    return formula.replace(" xor ", " != ")


def links(n: int, sentences: Sequence[Sentence]) -> dict[int, set[int]]:
    """The parents of every atom: what reaches it through formula nodes only."""
    edges: set[tuple[object, object]] = set()
    for number, sentence in enumerate(sentences):
        if sentence.given is None:
            continue
        event, given = ("event", number), ("given", number)
        edges |= {(atom, given) for atom in atoms_of(sentence.given)}
        edges.add((given, event))
        edges |= {(event, atom) for atom in atoms_of(sentence.event)}
        if not sentence.independent:
            edges |= {(atom, event) for atom in atoms_of(sentence.event)}
    found = {}
    for atom in range(n):
        reached, waiting = set(), [source for source, target in edges if target == atom]
        while waiting:
            here = waiting.pop()
            if isinstance(here, int):
                reached.add(here)
            else:
                waiting += [source for source, target in edges if target == here]
        found[atom] = reached - {atom}
    return found


def descendants(parents: dict[int, set[int]], atom: int) -> set[int]:
    found: set[int] = set()
    waiting = [atom]
    while waiting:
        here = waiting.pop()
        for child, its_parents in parents.items():
            if here in its_parents and child != atom and child not in found:
                found.add(child)
                if child not in parents[atom]:
                    waiting.append(child)
    return found


def markov(n: int, sentences: Sequence[Sentence]) -> list[Independence]:
    """The Markov condition: each atom against all that is neither a parent nor a descendant."""
    parents = links(n, sentences)
    statements = []
    for atom in range(n):
        others = set(range(n)) - {atom} - parents[atom] - descendants(parents, atom)
        if others:
            statements.append(Independence(atom, tuple(sorted(parents[atom])), tuple(sorted(others))))
    return statements


def acyclic(parents: dict[int, set[int]]) -> bool:
    left = dict(parents)
    while True:
        roots = [atom for atom, its in left.items() if not its & set(left)]
        if not roots:
            return not left
        for atom in roots:
            del left[atom]


def separated(parents: dict[int, set[int]], one: int, other: int, given: Collection[int]) -> bool:
    """d-separation by the moral graph of what is above."""
    above: set[int] = set()
    waiting = [one, other, *given]
    while waiting:
        atom = waiting.pop()
        if atom not in above:
            above.add(atom)
            waiting += parents[atom]
    near: dict[int, set[int]] = {atom: set() for atom in above}
    for atom in above:
        family = [atom, *parents[atom]]
        for a, b in itertools.permutations(family, 2):
            near[a].add(b)
    reached, waiting = {one}, [one]
    while waiting:
        for atom in near[waiting.pop()] - reached - set(given):
            reached.add(atom)
            waiting.append(atom)
    return other not in reached


def implied(n: int, sentences: Sequence[Sentence], scope: Sequence[int]) -> Iterator[Independence]:
    """The independences within a scope that sound messages use, pair by pair or part by part."""
    parents = links(n, sentences)
    if acyclic(parents):
        for one, other in itertools.combinations(scope, 2):
            rest = [atom for atom in scope if atom not in (one, other)]
            for size in range(len(rest) + 1):
                found = [z for z in itertools.combinations(rest, size) if separated(parents, one, other, z)]
                if found:
                    yield from (Independence(one, z, (other,)) for z in found)
                    break
        return
    for atom in scope:
        others = set(scope) - {atom} - parents[atom] - descendants(parents, atom)
        if parents[atom] <= set(scope) and others:
            yield Independence(atom, tuple(sorted(parents[atom])), tuple(sorted(others)))


def extremes(
    atoms: Sequence[int],
    sentences: Sequence[Sentence],
    independences: Sequence[Independence],
    event: str,
    given: str | None = None,
    intervals: dict[int, tuple[float, float]] | None = None,
) -> tuple[float, float] | None:
    """The least and largest P(event | given) over all distributions, by SCIP; ``None`` where there is none.

    With a condition the masses are scaled to make it certain: every constraint is one of ratios.
    """
    ends = [
        _solved(sense, atoms, sentences, independences, event, given, intervals or {}) for sense in (1, -1)
    ]
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _solved(sense, atoms, sentences, independences, event, given, intervals):
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/gap", 1e-6)
    model.setParam("limits/time", 20)
    masses = [model.addVar(lb=0, ub=1 if given is None else None) for _ in range(2 ** len(atoms))]

    def chance(table):
        return pyscipopt.quicksum(m for m, true in zip(masses, table, strict=True) if true)

    condition = holds(given, atoms)
    model.addCons(chance(condition) == 1)
    for sentence in sentences:
        told = holds(sentence.given, atoms)
        both = chance(told & holds(sentence.event, atoms))
        model.addCons(both >= sentence.lower * chance(told))
        model.addCons(both <= sentence.upper * chance(told))
    for atom, (low, high) in intervals.items():
        model.addCons(chance(holds(f"x{atom}", atoms)) >= low * chance(holds(None, atoms)))
        model.addCons(chance(holds(f"x{atom}", atoms)) <= high * chance(holds(None, atoms)))
    for atom, context, others in independences:
        for case in itertools.product((False, True), repeat=len(context)):
            here = _case(context, case, atoms)
            for values in itertools.product((False, True), repeat=len(others)):
                there = here & _case(others, values, atoms)
                true = holds(f"x{atom}", atoms)
                model.addCons(chance(true & there) * chance(here) == chance(true & here) * chance(there))
    goal = chance(condition & holds(event, atoms))
    model.setObjective(goal, "minimize" if sense > 0 else "maximize")
    model.optimize()
    if model.getStatus() == "infeasible":
        return None
    assert model.getStatus() in ("optimal", "gaplimit"), model.getStatus()
    return model.getDualbound()


def _case(columns: Sequence[int], values: Sequence[bool], atoms: Sequence[int]) -> np.ndarray:
    found = np.ones(2 ** len(atoms), bool)
    for atom, value in zip(columns, values, strict=True):
        found &= holds(f"x{atom}" if value else f"not x{atom}", atoms)
    return found


def sound_messages(n: int, sentences: Sequence[Sentence], passes: int = 12) -> list[tuple[float, float]]:
    """The published scheme with implied independences only, each message solved globally."""
    factors: dict[tuple[int, ...], list[Sentence]] = {}
    for sentence in sentences:
        scope = tuple(sorted({*atoms_of(sentence.event), *atoms_of(sentence.given)}))
        factors.setdefault(scope, []).append(sentence)
    said = {(scope, atom): (0.0, 1.0) for scope in factors for atom in scope}

    def heard(atom: int, but: tuple[int, ...]) -> tuple[float, float]:
        ends = [said[scope, atom] for scope in factors if atom in scope and scope != but]
        return max((low for low, _ in ends), default=0.0), min((high for _, high in ends), default=1.0)

    local = {scope: list(implied(n, sentences, scope)) for scope in factors}
    known: dict[object, tuple[float, float]] = {}
    for _ in range(passes):
        before = dict(said)
        for scope, theirs in factors.items():
            for atom in scope:
                others = {other: heard(other, scope) for other in scope if other != atom}
                key = scope, atom, tuple(round(end, 6) for ends in others.values() for end in ends)
                if key not in known:
                    found = extremes(scope, theirs, local[scope], f"x{atom}", None, others)
                    assert found is not None, "messages contradict each other"
                    known[key] = found
                said[scope, atom] = known[key]
        if max(abs(said[k][i] - before[k][i]) for k in said for i in range(2)) < 1e-6:
            break
    return [heard(atom, ()) for atom in range(n)]
