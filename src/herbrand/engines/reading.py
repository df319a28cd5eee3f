"""From probabilities by atom number to the tables of an answer, as a question asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from herbrand.answers.marginals import AtomTable
from herbrand.language.syntax import Value
from herbrand.program.bindings import Bindings, Limit, enumerate_bindings
from herbrand.program.evidence import LATENT
from herbrand.program.ground import Ground
from herbrand.program.question import AtomPattern, Question
from herbrand.program.template import Conjunction

MOST_BYTES = 4e9


def atom_tables(ground: Ground, probabilities: np.ndarray, question: Question) -> Iterator[AtomTable]:
    """A table for each predicate asked for; ``probabilities`` [latent atom, value]."""
    if question.everything:
        for predicate, codes in ground.atoms.codes.items():
            yield _table(ground, probabilities, predicate, codes)
        return
    for predicate in dict.fromkeys(pattern.predicate for pattern in question.atoms):
        patterns = [pattern for pattern in question.atoms if pattern.predicate == predicate]
        codes = np.concatenate([_codes(ground, pattern) for pattern in patterns])
        _, first = np.unique(codes, return_index=True)
        yield _table(ground, probabilities, predicate, codes[np.sort(first)])


def _codes(ground: Ground, pattern: AtomPattern) -> np.ndarray:
    """The atoms that fit a pattern."""
    if pattern.latent:
        return ground.atoms.codes.get(pattern.predicate, np.empty(0, np.int64))
    types = ground.program.signature.predicates[pattern.predicate].types
    typed = {a: t for a, t in zip(pattern.arguments, types, strict=True) if isinstance(a, str)}
    free = Conjunction(tuple(typed.items()))
    rows = enumerate_bindings(free, Bindings.nothing(), ground.evidence, Limit(MOST_BYTES))
    return np.sort(rows.codes(pattern.arguments, ground.evidence.sizes(pattern.predicate)))


def _table(ground: Ground, probabilities: np.ndarray, predicate: str, codes: np.ndarray) -> AtomTable:
    program = ground.program
    shares = np.zeros((len(codes), program.value_count(predicate)))
    settled = ground.evidence.known(predicate).lookup(codes)
    latent = settled == LATENT
    if latent.any():
        numbers = ground.atoms.numbers(predicate, codes[latent])
        shares[latent] = probabilities[numbers, : shares.shape[1]]
    shares[np.flatnonzero(~latent), settled[~latent]] = 1.0
    columns = tuple(map(tuple, ground.evidence.atom_arguments(predicate, codes)))
    return AtomTable(predicate, columns, shares, _values(ground, predicate))


def _values(ground: Ground, predicate: str) -> tuple[Value, ...] | None:
    value_type = ground.program.signature.predicates[predicate].value_type
    return None if value_type is None else tuple(ground.program.domain(value_type))
