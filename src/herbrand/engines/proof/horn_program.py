"""Horn rules as clauses over known facts, ready to be planned.

>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"')
>>> facts = fact_sources({"parent": [("liam", "ann")], "brother": [("ann", "bob")]})
>>> program = HornProgram.of(theory.rules, *load_facts((), check(theory), facts))
>>> print(program.clauses["uncle"][0])
uncle(x, y) :- parent(x, z), brother(z, y), x != "bob"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.engines.proof.relation import IndexedFacts
from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts
from herbrand.graphs import reached
from herbrand.language.show import show_atom
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactRows, Learned, Rule, Value
from herbrand.program.clauses import Absence, Clause, Lookup
from herbrand.program.dependencies import check_strata
from herbrand.program.lower_rules import rule_clause, stated_clause

_CONDITIONS = "--algebra probability conditions on it"


@dataclass(frozen=True, eq=False)
class HornProgram:
    """Clauses by the predicate they derive, and the facts; relations are made when first needed, and kept."""

    signature: Signature
    facts: Facts
    clauses: Mapping[str, tuple[Clause, ...]]
    rules: tuple[Rule, ...] = ()
    weighted: tuple[Rule, ...] = ()

    @classmethod
    def of(
        cls,
        rules: Sequence[Rule],
        signature: Signature,
        facts: Facts,
        is_stated: Callable[[str], bool] | None = None,
    ) -> HornProgram:
        """``is_stated``: whether a predicate has facts, where these are not in memory. Raises
        ``LanguageError`` where a predicate depends on its own negation, or texts are ordered."""
        check_strata(rules)
        tables = facts.tables
        stated = is_stated or (lambda name: len(tables[name].true) or len(tables[name].soft))
        weighted: list[Rule] = []
        clauses: dict[str, list[Clause]] = {}
        for rule in rules:
            known = clauses.setdefault(rule.head.predicate, [])
            place = None if rule.weight is None else len(weighted)
            if rule.weight is not None:
                weighted.append(rule)
            clause = rule_clause(rule, signature, facts)
            if clause is not None:
                known.append(replace(clause, weight=place))
        for name, known in clauses.items():
            if stated(name):
                known.insert(0, stated_clause(name, signature))
        return cls(
            signature,
            facts,
            {name: tuple(known) for name, known in clauses.items()},
            tuple(rules),
            tuple(weighted),
        )

    @cached_property
    def _relations(self) -> dict[str, IndexedFacts]:
        return {}

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many constants each type has."""
        return {name: len(domain) for name, domain in self.facts.domains.items()}

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """The constants of ordered types, filled when a comparison first needs them."""
        return {}

    def values(self, type_name: str) -> np.ndarray:
        """The constants of a type as an array that can be compared."""
        if type_name not in self.numbers:
            self.numbers[type_name] = self.facts.domains[type_name].values.to_numpy(zero_copy_only=False)
        return self.numbers[type_name]

    def is_derived(self, predicate: str) -> bool:
        return predicate in self.clauses

    def refuse_given(self, given: Sequence[FactRows], algebra: str) -> None:
        """Raise where a given literal is about what rules derive: counted proofs are not taken back."""
        for rows in given:
            if self.is_derived(rows.predicate):
                raise UnsupportedError(
                    f"rules derive {rows.predicate}, and --algebra {algebra} takes no evidence on what rules "
                    "derive",
                    span=rows.span,
                    hint=_CONDITIONS,
                )

    def called(self, clauses: Iterable[Clause]) -> list[str]:
        """The derived predicates that clauses ask, absences left out."""
        lookups = (part for clause in clauses for part in clause.body if isinstance(part, Lookup))
        names = (part.predicate for part in lookups if not part.stated)
        return [name for name in dict.fromkeys(names) if self.is_derived(name)]

    @cached_property
    def _heights(self) -> dict[str, int | None]:
        return {}

    def height(self, predicate: str) -> int | None:
        """How many calls deep its proofs can be; ``None`` where it rests on itself."""
        if predicate not in self._heights:
            self._heights[predicate] = None  # what is met again on the way rests on itself
            below = [self.height(name) for name in self.called(self.clauses.get(predicate, ()))]
            known = [height for height in below if height is not None]
            if len(known) == len(below):
                self._heights[predicate] = 1 + max(known, default=-1)
        return self._heights[predicate]

    def reached(self, clauses: Iterable[Clause]) -> set[str]:
        """The predicates that clauses rest on, through ``not`` too."""

        def called(clauses: Iterable[Clause]) -> set[str]:
            return {name for clause in clauses for name in clause.predicates()}

        return set(reached(called(clauses), lambda name: called(self.clauses.get(name, ()))))

    def absences(self, clauses: Sequence[Clause]) -> Iterator[tuple[Clause, str]]:
        """What stands behind ``not`` in clauses and all they rest on, each with its clause."""
        below = [clause for name in self.reached(clauses) for clause in self.clauses.get(name, ())]
        for clause in (*clauses, *below):
            for part in clause.body:
                if isinstance(part, Absence):
                    yield clause, part.predicate

    def column_types(self, predicate: str) -> tuple[str, ...]:
        return self.signature.predicates[predicate].column_types

    def relation(self, predicate: str) -> IndexedFacts:
        """The stated facts of a predicate."""
        if predicate not in self._relations:
            sizes = tuple(self.sizes[name] for name in self.column_types(predicate))
            self._relations[predicate] = IndexedFacts.of(self.facts.tables[predicate], sizes)
        return self._relations[predicate]

    def standing(self, predicate: str, place: int) -> str:
        """A name for the relation of what stands in one place of a predicate's facts."""
        name = f"{predicate}`{place}"
        if name not in self._relations:
            relation = self.relation(predicate)
            found = np.unique(relation.columns[place])
            self._relations[name] = IndexedFacts((found,), (relation.sizes[place],), len(found))
        return name

    def all_positive(self, but: Collection[str] = (), rules: bool = True) -> bool:
        """Whether every weight is above 0: of the facts of all predicates but some, and of the ``rules``."""
        numbers = [rule.weight for rule in self.weighted if rules and not isinstance(rule.weight, Learned)]
        tables = [table for name, table in self.facts.tables.items() if name not in but]
        return all(number is None or number > 0 for number in numbers) and all(
            table.weights is None or not len(table.weights) or table.weights.min() > 0 for table in tables
        )


def denied_but_derived(predicate: str, values: tuple[Value, ...], algebra: str) -> UnsupportedError:
    """The refusal where a derived atom is stated to be false."""
    return UnsupportedError(
        f"{show_atom(predicate, values)} is stated to be false, and rules derive it: --algebra {algebra} "
        "takes no evidence on what rules derive",
        hint=_CONDITIONS,
    )
