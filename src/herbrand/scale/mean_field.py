"""Mean field over tables of a database, its messages computed by SQL.

The steps are those of :mod:`herbrand.engines.mean_field` with the parallel schedule, number for number: the
same messages, the same stride, the same bound. Marginals are an ``approximation``, the log-partition is a
``lower`` bound. Cost of a step: for each literal of a product one join of the product's other tables. A step
is kept in the database as soon as it is complete, so an interrupted run resumes from its last one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import partial

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, PartitionGuarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.engine import Cost, Prepared, Refusal, Settings
from herbrand.engines.loop import Resumed
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.products import Observed, PerConstant, Product, products_of
from herbrand.engines.mean_field.stride import Slope, after_slope
from herbrand.errors import ContradictionError, HerbrandError, Mistake, UnsupportedError, counted
from herbrand.language.show import statement_text
from herbrand.program.program import Program, Template
from herbrand.program.question import Question
from herbrand.relations.relation import Relation
from herbrand.scale.beliefs import (
    BYTES_A_ROW,
    BeliefLayout,
    Move,
    Others,
    bound_part,
    laid_out,
    moved,
)
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.formulas import Asked, formula_rows, queried_cases
from herbrand.scale.operands import Beliefs, Sender, expected, expected_count, refuse_quantifiers, sums
from herbrand.scale.reading import queried_tables
from herbrand.scale.run import (
    StoredProgram,
    explained_in_memory,
    refuse_foreign_settings,
    refuse_most_probable,
)


@dataclass(frozen=True, eq=False)
class StoredMeanFieldState(Resumed):
    """State after ``step`` steps; its marginals are in the tables that ``layouts`` names."""

    stored: StoredProgram
    question: Question
    queried_formulas: Asked
    senders: tuple[tuple[Sender, Mapping[int, float]], ...]
    constants: tuple[tuple[Sender, Mapping[int, float]], ...]
    layouts: Mapping[str, BeliefLayout]
    step: int = 0
    stride: float = 1.0
    moved: float = math.inf

    @property
    def evidence(self) -> StoredEvidence:
        return self.stored.evidence

    @property
    def beliefs(self) -> Beliefs:
        queries = self.evidence.queries
        return {name: layout.marginals(self.step, queries) for name, layout in self.layouts.items()}


@dataclass(frozen=True)
class StoredMeanField:
    """Mean field. ``damping``: share of the old logits that a step keeps; adapted to the bound's slope if
    ``None``."""

    damping: float | None = None
    budget: Budget = UNLIMITED
    name: str = field(default="mean-field", init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> StoredMeanField:
        """Build the engine; refuse unsupported settings."""
        refuse_foreign_settings(settings, "mean field")
        return cls(settings.damping, settings.budget)

    def prepare(
        self, stored: StoredProgram, question: Question, within: Budget
    ) -> Prepared[StoredMeanFieldState] | Refusal:
        try:
            cost = self._cost(stored.evidence)
        except HerbrandError as error:  # including a hard statement that the facts violate
            return Refusal(error)
        return Prepared(partial(self._begun, stored, question), lambda: cost)

    def _cost(self, evidence: StoredEvidence) -> Cost:
        """Rows joined in a step, and bytes of disk for the marginals; raise if the program is not
        supported."""
        program = evidence.program
        _refuse_unserved(evidence)
        senders, _ = _senders(products_of(program, program.templates, evidence), evidence)
        atoms = sum(evidence.known(name).atom_count for name in evidence.latent_predicates)
        return Cost(sum(sender.joined_rows for sender, _ in senders), 0.0, disk=float(atoms * BYTES_A_ROW))

    def _begun(self, stored: StoredProgram, question: Question) -> StoredMeanFieldState:
        """The first state, or the last one that is kept if the run is resumed."""
        evidence, run, program = stored.evidence, stored.run, stored.evidence.program
        refuse_most_probable(question)
        queried_formulas = queried_cases(evidence, question)
        _refuse_unserved(evidence)
        products = products_of(program, program.templates, evidence)
        senders, constants = _senders(products, evidence)
        stride = 1.0 if self.damping is None else 1 - self.damping
        state = StoredMeanFieldState(stored, question, queried_formulas, senders, constants, {}, 0, stride)
        if run.resume:
            return self._resumed(state)
        run.begin()
        state = replace(
            state, layouts=laid_out(evidence, [sender.product for sender, _ in senders], run.room)
        )
        self._keep(state)
        return state

    def step(self, state: StoredMeanFieldState) -> StoredMeanFieldState:
        beliefs, weights = state.beliefs, _weights(state.evidence.program)
        received: dict[str, list[Relation]] = {name: [] for name in state.layouts}
        everywhere: list[tuple[int, Relation]] = []
        for sender, counts in state.senders:
            coefficient = _coefficient(counts, weights)
            for place, reading in sender.readings if coefficient else ():
                message = sender.message(place, beliefs, coefficient)
                if message.rows is not None:
                    received[reading.source].append(message.rows)
                if message.everywhere is not None:
                    everywhere.append((state.layouts[reading.source].number, message.everywhere))
        to_all = sums(everywhere)
        move, layouts = Move(Slope(), 0.0), {}
        for name, layout in state.layouts.items():
            same, queries = to_all.get(layout.number, 0.0), state.evidence.queries
            layouts[name], own = moved(layout, state.step, queries, received[name], same, state.stride)
            move += own
        stride = after_slope(state.stride, move.slope) if self.damping is None else state.stride
        residual = min(1.0, move.far / state.stride)
        after = replace(state, layouts=layouts, step=state.step + 1, stride=stride, moved=residual)
        self._keep(after)
        return after

    def residual(self, state: StoredMeanFieldState) -> float:
        return state.moved

    def read(self, state: StoredMeanFieldState, status: Status) -> Marginals:
        return Marginals(
            self.name,
            Guarantee.APPROXIMATION,
            status,
            queried_tables(state.stored, state.beliefs, state.question),
            tuple(formula_rows(state.evidence, state.beliefs, state.queried_formulas)),
            log_partition=self.bound(state),
            log_partition_guarantee=PartitionGuarantee.LOWER,
        )

    def bound(self, state: StoredMeanFieldState) -> float:
        """Expected log-weight plus entropy: a lower bound of log Z."""
        evidence, step = state.evidence, state.step
        weights = _weights(evidence.program)
        products = (
            (sender, _coefficient(own, weights)) for sender, own in (*state.constants, *state.senders)
        )
        total = expected(products, state.beliefs)
        rows = math.fsum(bound_part(layout, step, evidence.queries) for layout in state.layouts.values())
        constant = sum(
            evidence.settled_opinions(name)
            for name in evidence.program.signature.predicates
            if name not in state.layouts
        )
        return total + rows + constant

    def explain(self, state: StoredMeanFieldState, status: Status) -> Explanation:
        raise explained_in_memory()

    def _keep(self, state: StoredMeanFieldState) -> None:
        layouts = {name: layout.count for name, layout in state.layouts.items()}
        others = {name: astuple(own.others) for name, own in state.layouts.items() if own.others is not None}
        state.stored.run.keep(
            {
                "step": state.step,
                "stride": state.stride,
                "moved": None if math.isinf(state.moved) else state.moved,
                "layouts": layouts,
                "others": others,
            }
        )

    def _resumed(self, state: StoredMeanFieldState) -> StoredMeanFieldState:
        kept = state.stored.run.kept()
        others = {name: Others(*one) for name, one in kept["others"].items()}
        return replace(
            state,
            layouts={
                name: BeliefLayout.of(state.evidence, name, rows, others.get(name))
                for name, rows in kept["layouts"].items()
            },
            step=kept["step"],
            stride=kept["stride"],
            moved=math.inf if kept["moved"] is None else kept["moved"],
        )


def _senders(
    products: Mapping[Product, Mapping[int, float]], evidence: StoredEvidence
) -> tuple[tuple[tuple[Sender, Mapping[int, float]], ...], tuple[tuple[Sender, Mapping[int, float]], ...]]:
    """Senders of products with latent literals, and of those without."""
    latent, constant, program = [], [], evidence.program
    for product, counts in products.items():
        if any(isinstance(operand, PerConstant) for operand in product.operands):
            continue  # a weight that has not been learned yet counts as 0
        if not all(isinstance(operand, Reading | Observed) for operand in product.operands):
            for template in program.templates:
                if template.weight in counts:
                    refuse_quantifiers(template, program, "mean field")
        known = all(isinstance(operand, Observed) for operand in product.operands)
        (constant if known else latent).append((Sender(product, evidence), counts))
    return tuple(latent), tuple(constant)


def _refuse_unserved(evidence: StoredEvidence) -> None:
    for template in evidence.program.templates:
        if template.weight is None:
            _refuse_hard(template, evidence)


def _refuse_hard(template: Template, evidence: StoredEvidence) -> None:
    """Raise if a hard statement is about latent atoms, or if the facts violate it."""
    program = evidence.program
    refuse_quantifiers(template, program, "mean field")
    statement = program.statements[template.statement]
    text = statement_text(statement)
    if any(evidence.known(name).latent_count() for name in template.predicates):
        raise UnsupportedError(
            f"on a database mean field has no hard statements about latent atoms: {text}",
            span=statement.span,
            hint="use --engine bp, give it a large weight, or leave out --on",
        )
    broken = expected_count([template], evidence, {})
    if broken:
        raise ContradictionError(
            Mistake(
                f"the facts break this hard statement {counted(round(abs(broken)), 'time')}: {text}",
                statement.span,
            )
        )


def _weights(program: Program) -> list[float]:
    return [0.0 if weight.by else weight.value for weight in program.weights]


def _coefficient(counts: Mapping[int, float], weights: list[float]) -> float:
    return math.fsum(weights[weight] * count for weight, count in counts.items())
