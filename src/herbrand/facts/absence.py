"""Constants that their type does not have, reported with the nearest of those that it has.

>>> person = Domain.of("person", ["anna", "bob"])
>>> print(absence("ana", person))
"ana" is no constant of type person
  did you mean 'anna'?
>>> indices_in(person, ["bob", "anna"]).tolist()
[1, 0]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from herbrand.errors import LanguageError, Mistake, Span, nearest
from herbrand.facts.column import ABSENT, Index
from herbrand.facts.domain import Domain
from herbrand.language.names import shown_constant
from herbrand.language.syntax import Value

MOST_COMPARED = 100_000
"""Among more constants than these the nearest is not looked for: it would take seconds."""


def absence(value: Value, domain: Domain, span: Span | None = None) -> Mistake:
    """What is to be said of a constant that is none of the type's."""
    near = nearest(str(value), map(str, domain)) if len(domain) <= MOST_COMPARED else ""
    hint = near if len(domain) else f"type {domain.name} has no constants at all"
    return Mistake(f"{shown_constant(value)} is no constant of type {domain.name}", span, hint)


def indices_in(domain: Domain, values: Sequence[Value]) -> Index:
    """The index of each constant; raises ``LanguageError`` for the first that is none of the type's."""
    indices = domain.indices_of(values)
    absent = np.flatnonzero(indices == ABSENT)
    if len(absent):
        raise LanguageError([absence(values[int(absent[0])], domain)])
    return indices
