"""From probabilities to the tables of an answer, as a question asks for them.

An engine gives the probabilities of latent atoms by number, or says how to look them up by code. Constants
become Python values only when somebody looks at them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from herbrand.answers.marginals import AtomTable
from herbrand.budget import Budget
from herbrand.language.syntax import Value
from herbrand.program.bindings import Bindings, Limit, enumerate_bindings
from herbrand.program.evidence import LATENT, Evidence, arguments_of, codes_of
from herbrand.program.ground import Ground
from herbrand.program.question import AtomPattern, Question
from herbrand.program.template import Conjunction

MOST_BYTES = 4e9

LookUp = Callable[[str, np.ndarray], np.ndarray]
"""The probabilities [atom, value] of latent atoms of a predicate, by their codes."""


def atom_tables(ground: Ground, probabilities: np.ndarray, question: Question) -> Iterator[AtomTable]:
    """A table for each predicate asked for; ``probabilities`` [latent atom, value]."""
    return looked_up(ground.evidence, by_number(ground, probabilities), question)


def by_number(ground: Ground, probabilities: np.ndarray) -> LookUp:
    """Looks up ``probabilities`` [latent atom, value]."""

    def look_up(predicate: str, codes: np.ndarray) -> np.ndarray:
        numbers = ground.atoms.numbers(predicate, codes)
        return probabilities[numbers, : ground.program.value_count(predicate)]

    return look_up


def looked_up(evidence: Evidence, look_up: LookUp, question: Question) -> Iterator[AtomTable]:
    """A table for each predicate asked for, its latent atoms looked up."""
    if question.everything:
        for predicate in evidence.program.signature.named:
            if evidence.known(predicate).latent_count():
                yield _table(evidence, look_up, predicate, evidence.known(predicate).latent_codes())
        return
    for predicate in dict.fromkeys(pattern.predicate for pattern in question.atoms):
        patterns = [pattern for pattern in question.atoms if pattern.predicate == predicate]
        codes = np.concatenate([_codes(evidence, pattern) for pattern in patterns])
        _, first = np.unique(codes, return_index=True)
        yield _table(evidence, look_up, predicate, codes[np.sort(first)])


def _codes(evidence: Evidence, pattern: AtomPattern) -> np.ndarray:
    """The atoms that fit a pattern. Of a predicate whose atoms are all known, such as a derived one, the name
    alone asks for those that hold."""
    if pattern.latent:
        known = evidence.known(pattern.predicate)
        if known.latent_count() or evidence.is_valued(pattern.predicate):
            return known.latent_codes()
        return known.codes[known.values == 1]
    types = evidence.program.signature.predicates[pattern.predicate].types
    typed = {a: t for a, t in zip(pattern.arguments, types, strict=True) if isinstance(a, str)}
    if not typed:
        return codes_of(np.array([pattern.arguments], np.int64), evidence.sizes(pattern.predicate))
    free = Conjunction(tuple(typed.items()))
    rows = enumerate_bindings(free, Bindings.nothing(), evidence, Limit(Budget(int(MOST_BYTES))))
    return np.sort(rows.codes(pattern.arguments, evidence.sizes(pattern.predicate)))


def _table(evidence: Evidence, look_up: LookUp, predicate: str, codes: np.ndarray) -> AtomTable:
    program = evidence.program
    shares = np.zeros((len(codes), program.value_count(predicate)))
    settled = evidence.known(predicate).lookup(codes)
    latent = settled == LATENT
    if latent.any():
        shares[latent] = look_up(predicate, codes[latent])
    shares[np.flatnonzero(~latent), settled[~latent]] = 1.0
    domains = program.domains_of(program.signature.predicates[predicate])
    columns = arguments_of(codes, tuple(map(len, domains)))
    constants = tuple(domain.at(column) for domain, column in zip(domains, columns, strict=True))
    return AtomTable(predicate, constants, shares, _values(evidence, predicate))


def _values(evidence: Evidence, predicate: str) -> tuple[Value, ...] | None:
    value_type = evidence.program.signature.predicates[predicate].value_type
    return None if value_type is None else tuple(evidence.program.domain(value_type))
