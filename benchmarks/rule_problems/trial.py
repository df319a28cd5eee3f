"""What ``induce`` finds in a folder of worlds, and how much of other worlds it gets right."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from herbrand.errors import HerbrandError
from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import Clause, evaluated
from herbrand.induction.given_worlds import GivenWorld, read_worlds
from herbrand.induction.induce import Induced, induce
from herbrand.language.theory import Theory


@dataclass(frozen=True)
class Trial:
    """What was found in so many CPU seconds, ``None`` where no rule was, and its balanced accuracy."""

    found: Induced | None
    accuracy: float
    seconds: float

    @property
    def errors(self) -> str:
        """Errors among the labels learned from."""
        return "no rule" if self.found is None else str(self.found.errors)

    @property
    def longest(self) -> int:
        """Literals of the longest body."""
        return max((rule.literals for rule in self.rules), default=0)

    @property
    def rules(self) -> Sequence[Clause]:
        return () if self.found is None else self.found.rules

    @property
    def lines(self) -> list[str]:
        """The rules as they are written."""
        text = "" if self.found is None else self.found.text
        return [line for line in text.splitlines() if ":-" in line]


def trial(
    theory: Theory, target: str, worlds: Path, fresh: Path, budget: float, engine: str = "auto", seed: int = 0
) -> Trial:
    """Rules for ``target`` from ``worlds``, tried on ``fresh`` ones, whose tables of the target tell what is
    true and what is false."""
    began = time.process_time()
    try:
        found = induce(theory, target=target, worlds=worlds, budget=budget, engine=engine, seed=seed)
    except HerbrandError:
        found = None
    seconds = time.process_time() - began
    rules = () if found is None else found.rules
    counts = sum(right_and_whole(rules, target, one) for one in read_worlds(theory, target, fresh).worlds)
    right, whole = np.asarray(counts)
    return Trial(found, float((right / whole).mean()), seconds)


def right_and_whole(rules: Sequence[Clause], target: str, world: GivenWorld) -> np.ndarray:
    """``[2, 2]``: of the true and of the false tuples those that the rules get right, and all of them."""
    constants = tuple(value for *_, value in world.objects)
    types = tuple(name for name, *_ in world.objects)
    database = Database.of([World(len(world.objects), world.facts, constants, types)])
    concluded = evaluated(rules, database).tables.get(target, world.true[:0])
    codes = database.codes(concluded)
    false = world.true[:0] if world.false is None else world.false
    right = [np.isin(database.codes(world.true), codes).sum(), (~np.isin(database.codes(false), codes)).sum()]
    return np.array([right, [len(world.true), len(false)]], float)
