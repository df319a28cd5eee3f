"""The Neural Logic Machine's layer in plain loops, cell
by cell; and rules evaluated by trying every binding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np

from herbrand.language.syntax import Atom, Comparison, Constant, Not, Rule, Variable

Table = np.ndarray
"""One world's predicates of one arity: ``[m, ..., m, channels]``."""


def layer(
    groups: Sequence[Table | None],
    weights: Mapping[int, tuple[np.ndarray, np.ndarray]],
    objects: Sequence[int],
    residual: bool,
) -> list[Table | None]:
    """The groups after one layer. ``objects``: those that the world has; cells of others are left 0."""
    results: list[Table | None] = []
    for arity, own in enumerate(groups):
        made = own if residual else None
        if arity in weights:
            weight, bias = weights[arity]
            size = 1 + max(objects)
            table = np.zeros((*[size] * arity, len(bias)))
            for cell in product(objects, repeat=arity):
                features = _features(groups, arity, cell, objects)
                table[cell] = [_sigmoid(w @ features + b) for w, b in zip(weight, bias, strict=True)]
            made = table if made is None else np.concatenate([made, table], -1)
        results.append(made)
    return results


def _features(
    groups: Sequence[Table | None], arity: int, cell: tuple[int, ...], objects: Sequence[int]
) -> np.ndarray:
    found: list[float] = []
    for order in permutations(range(arity)):
        # the permuted group at `cell`: axis order[i] of the group is read at cell[i]
        place = [0] * arity
        for position, axis in enumerate(order):
            place[axis] = cell[position]
        if arity and groups[arity - 1] is not None:
            found += list(groups[arity - 1][tuple(place[:-1])])
        if groups[arity] is not None:
            found += list(groups[arity][tuple(place)])
        if arity + 1 < len(groups) and groups[arity + 1] is not None:
            found += quantified(groups[arity + 1], tuple(place), objects)
    return np.array(found)


def quantified(group: Table, place: tuple[int, ...], objects: Sequence[int]) -> list[float]:
    """Exists and forall of each channel over objects that differ from all others, themselves different."""
    found = []
    for channel in range(group.shape[-1]):
        others = [o for o in objects if o not in place] if len(set(place)) == len(place) else []
        values = [group[(*place, other)][channel] for other in others]
        found += [max(values, default=0.0), min(values, default=1.0)]
    return found


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def conclusions(
    rules: Iterable[Rule], facts: Mapping[str, set[tuple[Any, ...]]], objects: Sequence[Any]
) -> dict[str, set[tuple[Any, ...]]]:
    """Everything that the rules, in this order and each once, derive from the facts."""
    known = {name: set(rows) for name, rows in facts.items()}
    for rule in rules:
        names = sorted({v.name for literal in rule.body for v in _variables(literal)} | set(_head(rule)))
        new = known.setdefault(rule.head.predicate, set())
        new |= {
            tuple(_value(term, binding) for term in rule.head.arguments)
            for values in product(objects, repeat=len(names))
            if all(
                _holds(x, binding := dict(zip(names, values, strict=True)), known, objects) for x in rule.body
            )
        }
    return known


def _head(rule: Rule) -> list[str]:
    return [term.name for term in rule.head.arguments if isinstance(term, Variable)]


def _variables(literal: Any) -> list[Variable]:
    match literal:
        case Not(operand=operand):
            return _variables(operand)
        case Comparison(left=left, right=right):
            return [term for term in (left, right) if isinstance(term, Variable)]
        case Atom(arguments=arguments):
            return [term for term in arguments if isinstance(term, Variable) and term.name != "_"]
    return []


def _value(term: Any, binding: Mapping[str, Any]) -> Any:
    return term.value if isinstance(term, Constant) else binding[term.name]


def _agrees(term: Any, value: Any, binding: Mapping[str, Any]) -> bool:
    """``_`` agrees with everything."""
    return (isinstance(term, Variable) and term.name == "_") or _value(term, binding) == value


def _holds(literal: Any, binding: Mapping[str, Any], known: Mapping[str, set], objects: Any) -> bool:
    match literal:
        case Not(operand=operand):
            return not _holds(operand, binding, known, objects)
        case Comparison(operator=operator, left=left, right=right):
            equal = _value(left, binding) == _value(right, binding)
            return equal if operator == "=" else not equal
        case Atom(predicate=predicate, arguments=arguments):
            return any(
                all(_agrees(term, value, binding) for term, value in zip(arguments, row, strict=True))
                for row in known.get(predicate, set())
            )
    raise AssertionError(literal)
