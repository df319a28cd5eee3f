"""The likeliest proofs of an atom: minimal sets of outcomes of choices that are enough for it.

Best first: an unfinished proof is at most as probable as its choices so far, and as the best proof of each
atom that is still to be proved. So proofs come in the order of their probabilities. An atom may not be used
in its own proof, and of two proofs of which one has all choices of the other only the smaller counts. Among
equal probabilities the smaller proof comes first, as choices of probability 1 may be needless too. Negated
and open atoms are conditions of a proof that its probability leaves out.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from herbrand.answers.explanation import Proof, Proofs, ProvingChoice
from herbrand.budget import Budget
from herbrand.engines.circuit.constraints import FALSE, TRUE
from herbrand.engines.circuit.grounding import Atom, Instance
from herbrand.engines.circuit.worlds import Worlds
from herbrand.errors import UnsupportedError
from herbrand.language.show import statement_text
from herbrand.language.syntax import Choice

MOST_STEPS = 200_000
"""Most unfinished proofs to look at; if there are more, the likeliest proofs up to then are given."""

Instances = Mapping[Atom, Sequence[Instance]]
Outcome = tuple[Instance, int]
"""An instance of a choice, and the place of the head that comes true."""


@dataclass(frozen=True)
class _Begun:
    """An unfinished proof. ``todo``: atoms to be proved, each with those above it in the proof; ``proved``:
    all atoms that the proof derives."""

    probability: float
    outcomes: Mapping[tuple[int, tuple[int, ...]], Outcome]
    todo: tuple[tuple[Atom, frozenset[Atom]], ...]
    proved: frozenset[Atom]
    held: frozenset[Atom]
    absent: frozenset[Atom]

    @property
    def size(self) -> int:
        return len(self.outcomes) + len(self.held) + len(self.absent)

    def is_part_of(self, other: _Begun) -> bool:
        """Whether the other proof has all that this one needs."""
        mine = {(key, outcome) for key, (_, outcome) in self.outcomes.items()}
        theirs = {(key, outcome) for key, (_, outcome) in other.outcomes.items()}
        return mine <= theirs and self.held <= other.held and self.absent <= other.absent


def likeliest(worlds: Worlds, atom: Atom, most: int) -> Proofs:
    """At most ``most`` proofs, the likeliest first."""
    proofs = list[_Begun]()
    search = _Search(_possible(worlds), worlds.budget)
    for proof in search.proofs(atom) if atom in worlds.instances else ():
        if any(one.is_part_of(proof) for one in proofs):
            continue
        if len(proofs) == most:
            return Proofs(tuple(_shown(one, worlds) for one in proofs), False)
        proofs.append(proof)
    return Proofs(tuple(_shown(one, worlds) for one in proofs), search.steps <= MOST_STEPS)


def _possible(worlds: Worlds) -> Instances:
    """The instances that some world allows, without negated atoms that are false in every world."""
    possible: dict[Atom, list[Instance]] = {}
    for atom, own in worlds.instances.items():
        possible[atom] = []
        for instance in own:
            absent = {part: worlds.literal(*part) for part in instance.absent}
            if TRUE not in absent.values() and all(worlds.literal(*part) != FALSE for part in instance.held):
                excluded = tuple(part for part, literal in absent.items() if literal != FALSE)
                possible[atom].append(instance._replace(absent=excluded))
    return possible


class _Search:
    def __init__(self, instances: Instances, budget: Budget) -> None:
        self._instances, self._budget, self.steps = instances, budget, 0
        self._best = best_probabilities(instances)

    def proofs(self, atom: Atom) -> Iterator[_Begun]:
        """All proofs of an atom, the likeliest first."""
        nothing = frozenset[Atom]()
        waiting, numbers = list[tuple[float, int, int, _Begun]](), count()

        def add(one: _Begun) -> None:
            bound = min([one.probability, *(self._best.get(part, 0.0) for part, _ in one.todo)])
            if bound > 0:
                heapq.heappush(waiting, (-bound, one.size, next(numbers), one))

        add(_Begun(1.0, {}, ((atom, nothing),), nothing, nothing, nothing))
        while waiting and self.steps <= MOST_STEPS:
            self.steps += 1
            self._budget.check()
            *_, one = heapq.heappop(waiting)
            if not one.todo:
                yield one
                continue
            (part, above), rest = one.todo[0], one.todo[1:]
            if part in one.proved:
                add(replace(one, todo=rest))
                continue
            for instance in self._instances[part]:
                for begun in self._with(replace(one, todo=rest), part, above | {part}, instance):
                    add(begun)

    def _with(self, one: _Begun, atom: Atom, above: frozenset[Atom], instance: Instance) -> Iterator[_Begun]:
        """The proof with ``atom`` proved by an instance, once for each of its heads that is this atom."""
        if instance.counted:
            raise UnsupportedError(
                "proofs by counts of what is uncertain are not listed",
                span=instance.lowered.statement.span,
                hint="leave out --proofs",
            )
        derived = [part for part in instance.held if part in self._instances]
        held = one.held.union(part for part in instance.held if part not in self._instances)
        absent, proved = one.absent.union(instance.absent), one.proved | {atom}
        if not above.isdisjoint(derived) or not absent.isdisjoint(proved | held):
            return
        key = instance.lowered.number, instance.binding
        for place, (head, reached) in enumerate(zip(instance.lowered.heads, instance.heads, strict=True)):
            if reached != atom:
                continue
            outcomes, probability = one.outcomes, one.probability
            if head.chance is not None:
                if key in outcomes and outcomes[key][1] != place:
                    continue
                if key not in outcomes:
                    probability *= head.chance(instance.binding)
                    outcomes = {**outcomes, key: (instance, place)}
            todo = (*((part, above) for part in derived), *one.todo)
            yield _Begun(probability, outcomes, todo, proved, held, absent)


def best_probabilities(instances: Instances) -> dict[Atom, float]:
    """Upper bound of the probability of each atom's likeliest proof.

    Best atoms first (Knuth's generalisation of Dijkstra's algorithm). A proof is bounded by the minimum of
    its choice and its parts, not their product, as parts may share choices.
    """
    users: dict[Atom, list[tuple[Atom, int]]] = defaultdict(list)
    ways, missing, waiting = list[list[float]](), list[int](), list[tuple[float, Atom]]()
    for atom, own in instances.items():
        for instance in own:
            for head, reached in zip(instance.lowered.heads, instance.heads, strict=True):
                if reached != atom:
                    continue
                chance = 1.0 if head.chance is None else head.chance(instance.binding)
                parts = {part for part in instance.held if part in instances}
                for part in parts:
                    users[part].append((atom, len(ways)))
                if not parts:
                    heapq.heappush(waiting, (-chance, atom))
                ways.append([chance])
                missing.append(len(parts))
    best: dict[Atom, float] = {}
    while waiting:
        negative, atom = heapq.heappop(waiting)
        if atom in best:
            continue
        best[atom] = -negative
        for user, way in users[atom]:
            ways[way].append(best[atom])
            missing[way] -= 1
            if missing[way] == 0 and user not in best:
                heapq.heappush(waiting, (-min(ways[way]), user))
    return best


def _shown(proof: _Begun, worlds: Worlds) -> Proof:
    text = worlds.program.atom_text
    conditions = (*(text(*atom) for atom in proof.held), *(f"not {text(*atom)}" for atom in proof.absent))
    choices = tuple(_choice(instance, place, worlds) for instance, place in proof.outcomes.values())
    return Proof(
        proof.probability, tuple(sorted(choices, key=lambda one: one.atom)), tuple(sorted(conditions))
    )


def _choice(instance: Instance, place: int, worlds: Worlds) -> ProvingChoice:
    statement, chance = instance.lowered.statement, instance.lowered.heads[place].chance
    assert isinstance(statement, Choice) and chance is not None
    atom = worlds.program.atom_text(*list(instance.heads)[place])
    text = statement_text(replace(statement, alternatives=(statement.alternatives[place],)))
    return ProvingChoice(atom, text, instance.constants(worlds.program.facts), chance(instance.binding))
