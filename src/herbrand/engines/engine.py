"""What an engine is: the one contract of everything that answers.

An engine is a frozen value whose fields are its settings. It keeps nothing between calls, prints nothing and
has no loop:

- ``prepare`` looks at a program and a question. It gives a :class:`Prepared` run, or a :class:`Refusal`.
- ``Prepared.cost`` tells what the run would take, ``Prepared.begin`` gives its first state.
- ``step`` gives the next state, ``residual`` how far the last one moved.
- ``read`` gives the answer that a state holds, ``explain`` why it is so.

:mod:`herbrand.engines.loop` steps until nothing moves, :mod:`herbrand.engines.choice` compares costs,
:mod:`herbrand.engines.fallback` makes one engine of two.

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
"""The errors by which an engine refuses; others are mistakes in what is asked, and raised."""


@dataclass(frozen=True)
class Cost:
    """What a run would take, and how sure its answer would be. ``operations``: ``None`` where nothing tells.

    ``detail``: what else the estimate found out. ``handed``: why all the work is another engine's, if it is.
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
    """Why an engine does not run, with what to do instead as the error's hint."""

    error: HerbrandError

    def __post_init__(self) -> None:
        self.error.with_traceback(None)  # its frames would keep all that was made for the estimate
        self.error.__context__ = None

    @property
    def why(self) -> str:
        return self.error.mistakes[0].message


@dataclass(frozen=True, eq=False)
class Prepared(Generic[State]):
    """A run that can begin. ``begin`` gives its first state, the one that the estimate had to make if it did.

    ``cost`` is asked only where engines are compared: it may take a while. A refusal there says why nobody
    should take the engine who has not named it.
    """

    begin: Callable[[], State]
    cost: Callable[[], Cost | Refusal]

    @classmethod
    def ready(cls, state: State, cost: Cost) -> Prepared[State]:
        """A run of which the first state and the cost are known."""
        return cls(lambda: state, lambda: cost)


class Engine(Protocol[Program, Question, State, Answer, Why]):
    """One way to answer. ``budget`` is what its whole run may take.

    A class also has ``with_settings(settings)``, which makes the engine that is chosen by name. A first state
    that is ``lasting`` holds no clock and no step changes it, so that it begins any number of runs.
    """

    @property
    def name(self) -> str: ...

    @property
    def budget(self) -> Budget: ...

    def prepare(self, program: Program, question: Question, within: Budget, /) -> Prepared[State] | Refusal:
        """A run; all that is made for it now is made ``within`` a part of the budget."""
        ...

    def step(self, state: State) -> State: ...

    def residual(self, state: State) -> float:
        """How far the last step moved; 0 where there is nothing left to do."""
        ...

    def read(self, state: State, status: Status) -> Answer: ...

    def explain(self, state: State, status: Status) -> Why:
        """Why the one thing that was asked for has its answer."""
        ...


def first_state(
    engine: Engine[Program, Question, State, Any, Any], program: Program, question: Question
) -> State:
    """The first state of a run; raises what the engine refuses."""
    prepared = engine.prepare(program, question, engine.budget)
    if isinstance(prepared, Refusal):
        raise prepared.error
    return prepared.begin()


@dataclass(frozen=True)
class Settings:
    """The settings of every engine; each takes those it has. ``None`` leaves the choice to the engine.

    ``schedule`` and ``damping`` say how a step replaces beliefs, ``starts`` how many runs (or chains) begin
    from different seeds, ``samples`` how many a sampler draws, ``cost`` how large a region may grow,
    ``structure`` which regions there are, ``clip`` how far one statement may move an atom (mean-field only:
    another model, which no engine takes in silence).
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
    """One call of ``infer``: queries and evidence as they are written, the engine's name, or ``auto``, and
    whether the most probable world is asked for.

    Of the answer only the ``top`` likeliest atoms are shown, and those of ``least`` probability or more.
    ``resume``: a run on a database goes on where it was cut off; ``note`` is called with each remark.
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
    """The settings that keywords of ``infer`` describe."""
    return described(Settings, "infer", given, budget)


LIMITS = {"memory": "memory", "time_limit": "seconds"}
"""Options that make a budget, and its fields: a call has one, and never a part of it."""


def described(
    kind: type[Described], command: str, given: Mapping[str, Any], budget: Budget | None = None
) -> Described:
    """The settings that keywords of a command describe; raises for those that the command does not take.

    Keywords that are no field of the settings, such as ``top``, are checked and left to the caller.
    ``budget``: that of the call, where it has begun already.
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
    """The options of a command whose values are others than those of settings from nothing."""
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
    """Whether they are equal; a value that cannot be compared, such as a table, is no default."""
    try:
        return bool(value == default)
    except (TypeError, ValueError, RuntimeError):
        return False


@cache
def _defaults(kind: type) -> dict[str, Any]:
    """The fields of settings, and what each is from nothing."""
    return {field.name: field.default for field in fields(kind)}


def without(settings: Described, options: Iterable[str]) -> Described:
    """The settings with these options left out."""
    left_out = [name for name in options if name not in LIMITS]  # every engine keeps its limits
    if not left_out:
        return settings
    defaults = _defaults(type(settings))
    return replace(settings, **{name: defaults[name] for name in left_out})  # type: ignore[type-var]


def check_settings(command: str, settings: Any) -> None:
    """Raise for the first value that makes no sense: settings check themselves when they are built."""
    check(command, options_in(command, settings))
