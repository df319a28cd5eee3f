"""All that an engine may read: the vocabulary, the facts, and the templates of what was stated.

Made by :func:`herbrand.program.lower.lower`. The log-weight of a world is, over all templates and all
assignments for which a template's conjunction holds, the sum of ``sign * weight``, plus the soft evidence;
a world in which a forbidden conjunction holds is impossible. ``tables`` multiply the weight by an entry each;
:func:`herbrand.program.network_cells.in_cells` makes templates of them, for all that reads only templates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from herbrand.errors import Span
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.network_tables import NetworkTable
from herbrand.language.signature import Predicate, Signature
from herbrand.language.syntax import Choice, Rule, Statement
from herbrand.program.template import Template


@dataclass(frozen=True)
class Weight:
    """A number that templates refer to. ``by``: one number for each value of these types (starts at 0)."""

    value: float
    learned: bool = False
    by: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Program:
    """Immutable: a copy is the program itself."""

    signature: Signature
    facts: Facts
    statements: tuple[Statement, ...]
    weights: tuple[Weight, ...]
    templates: tuple[Template, ...]
    uncertain: tuple[Choice | Rule, ...] = ()
    """Choices, and the rules that rest on them: predicates that they derive are open here."""
    tables: tuple[NetworkTable, ...] = ()

    def __deepcopy__(self, memo: object) -> Program:
        return self

    def domain(self, type_name: str) -> Domain:
        return self.facts.domains[type_name]

    def domains_of(self, predicate: Predicate) -> tuple[Domain, ...]:
        return tuple(self.facts.domains[name] for name in predicate.types)

    def table(self, predicate: str) -> FactTable:
        return self.facts.tables[predicate]

    def value_count(self, predicate: str) -> int:
        """How many values an atom of this predicate has: 2 unless it is many-valued."""
        value_type = self.signature.predicates[predicate].value_type
        return 2 if value_type is None else len(self.facts.domains[value_type])

    def is_open(self, predicate: str) -> bool:
        return self.facts.tables[predicate].world == "open"

    @property
    def states_laws(self) -> bool:
        """Whether some statement always holds, so that there may be no world."""
        return any(template.weight is None for template in self.templates)

    def worth(self, template: Template) -> float:
        """What a row of the template adds to the log-weight of a world; minus infinity: it is forbidden."""
        if template.weight is None:
            return -math.inf
        return template.sign * self.weights[template.weight].value

    def span_of(self, template: Template) -> Span | None:
        """Where the template was stated; nowhere for one that a query added."""
        stated = template.statement < len(self.statements)
        return self.statements[template.statement].span if stated else None
