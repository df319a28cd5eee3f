"""Answers by their best proofs under scores that are given with each call, as forms to be evaluated.

:class:`BestProof`: the largest product over proofs, which is one form for all scores, with maxima for sums.
:class:`LikeliestProofs`: the probability that one of the k likeliest proofs holds. These depend on the
scores, and are selected anew for each example. A proof that needs two values of one atom is invalid, and
one that needs all choices of another adds nothing; gradients are those of the selected proofs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice

from herbrand.budget import Budget
from herbrand.engines.circuit.forms import ONE, Form, Nodes
from herbrand.engines.proof.best_proofs import Acceptance, ProofTree, heaviest
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
from herbrand.engines.proof.goals import Shape
from herbrand.engines.proof.query import Proof
from herbrand.engines.proof.request import Request
from herbrand.engines.proof.scored_answers import (
    CachedAnswers,
    Forms,
    ScoredAnswers,
    SeparateChoices,
    place_of,
)
from herbrand.engines.proof.sources import OneOf, Row, Sources, Used
from herbrand.engines.proof.unrolled import GroundProofs
from herbrand.program.choice_instances import chosen_by
from herbrand.row_keys import zipped

ProofUse = tuple[Used, ...]
"""The choices that a proof uses, without repetition."""


class ScoredProofs:
    """The graphs of all proofs of a goal's answers within a depth."""

    def __init__(self, sources: Sources, proof: Proof, shape: Shape, depth: int, budget: Budget) -> None:
        self.sources, self._proof, self._shape = sources, proof, shape
        self._depth, self._budget = depth, budget
        self._ground = GroundProofs(proof.plans, budget, depth + 2)

    def proved(self, inputs: Row) -> Iterator[tuple[int, Derivations, Node]]:
        """Yield the place of every answer with a proof and the graph of its proofs; register its sources."""
        request = Request(algebra="boolean", depth=self._depth, budget=self._budget)
        answers = self._proof.found(self._shape, [inputs], request).table
        program, types = self._proof.program, self._shape.clause.types
        sizes = [program.sizes[types[name]] for name in self._shape.found]
        goal = self._proof.plans.with_goal(self._shape.clause)
        for row in sorted(zipped([column.tolist() for column in answers.columns[1:]], len(answers))):
            graph, root = self._ground.of(goal, (*inputs, *row))
            for part in (
                part for own in graph.instances.values() for instance in own for part in instance.parts
            ):
                if isinstance(part, Fact):
                    self.of_fact(part)
            yield place_of(row, sizes), graph, root

    def of_fact(self, fact: Fact) -> int | None:
        """The source of a fact; ``None`` where it is certain."""
        starts = self.sources.starts
        if fact.predicate in starts:
            return starts[fact.predicate] + fact.place
        weight = self._proof.program.relation(fact.predicate).weight(fact.place)
        return None if weight == 1 else self.sources.of_number(weight)

    def of_clause(self, instance: Instance) -> int | None:
        """The source of a weighted rule."""
        rule = instance.clause.weighted
        return None if rule is None else self.sources.of_rule(rule)


class BestProof(CachedAnswers):
    """Answers weighted by the product of their best proof; weights must not be negative."""

    def __init__(self, proofs: ScoredProofs) -> None:
        super().__init__()
        self._proofs = proofs
        self._forms: dict[Hashable, Form] = {}

    def _computed_answers(self, inputs: Row) -> ScoredAnswers:
        nodes, circuits, variables = Nodes(), dict[Node, int](), dict[int, int]()
        places, roots = list[int](), list[int]()

        def leaf(source: int | None) -> int:
            return ONE if source is None else nodes.leaf(2 * variables.setdefault(source, len(variables)))

        def term(instance: Instance) -> int:
            parts = (
                leaf(self._proofs.of_fact(part)) if isinstance(part, Fact) else circuits[part]
                for part in instance.parts
            )
            return nodes.product([leaf(self._proofs.of_clause(instance)), *parts])

        for place, graph, root in self._proofs.proved(inputs):
            for node in graph.reachable(root):
                if node not in circuits:
                    circuits[node] = nodes.sum([term(instance) for instance in graph.instances[node]])
            places.append(place)
            roots.append(circuits[root])
        form = nodes.form(roots, largest=True)
        key = form.literals, form.is_product.tobytes(), form.starts.tobytes(), form.kids.tobytes(), form.roots
        sources = {variable: source for source, variable in variables.items()}
        return ScoredAnswers.of(self._forms.setdefault(key, form), places, sources)


class LikeliestProofs:
    """Answers weighted by the probability that one of their ``count`` likeliest proofs holds."""

    needs_numbers = True

    def __init__(self, proofs: ScoredProofs, count: int, budget: Budget) -> None:
        self._proofs, self._count = proofs, count
        self._graphs: dict[Row, list[tuple[int, Derivations, Node]]] = {}
        self._forms = Forms(budget)
        for rules in proofs.sources.heads.values():  # the rest to 1 of a choice, which no proof uses
            proofs.sources.of_number(1 - math.fsum(OneOf((), 0, rules).chances))

    def prepare(self, inputs: Row) -> None:
        if inputs not in self._graphs:
            self._graphs[inputs] = list(self._proofs.proved(inputs))

    def answers(self, inputs: Row, numbers: Sequence[float] | None) -> ScoredAnswers:
        assert numbers is not None
        best = [(place, self._best(graph, root, numbers)) for place, graph, root in self._graphs[inputs]]
        proved = [(place, proofs) for place, proofs in best if proofs]
        return self._either([place for place, _ in proved], [proofs for _, proofs in proved])

    def _best(self, graph: Derivations, root: Node, numbers: Sequence[float]) -> list[ProofUse]:
        """The likeliest proofs, none of which needs all the choices of another."""

        def weight(source: int | None) -> float:
            return 1.0 if source is None else float(numbers[source])

        def of_fact(fact: Fact) -> float:
            return weight(self._proofs.of_fact(fact))

        def of_clause(instance: Instance) -> float:
            return weight(self._proofs.of_clause(instance))

        proofs = heaviest(graph, root, of_fact, of_clause, self._acceptance())
        return [tuple(dict.fromkeys(self._used(tree))) for tree in islice(proofs, self._count)]

    def _acceptance(self) -> Acceptance:
        """A filter of proofs: valid ones that do not need all choices of a heavier proof of the same node.

        A proof that uses such a redundant part is itself redundant.
        """
        used: dict[int, frozenset[Used]] = {}  # by identity of kept proofs, which stay alive

        def accept(tree: ProofTree, before: Sequence[ProofTree]) -> bool:
            own = frozenset(self._used_at(tree)).union(
                *(used[id(part)] for part in tree.parts if isinstance(part, ProofTree))
            )
            if not self._is_possible(own) or any(used[id(less)] <= own for less in before):
                return False
            used[id(tree)] = own
            return True

        return accept

    def _used(self, tree: ProofTree) -> Iterator[Used]:
        yield from self._used_at(tree)
        for part in tree.parts:
            if isinstance(part, ProofTree):
                yield from self._used(part)

    def _used_at(self, tree: ProofTree) -> Iterator[Used]:
        own = self._proofs.of_clause(tree.instance)
        if own is not None:
            yield Used(self._chosen(tree), own)
        for part in tree.parts:
            if isinstance(part, Fact) and (source := self._proofs.of_fact(part)) is not None:
                yield Used((part.predicate, part.row), source)

    def _chosen(self, tree: ProofTree) -> Hashable:
        rule = tree.instance.clause.rule
        name = chosen_by(rule)
        if rule is None or name is None:
            return id(rule), tree.instance.binding
        (body,) = tree.parts
        assert isinstance(body, ProofTree)
        rules = self._proofs.sources.heads[name]
        place = next(place for place, one in enumerate(rules) if one is rule)
        return OneOf((name, body.instance.binding), place, rules)

    def _is_possible(self, proof: Iterable[Used]) -> bool:
        """Whether a proof uses no two values of an atom, and no two heads of an instance of a choice."""
        exclusive = self._proofs.sources.exclusive
        groups = [one.choice.instance for one in proof if isinstance(one.choice, OneOf)]
        groups += [id(exclusive[one.source]) for one in proof if one.source in exclusive]
        return len(set(groups)) == len(groups)

    def _either(self, places: Sequence[int], proofs: Sequence[Sequence[ProofUse]]) -> ScoredAnswers:
        """The answers with the probability that one of their proofs holds."""
        choices, literals, sources = SeparateChoices(), dict[Hashable, int](), dict[int, int]()
        for one in (one for own in proofs for proof in own for one in proof):
            if one.choice not in literals:
                values = self._proofs.sources.values(one)
                equal = [1 / len(values)] * len(values)
                drawn = choices.choice(one.choice.chances if isinstance(one.choice, OneOf) else equal)
                for value, literal in zip(values, drawn.outcomes, strict=True):
                    literals[value.choice] = literal
                    sources[literal >> 1] = value.source
        roots = [
            choices.net.either(choices.net.every(literals[one.choice] for one in proof) for proof in own)
            for own in proofs
        ]
        sources |= {v: self._proofs.sources.of_number(p) for v, p in choices.numbers.items()}
        return ScoredAnswers.of(self._forms.of(choices, roots), places, sources)
