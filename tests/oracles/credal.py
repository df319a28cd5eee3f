"""Logical credal networks by plain loops: all 2^n cases, the primal graph node by node, every independence.

The slow, obviously right version. It reads syntax and nothing else of the project. A distribution is a list
of 2^n probabilities, one for each row of ``cases``. Intervals are found by SCIP on the raw program: one
variable a case, one quadratic equation for each independence and each choice of values (equation 12 of the
ARIEL paper).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from herbrand.language import syntax as s


def holds(formula: s.Formula, case: Mapping[str, bool]) -> bool:
    match formula:
        case s.Atom(predicate=name):
            return case[name]
        case s.Truth(value=value):
            return value
        case s.Not(operand=operand):
            return not holds(operand, case)
        case s.And(operands=operands):
            return all(holds(o, case) for o in operands)
        case s.Or(operands=operands):
            return any(holds(o, case) for o in operands)
        case s.Xor(operands=operands):
            return sum(holds(o, case) for o in operands) % 2 == 1
        case s.Implies(premise=a, conclusion=b):
            return not holds(a, case) or holds(b, case)
        case s.Iff(left=a, right=b):
            return holds(a, case) == holds(b, case)
    raise AssertionError(formula)


def atoms_of(formula: s.Formula | None) -> list[str]:
    if formula is None:
        return []
    return list(dict.fromkeys(p.predicate for p in s.walk(formula) if isinstance(p, s.Atom)))


Independence = tuple[str, tuple[str, ...], tuple[str, ...]]
"""An atom, its parents, and what it is jointly independent of given them."""


@dataclass(frozen=True)
class Network:
    """A theory of bounds over atoms without arguments."""

    bounds: tuple[s.Bound, ...]

    @property
    def atoms(self) -> list[str]:
        found = [name for b in self.bounds for f in (b.event, b.given) for name in atoms_of(f)]
        return list(dict.fromkeys(found))

    def cases(self) -> list[dict[str, bool]]:
        names = self.atoms
        return [
            dict(zip(names, row, strict=True)) for row in itertools.product((False, True), repeat=len(names))
        ]

    # The primal graph, as the paper defines it: formula nodes ("q", i) and ("r", i) for each sentence i

    def edges(self) -> set[tuple[object, object]]:
        found: set[tuple[object, object]] = set()
        for number, bound in enumerate(self.bounds):
            q = _node(bound.event, ("q", number))
            if bound.given is None:
                found |= {(atom, q) for atom in atoms_of(bound.event) if atom != q}
                continue
            r = _node(bound.given, ("r", number))
            found |= {(atom, r) for atom in atoms_of(bound.given) if atom != r}
            found |= {(q, atom) for atom in atoms_of(bound.event) if atom != q}
            if r != q:
                found.add((r, q))
            if not bound.independent:
                found |= {(atom, q) for atom in atoms_of(bound.event) if atom != q}
        return found

    def parents(self, atom: str) -> set[str]:
        """Atoms from which a path leads here through formula nodes only."""
        edges, seen, waiting = self.edges(), set(), [atom]
        while waiting:
            here = waiting.pop()
            for start, end in edges:
                if end == here and start not in seen:
                    seen.add(start)
                    if not isinstance(start, str):
                        waiting.append(start)
        return {node for node in seen if isinstance(node, str)} - {atom}

    def descendants(self, atom: str) -> set[str]:
        """Atoms to which a path leads with no parent of the atom between."""
        edges, parents, seen, waiting = self.edges(), self.parents(atom), set(), [atom]
        while waiting:
            here = waiting.pop()
            for start, end in edges:
                if start == here and end not in seen and end != atom:
                    seen.add(end)
                    if end not in parents:
                        waiting.append(end)
        return {node for node in seen if isinstance(node, str)}

    def independences(self) -> list[Independence]:
        found = []
        for atom in self.atoms:
            parents, below = self.parents(atom), self.descendants(atom)
            others = [a for a in self.atoms if a != atom and a not in parents and a not in below]
            if others:
                found.append((atom, tuple(a for a in self.atoms if a in parents), tuple(others)))
        return found

    # Distributions

    def probability(self, p: Sequence[float], formula: s.Formula | None) -> float:
        if formula is None:
            return sum(p)
        return sum(x for x, case in zip(p, self.cases(), strict=True) if holds(formula, case))

    def violation(self, p: Sequence[float], markov: bool = True) -> float:
        """How far a distribution is from satisfying everything; 0 if it does."""
        worst = abs(sum(p) - 1)
        for bound in self.bounds:
            both, given = self.both(bound), bound.given
            of_given, of_both = self.probability(p, given), self.probability(p, both)
            worst = max(worst, bound.lower * of_given - of_both, of_both - bound.upper * of_given)
        for left, right in self.quadratics() if markov else ():
            a, b, c, d = (sum(p[i] for i in part) for part in (*left, *right))
            worst = max(worst, abs(a * b - c * d))
        return worst

    def both(self, bound: s.Bound) -> s.Formula:
        return bound.event if bound.given is None else s.And((bound.event, bound.given))

    def quadratics(self) -> Iterator[tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]]]:
        """P(x, S, T) P(S) = P(x, S) P(S, T), as cases to be summed, for all values."""
        cases = self.cases()
        for atom, parents, others in self.independences():
            for row in itertools.product((False, True), repeat=1 + len(parents) + len(others)):
                value = dict(zip((atom, *parents, *others), row, strict=True))

                def those(*names: str, value: dict[str, bool] = value) -> list[int]:
                    return [i for i, c in enumerate(cases) if all(c[n] == value[n] for n in names)]

                whole = those(atom, *parents, *others), those(*parents)
                yield whole, (those(atom, *parents), those(*parents, *others))

    def interval(self, event: s.Formula, markov: bool = True) -> tuple[float, float] | None:
        """Both ends of P(event); ``None`` where no distribution satisfies the theory."""
        worth = [float(holds(event, case)) for case in self.cases()]
        low = self.least(worth, markov)
        return None if low is None else (low, -(self.least([-x for x in worth], markov) or 0.0))

    def never_below(self, event: s.Formula, given: s.Formula, ratio: float) -> bool:
        """Whether P(event | given) >= ratio for every distribution with P(given) > 0."""
        cases = self.cases()
        worth = [(holds(event, case) - ratio) * holds(given, case) for case in cases]
        least = self.least(worth)
        assert least is not None
        return least >= -1e-6

    def least(self, worth: Sequence[float], markov: bool = True) -> float | None:
        """The least expected worth of a case, proved by SCIP; ``None``: no distribution satisfies all."""
        found = self.proved_and_reached(worth, markov)
        return None if found is None else found[0]

    def proved_and_reached(
        self, worth: Sequence[float], markov: bool = True, seconds: float = 60
    ) -> tuple[float, float] | None:
        """Below the first no expected worth can be; the second is that of a distribution that was found."""
        import pyscipopt

        model = pyscipopt.Model()
        model.hideOutput()
        cases = self.cases()
        p = [model.addVar(lb=0, ub=1) for _ in cases]

        def total(formula: s.Formula | None) -> object:
            return pyscipopt.quicksum(
                x for x, case in zip(p, cases, strict=True) if formula is None or holds(formula, case)
            )

        model.addCons(total(None) == 1)
        for bound in self.bounds:
            both = total(self.both(bound))
            model.addCons(both >= bound.lower * total(bound.given))
            model.addCons(both <= bound.upper * total(bound.given))
        for left, right in self.quadratics() if markov else ():
            a, b, c, d = (pyscipopt.quicksum(p[i] for i in part) for part in (*left, *right))
            model.addCons(a * b == c * d)
        model.setObjective(pyscipopt.quicksum(w * x for w, x in zip(worth, p, strict=True)), "minimize")
        model.setParam("limits/time", seconds)
        model.optimize()
        return None if model.getStatus() == "infeasible" else (model.getDualbound(), model.getPrimalbound())


def _node(formula: s.Formula, otherwise: object) -> object:
    """A formula that is one atom has that atom's node."""
    return formula.predicate if isinstance(formula, s.Atom) else otherwise
