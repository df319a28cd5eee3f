"""Linear recursion: a predicate whose clauses push one variable through relations and end, or call it again.

``path(x, y) :- edge(x, y)`` and ``path(x, y) :- edge(x, z), path(z, y)`` lead from each frontier to answers
and to the next frontier by the same pushes at every depth, so that all calls can run in one loop
(:mod:`herbrand.engines.proof.recursion_loop`). With the other argument known the recursive clause begins with
the call: then the answers of the other clauses are the first frontier, and every frontier consists of
answers. Like a plan, it has names only.

>>> from herbrand.engines.proof.horn_program import HornProgram
>>> from herbrand.engines.proof.planning import Plans
>>> from herbrand.facts.load import fact_sources, load_facts
>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory("path(x, y) :- edge(x, y)\\npath(x, y) :- edge(x, z), path(z, y)")
>>> facts = fact_sources({"edge": [("a", "b"), ("b", "c")]})
>>> plans = Plans(HornProgram.of(theory.rules, *load_facts((), check(theory), facts)))
>>> print(LinearRecursion.of(plans.plan("path", (0,))))
each call: 0 -edge-> 1; answers: 1; next: 1
>>> print(LinearRecursion.of(plans.plan("path", (1,))))
first: 0 -edge-> 1; next: 1
each call: 0 -edge-> 1; answers: 0; next: 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from herbrand.engines.proof.plan import Ask, ClausePlan, Join, PredicatePlan, Step
from herbrand.program.clauses import Clause

FRONTIER = 0
"""The slot of the frontier with which a round begins; its links fill the others."""

RelationKey = tuple[str, int]
"""A relation, and the place of its known argument."""


@dataclass(frozen=True)
class Link:
    """A push of the set in one slot through a relation into another slot, which no other link fills."""

    source: int
    relation: RelationKey
    target: int


@dataclass(frozen=True)
class AddedSlot:
    """A slot that is added to the answers or the next frontier, times the weight of its clause's rule."""

    slot: int
    clause: Clause | None = None


@dataclass(frozen=True)
class Round:
    """The pushes from one frontier to answers and to the next frontier, ``onward``.

    A slot is filled before a link reads it.
    """

    links: tuple[Link, ...]
    answers: tuple[AddedSlot, ...]
    onward: tuple[AddedSlot, ...]

    @property
    def slots(self) -> int:
        return 1 + len(self.links)

    def __str__(self) -> str:
        links = [f"{link.source} -{link.relation[0]}-> {link.target}" for link in self.links]
        parts = [
            f"{what}: {', '.join(str(part.slot) for part in parts)}"
            for what, parts in (("answers", self.answers), ("next", self.onward))
            if parts
        ]
        return "; ".join([*links, *parts])


@dataclass(frozen=True)
class LinearRecursion:
    """A recursion as rounds: ``call`` is the round of each call.

    ``first``, if there is one, leads from the inputs to the first frontier.
    """

    first: Round | None
    call: Round

    @classmethod
    def of(cls, plan: PredicatePlan) -> LinearRecursion | None:
        """The recursion of a plan; ``None`` where it has another form."""
        if len(plan.mode) != 1:
            return None
        return _ending_in_calls(plan) or _beginning_with_calls(plan)

    @property
    def rounds(self) -> tuple[Round, ...]:
        return (self.call,) if self.first is None else (self.first, self.call)

    @property
    def relations(self) -> tuple[RelationKey, ...]:
        """The relations of all links, each once."""
        return tuple(dict.fromkeys(link.relation for one in self.rounds for link in one.links))

    def __str__(self) -> str:
        first = "" if self.first is None else f"first: {self.first}\n"
        return f"{first}each call: {self.call}"


def _ending_in_calls(plan: PredicatePlan) -> LinearRecursion | None:
    links = _Links()
    answers, onward = [], []
    for clause in plan.clauses:
        tail = clause.tail
        if tail is not None and not _calls(tail, plan):
            return None
        steps = clause.steps if tail is None else clause.steps[:-1]
        last = clause.outputs if tail is None else tail.inputs
        slot = links.follow(steps, clause.inputs, last)
        if slot is None:
            return None
        (answers if tail is None else onward).append(AddedSlot(slot, clause.clause))
    if not onward or not answers:
        return None
    return LinearRecursion(None, Round(tuple(links.made), tuple(answers), tuple(onward)))


def _beginning_with_calls(plan: PredicatePlan) -> LinearRecursion | None:
    first, again = _Links(), _Links()
    starts, onward = [], []
    for clause in plan.clauses:
        call = clause.steps[0] if clause.steps else None
        if isinstance(call, Ask):
            if not _calls(call, plan) or not _is_passed(call, clause):
                return None
            slot = again.follow(clause.steps[1:], call.found, clause.outputs)
        else:
            slot = first.follow(clause.steps, clause.inputs, clause.outputs)
        if slot is None:
            return None
        (onward if isinstance(call, Ask) else starts).append(AddedSlot(slot, clause.clause))
    if not onward or not starts:
        return None
    call = Round(tuple(again.made), (AddedSlot(FRONTIER),), tuple(onward))
    return LinearRecursion(Round(tuple(first.made), (), tuple(starts)), call)


def _calls(step: Ask, plan: PredicatePlan) -> bool:
    return step.predicate == plan.predicate and step.bound == plan.mode and step.deeper


def _is_passed(call: Ask, clause: ClausePlan) -> bool:
    """Whether a call has the clause's own input, and only its answers are needed afterwards."""
    return call.inputs == clause.inputs and call.live == call.found and call.inputs != call.found


@dataclass(eq=False)
class _Links:
    """A builder of chains of pushes that share common prefixes."""

    made: list[Link] = field(default_factory=list)

    def follow(self, steps: Sequence[Step], live: tuple[str, ...], last: tuple[str, ...]) -> int | None:
        """The slot that the steps lead to; ``None`` if they are no pushes from ``live`` to ``last``."""
        slot = FRONTIER
        for step in steps:
            if not isinstance(step, Join) or len(step.bound) != 1 or len(live) != 1:
                return None
            if step.arguments[step.bound[0]] != live[0] or not _is_push(step):
                return None
            slot, live = self._link(slot, (step.predicate, step.bound[0])), step.live
        return slot if live == last and len(live) == 1 else None

    def _link(self, source: int, relation: RelationKey) -> int:
        for link in self.made:
            if (link.source, link.relation) == (source, relation):
                return link.target
        self.made.append(Link(source, relation, 1 + len(self.made)))
        return self.made[-1].target


def _is_push(step: Join) -> bool:
    """Whether a join leads from one variable to another, or filters one variable."""
    known = step.arguments[step.bound[0]]
    if len(step.arguments) == 1:
        return step.live == (known,)
    new = step.arguments[1 - step.bound[0]]
    return len(step.arguments) == 2 and new != known and step.live == (new,)
