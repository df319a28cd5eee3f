"""What connectives mean, against an evaluator written from the language page alone."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.language.parse import parse_formula
from herbrand.language.syntax import (
    And,
    Atom,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    Xor,
)
from tests.laws import tries

LETTERS = "abcd"
World = dict[str, bool]


class Reference:
    """Evaluates tokens from left to right by the rules of the page, without building a formula."""

    def __init__(self, tokens: list[str], world: World) -> None:
        self.tokens, self.world, self.position = tokens, world, 0

    def here(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        self.position += 1
        return self.tokens[self.position - 1]

    def iff(self) -> bool:
        left = self.implies()
        if self.here() == "<=>":
            self.take()
            return left == self.implies()
        return left

    def implies(self) -> bool:
        left = self.either()
        if self.here() == "=>":
            self.take()
            right = self.implies()
            return not left or right
        return left

    def either(self) -> bool:
        parts = [self.exclusive()]
        while self.here() == "or":
            self.take()
            parts.append(self.exclusive())
        return any(parts)

    def exclusive(self) -> bool:
        parts = [self.both()]
        while self.here() == "xor":
            self.take()
            parts.append(self.both())
        return sum(parts) % 2 == 1

    def both(self) -> bool:
        parts = [self.single()]
        while self.here() == "and":
            self.take()
            parts.append(self.single())
        return all(parts)

    def single(self) -> bool:
        token = self.take()
        if token == "not":
            return not self.single()
        if token in ("exists", "forall"):
            self.take()
            assert self.take() == ":"
            return self.iff()
        if token == "(":
            value = self.iff()
            assert self.take() == ")"
            return value
        return token == "true" if token in ("true", "false") else self.world[token]


def value(formula: Formula, world: World) -> bool:
    match formula:
        case Atom(predicate=name):
            return world[name]
        case Truth(value=truth):
            return truth
        case Not(operand=part):
            return not value(part, world)
        case And(operands=parts):
            return all(value(part, world) for part in parts)
        case Or(operands=parts):
            return any(value(part, world) for part in parts)
        case Xor(operands=parts):
            return sum(value(part, world) for part in parts) % 2 == 1
        case Implies(premise=left, conclusion=right):
            return not value(left, world) or value(right, world)
        case Iff(left=left, right=right):
            return value(left, world) == value(right, world)
        case Exists(body=body) | Forall(body=body):
            return value(body, world)
    raise AssertionError(formula)


@st.composite
def token_lists(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """Any well-formed formula, brackets only here and there."""
    tokens: list[str] = []
    chained = False
    for index in range(draw(st.integers(1, 4))):
        if index:
            connectives = ["=>", "or", "xor", "and"] + ([] if chained else ["<=>"])
            tokens.append(draw(st.sampled_from(connectives)))
            chained = chained or tokens[-1] == "<=>"
        tokens += ["not"] * draw(st.integers(0, 2))
        kind = draw(st.sampled_from(["letter"] * 4 + ["brackets", "quantifier"]))
        if kind == "brackets" and depth < 3:
            tokens += ["(", *draw(token_lists(depth + 1)), ")"]
        elif kind == "quantifier" and depth < 3:
            tokens += [draw(st.sampled_from(["exists", "forall"])), "x", ":", *draw(token_lists(depth + 1))]
            return tokens
        else:
            tokens.append(draw(st.sampled_from([*LETTERS, "true", "false"])))
    return tokens


@settings(max_examples=tries(300), deadline=None)
@given(token_lists())
def test_truth_tables_agree_with_the_reference(tokens: list[str]) -> None:
    text = " ".join(tokens)
    formula = parse_formula(text)
    for values in product([False, True], repeat=len(LETTERS)):
        world = dict(zip(LETTERS, values, strict=True))
        reference = Reference(tokens, world)
        assert value(formula, world) == reference.iff(), text
        assert reference.position == len(tokens)


@pytest.mark.parametrize(
    ("loose", "bracketed"),
    [
        ("a <=> b => c", "a <=> (b => c)"),
        ("a => b => c", "a => (b => c)"),
        ("a => b or c", "a => (b or c)"),
        ("a or b xor c", "a or (b xor c)"),
        ("a xor b and c", "a xor (b and c)"),
        ("not a and b", "(not a) and b"),
        ("exists x: a and b => c", "exists x: (a and b => c)"),
        ("a and exists x: b or c", "a and (exists x: (b or c))"),
        ("not exists x: a or b", "not (exists x: (a or b))"),
        ("not x = y and a", "(not (x = y)) and a"),
    ],
)
def test_binding_strength(loose: str, bracketed: str) -> None:
    assert parse_formula(loose) == parse_formula(bracketed)
