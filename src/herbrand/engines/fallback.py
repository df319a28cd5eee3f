"""Two engines as one: the first, and the second where the first cannot continue.

The first hands over by raising :class:`HandOverError` from ``prepare``, ``begin``, ``step`` or ``explain``,
or by giving as its next state one of the second, :class:`SecondState`. The answer bears the first one's name
and says why the second gave it.

>>> from herbrand.engines.exact import Exact
>>> from herbrand.engines.lifted.engine import Lifted
>>> Fallback(Lifted(), Exact(), "answered by ground elimination").name
'lifted'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from herbrand.answers.guarantee import Status
from herbrand.budget import Budget
from herbrand.engines.engine import Cost, Engine, Prepared, Refusal
from herbrand.errors import HerbrandError, Mistake
from herbrand.program.program import Program
from herbrand.program.question import Question

if TYPE_CHECKING:
    from herbrand.answers.explanation import Explanation
    from herbrand.answers.marginals import Marginals

State = TypeVar("State")


class HandOverError(Exception):
    """Reason for which the first engine cannot continue: it is shown to the user, but is not an
    error by itself."""


@dataclass(frozen=True, eq=False)
class _StateOf(Generic[State]):
    """A state of one of the two engines; it is lasting if that state is."""

    state: State

    @property
    def lasting(self) -> bool:
        return getattr(self.state, "lasting", False)


@dataclass(frozen=True, eq=False)
class FirstState(_StateOf[State]):
    """A state of the first engine, with the program and question with which the second would begin."""

    program: Program
    question: Question


@dataclass(frozen=True, eq=False)
class SecondState(_StateOf[State]):
    """A state of the second engine, and the reason for the hand-over."""

    why: str


@dataclass(frozen=True, eq=False)
class HandedOver(Prepared[Any]):
    """A run of the second engine from the start: ``engine``, and its own ``prepared`` run."""

    engine: Engine[Any, Any, Any, Any, Any]
    prepared: Prepared[Any]


@dataclass(frozen=True)
class Fallback:
    """Engine ``first`` with ``second`` as its fallback. ``second_label``: what an answer of the second is;
    the reason follows. ``refusal``: if both refuse, text about the first before the second's reason; if
    empty, only the second's is shown. ``known``: what the second prepared for this question, if it was asked
    before."""

    first: Engine[Program, Question, Any, Marginals, Explanation]
    second: Engine[Program, Question, Any, Marginals, Explanation]
    second_label: str
    refusal: str = ""
    known: Prepared[Any] | Refusal | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.first.name

    @property
    def budget(self) -> Budget:
        return self.first.budget

    @property
    def whole_tables(self) -> bool:
        """Whether both engines read the whole tables of networks."""
        return all(getattr(engine, "whole_tables", False) for engine in (self.first, self.second))

    def prepare(
        self, program: Program, question: Question, within: Budget
    ) -> Prepared[FirstState[Any] | SecondState[Any]] | Refusal:
        try:
            prepared = self.first.prepare(program, question, within)
        except HandOverError as reason:
            known = self.known or self.second.prepare(program, question, within)
            return self._instead(known, str(reason))
        if isinstance(prepared, Refusal):
            return prepared
        return Prepared(partial(self._begun, prepared.begin, program, question), prepared.cost)

    def step(self, state: FirstState[Any] | SecondState[Any]) -> FirstState[Any] | SecondState[Any]:
        if isinstance(state, SecondState):
            return replace(state, state=self.second.step(state.state))
        try:
            after = self.first.step(state.state)
        except HandOverError as reason:
            return self.step(self._handed(state.program, state.question, str(reason)))
        return after if isinstance(after, SecondState) else replace(state, state=after)

    def residual(self, state: FirstState[Any] | SecondState[Any]) -> float:
        engine = self.second if isinstance(state, SecondState) else self.first
        return engine.residual(state.state)

    def read(self, state: FirstState[Any] | SecondState[Any], status: Status) -> Marginals:
        if isinstance(state, FirstState):
            return self.first.read(state.state, status)
        advised = replace(status, advice=status.advice or self._since(state.why))
        return replace(self.second.read(state.state, advised), engine=self.name)

    def explain(self, state: FirstState[Any] | SecondState[Any], status: Status) -> Explanation:
        if isinstance(state, FirstState):
            try:
                return self.first.explain(state.state, status)
            except HandOverError as reason:
                state = self._handed(state.program, state.question, str(reason))
        explanation = self.second.explain(state.state, status)
        return replace(explanation, engine=self.name, note=self._since(state.why))

    def _begun(
        self, begin: Callable[[], Any], program: Program, question: Question
    ) -> FirstState[Any] | SecondState[Any]:
        try:
            return FirstState(begin(), program, question)
        except HandOverError as reason:
            return self._handed(program, question, str(reason))

    def _handed(self, program: Program, question: Question, why: str) -> SecondState[Any]:
        """First state of the second engine; raises the error of its refusal."""
        prepared = self._instead(self.second.prepare(program, question, self.budget), why)
        if isinstance(prepared, Refusal):
            raise prepared.error
        return prepared.begin()

    def _instead(self, prepared: Prepared[Any] | Refusal, why: str) -> HandedOver | Refusal:
        if isinstance(prepared, Refusal):
            return Refusal(self._both(why, prepared.error))
        return HandedOver(
            lambda: SecondState(prepared.begin(), why),
            partial(self._cost, prepared.cost, why),
            self.second,
            prepared,
        )

    def _cost(self, cost: Callable[[], Cost | Refusal], why: str) -> Cost | Refusal:
        expected = cost()
        return expected if isinstance(expected, Refusal) else replace(expected, handed=self._since(why))

    def _both(self, why: str, error: HerbrandError) -> HerbrandError:
        return type(error)((Mistake(f"{self.refusal}: {why}"), *error.mistakes)) if self.refusal else error

    def _since(self, why: str) -> str:
        return f"{self.second_label}, since {why}"
