"""Random theories from a seed, each with its universe: what no test was written for.

Several types of unequal sizes, one constant among them; predicates of up to three arguments, propositions,
many-valued and observed ones; nested formulas with quantifiers, constants, equalities and conditions; hard
statements; facts, exclusions and opinions about some constants. A seed is a theory, so that a failure can be
named and run again.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass

from tests.oracles.worlds import GroundAtom, Universe

MOST_WORLDS = 1 << 10
VALUES = ("a", "b", "c")
SHAPES = ["t", "t", "t", "tt", "tt", "", "value", "u", "u", "tu", "ut", "uu", "ttt", "value of u"]


@dataclass
class Author:
    """Writes one theory. ``liftable``: no atom of three arguments, no quantifier, and shorter formulas."""

    dice: random.Random
    liftable: bool

    def theory(self) -> tuple[str, Universe]:
        while True:
            self._draw_vocabulary()
            universe, facts = self._known()
            sizes = [len(universe.choices(atom)) for atom in universe.atoms()]
            if 1 < math.prod(sizes) <= MOST_WORLDS:
                break
        stated = [self._statement() for _ in range(self.dice.randint(1, 4))]
        return "\n".join([*self._declared(), *facts, *stated]) + "\n", universe

    def _draw_vocabulary(self) -> None:
        dice = self.dice
        self.domains = {name: [f"{name}{i}" for i in range(dice.randint(1, 3))] for name in "tu"}
        self.predicates: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {}
        shapes = [shape for shape in SHAPES if not self.liftable or len(shape) != 3]
        for number, shape in enumerate(dice.sample(shapes, dice.randint(2, 4))):
            valued = shape.startswith("value")
            types = (shape[-1] if shape.endswith("u") else "t",) if valued else tuple(shape)
            self.predicates[f"p{number}"] = (types, VALUES if valued else None)
        booleans = [n for n, (types, values) in self.predicates.items() if types and values is None]
        self.closed = frozenset(n for n in booleans if dice.random() < 0.12)

    def _declared(self) -> list[str]:
        def listed(names: tuple[str, ...] | list[str]) -> str:
            return "{" + ", ".join(f'"{name}"' for name in names) + "}"

        lines = [f"type {name} = {listed(constants)}" for name, constants in self.domains.items()]
        for name, (types, values) in self.predicates.items():
            line = f"predicate {name}" + (f"({', '.join(types)})" if types else "")
            line += f" in {listed(values)}" if values else ""
            lines.append(line + (": observed" if name in self.closed else ""))
        return lines

    def _known(self) -> tuple[Universe, list[str]]:
        universe = Universe({**self.domains, **self._value_domains()}, self.predicates, {}, self.closed)
        known: dict[GroundAtom, object] = {}
        soft: list[tuple[GroundAtom, object, float]] = []
        excluded: list[tuple[GroundAtom, object]] = []
        facts = []
        often = self.dice.choice([0.0, 0.2, 0.5])
        for atom in universe.atoms():
            name, arguments = atom
            if self.dice.random() >= (0.4 if name in self.closed else often):
                continue
            text = name + (f"({', '.join(f'{chr(34)}{a}{chr(34)}' for a in arguments)})" if arguments else "")
            values = self.predicates[name][1]
            value = True if values is None else self.dice.choice(values)
            text += "" if values is None else f' = "{value}"'
            told = "yes" if name in self.closed else self.dice.choice(["yes", "no", "opinion"])
            if told == "yes":
                known[atom] = value
            elif told == "opinion":
                p = self.dice.choice([0.1, 0.3, 0.8])
                others = 1 if values is None else len(values) - 1
                soft.append((atom, value, math.log(p) - math.log((1 - p) / others)))
                text += f" ~ {p}"
            elif values is None:
                known[atom] = False
                text = f"not {text}"
            else:
                excluded.append((atom, value))
                text = f"not {text}"
            facts.append(text)
        return Universe(universe.domains, self.predicates, known, self.closed, soft, excluded), facts

    def _value_domains(self) -> dict[str, tuple[str, ...]]:
        return {f"{name} value": values for name, (_, values) in self.predicates.items() if values}

    # Formulas

    def _statement(self) -> str:
        dice = self.dice
        variables = [v for v in ("xt", "yt", "zt", "wu", "vu") if dice.random() < 0.55] or ["xt"]
        formula = self._formula(variables, dice.randint(1, 3 if self.liftable else 4))
        free = self._free(formula)
        if not self.liftable and free and dice.random() < 0.25:
            bound = dice.choice(free)
            formula = f"{dice.choice(['exists', 'forall'])} {bound}: {formula}"
            free.remove(bound)
        condition = ""
        alike = [(a, b) for a, b in itertools.combinations(free, 2) if a[-1] == b[-1]]
        if alike and dice.random() < 0.4:
            one, other = dice.choice(alike)
            condition = f" where {one} {dice.choice(['!=', '!=', '='])} {other}"
        elif free and dice.random() < 0.15:
            one = dice.choice(free)
            condition = f' where {one} != "{dice.choice(self.domains[one[-1]])}"'
        weight = "hard" if dice.random() < 0.12 else repr(round(dice.gauss(0, 1), 3))
        return f"{weight}: {formula}{condition}"

    def _formula(self, variables: list[str], atoms: int) -> str:
        if atoms == 1:
            atom = self._atom(variables)
            return f"not {atom}" if self.dice.random() < 0.4 else atom
        left = self.dice.randint(1, atoms - 1)
        one, other = self._formula(variables, left), self._formula(variables, atoms - left)
        return f"({one} {self.dice.choice(['and', 'or', '=>', '<=>', 'xor'])} {other})"

    def _atom(self, variables: list[str]) -> str:
        dice = self.dice
        name, (types, values) = dice.choice(list(self.predicates.items()))
        terms = []
        for type_name in types:
            fitting = [v for v in variables if v.endswith(type_name)]
            constant = f'"{dice.choice(self.domains[type_name])}"'
            terms.append(dice.choice(fitting) if fitting and dice.random() < 0.9 else constant)
        text = name + (f"({', '.join(terms)})" if terms else "")
        if values is None:
            return text
        if dice.random() < 0.6:
            return f'{text} = "{dice.choice(values)}"'
        two = ", ".join(f'"{value}"' for value in dice.sample(values, 2))
        return f"{text} in {{{two}}}"

    def _free(self, formula: str) -> list[str]:
        return [v for v in ("xt", "yt", "zt", "wu", "vu") if f"{v}," in formula or f"{v})" in formula]


def theory(seed: int, liftable: bool = False) -> tuple[str, Universe]:
    """The theory that a seed stands for."""
    return Author(random.Random(seed), liftable).theory()
