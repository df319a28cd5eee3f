"""Random theories of choices, rules, weighted formulas and evidence, small enough to sum over worlds."""

from __future__ import annotations

import random
from dataclasses import dataclass

CONSTANTS = ('"a"', '"b"', '"c"'), ("1", "2", "3")
"""Texts, and numbers that are not their own places in their type."""


@dataclass(frozen=True)
class RandomProgram:
    text: str
    queries: tuple[str, ...]


class _Writer:
    """Predicates by arity: known facts, open atoms, choices' and rules' heads; strata keep ``not`` sound."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.constants = CONSTANTS[seed % 2][: self.random.randint(1, 3)]
        self.named = 0.2 + 0.2 * (seed % 2)
        self.lines = ["type thing = {" + ", ".join(self.constants) + "}"]
        self.layers: list[list[tuple[str, int]]] = []
        self.valued: list[str] = []
        self.size = 0

    def term(self, variables: list[str]) -> str:
        if self.random.random() < self.named:
            return self.random.choice(self.constants)
        return self.random.choice(variables)

    def atom(self, name: str, arity: int, variables: list[str]) -> str:
        if not arity:
            return name
        return f"{name}({', '.join(self.term(variables) for _ in range(arity))})"

    def ground(self, name: str, arity: int) -> str:
        return self.atom(name, arity, list(self.constants))

    def write(self) -> RandomProgram:
        chance = self.random
        self.lines.append("predicate link(thing, thing): observed")
        for left in self.constants:
            for right in self.constants:
                if chance.random() < 0.4:
                    self.lines.append(f"link({left}, {right})")
        known, uncertain = [("link", 2)], list[tuple[str, int]]()
        if chance.random() < 0.4:
            self.lines.append("predicate free(thing)")
            uncertain.append(("free", 1))
        if chance.random() < 0.3:
            self.lines.append('predicate area(thing) in {"u", "v", "w"}')
            self.valued.append("area")
            if chance.random() < 0.5:
                self.lines.append(f'area({chance.choice(self.constants)}) = "u"')
        for name in ("r", "s", "t")[: chance.randint(1, 3)]:
            arity = chance.choice((0, 1, 1, 2, 3) if len(self.constants) < 3 else (0, 1, 1, 2))
            uncertain.append((name, arity))
            self.declare(name, arity)
            self.choices(name, arity, known)
        if chance.random() < 0.3:
            self.lines.append('predicate tone(thing) in {"u", "v"}')
            body = (
                "free(x)"
                if ("free", 1) in uncertain and chance.random() < 0.5
                else f"link(x, {self.constants[0]})"
            )
            self.lines.append(f'0.3 :: tone(x) = "u"; 0.{chance.choice("57")} :: tone(x) = "v" :- {body}')
            if chance.random() < 0.5:
                self.lines.append(f'0.4 :: tone({chance.choice(self.constants)}) = "u"')
            self.valued.append("tone")
        for layer in range(chance.randint(1, 2)):
            names = [(f"d{layer}{i}", chance.choice((0, 1, 2, 2))) for i in range(chance.randint(1, 2))]
            for name, arity in names:
                self.declare(name, arity)
            for name, arity in names:
                for _ in range(chance.randint(1, 3)):
                    self.rule(name, arity, known, uncertain, names)
            uncertain = [*uncertain, *names]
        for _ in range(chance.choice((0, 0, 1, 2))):
            self.formula(uncertain)
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            name, arity = chance.choice(uncertain)
            self.lines.append(chance.choice(("", "not ")) + self.ground(name, arity))
        queries = list(dict.fromkeys(self.ground(*chance.choice(uncertain)) for _ in range(5)))
        if chance.random() < 0.4:
            first, second = (self.ground(*chance.choice(uncertain)) for _ in range(2))
            queries.append(f"{first} and not {second}")
        return RandomProgram("\n".join(self.lines), tuple(queries))

    def declare(self, name: str, arity: int) -> None:
        self.lines.append(
            f"predicate {name}({', '.join(['thing'] * arity)})" if arity else f"predicate {name}"
        )

    def choices(self, name: str, arity: int, known: list[tuple[str, int]]) -> None:
        """Ground ones, one of several heads, or one for each row of a body; few, as worlds double."""
        chance = self.random
        kind = chance.random()
        if kind < 0.4 and arity:
            variables = ["x", "y", "z"][:arity]
            body = (f"link(x, {self.constants[0]})", "link(x, y)", "link(x, y), link(y, z)")[arity - 1]
            self.lines.append(f"0.{chance.randint(1, 9)} :: {name}({', '.join(variables)}) :- {body}")
            return
        if kind > 0.85 and arity == 1:
            self.lines.append(f"0.{chance.randint(1, 9)} :: {name}(x)")
            return
        for _ in range(chance.randint(1, 3)):
            heads = [
                f"0.{chance.randint(1, 4)} :: {self.ground(name, arity)}"
                for _ in range(chance.choice((1, 1, 2)))
            ]
            self.lines.append("; ".join(dict.fromkeys(heads)))

    def rule(
        self,
        name: str,
        arity: int,
        known: list[tuple[str, int]],
        uncertain: list[tuple[str, int]],
        same: list[tuple[str, int]],
    ) -> None:
        chance = self.random
        variables = ["x", "y", "z"]
        body = [
            self.atom(*chance.choice([*known, *uncertain, *same, *same]), variables)
            for _ in range(chance.randint(1, 2))
        ]
        if chance.random() < 0.4 and arity:
            body.append(self.atom(*chance.choice(same), variables))
        if self.valued and chance.random() < 0.3:
            body.append(f'{self.valued[0]}({self.term(variables)}) = "{chance.choice("uv")}"')
        head = self.atom(name, arity, variables)
        text = ", ".join(body)
        bound = [v for v in variables if f"({v}" in text or f" {v})" in text or f" {v}," in text]
        for v in variables:
            if v not in bound and v in head.partition("(")[2]:
                body.append(
                    f"link({v}, {chance.choice(variables)})" if chance.random() < 0.3 else f"link({v}, {v})"
                )
                bound.append(v)
        if chance.random() < 0.4:
            inside = bound or [self.constants[0]]
            body.append("not " + self.atom(*chance.choice(uncertain), inside))
        if len(bound) > 1 and chance.random() < 0.3:
            body.append(f"{bound[0]} != {bound[1]}")
        self.lines.append(f"{head} :- {', '.join(body)}")

    def formula(self, uncertain: list[tuple[str, int]]) -> None:
        chance = self.random
        one, two = (self.atom(*chance.choice(uncertain), ["x", "y"]) for _ in range(2))
        weight = "hard" if chance.random() < 0.15 else f"{chance.uniform(-2, 2):.2f}"
        connective = chance.choice(("=>", "or", "and", "<=>"))
        self.lines.append(f"{weight}: {one} {connective} {two}")


def random_program(seed: int) -> RandomProgram:
    return _Writer(seed).write()
