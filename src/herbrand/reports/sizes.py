"""The report of ``herbrand check``: sizes of a model, and the engines that can run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa

from herbrand.answers.guarantee import Guarantee
from herbrand.answers.sheet import Sheet
from herbrand.budget import Budget, budget_of, readable
from herbrand.engines.choice import CHOICES, Choice, Offer, Refused, best, choices
from herbrand.engines.cost_question import CostQuestion, states_bounds
from herbrand.engines.credal.question import BoundSettings
from herbrand.engines.engine import Cost, Refusal, Settings
from herbrand.engines.registry import DATABASE, ENGINES, INFERENCE
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.extras import Late
from herbrand.facts.load import facts_too_large
from herbrand.language.names import is_made
from herbrand.language.show import statement_text
from herbrand.language.signature import Predicate, Signature
from herbrand.language.theory import Theory, show
from herbrand.model import Model, Texts
from herbrand.options.kinds import texts
from herbrand.program.dependencies import unusable_by
from herbrand.program.evidence import Evidence
from herbrand.program.ground import groundings
from herbrand.program.program import Program
from herbrand.program.question import Question
from herbrand.program.usable import refuse_no_model
from herbrand.reports.network import NetworkSize, network_size

_ON_DATABASE = Late("herbrand.scale.sizes")
Row = TypeVar("Row")
MOST_ROWS = 50
"""If more predicates than this have one atom each, they share a row of the table; likewise types with equal
numbers of constants."""


@dataclass(frozen=True)
class PredicateSize:
    """Ground atoms of a predicate; those not ``known`` are latent."""

    predicate: str
    world: str
    atoms: int
    known: int

    @property
    def latent(self) -> int:
        return self.atoms - self.known


@dataclass(frozen=True, repr=False)
class SizeReport(Sheet):
    """Sizes of a model: constants by type, atoms by predicate, groundings by formula, engines by name.

    ``where``: the database that holds its facts, or that a run would use, if they do not fit into memory.
    """

    declarations: str
    constants: dict[str, int]
    predicates: tuple[PredicateSize, ...]
    formulas: tuple[tuple[str, int], ...]
    engines: dict[str, Cost | Refusal]
    auto: Offer | None = None
    network: NetworkSize | None = None
    where: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of ``herbrand check``."""
        return {
            "declarations": self.declarations,
            "constants": self.constants,
            "predicates": [
                {
                    "predicate": p.predicate,
                    "world": p.world,
                    "atoms": p.atoms,
                    "known": p.known,
                    "latent": p.latent,
                }
                for p in self.predicates
            ],
            "formulas": [{"statement": text, "groundings": count} for text, count in self.formulas],
            "engines": _engine_rows(self.engines),
            "auto": None if self.auto is None else self.auto.name,
            "where": self.where,
            "network": None if self.network is None else self.network.to_dict(),
            "bound_engines": [] if self.network is None else _engine_rows(self.network.engines),
        }

    words = (0, 2)

    @property
    def title(self) -> str:
        return "sizes"

    @property
    def heads(self) -> tuple[str, str, str]:
        return "what", "size", "detail"

    def __len__(self) -> int:
        return len(list(self.cells()))

    def cells(self) -> Iterator[tuple[str, str, str]]:
        for types in _together(self.constants.items(), lambda one: one[1]):
            yield _type_row(types)
        for alike in _together(self.predicates, _alike):
            yield _predicate_row(alike)
        for text, count in self.formulas:
            yield text, f"{count:,}", "groundings"
        for name, estimate in self.engines.items():
            yield f"engine {name}", *_possible_and_cost(estimate)
        if self.where is not None:
            yield "facts", "on a database", self.where
        if self.auto is not None:
            yield "engine auto", self.auto.name, self.auto.why
        if self.network is not None:
            yield from self.network.rows()
            for name, estimate in self.network.engines.items():
                yield f"bound engine {name}", *_possible_and_cost(estimate)

    def to_arrow(self) -> pa.Table:
        columns = list(zip(*self.cells(), strict=True)) or [(), (), ()]
        return pa.table({name: pa.array(c, pa.string()) for name, c in zip(self.heads, columns, strict=True)})


def _together(rows: Iterable[Row], kind: Callable[[Row], object]) -> Iterator[list[Row]]:
    """Rows one by one, except that very many of one kind form one group, in the place of their first."""
    rows, groups = list(rows), dict[object, list[Row]]()
    for row in rows:
        groups.setdefault(kind(row), []).append(row)
    for row in rows:
        alike = groups[kind(row)]
        if len(alike) <= MOST_ROWS:
            yield [row]
        elif row is alike[0]:
            yield alike


def _alike(one: PredicateSize) -> object:
    """Grouping key of predicates with one atom; a predicate with more atoms is its own group."""
    return (one.world, one.known) if one.atoms == 1 else one.predicate


def _type_row(alike: Sequence[tuple[str, int]]) -> tuple[str, str, str]:
    (first, count), (last, _) = alike[0], alike[-1]
    if len(alike) == 1:
        return f"type {first}", f"{count:,}", "constants"
    return f"types {first} to {last}", f"{count:,}", f"constants each, {len(alike):,} types"


def _predicate_row(alike: Sequence[PredicateSize]) -> tuple[str, str, str]:
    first = alike[0]
    atoms, latent = sum(p.atoms for p in alike), sum(p.latent for p in alike)
    text = f"atoms, {latent:,} latent, {first.world} world"
    if len(alike) == 1:
        return f"predicate {first.predicate}", f"{atoms:,}", text
    return f"predicates {first.predicate} to {alike[-1].predicate}", f"{atoms:,}", f"{text}, one each"


def size_report(
    model: Model,
    memory: int | str | None = None,
    time_limit: float | None = None,
    *,
    query: Texts = (),
    given: Texts = (),
    within: Budget | None = None,
) -> SizeReport:
    """Sizes and engines of a model, for all that is uncertain or what is queried; nothing is inferred.

    ``query`` and ``given`` are as ``infer`` takes them, or ``bound`` where the theory states bounds.
    ``memory`` and ``time_limit`` are those of ``infer``. ``within``: time and memory of which a part is used
    already; else the clock starts now.
    """
    refuse_no_model("size_report", model)
    budget = budget_of({"memory": memory, "time_limit": time_limit}) if within is None else within
    allowed, cost_question = budget.memory, CostQuestion(texts(query), texts(given))
    on_database = model.on is not None
    too_large = None if on_database else facts_too_large(model.cells, budget)
    if model.on is None and too_large is None:
        program, question, error = _measured_program(model, budget, cost_question)
        evidence: Evidence = Evidence(program)
        engines = _inference(program, Settings(budget), question, error)
        if not (error or states_bounds(program)) and not any(
            isinstance(estimate, Cost) for estimate in engines.values()
        ):
            engines, on_database = _ON_DATABASE.measured_instead(
                model.stored_at, engines, allowed, cost_question
            )
    else:
        evidence, engines = (
            _ON_DATABASE.measured(model.stored, allowed, cost_question)
            if too_large is None
            else _ON_DATABASE.measured_on_scratch(model.stored_at, too_large, allowed, cost_question)
        )
        program, on_database = evidence.program, True
        if states_bounds(program):
            engines = _none_can(_of_bounds())
    bounded = states_bounds(program) and not on_database
    known = {name: evidence.known(name) for name in program.signature.named}
    return SizeReport(
        show(Theory(_with_worlds(program).declarations())),
        {name: len(domain) for name, domain in program.facts.domains.items() if not is_made(name)},
        tuple(
            PredicateSize(name, program.table(name).world, k.atom_count, k.atom_count - k.latent_count())
            for name, k in known.items()
        ),
        tuple(
            (statement_text(s), groundings(s, program.signature, program.facts))
            for s in model.theory.formulas
        ),
        engines,
        _preferred(_first_able(engines) if on_database else engines),
        network_size(program, BoundSettings(budget), cost_question.queries) if bounded else None,
        f"a scratch database: {too_large.why}" if too_large else model.on,
    )


def _with_worlds(program: Program) -> Signature:
    """The signature with the role of each predicate (open or observed) that declares the world it has
    here."""
    derived = Theory(program.statements).derived

    def known(predicate: Predicate) -> Predicate:
        closed = program.table(predicate.name).world == "closed"
        if predicate.name in derived or predicate.role not in (None, "observed"):
            return predicate
        return replace(predicate, role="observed" if closed else None)

    predicates = {name: known(predicate) for name, predicate in program.signature.predicates.items()}
    return replace(program.signature, predicates=predicates)


def _inference(
    program: Program, settings: Settings, question: Question, error: UnsupportedError | None
) -> dict[str, Cost | Refusal]:
    """Cost or refusal of every engine of ``infer``; ``error``: what refuses the program before any engine."""
    if states_bounds(program):
        error = _of_bounds()
    if error is not None:
        return _none_can(error)
    if program.uncertain:
        first, signature = program.uncertain[0], program.signature
        refused = {name: Refusal(unusable_by(name, first, signature)) for name in INFERENCE}
        drawing = Cost(guarantee=Guarantee.EXACT)  # how large a circuit becomes only compiling shows
        return {**refused, CHOICES: drawing}
    return {
        offer.name: offer.cost if isinstance(offer, Choice) else offer.refusal
        for offer in choices(settings, program, question)
    }


def _none_can(error: UnsupportedError) -> dict[str, Cost | Refusal]:
    """The refusal of every engine of ``infer``, for what refuses the program before any engine."""
    return dict.fromkeys(INFERENCE, Refusal(error))


def _of_bounds() -> UnsupportedError:
    return UnsupportedError("infer cannot use probability bounds: leave them out by --ignore bounds")


def _first_able(engines: Mapping[str, Cost | Refusal]) -> dict[str, Cost | Refusal]:
    """The engine that ``auto`` takes on a database."""
    able = [name for name in ENGINES[DATABASE]["infer"] if isinstance(engines[name], Cost)]
    return {name: engines[name] for name in able[:1]}


def _preferred(engines: Mapping[str, Cost | Refusal]) -> Offer | None:
    """The engine that ``auto`` would take; ``None`` if none can run."""
    offers = (
        Refused(name, estimate) if isinstance(estimate, Refusal) else Offer(name, estimate)
        for name, estimate in engines.items()
    )
    try:
        return best(offers)
    except BudgetError:
        return None


def _engine_rows(engines: Mapping[str, Cost | Refusal]) -> list[dict[str, Any]]:
    return [
        {
            "engine": name,
            "possible": isinstance(estimate, Cost),
            "reason": estimate.handed if isinstance(estimate, Cost) else estimate.why,
            "guarantee": estimate.guarantee.value if isinstance(estimate, Cost) else None,
            "detail": estimate.detail if isinstance(estimate, Cost) else "",
            "operations": estimate.operations if isinstance(estimate, Cost) else None,
            "bytes": estimate.bytes if isinstance(estimate, Cost) else None,
        }
        for name, estimate in engines.items()
    ]


def _measured_program(
    model: Model, budget: Budget, question: CostQuestion
) -> tuple[Program, Question, UnsupportedError | None]:
    """The program with all derived atoms; without rules, and with the error, if these cannot be used, such as
    a rule that derives from an open predicate."""
    try:
        return *model.measured(budget, question.queries, question.given), None
    except UnsupportedError as error:
        return *model.measured(budget, question.queries, question.given, derived=False), error


def _possible_and_cost(estimate: Cost | Refusal) -> tuple[str, str]:
    """Texts of whether an engine can run, and of its cost or the reason of its refusal."""
    if isinstance(estimate, Refusal):
        return "no", estimate.why
    cost = "no estimate"
    if estimate.operations is not None:
        cost = f"about {estimate.operations:.1e} operations, {readable(estimate.bytes or 0)}"
    return "yes", "; ".join(
        filter(None, (f"{estimate.guarantee.value}, {cost}", estimate.handed, estimate.detail))
    )
