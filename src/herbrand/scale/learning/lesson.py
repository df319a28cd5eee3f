"""A world to learn from with facts in a database: as :class:`Example`, but with its rows in tables.

Every predicate is closed unless it is latent, as in memory. For each observed literal there is a relation of
where it holds; for each target one of its atoms' values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from herbrand.engines.mean_field.products import Observed
from herbrand.errors import UnsupportedError, counted
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.show import show_atom
from herbrand.language.signature import Signature
from herbrand.language.theory import Theory
from herbrand.learning.example import (
    Aim,
    Example,
    World,
    lowered,
    refuse_latent,
    refuse_nothing_learned,
    refuse_unknown,
    refuse_unlabelled,
)
from herbrand.program.evidence import LATENT
from herbrand.program.program import Literal
from herbrand.scale.derived import with_derived
from herbrand.scale.evidence import StoredEvidence, mixed
from herbrand.scale.facts import StoredFacts
from herbrand.scale.operands import Rows, known_operand, refuse_quantifiers

LATENT_IN_MEMORY = (
    "leave out --on: --method likelihood and layers learn through latent predicates in memory; or list their "
    "facts"
)


@dataclass(frozen=True, eq=False)
class StoredExample(Example):
    """An example in a database. ``stored``: the facts, labels included."""

    stored: StoredFacts

    @cached_property
    def evidence(self) -> StoredEvidence:
        return StoredEvidence(self.known, self.stored)

    def indicator(self, literal: Literal) -> tuple[tuple[str, ...], Rows]:
        """The literal's variables, and a relation that is 1 where it holds.

        A latent atom makes no literal hold.
        """
        return Observed(literal).axes, known_operand(literal, self.evidence)

    def codes(self, predicate: str, arguments: Sequence[str]) -> str:
        """Code of an atom, from expressions for its arguments."""
        return mixed(arguments, self.evidence.sizes(predicate))

    def lists_all_labels(self, target: str) -> bool:
        """Whether an unlisted atom has no label; otherwise it is false."""
        return self.evidence.is_valued(target) or self.evidence.known(target).default == LATENT


def stored_example(theory: Theory, signature: Signature, stored: StoredFacts, aim: Aim) -> StoredExample:
    """The world as an example; raise an error if its facts cannot be learned from."""
    refuse_nothing_learned(theory)
    refuse_unknown(aim, signature)
    tables = {name: _masked(signature, stored, name, aim.latent) for name in stored.facts.tables}
    masked = replace(stored, facts=Facts(stored.facts.domains, tables))
    if theory.rules:
        masked = with_derived(theory.rules, signature, masked)
    lesson = lowered(theory, World(signature, masked.facts), aim)
    example = StoredExample(lesson.known, lesson.program, lesson.targets, lesson.latent, masked)
    _refuse_valueless(example)
    refuse_unlabelled([example])
    refuse_latent(example, LATENT_IN_MEMORY)
    _refuse_quantifiers(example)
    return example


def _masked(signature: Signature, stored: StoredFacts, name: str, latent: tuple[str, ...]) -> FactTable:
    """A predicate's world as learning assumes it: closed unless latent."""
    table = stored.facts.tables[name]
    if name in latent:
        return replace(table, world="open")
    opinions = stored.tables[name]
    if opinions.counts[2]:
        types = signature.predicates[name].column_types
        columns = ", ".join((*(f"a{place}" for place in range(len(types))), "p"))
        *row, p = stored.database.rows(f"SELECT {columns} FROM {opinions.soft} LIMIT 1")[0]
        constants = stored.facts.constants(types, row)
        raise UnsupportedError(
            f"{show_atom(name, constants)} ~ {p:g} is soft evidence; labels are true or false",
            hint=f"say which it is, or that it is not known: --latent {name}",
        )
    return replace(table, world="closed")


def _refuse_valueless(example: StoredExample) -> None:
    """Raise UnsupportedError if many-valued atoms of closed predicates have no value: false is none of their
    values."""
    for name, table in example.known.facts.tables.items():
        if example.evidence.is_valued(name) and table.world == "closed":
            listed = example.stored.tables[name].counts[0]
            missing = math.prod(example.evidence.sizes(name)) - listed
            if missing:
                raise UnsupportedError(
                    f"{name} has no value for {counted(missing, 'atom')}",
                    hint=f"list one for each, or say that what is not listed is not known: --latent {name}",
                )


def _refuse_quantifiers(example: StoredExample) -> None:
    """Raise UnsupportedError if a statement about a target, or a hard one, has quantifiers inside."""
    for template in example.program.templates:
        bears = not template.predicates.isdisjoint(example.targets)
        if template.weight is None or bears:
            refuse_quantifiers(template, example.program, "learn")
