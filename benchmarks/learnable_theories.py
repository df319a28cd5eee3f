"""Random small theories to learn, each with labelled worlds, as tables and as the oracle has them.

A theory has two people, or three where these are few enough worlds. Some of its predicates are hidden, hard
statements tie some of its atoms, some have one of three values, and some labels are opinions (``~``).

>>> task = drawn_task(random.Random(1), ("soft",))
>>> len(task.worlds), any(labels.soft for labels in task.worlds)
(2, True)
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.show import statement_text
from herbrand.language.theory import Theory
from herbrand.learning.learned import LearnedWeight, Learning
from tests.oracles.likelihood import Key, Likelihood, likelihood
from tests.oracles.worlds import GroundAtom, Universe, World

KINDS = ("hidden", "tied", "many-valued", "soft")
VALUES = ("u", "v", "w")
MOST_WORLDS = 3000
"""The oracle goes through all worlds in plain loops."""
PREDICATES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {
    "smokes": (("person",), None),
    "coughs": (("person",), None),
    "friends": (("person", "person"), None),
    "mood": (("person",), VALUES),
}
OBSERVED = "near"
STATEMENTS = {
    "smokes": ("?: smokes(x)", "?[x]: smokes(x)", "?: smokes(x) and near(x, y) => smokes(y)"),
    "coughs": ("?: coughs(x)", "?: exists y: near(x, y) and coughs(y)", "?: coughs(x) <=> coughs(y)"),
    "friends": ("?: friends(x, y)", "?: friends(x, y) and friends(y, x)", "?: exists y: friends(x, y)"),
    "mood": ('?: mood(x) = "u"', "?[v]: mood(x) = v", '?: near(x, y) => mood(x) in {"u", "v"}'),
    "smokes coughs": ("?: smokes(x) => coughs(x)", "?: smokes(x) xor coughs(y)"),
    "smokes friends": (
        "?: smokes(x) and friends(x, y) => smokes(y)",
        "?: friends(x, y) => (smokes(x) <=> smokes(y))",
    ),
    "coughs friends": (
        "?: friends(x, y) and coughs(x) => coughs(y)",
        "?: forall y: friends(x, y) => coughs(y)",
    ),
    "smokes mood": ('?: mood(x) = "u" => smokes(x)', "?[v]: mood(x) = v and smokes(x)"),
    "coughs mood": ('?: mood(x) = "w" and coughs(y)', "?[v]: mood(x) = v => coughs(x)"),
    "friends mood": ("?: mood(x) = v and friends(x, y) => mood(y) = v",),
}
"""What may be learned, by the predicates that it is about beside the observed one."""
TIES = {
    "friends": (
        "hard: friends(x, y) <=> friends(y, x)",
        "hard: friends(x, y) xor friends(y, x) where x != y",
    ),
    "smokes coughs": ("hard: smokes(x) <=> not coughs(x)", "hard: smokes(x) or coughs(x)"),
    "smokes mood": ('hard: mood(x) = "u" <=> smokes(x)',),
    "smokes": ("hard: near(x, y) and smokes(x) => smokes(y)",),
}
"""Hard statements, likewise; none of them rules all worlds out."""

Opinion = tuple[GroundAtom, object, float]


@dataclass(frozen=True)
class Labels:
    """What is known of a world: values of atoms for sure, the observed ones among them, and opinions."""

    known: Mapping[GroundAtom, object]
    soft: tuple[Opinion, ...] = ()

    @property
    def facts(self) -> dict[str, pa.Table]:
        """As tables: a probability of 1 or 0 is a fact."""
        sure = [(atom, True if v is False else v, float(v is not False)) for atom, v in self.known.items()]
        rows: dict[str, list[dict[str, Any]]] = {}
        for (name, arguments), value, chance in (*sure, *self.soft):
            cells = arguments if value is True else (*arguments, value)
            row = {f"place{place}": cell for place, cell in enumerate(cells)} | {"probability": chance}
            rows.setdefault(name, []).append(row)
        return {name: pa.Table.from_pylist(own) for name, own in rows.items()}


@dataclass(frozen=True, eq=False)
class Task:
    """A theory with ``?`` statements, worlds to learn from, and what is to be predicted in them.

    ``planted`` [key]: the weights under which the worlds were drawn.
    """

    theory: Theory
    universe: Universe
    worlds: tuple[Labels, ...]
    targets: tuple[str, ...]
    latent: tuple[str, ...]
    planted: np.ndarray

    @property
    def formulas(self) -> tuple[s.WeightedFormula, ...]:
        return tuple(self.theory.formulas)

    @cached_property
    def keys(self) -> list[Key]:
        return keys_of(self.universe, self.theory)

    def by_loops(self) -> list[Likelihood]:
        """The likelihood of each world's labels, by all worlds."""
        return [
            likelihood(
                self._universe({a: v for a, v in one.known.items() if a[0] not in self.targets}),
                self._universe(one.known, one.soft),
                self.formulas,
                self.keys,
            )
            for one in self.worlds
        ]

    def learned(self, l2: float) -> Learning:
        """By ``learn --method likelihood``."""
        return hb.Model(self.theory).learn(
            "likelihood",
            worlds=[one.facts for one in self.worlds],
            target=self.targets,
            latent=self.latent,
            l2=l2,
        )

    def place(self, weight: LearnedWeight) -> int:
        """Which of ``keys`` a learned weight is."""
        weighted = [statement_text(f) for f in self.formulas if not isinstance(f.weight, s.Hard)]
        return self.keys.index((weighted.index(weight.statement), tuple(weight.constants.values())))

    def in_order(self, learning: Learning) -> np.ndarray:
        """Learned weights in the order of ``keys``; 0 for those that nothing bears on."""
        found = np.zeros(len(self.keys))
        for one in learning.weights:
            found[self.place(one)] = one.weight
        return found

    def _universe(self, known: Mapping[GroundAtom, object], soft: Sequence[Opinion] = ()) -> Universe:
        return Universe(self.universe.domains, self.universe.predicates, known, soft=soft)


def drawn_task(dice: random.Random, kinds: Sequence[str], worlds: int = 2) -> Task:
    """A theory of these kinds with as many worlds, drawn from all worlds that its hard statements allow."""
    while True:
        names = _drawn_predicates(dice, kinds)
        universe = _universe_of(dice, names)
        if universe is None:
            continue
        theory = _theory(dice, universe, names, "tied" in kinds)
        near = {a: dice.random() < 0.5 for a in universe.atoms() if a[0] == OBSERVED}
        around = Universe(universe.domains, universe.predicates, near)
        weights = np.array([dice.gauss(0, 1) for _ in keys_of(universe, theory)])
        drawn = drawn_worlds(dice, around, theory, weights, worlds)
        hidden = (dice.choice(names),) if "hidden" in kinds and len(names) > 1 else ()
        targets = tuple(name for name in names if name not in hidden)
        if any(_targets(f) & set(targets) for f in theory.formulas if isinstance(f.weight, s.Learned)):
            labels = tuple(_labels(dice, world, hidden, targets, "soft" in kinds) for world in drawn)
            return Task(theory, universe, labels, targets, hidden, weights)


def drawn_worlds(
    dice: random.Random, universe: Universe, theory: Theory, weights: np.ndarray, count: int
) -> list[World]:
    """Worlds by their probabilities under these weights, all of which are added up."""
    keys = keys_of(universe, theory)
    found = likelihood(universe, universe, tuple(theory.formulas), keys)
    scores = found.counts @ weights + found.logs
    chances = np.exp(scores - scores.max())
    allowed = list(_allowed(universe, theory))
    return [allowed[i] for i in dice.choices(range(len(allowed)), chances.tolist(), k=count)]


def keys_of(universe: Universe, theory: Theory) -> list[Key]:
    """Every number that the theory has to learn: its statement's number among the weighted, its constants."""
    weighted = [f for f in theory.formulas if not isinstance(f.weight, s.Hard)]
    found: list[Key] = []
    for number, statement in enumerate(weighted):
        assert isinstance(statement.weight, s.Learned)
        types = universe.variable_types(statement.formula)
        ranges = [universe.domains[types[variable.name]] for variable in statement.weight.by]
        found += [(number, constants) for constants in product(*ranges)]
    return found


def _allowed(universe: Universe, theory: Theory) -> Iterator[World]:
    """The worlds in which hard statements hold, in the oracle's order."""
    hard = [f for f in theory.formulas if isinstance(f.weight, s.Hard)]
    log_weight = universe.weight_of_worlds(hard)
    return (world for world in universe.worlds() if log_weight(world) > -math.inf)


def _drawn_predicates(dice: random.Random, kinds: Sequence[str]) -> tuple[str, ...]:
    names = dice.sample([name for name in PREDICATES if name != "mood"], dice.choice((1, 2)))
    if "many-valued" in kinds:
        names.append("mood")
    if "hidden" in kinds and len(names) == 1:
        names.append(dice.choice([name for name in ("smokes", "coughs", "friends") if name not in names]))
    return tuple(name for name in PREDICATES if name in names)


def _universe_of(dice: random.Random, names: Iterable[str]) -> Universe | None:
    """Over two or three people, if these are not too many worlds."""
    people = ("a", "b", "c")[: dice.choice((2, 3))]
    predicates = {name: PREDICATES[name] for name in names} | {OBSERVED: (("person", "person"), None)}
    universe = Universe({"person": people, "mood value": VALUES}, predicates)
    open_atoms = [atom for atom in universe.atoms() if atom[0] != OBSERVED]
    fits = math.prod(len(universe.choices(atom)) for atom in open_atoms) <= MOST_WORLDS
    return universe if fits else None


def _theory(dice: random.Random, universe: Universe, names: tuple[str, ...], tied: bool) -> Theory:
    def about(table: Mapping[str, tuple[str, ...]]) -> list[str]:
        return [line for about, lines in table.items() if {*about.split()} <= {*names} for line in lines]

    people = _quoted(universe.domains["person"])
    lines = [f"type person = {{{people}}}", f"predicate {OBSERVED}(person, person): observed"]
    for name in names:
        types, values = PREDICATES[name]
        lines.append(
            f"predicate {name}({', '.join(types)})" + (f" in {{{_quoted(values)}}}" if values else "")
        )
    candidates = about(STATEMENTS)
    lines += dice.sample(candidates, min(len(candidates), dice.choice((2, 3))))
    if tied and about(TIES):
        lines.append(dice.choice(about(TIES)))
    return hb.parse("\n".join(lines))


def _targets(formula: s.WeightedFormula) -> set[str]:
    parts = s.walk(formula.formula)
    atoms = (
        p if isinstance(p, s.Atom) else p.atom for p in parts if isinstance(p, s.Atom | s.ValueIs | s.ValueIn)
    )
    return {atom.predicate for atom in atoms}


def _labels(
    dice: random.Random, world: World, hidden: Sequence[str], targets: Sequence[str], soft: bool
) -> Labels:
    known = {atom: value for atom, value in world.items() if atom[0] not in hidden}
    if not soft:
        return Labels(known)
    labels = [atom for atom in known if atom[0] in targets]
    doubted = dice.sample(labels, min(len(labels), dice.choice((1, 2))))
    opinions = []
    for atom in doubted:
        value = known.pop(atom)
        opinions.append((atom, True if value is False else value, dice.choice((0.1, 0.3, 0.7, 0.9))))
    return Labels(known, tuple(opinions))


def _quoted(values: Iterable[s.Value]) -> str:
    return ", ".join(f'"{value}"' for value in values)
