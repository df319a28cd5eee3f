"""Explain an atom's marginal by the groundings that contain the atom, each with its contribution.

A grounding contributes its weight times how much likelier its pieces are when the atom is true than when it
is false, under the marginals of all other atoms. Soft evidence is the base; together they add up to the
atom's log-odds. For a many-valued atom these are the log-odds of the queried value over the likeliest other
one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.mean_field.circuit import Circuit, Event
from herbrand.engines.mean_field.clipping import shares
from herbrand.engines.mean_field.grounded import Events, MarginalPlaces
from herbrand.engines.mean_field.problem import Problem
from herbrand.engines.mean_field.reading import probabilities
from herbrand.engines.reading import ExplainedAtom, forced
from herbrand.extras import Tensor, torch
from herbrand.factors.ground_graph import ground_cases
from herbrand.language.names import shown_constant
from herbrand.language.show import statement_text
from herbrand.language.syntax import Value
from herbrand.program.evidence import arguments_of
from herbrand.program.ground import Ground, GroundTemplate, LatentAtoms, ground_template
from herbrand.program.program import Argument, Literal, Template, literals_of, substituted
from herbrand.program.question import Question

Code = int | bytes
"""The key of an atom's arguments."""
MOST_REASONS = 1000
"""Most groundings to list; the sum of all others is the remainder."""


def explained(
    problem: Problem, marginals: Mapping[str, Tensor], question: Question, engine: str
) -> Explanation:
    """Explain the queried atom's log-odds as soft evidence plus the contribution of each grounding."""
    queried = ExplainedAtom.of(question, problem.evidence)
    case = _Case(problem, marginals, queried)
    odds = case.certain
    if odds:
        return queried.explained(odds, engine, Guarantee.APPROXIMATION, (forced(odds),))
    heaviest = sorted(case.contributions().items(), key=lambda item: -abs(item[1]))
    reasons = tuple(Reason(*case.grounding(*key), amount) for key, amount in heaviest[:MOST_REASONS])
    rest = math.fsum(amount for _, amount in heaviest[MOST_REASONS:])
    total = math.fsum((case.base, rest, *(reason.contribution for reason in reasons)))
    about = queried.text, case.quantity, total, engine, Guarantee.APPROXIMATION
    return Explanation(*about, reasons, base=case.base, remainder=rest)


Key = tuple[int, tuple[tuple[str, int, str], ...]]
"""A statement, and its variables with their constants and types."""


@dataclass(eq=False)
class _Case:
    """One latent atom to explain: the odds of its ``value`` against the likeliest ``other``."""

    problem: Problem
    marginals: Mapping[str, Tensor]
    queried: ExplainedAtom

    def __post_init__(self) -> None:
        problem, queried = self.problem, self.queried
        self.value = queried.value
        self.atoms = LatentAtoms(problem.evidence, problem.budget)
        self.leaders = problem.leaders(self.atoms)
        self.valued = problem.evidence.is_valued(queried.predicate)
        own = queried.axis(self.atoms)
        self.number, self.flipped = int(self.leaders.leader[own]), bool(self.leaders.opposite[own])
        self.probabilities = probabilities(problem, self.marginals, queried.predicate, queried.codes)[0]
        self.other = self._likeliest_other()
        self.shares = self._shares()
        self.places = MarginalPlaces(problem.unknowns.tables, self.atoms)
        self.flat = self.places.flat(self.marginals)

    def _likeliest_other(self) -> int:
        order = np.argsort(-self.probabilities, kind="stable").tolist()
        return next((value for value in order if value != self.value), self.value)

    def _shares(self) -> list[float]:
        """For each weighted statement, the fraction of its message to the atom that clipping leaves."""
        problem, count = self.problem, len(self.problem.weights)
        if problem.clip is None:
            return [1.0] * count
        name, code = self.atoms.atom(self.number)
        place = int(problem.unknowns.tables[name].positions(code)[0])
        return shares(
            problem.unknowns,
            lambda weights: problem.messages(self.marginals, weights)[1],
            count,
            problem.clip,
            name,
            place,
        )

    @property
    def certain(self) -> float:
        """Infinite log-odds where the queried value is the only one left, or is excluded; else 0."""
        settled = self.problem.settled
        if settled is not None and len(settled.allowed.get(self.number, ())) == 1:
            return math.inf if int(self.probabilities.argmax()) == self.value else -math.inf
        if self.valued and 0.0 in self.probabilities[[self.value, self.other]]:
            return -math.inf if self.probabilities[self.value] == 0 else math.inf
        return 0.0

    @property
    def quantity(self) -> str:
        value_type = self.problem.program.signature.predicates[self.queried.predicate].value_type
        if value_type is None:
            return "log-odds"
        other = self.problem.program.domain(value_type).value(self.other)
        return f"log-odds over {shown_constant(other)}"

    @cached_property
    def base(self) -> float:
        """Log-odds from soft evidence."""
        return math.fsum(self._opinion(name, code, flipped) for name, code, flipped in self.members)

    def _opinion(self, name: str, code: Code, flipped: bool) -> float:
        unary = self.problem.unknowns.unary.get(name)
        if unary is None:
            return 0.0
        table = self.problem.unknowns.tables[name]
        place = int(table.positions(np.array([code]))[0])
        if table.true_or_false:
            weight = float(unary.reshape(-1)[place])
            return -weight if flipped else weight
        row = unary.reshape(-1, table.shape[-1])[place]
        return float(row[self.value] - row[self.other])

    @cached_property
    def members(self) -> list[tuple[str, Code, bool]]:
        """The atom and those tied to it, with whether each has the opposite value of this one."""
        numbers = np.flatnonzero(self.leaders.leader == self.number)
        members = []
        for name, codes in self.atoms.codes.items():
            first = self.atoms.start[name]
            for number in numbers[(numbers >= first) & (numbers < first + len(codes))].tolist():
                flipped = bool(self.leaders.opposite[number]) ^ self.flipped
                members.append((name, codes[number - first].item(), flipped))
        return members

    def contributions(self) -> dict[Key, float]:
        """Contribution of each ground statement, summed over its pieces."""
        amounts: dict[Key, float] = defaultdict(float)
        for template in self.problem.program.templates:
            if template.weight is None:
                continue
            for key, amount in self._of_template(template):
                amounts[key] += amount * self.shares[template.weight]
        return {key: amount for key, amount in amounts.items() if amount != 0}

    def _of_template(self, template: Template) -> Iterator[tuple[Key, float]]:
        seen: set[tuple[int, ...]] = set()
        for name, code, _ in self.members:
            for literal in literals_of(template.conjunction):
                if literal.predicate == name:
                    yield from self._of_literal(template, literal, code, seen)

    def _of_literal(
        self, template: Template, literal: Literal, code: Code, seen: set[tuple[int, ...]]
    ) -> Iterator[tuple[Key, float]]:
        """The groundings in which a literal is the atom, each with its contribution."""
        bound = self._bound(template, literal, code)
        if bound is None:
            return
        narrowed, values = bound
        ground = ground_template(narrowed, self.problem.evidence, self.atoms, self.problem.budget)
        if not len(ground.conjunction):
            return
        row_weights = self._row_weights(ground)
        for row, change in self._changes(ground):
            binding = values | {name: int(column[row]) for name, column in ground.bindings.columns.items()}
            identity = tuple(binding.get(name, -1) for name, _ in template.conjunction.variables)
            if identity not in seen:
                seen.add(identity)
                yield self._key(template, binding), change * float(row_weights[row])

    def _bound(
        self, template: Template, literal: Literal, code: Code
    ) -> tuple[Template, dict[str, int]] | None:
        """The template with the literal's variables bound to the atom's constants; ``None`` where they do not
        match."""
        constants = [
            int(c[0]) for c in arguments_of(np.array([code]), self.problem.evidence.sizes(literal.predicate))
        ]
        values: dict[str, int] = {}
        for argument, constant in zip(literal.arguments, constants, strict=True):
            known = values.get(argument) if isinstance(argument, str) else argument
            if known is not None and known != constant:
                return None
            if isinstance(argument, str) and argument in template.conjunction.types:
                values[argument] = constant
        conjunction = template.conjunction
        for name, constant in values.items():
            narrowed = substituted(conjunction, name, constant)
            if narrowed is None:
                return None
            conjunction = narrowed
        by: tuple[Argument, ...] = tuple(
            values.get(a, a) if isinstance(a, str) else a for a in template.weight_arguments
        )
        return replace(template, conjunction=conjunction, weight_arguments=by), values

    def _row_weights(self, ground: GroundTemplate) -> np.ndarray:
        weight = self.problem.weights[ground.template.weight or 0]
        numbers = torch.as_tensor(weight, dtype=torch.float64).reshape(-1).numpy()
        return ground.template.sign * ground.multiplicity * numbers[ground.weight_rows]

    def _changes(self, ground: GroundTemplate) -> Iterator[tuple[int, float]]:
        """The rows that contain the atom, and how much likelier its value makes each of them."""
        cases = ground_cases(Ground(self.problem.program, self.problem.evidence, self.atoms, (ground,)))
        (columns,) = cases.rows
        circuit, rows, roots = Circuit(self.atoms.value_counts), [], []
        for row, event in Events(cases, self.leaders).of(columns):
            if self.number in event.atoms:
                rows.append(row)
                roots += [self._node(circuit, event, self.value), self._node(circuit, event, self.other)]
        if rows:
            values = circuit.finished(roots).run(self._probability)
            yield from zip(rows, (values[0::2] - values[1::2]).tolist(), strict=True)

    def _node(self, circuit: Circuit, event: Event, value: int) -> int:
        """The event given that the atom has a value."""
        own = self._own(value)
        return circuit.node_given(event, self.number, frozenset({own}))

    def _own(self, value: int) -> int:
        """The leader's value when the atom has this one."""
        return 1 - value if self.flipped else value

    def _probability(self, atoms: Tensor, allowed: tuple[int, ...]) -> Tensor:
        return self.places.probabilities(self.flat, atoms, allowed)

    def _key(self, template: Template, binding: Mapping[str, int]) -> Key:
        """The ground statement of a row, by the statement's variables where all pieces have them."""
        became = zip(template.free, template.instance, strict=True)
        constants = ((n, binding.get(a) if isinstance(a, str) else a, kind) for (n, kind), a in became)
        return template.statement, tuple((n, c, kind) for n, c, kind in constants if c is not None)

    def grounding(
        self, statement: int, typed: tuple[tuple[str, int, str], ...]
    ) -> tuple[str, dict[str, Value]]:
        program = self.problem.program
        text = statement_text(program.statements[statement])
        return text, {name: program.domain(kind).value(constant) for name, constant, kind in typed}
