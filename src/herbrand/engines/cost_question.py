"""The question of ``herbrand check``, for which engines estimate their costs."""

from __future__ import annotations

from dataclasses import dataclass

from herbrand.extras import later
from herbrand.language.parse import is_probability
from herbrand.language.signature import Signature
from herbrand.language.syntax import Bound, BoundRows
from herbrand.program.program import Program
from herbrand.program.question import Question, queried_predicates, read_question

_named_by_bounds = later("herbrand.engines.credal.bounding:queried_predicates")


@dataclass(frozen=True)
class CostQuestion:
    """Queries of ``infer``, or of ``bound`` if the theory states bounds, and the evidence given with them."""

    queries: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    def predicates(self, signature: Signature) -> frozenset[str]:
        """Predicates that queries name explicitly."""
        bounds = [text for text in self.queries if is_probability(text)]
        others = [text for text in self.queries if not is_probability(text)]
        of_bounds = _named_by_bounds(bounds, signature) if bounds else frozenset[str]()
        return of_bounds | queried_predicates(others, signature)

    def question(self, program: Program) -> Question:
        """Question for the engines of ``infer``."""
        if states_bounds(program):
            return Question()
        return read_question(self.queries, program.signature, program.facts)


NOTHING = CostQuestion()


def states_bounds(program: Program) -> bool:
    """Whether the theory has bounds, so that ``bound`` answers it."""
    return any(isinstance(statement, Bound | BoundRows) for statement in program.statements)
