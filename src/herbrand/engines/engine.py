"""The contract of engines: the interface of everything that answers questions.

An engine is a frozen value whose fields are its settings. It keeps nothing between calls, prints nothing and
has no loop:

- ``prepare`` takes a program and a question and returns a :class:`Prepared` run, or a :class:`Refusal`.
- ``Prepared.cost`` estimates the run's cost, ``Prepared.begin`` returns its first state.
- ``step`` returns the next state, ``residual`` the distance of the last step.
- ``read`` returns the answer of a state, ``explain`` its explanation.

:mod:`herbrand.engines.loop` steps until the residual is small, :mod:`herbrand.engines.choice` compares costs,
:mod:`herbrand.engines.fallback` combines two engines.

>>> from herbrand.engines.exact import Exact
>>> import herbrand as hb
>>> from herbrand.program.question import Question
>>> prepared = Exact().prepare(hb.Model(hb.parse("0.5: p => q")).program, Question(), UNLIMITED)
>>> prepared.cost()
Cost(operations=..., bytes=..., guarantee=<Guarantee.EXACT: 'exact'>, detail='', handed='', disk=0.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

from herbrand.answers.guarantee import Guarantee, Status
from herbrand.budget import UNLIMITED, Budget, budget_of
from herbrand.errors import BudgetError, HerbrandError, UnsupportedError
from herbrand.options.table import check, options_of, refuse_unknown

State = TypeVar("State")
Program = TypeVar("Program", contravariant=True)
Question = TypeVar("Question", contravariant=True)
Answer = TypeVar("Answer", covariant=True)
Why = TypeVar("Why", covariant=True)
Described = TypeVar("Described")

REFUSALS = (BudgetError, UnsupportedError)
"""Errors by which an engine refuses; others are mistakes in the input, and are raised."""


@dataclass(frozen=True)
class Cost:
    """Cost of a run and guarantee of its answer. ``operations`` is None if there is no estimate.

    ``detail``: other results of the estimate. ``handed``: why all the work is another engine's, if it is.
    ``disk``: bytes that a run on a database writes; its operations are the rows that a step joins.
    """

    operations: float | None = None
    bytes: float | None = None
    guarantee: Guarantee = Guarantee.APPROXIMATION
    detail: str = ""
    handed: str = ""
    disk: float = 0.0


@dataclass(frozen=True, eq=False)
class Refusal:
    """Reason for which an engine does not run; the error's hint says what to do instead."""

    error: HerbrandError

    def __post_init__(self) -> None:
        self.error.with_traceback(None)  # its frames would keep all that was made for the estimate
        self.error.__context__ = None

    @property
    def why(self) -> str:
        return self.error.mistakes[0].message

    @property
    def instead(self) -> str:
        """What to do instead; empty if nothing is known."""
        return self.error.mistakes[0].hint


@dataclass(frozen=True, eq=False)
class Prepared(Generic[State]):
    """A run that can begin. ``begin`` makes its first state, or returns the one that the
    estimate already made.

    ``cost`` is called only to compare engines, as it may take a while. If it is a refusal, the engine should
    not run unless it is named.
    """

    begin: Callable[[], State]
    cost: Callable[[], Cost | Refusal]

    @classmethod
    def ready(cls, state: State, cost: Cost) -> Prepared[State]:
        """A run whose first state and cost are already known."""
        return cls(lambda: state, lambda: cost)


class Engine(Protocol[Program, Question, State, Answer, Why]):
    """One way to answer. ``budget`` limits its whole run.

    A class also has ``with_settings(settings)``, which makes the engine that is chosen by name. A ``lasting``
    first state holds no clock and is changed by no step, so that any number of runs can begin from it.
    """

    @property
    def name(self) -> str: ...

    @property
    def budget(self) -> Budget: ...

    def prepare(self, program: Program, question: Question, within: Budget, /) -> Prepared[State] | Refusal:
        """Prepare a run; everything that is made now stays ``within`` a part of the budget."""
        ...

    def step(self, state: State) -> State: ...

    def residual(self, state: State) -> float:
        """Distance of the last step; 0 if nothing is left to do."""
        ...

    def read(self, state: State, status: Status) -> Answer: ...

    def explain(self, state: State, status: Status) -> Why:
        """Explanation of the one atom that was queried."""
        ...


def first_state(
    engine: Engine[Program, Question, State, Any, Any], program: Program, question: Question
) -> State:
    """First state of a run; raises the error of a refusal."""
    prepared = engine.prepare(program, question, engine.budget)
    if isinstance(prepared, Refusal):
        raise prepared.error
    return prepared.begin()


@dataclass(frozen=True)
class Settings:
    """Settings of every engine; each uses those it has. ``None`` leaves the choice to the engine.

    ``schedule`` and ``damping``: how a step replaces beliefs. ``starts``: number of runs (or chains) from
    different seeds. ``samples``: number of draws of a sampler. ``cost``: size up to which a region may grow.
    ``structure``: choice of regions. ``clip``: limit on how far one statement moves an atom (mean-field only:
    another model, which no engine takes silently).
    """

    budget: Budget = UNLIMITED
    seed: int = 0
    tolerance: float | None = None
    iterations: int | None = None
    schedule: str | None = None
    damping: float | None = None
    starts: int | None = None
    samples: int | None = None
    cost: float | None = None
    structure: str | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        check_settings("infer", self)


@dataclass(frozen=True)
class Call:
    """One call of ``infer``: queries and evidence as they are written, the engine's name or ``auto``, and
    whether the most probable world is asked for.

    Only the ``top`` most probable atoms are shown, and those of probability ``least`` or more. ``resume``: a
    run on a database continues where it was cut off; ``note`` is called with each remark.
    """

    query: tuple[str, ...]
    given: tuple[str, ...]
    engine: str
    settings: Settings
    most_probable: bool = False
    top: int | None = None
    least: float | None = None
    resume: bool = False
    note: Callable[[str], None] | None = None


def settings_from(given: Mapping[str, Any], budget: Budget | None = None) -> Settings:
    """Settings from keywords of ``infer``."""
    return described(Settings, "infer", given, budget)


LIMITS = {"memory": "memory", "time_limit": "seconds"}
"""Options that make a budget, and its fields: a call has one budget, and never a part of it."""


def described(
    kind: type[Described], command: str, given: Mapping[str, Any], budget: Budget | None = None
) -> Described:
    """Settings from keywords of a command; raises for keywords that the command does not take.

    Keywords that are not fields of the settings, such as ``top``, are checked and left to the caller.
    ``budget``: that of the call, if it has already begun.
    """
    refuse_unknown(command, given)
    check(command, given)
    own = _defaults(kind)
    named: dict[str, Any] = {
        name: value for name, value in given.items() if value is not None and name in own
    }
    limits = {"budget": budget_of(given) if budget is None else budget}
    return kind(**limits, **named)


def options_in(command: str, settings: Any) -> dict[str, Any]:
    """Options of a command whose values differ from the defaults of the settings."""
    known, kind = options_of(command), settings.__class__
    options = {
        name: value
        for name, default in _defaults(kind).items()
        if name in known and (value := getattr(settings, name)) is not default and not _equal(value, default)
    }
    for option, field in LIMITS.items():
        value = getattr(settings.budget, field)
        if value is not None and option in known:
            options[option] = value
    return options


def _equal(value: Any, default: Any) -> bool:
    """Whether a value equals a default; a value that cannot be compared, such as a table, does not."""
    try:
        return bool(value == default)
    except (TypeError, ValueError, RuntimeError):
        return False


@cache
def _defaults(kind: type) -> dict[str, Any]:
    """Default of each field of settings."""
    return {field.name: field.default for field in fields(kind)}


def without(settings: Described, options: Iterable[str]) -> Described:
    """The settings with these options reset to their defaults."""
    left_out = [name for name in options if name not in LIMITS]  # every engine keeps its limits
    if not left_out:
        return settings
    defaults = _defaults(type(settings))
    return replace(settings, **{name: defaults[name] for name in left_out})  # type: ignore[type-var]


def check_settings(command: str, settings: Any) -> None:
    """Raise for the first invalid value; settings check themselves by it when they are built."""
    check(command, options_in(command, settings))
