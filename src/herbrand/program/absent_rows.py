"""Decide formulas by an observed atom whose row is not among the facts, so that it is false.

Numbers that multiply weights, and values of atoms, are written out, one formula for each choice of them. If
an observed atom names several of them, ``1 * w: step(p, q, w) and at(x) = p and at(x + 1) = q``, most choices
have no row, and would become templates that ground to nothing.

>>> from herbrand.language.parse import parse_formula
>>> import herbrand as hb
>>> program = hb.Model(hb.parse("predicate step(n, n): observed\\nstep(1, 2)\\nstep(2, 3)")).program
>>> rows = AbsentRows(program.signature, program.facts)
>>> rows.decided(parse_formula("step(2, 1) and p(x)")), rows.decided(parse_formula("step(1, 1) => p(x)"))
(False, True)
>>> rows.decided(parse_formula("step(2, x) and p(x)")), rows.decided(parse_formula("step(3, x) and p(x)"))
(None, False)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from herbrand.facts.facts import Facts
from herbrand.language.formulas import And, Atom, Constant, Formula, Implies
from herbrand.language.signature import Signature

Places = tuple[int, ...]


@dataclass(frozen=True)
class AbsentRows:
    """Lookup of rows of closed predicates, except those that are ``unsettled``."""

    signature: Signature
    facts: Facts
    unsettled: Collection[str] = ()
    _present: dict[tuple[str, Places], frozenset[tuple[int, ...]]] = field(default_factory=dict)

    def decided(self, formula: Formula) -> bool | None:
        """Truth value of the formula if an absent conjunct or premise decides it, else ``None``."""
        match formula:
            case And(operands=operands):
                return False if any(self.decided(one) is False for one in operands) else None
            case Implies(premise=premise):
                return True if self.decided(premise) is False else None
            case Atom():
                return False if self._is_absent(formula) else None
        return None

    def _is_absent(self, atom: Atom) -> bool:
        table = self.facts.tables.get(atom.predicate)
        if table is None or table.world != "closed" or len(table.soft) or atom.predicate in self.unsettled:
            return False
        predicate = self.signature.predicates[atom.predicate]
        given = [(i, one.value) for i, one in enumerate(atom.arguments) if isinstance(one, Constant)]
        if not given or predicate.value_type is not None:
            return False
        places = tuple(place for place, _ in given)
        codes = tuple(self.facts.domains[predicate.types[place]].index_of(value) for place, value in given)
        if (atom.predicate, places) not in self._present:
            rows = table.true[:, list(places)].tolist()
            self._present[atom.predicate, places] = frozenset(map(tuple, rows))
        return codes not in self._present[atom.predicate, places]
