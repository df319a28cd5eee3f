"""The question and settings of one call of ``bound``.

The program of all engines of ``bound`` is a credal network, and every query is conditioned on its facts.
``read`` gives an interval for each query, or for each atom; ``explain`` names the sentences on which the
lower and the upper end of a single query depend. It needs only the first state: it runs its own searches.

A question has queries, or is for every atom. ``P(q | e)`` with free variables means every grounding that
observed facts do not rule out; the name of a predicate means all its atoms.

>>> import herbrand as hb
>>> program = hb.Model(hb.parse('P(s(x)) <= 0.5\\nP(s("a")) >= 0.1')).program
>>> lowering = Lowering.over(program)
>>> for query in read_bound_question(["P(s(x) | not s(x))"], lowering).queries:
...     print(query)
BoundQuery(text='s("a") | not s("a")', event=GroundFormula(shape=0, atoms=(0,)), given=GroundFormula(...))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from herbrand.answers.guarantee import Status
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.credal.lowering import Lowering
from herbrand.engines.credal.network import Atoms
from herbrand.engines.credal.shape import FALSE, TRUE, GroundFormula
from herbrand.engines.engine import check_settings
from herbrand.errors import ContradictionError, OutOfTimeError, UnsupportedError
from herbrand.language.formulas import predicates_in
from herbrand.language.parse import parse_probability
from herbrand.language.show import show_probability
from herbrand.language.syntax import And, Atom, Bound, Formula, Variable
from herbrand.program.expansion import instances
from herbrand.program.program import Program
from herbrand.program.question import check_formula

Progress = Callable[[str, float], None]
"""A function called with a text about the current work, and with the share of work done, from 0 to 1."""


TOLERANCE = 1e-7
"""Movement of intervals in a pass below which messages have converged."""


@dataclass(frozen=True)
class BoundSettings:
    """The settings of every engine of ``bound``. ``None`` leaves the choice to the engine.

    ``independence``: the Markov condition of the network, or no independences. ``mode``: the independences
    that messages use; ``paper`` repeats the published method, whose intervals may be too narrow.
    ``tolerance``: largest distance from the optimum at which a search may stop. ``progress`` is called with
    the work done.
    """

    budget: Budget = UNLIMITED
    seed: int = 0
    tolerance: float | None = None
    iterations: int | None = None
    mode: Literal["sound", "paper"] = "sound"
    independence: Literal["markov", "none"] = "markov"
    progress: Progress | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_settings("bound", self)


Answer = TypeVar("Answer")


class ImpossibleConditionError(Exception):
    """Raised where a condition is proved to have upper probability 0, by what does not know its text."""


class ImpossibleGivenError(ContradictionError):
    """Raised where a query's condition is proved to have probability 0; other queries can be answered."""


@dataclass(frozen=True)
class BoundQuery:
    """The query ``P(event | given)``, conditioned on facts too; ``text`` is the text inside ``P( )``.

    The shape of ``event`` may be ``TRUE`` or ``FALSE`` where observed facts settle it; ``given``'s is
    neither.
    """

    text: str
    event: GroundFormula
    given: GroundFormula | None = None

    @property
    def atoms(self) -> tuple[int, ...]:
        """The atoms of event and condition; atoms of both occur twice."""
        return (*self.event.atoms, *(self.given.atoms if self.given else ()))


@dataclass(frozen=True)
class BoundQuestion:
    """The queries of one call; none means every atom, in order."""

    queries: tuple[BoundQuery, ...] = ()

    @property
    def everything(self) -> bool:
        return not self.queries

    def each(self, atoms: Atoms) -> Iterator[BoundQuery]:
        """The queries one by one; where there are none, one query for each of these atoms."""
        if not self.everything:
            return iter(self.queries)
        texts = enumerate(atoms.texts())
        return (BoundQuery(text, GroundFormula(0, (atom,))) for atom, text in texts)


SECONDS_APART = 2.0
"""Time limit in seconds of the check of facts on which no query depends."""


def cannot_be_given(query: BoundQuery, facts: bool) -> ImpossibleGivenError:
    """The error that a query's condition has upper probability 0; ``facts``: whether facts are part of it."""
    evidence = ([] if query.given is None else ["what is given"]) + ["the facts"] * facts
    return ImpossibleGivenError(
        f"the upper probability of {' and '.join(evidence)} in P({query.text}) is 0, so it cannot be given",
        hint="look at it as a query of its own",
    )


def each_answered(
    queries: Sequence[BoundQuery],
    answer: Callable[[int, BoundQuery], Answer],
    unknown: Callable[[BoundQuery], Answer],
    budget: Budget = UNLIMITED,
) -> tuple[list[Answer | None], list[ImpossibleGivenError]]:
    """Answer each query, with ``None`` where its condition is impossible; return these refusals as well.

    ``unknown`` answers queries for which the budget leaves no time. Raises the first refusal where
    every query is refused.
    """
    answers: list[Answer | None] = []
    refusals: list[ImpossibleGivenError] = []
    for number, query in enumerate(queries):
        try:
            answers.append(unknown(query) if budget.ended else answer(number, query))
        except OutOfTimeError:
            answers.append(unknown(query))
        except ImpossibleGivenError as refusal:
            answers.append(None)
            refusals.append(refusal)
    if refusals and len(refusals) == len(queries):
        raise refusals[0]
    return answers, refusals


def refused(status: Status, refusals: Sequence[ImpossibleGivenError]) -> Status:
    """The status with the messages of refused queries as advice, and not converged if there are any."""
    if not refusals:
        return status
    messages = [refusal.mistakes[0].message for refusal in refusals]
    return replace(status, converged=False, advice="; ".join([*messages, *filter(None, [status.advice])]))


def read_bound_question(requested: Iterable[str | Bound], lowering: Lowering) -> BoundQuestion:
    """Read a question from query texts, or from bounds already parsed.

    Raises an error where a name or a constant is unknown, or a query has no instance.
    """
    program = lowering.program
    queries: list[BoundQuery] = []
    for one in requested:
        if isinstance(one, Bound):
            text, event, given = show_probability(one.event, one.given), one.event, one.given
        else:
            text, (event, given) = one, parse_probability(one, valued=program.signature.valued_names)
        if given is None:
            event = _every_atom(event, program)
        both = event if given is None else And((event, given))
        check_formula(both, program.signature, program.facts)
        own = list(_queries(both, given is not None, lowering))
        if next(instances(both, program), None) is None:
            raise UnsupportedError(
                f"'{text}' has no instance: a type of its variables has no constants",
                hint='facts name constants, and so does a declaration, such as type person = {"anna"}',
            )
        if not own:
            why = " by the observed facts" if given is not None and any(predicates_in(given)) else ""
            raise UnsupportedError(f"what is given in '{text}' is false{why}")
        queries += own
    return BoundQuestion(tuple(queries))


def _every_atom(event: Formula, program: Program) -> Formula:
    """Replace a bare predicate name by its atom over fresh variables; leave other formulas."""
    if isinstance(event, Atom) and not event.arguments:
        predicate = program.signature.predicate(event.predicate, event.span)
        variables = tuple(Variable(f"x{i}") for i in range(predicate.arity))
        return Atom(event.predicate, variables, event.span)
    return event


def _queries(both: Formula, conditional: bool, lowering: Lowering) -> Iterator[BoundQuery]:
    for written, closed in instances(both, lowering.program):
        if not conditional:
            yield BoundQuery(show_probability(written), lowering.ground(closed))
            continue
        assert isinstance(written, And) and isinstance(closed, And)
        event, given = closed.operands
        condition = lowering.ground(given)
        if condition.shape != FALSE:
            text = show_probability(*written.operands)
            yield BoundQuery(text, lowering.ground(event), None if condition.shape == TRUE else condition)
