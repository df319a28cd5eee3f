"""From the claims about one predicate to its fact table: indices, sorted, unique, without a contradiction.

A probability of 0 or 1 is a fact. Refused are: an atom both true and false, two values of a many-valued atom,
none of its values possible, two weights of one atom. Opinions about one atom add up.

>>> alarm = Predicate("alarm")
>>> fact_table(alarm, [], {}, lambda has_facts: "closed" if has_facts else "open")
FactTable(0 true, 0 false, 0 soft, open)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from herbrand.errors import FactsError
from herbrand.facts.contradictions import no_value, soft_in_closed, true_and_false, two_values, two_weights
from herbrand.facts.domain import Domain
from herbrand.facts.facts import FactTable, Numbers, World
from herbrand.facts.predicate_claims import FALSE, TRUE, claimed_of
from herbrand.facts.table_claims import Claims
from herbrand.language.signature import Predicate
from herbrand.row_keys import Keys, row_keys, unique_sorted


def fact_table(
    predicate: Predicate,
    claims: Sequence[Claims],
    domains: Mapping[str, Domain],
    world: Callable[[bool], World],
) -> FactTable:
    """``world`` is asked with whether there are facts; raises ``FactsError`` with all contradictions."""
    own = [domains[name] for name in predicate.column_types]
    if not claims:
        return FactTable.empty(len(own), world(False))
    claimed = claimed_of(predicate, claims, own)
    true, false = unique_sorted(claimed.chosen(TRUE)), unique_sorted(claimed.chosen(FALSE))
    soft, probabilities, log_odds = claimed.opinions()
    weighted, weights = claimed.weighted()
    mistakes = [
        *true_and_false(claimed, true, false),
        *two_values(claimed, true),
        *no_value(claimed, false),
        *two_weights(claimed, weighted, weights),
    ]
    chosen = world(bool(len(true) or len(false)) and not (len(soft) and predicate.undecided))
    if len(soft) and chosen == "closed":
        mistakes.append(soft_in_closed(claimed, soft))
    if mistakes:
        raise FactsError(mistakes)
    rows = claimed.rows
    weight_column = _aligned(true, weighted, weights) if len(weighted) else None
    found = FactTable(rows(true), rows(false), rows(soft), probabilities, log_odds, weight_column, chosen)
    return _without_other_values(found, own) if predicate.function and chosen == "closed" else found


def _without_other_values(listed: FactTable, domains: Sequence[Domain]) -> FactTable:
    """The values of a function: known where one is listed, and unknown elsewhere."""
    *sizes, values = map(len, domains)
    known = np.unique(listed.true[:, :-1], axis=0)
    if len(known) == math.prod(sizes):
        return listed
    pairs = np.concatenate([np.repeat(known, values, axis=0), np.tile(range(values), len(known))[:, None]], 1)
    keys = [
        row_keys(list(rows.T), [*sizes, values], len(rows)) for rows in (pairs, listed.true, listed.false)
    ]
    others = pairs[~np.isin(keys[0], keys[1])]
    stated = listed.false[~np.isin(keys[2], keys[0])]
    false = np.concatenate([stated, others]).astype(listed.false.dtype)
    return replace(listed, false=np.asfortranarray(false[np.lexsort(false.T[::-1])]), world="open")


def _aligned(true: Keys, weighted: Keys, weights: Numbers) -> Numbers:
    """The weight of every fact; 1 where none is said."""
    aligned = np.ones(len(true))
    aligned[np.searchsorted(true, weighted)] = weights
    return aligned
