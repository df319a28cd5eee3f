"""Numbers of groundings of each template that hold if one atom has a given value, all others as known.

For a literal of a target, the other literals of its conjunction are contracted over the variables that its
atom does not name: one sum of products counts the groundings for all atoms at once, so the cost is that of
the contraction and not that of the groundings. Templates with quantifiers inside, and those about atoms which
change together, are grounded instead (:mod:`herbrand.learning.quantified`).

The groundings for which a literal holds in a known world are a relation of ones and zeros, to be contracted.
An atom without a known value makes no literal hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from herbrand.budget import Budget, refuse_beyond
from herbrand.contraction.execute import contract
from herbrand.contraction.expression import Axes, Contraction
from herbrand.contraction.relation import Dense, Relation, Sparse
from herbrand.engines.mean_field.products import Observed
from herbrand.engines.mean_field.relations import KnownRelations
from herbrand.learning import quantified
from herbrand.learning.contradiction import refuse_contradiction
from herbrand.learning.example import Example
from herbrand.learning.ties import Ties
from herbrand.program.bindings import Bindings
from herbrand.program.ground import weight_rows
from herbrand.program.program import Literal, Template, unequal

BYTES_AN_ENTRY = 40


@dataclass(frozen=True, eq=False)
class Flips:
    """Counts for one literal of a template: ``counts[i]`` groundings hold if atom ``codes[i]`` has one of the
    ``allowed`` values.

    ``weight_rows``: which number they use of a weight that is learned for each constant.
    """

    template: Template
    predicate: str
    allowed: tuple[int, ...]
    codes: np.ndarray
    weight_rows: np.ndarray
    counts: np.ndarray


def flips(example: Example, budget: Budget, ties: Ties) -> Iterator[Flips]:
    """Yield the flips of all templates, without atoms and values that no grounding depends on."""
    known = KnownRelations(example.evidence, budget.bytes)
    for template in example.program.templates:
        if template.predicates.isdisjoint(example.targets):
            if template.weight is None:
                _refuse_broken(template, example, known, budget)
            continue
        if template.conjunction.blocks or ties.touch(template):
            counted = quantified.flips(template, example, budget, ties.leaders)
            for predicate, value, codes, weight_rows, counts in counted:
                yield Flips(template, predicate, (value,), codes, weight_rows, counts)
            continue
        for literal in template.conjunction.literals:
            if literal.predicate in example.targets:
                yield _contracted(template, literal, example, known, budget)


def _refuse_broken(template: Template, example: Example, known: KnownRelations, budget: Budget) -> None:
    """Raise ContradictionError if facts of predicates that are not targets violate a hard statement: none of
    its atoms is flipped, so no flip would detect it."""
    literals = template.conjunction.literals
    if literals and not template.conjunction.blocks:
        flipped = _contracted(template, literals[0], example, known, budget)
        now = np.isin(example.labels(flipped.predicate, flipped.codes), flipped.allowed)
        refuse_contradiction(example, template, flipped.predicate, flipped.codes[now])
    else:
        quantified.refuse_broken(template, example, budget)


def _contracted(
    template: Template, literal: Literal, example: Example, known: KnownRelations, budget: Budget
) -> Flips:
    """Flips of one literal's atoms."""
    conjunction = template.conjunction
    sizes = {name: len(example.program.domain(type_name)) for name, type_name in conjunction.variables}
    named = (*literal.arguments, *template.weight_arguments)
    output = tuple(dict.fromkeys(argument for argument in named if isinstance(argument, str)))
    operands = [held(other, known) for other in conjunction.literals if other is not literal]
    pairs, constants = unequal(conjunction)
    operands += [((name,), _all_but(constant, sizes[name])) for name, constant in constants]
    contraction = Contraction(tuple(axes for axes, _ in operands), output, sizes, pairs)
    if not set(output) <= {axis for axes, _ in operands for axis in axes}:
        _refuse_large([sizes[name] for name in output], budget)
    result = contract(contraction, [relation for _, relation in operands], budget.bytes)
    rows, counts = _nonzero(result, budget)
    bindings = Bindings({name: rows[:, i] for i, name in enumerate(output)}, np.arange(len(rows)))
    codes = bindings.codes(literal.arguments, example.evidence.sizes(literal.predicate))
    numbers = weight_rows(template, bindings, example.program)
    return Flips(template, literal.predicate, literal.allowed, codes, numbers, counts)


def held(literal: Literal, known: KnownRelations) -> tuple[Axes, Relation]:
    """Names of a literal's variables, and the relation of where it holds, cached up to the names of
    variables."""
    axes = tuple(dict.fromkeys(a for a in literal.arguments if isinstance(a, str)))
    names = {axis: f"a{place}" for place, axis in enumerate(axes)}
    arguments = tuple(names[a] if isinstance(a, str) else a for a in literal.arguments)
    return axes, known.relation(Observed(replace(literal, arguments=arguments)))


def _all_but(constant: int, size: int) -> Relation:
    """Relation that is 0 for the constant and 1 for all others."""
    others = torch.ones(size, dtype=torch.float64)
    others[constant] = 0.0
    return Dense(others)


def _nonzero(result: Relation, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Index rows and values of the nonzero entries."""
    if isinstance(result, Sparse) and result.default == 0.0:
        kept = np.flatnonzero(result.values.numpy())
        return result.indices[kept], np.rint(result.values.numpy()[kept])
    _refuse_large(result.shape, budget)
    values = result.to_dense().numpy().reshape(-1)
    kept = np.flatnonzero(values)
    rows = (
        np.stack(np.unravel_index(kept, result.shape), axis=1) if result.shape else np.empty((len(kept), 0))
    )
    return rows.astype(np.int64), np.rint(values[kept])


def _refuse_large(shape: Sequence[int], budget: Budget) -> None:
    entries = math.prod(shape)
    what = f"counting groundings needs a table of {entries:,} entries,"
    hint = "train on fewer predicates (--target PRED), or allow more by --memory"
    refuse_beyond(entries * BYTES_AN_ENTRY, budget.bytes, what, hint)
