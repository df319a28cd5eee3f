"""Mean field as a torch module: unary logits in, marginals out, rule weights as parameters.

Each iteration sends every atom what the rules say of it under the other atoms' current marginals. With
``iterations=T`` that is unrolled T times; with ``None`` it runs until it settles, and gradients come from the
fixed point itself, so that memory does not grow with the number of iterations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor

from herbrand.budget import Budget, bytes_of
from herbrand.engines.mean_field.clipping import clipped
from herbrand.engines.mean_field.hard import penalised
from herbrand.engines.mean_field.message_plan import MessagePlan, Prepared
from herbrand.engines.mean_field.moves import slope_of
from herbrand.engines.mean_field.problem import Problem, prepared
from herbrand.engines.mean_field.stride import Slope, after_slope
from herbrand.errors import UnsupportedError, nearest
from herbrand.language.show import statement_text
from herbrand.language.syntax import Theory, WeightedFormula
from herbrand.language.written_weights import relearned, weight_statements, with_weights
from herbrand.nn.devices import on_processor
from herbrand.nn.given_tables import given_tables
from herbrand.nn.implicit import attached
from herbrand.nn.layer import Layer
from herbrand.nn.masks import Masks, finite
from herbrand.options.kinds import Number, texts
from herbrand.options.table import check
from herbrand.program.dependencies import refuse_resting
from herbrand.program.independent_clauses import with_independent_clauses
from herbrand.program.lower import lower
from herbrand.program.program import Program, Weight, ranged_over
from herbrand.program.usable import refuse_no_model, refuse_unusable

if TYPE_CHECKING:
    from herbrand.model import Model

Tables = dict[str, Tensor]

MOST_ITERATIONS = 1000
CLAUSES = ("exact", "independent")
HARD = ("refused", "penalised", "annealed")
MOST_SHOWN = 20
"""Weights that are shown with their statements."""


@dataclass(frozen=True, eq=False)
class Call:
    """What comes with a call beside logits, each [example, ...]: facts, and which constants are present."""

    facts: Tables
    present: Tables


class LogicLayer(Layer):
    """Marginals of a model's open predicates from unary logits, differentiable in both logits and weights.

    ``iterations``: how many updates are unrolled; ``None``: until nothing moves by more than ``tolerance``.
    ``damping``: the part of the old logits that an unrolled update keeps (0 is the published layer).
    ``clauses="independent"`` weighs the clauses of each formula apart, the published convention; it is
    another model wherever a formula has several clauses.
    ``clip``: a statement moves an atom's log-odds by less than this times its weight; another model too
    (:mod:`herbrand.engines.mean_field.clipping`), for unrolled layers.

    ``weights`` holds one parameter a weighted statement, in order: a number, or a table for a weight that
    is learned for each constant. ``shapes``: the shape of each predicate's logits: the sizes of its
    domains, and for a many-valued one its number of values last.

    ``observed``: predicates whose facts come with each call, other ones for each example. ``ragged``: types
    of whose constants an example may lack some.
    ``hard``: hard statements that mean field cannot keep are refused, or ``penalised``: what they forbid
    costs ``penalty``, or ``annealed``: it costs more with each update, up to that. Both are other models.
    """

    def __init__(
        self,
        model: Model | Program,
        iterations: int | None = 5,
        *,
        damping: float = 0.5,
        clauses: str = "exact",
        clip: float | None = None,
        tolerance: float = 1e-6,
        memory: int | str | None = None,
        observed: Sequence[str] = (),
        ragged: Sequence[str] = (),
        hard: str = "refused",
        penalty: float = 10.0,
    ) -> None:
        super().__init__()
        _refuse_settings(iterations, clauses, clip, hard, penalty)
        given = {"iterations": iterations, "damping": damping, "clip": clip, "tolerance": tolerance}
        check("infer", given | {"memory": memory})
        budget = Budget(None if memory is None else bytes_of(memory))
        if not isinstance(model, Program):
            refuse_no_model("LogicLayer", model)
        program = model if isinstance(model, Program) else model.program
        refuse_unusable(program.statements, "a logic layer", "weights", "rules")
        refuse_resting(program, "a logic layer")
        self.iterations, self.damping, self.tolerance = iterations, damping, tolerance
        self.program = program
        self.theory = Theory(program.statements) if isinstance(model, Program) else model.theory
        self.observed, self.ragged = texts(observed, "observed"), texts(ragged, "ragged")
        self._refuse_observed()
        self.hard, self.penalty = hard, penalty
        updated = self._updated(clauses, budget)
        self.penalties = [w.value for w in updated.weights[len(program.weights) :]]
        with on_processor():
            self.problem = prepared(updated, budget, listing=False, clip=clip)
            plans, self.rests = _planned(self.problem, self.observed, self.ragged)
        self.plans = nn.ModuleList(plans)
        self.weights = nn.ParameterList(map(self._parameter, program.weights))
        self.fact_shapes = {name: self.problem.evidence.sizes(name) for name in self.observed}
        """What the facts of each observed predicate that come with a call look like, batches left out."""
        self._ragged_shapes = {name: (len(program.domain(name)),) for name in self.ragged}
        self._types = {name: program.signature.predicates[name].types for name in self.shapes}
        self.to(torch.get_default_device())
        self.converged = True

    def _updated(self, clauses: str, budget: Budget) -> Program:
        """The program whose messages make the updates: another model where clauses are weighed apart, or hard
        statements penalised."""
        program = self.program
        if clauses == "independent":
            program = with_independent_clauses(program, self.observed)
        elif self.observed:
            stated = Theory(program.statements)
            program = lower(stated, program.signature, program.facts, unsettled=self.observed)
        return program if self.hard == "refused" else penalised(program, budget, self.penalty)

    def _parameter(self, weight: Weight) -> nn.Parameter:
        """A number, or a table for a weight that is learned for each constant."""
        if weight.by:
            return nn.Parameter(torch.zeros([len(self.program.domain(name)) for name in weight.by]))
        return nn.Parameter(torch.tensor(weight.value, dtype=torch.get_default_dtype()))

    def _refuse_observed(self) -> None:
        """Raise for predicates and types that cannot come with each call."""
        signature = self.program.signature
        for name in self.observed:
            if name not in signature.predicates:
                raise UnsupportedError(
                    f"there is no predicate '{name}' to take facts", hint=nearest(name, signature.predicates)
                )
            if signature.predicates[name].value_type is not None:
                raise UnsupportedError(
                    f"{name} is many-valued, and takes no facts with each call",
                    hint="state the facts in the model, a layer for each example",
                )
            if self.program.is_open(name):
                raise UnsupportedError(
                    f"{name} is open, and takes no facts with each call",
                    hint=f"declare it: predicate {name}(...): observed",
                )
        types = {kind for predicate in signature.predicates.values() for kind in predicate.types}
        for name in self.ragged:
            if name not in types:
                raise UnsupportedError(f"there is no type '{name}'", hint=nearest(name, types))
        for template in self.program.templates:
            about = template.predicates & set(self.observed)
            kinds = ranged_over(template.conjunction) & set(self.ragged)
            if template.weight is None and (about or kinds):
                raise UnsupportedError(
                    f"a hard statement speaks of {next(iter(about or kinds))}, which comes with each call",
                    span=self.program.span_of(template),
                    hint="give the statement a large weight",
                )

    def extra_repr(self) -> str:
        """Which weight is which statement."""
        stated = weight_statements(self.theory)
        lines = [
            f"weights.{number} = {_shown(parameter)}: {_formula(statement)}"
            for number, (parameter, statement) in enumerate(zip(self.weights, stated, strict=True))
        ]
        if len(lines) > MOST_SHOWN:
            lines[MOST_SHOWN:] = [f"... and {len(lines) - MOST_SHOWN} more"]
        return "\n".join([", ".join(self._options()), *lines])

    def _options(self) -> Iterator[str]:
        """How the layer was made, as far as that is not the default."""
        yield f"iterations={self.iterations}"
        yield f"damping={self.damping:g}"
        if self.problem.clip is not None:
            yield f"clip={self.problem.clip:g}"
        for what, names in (("observed", self.observed), ("ragged", self.ragged)):
            if names:
                yield f"{what}={list(names)}"
        if self.hard != "refused":
            yield f"hard={self.hard}, penalty={self.penalty:g}"

    def to_theory(self) -> Theory:
        """The theory with the weights as they are now: to be written, inferred with and explained."""
        weights = {}
        for number, (weight, parameter) in enumerate(zip(self.program.weights, self.weights, strict=True)):
            domains = [self.program.domain(name) for name in weight.by]
            rows = product(*(range(len(domain)) for domain in domains))
            for row, one in zip(rows, _numbers(parameter), strict=True):
                constants = tuple(domain.value(place) for domain, place in zip(domains, row, strict=True))
                weights[number, constants] = one
        return with_weights(relearned(self.theory)[0], weights)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What logits of each open predicate look like, batches left out."""
        return {name: table.shape for name, table in self.problem.unknowns.tables.items()}

    def forward(
        self,
        logits: Mapping[str, Tensor] | None = None,
        facts: Mapping[str, Tensor] | None = None,
        present: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Marginals by predicate, shaped like the logits: the probability of true, or of each value.

        Logits may have leading batch axes; a predicate that is left out has logits 0. Evidence is put in. A
        logit of -inf or inf makes its atom false or true for sure (of a many-valued atom, excludes a value or
        leaves no other). The dtype and device are those of the logits, else of the weights.

        ``facts``: for each ``observed`` predicate 1 where it is true and 0 where it is false, or how likely
        it is. ``present``: for each ``ragged`` type which constants an example has; all, if it is left out.
        Atoms of absent constants are false, and nothing is said to others because of them.
        """
        marginals = self.problem.unknowns.marginals(self.log_odds(logits, facts, present))
        for name, table in marginals.items():
            if present and not self.problem.unknowns.tables[name].true_or_false:
                mask = self._mask(name, present, table.dim() - len(self.shapes[name]))
                marginals[name] = table if mask is None else table * mask.unsqueeze(-1).to(table)
        return marginals

    def log_odds(
        self,
        logits: Mapping[str, Tensor] | None = None,
        facts: Mapping[str, Tensor] | None = None,
        present: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """The same before the sigmoid or softmax: what to rank by, since probabilities near 1 tie.

        Infinite where evidence, a hard statement or an infinite logit decides; atoms that hard statements
        make one have the same.
        """
        given, lead, call = self._unary(
            given_tables("logits", logits), given_tables("facts", facts), given_tables("constants", present)
        )
        if self.iterations is None:
            self._refuse_transforms(given)
            masks = Masks.of(self.problem, given)
            prepared = self._prepared(given, call, 1.0)
            sources = (*given.values(), *self.weights, *call.facts.values())
            recorded = torch.is_grad_enabled() and any(source.requires_grad for source in sources)
            tables = masks.put(self._settled(finite(given), masks, prepared, recorded))
        else:
            tables = self._unrolled(self._sure(given), call)
        tables = self.problem.unknowns.settled(tables)
        if len(lead) == 1:
            return tables
        return {name: table.reshape((*lead, *self.shapes[name])) for name, table in tables.items()}

    def messages(self, marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the rules say to each atom (log-odds) or value, differentiable in marginals and weights.

        ``marginals`` of every open predicate, with at most one batch axis.
        """
        tables = {name: marginals[name] for name in self.shapes}
        plain = {name: table.dim() == len(self.shapes[name]) for name, table in tables.items()}
        tables = {name: table.unsqueeze(0) if plain[name] else table for name, table in tables.items()}
        zeros = {name: torch.zeros_like(table) for name, table in tables.items()}
        self._refuse_call("messages")
        prepared = self._prepared(tables, Call({}, {}), 1.0)
        messages = self._update(self._base(zeros, prepared), tables, prepared)
        return {name: table.squeeze(0) if plain[name] else table for name, table in messages.items()}

    def expected(self, marginals: Mapping[str, Tensor]) -> Tensor:
        """The expected log-weight [batch] of worlds drawn atom by atom from the marginals."""
        self._refuse_call("expected log-weights")
        return self._expected(marginals, self._all_weights(next(iter(marginals.values()), torch.zeros(()))))

    def _expected(self, marginals: Mapping[str, Tensor], weights: Sequence[Tensor | float]) -> Tensor:
        name = next(iter(self.shapes), None)
        batch = None
        if name is not None and marginals[name].dim() > len(self.shapes[name]):
            batch = marginals[name].shape[0]
        return self.problem.value(marginals, weights, batch)

    def _plan(self, number: int = 0) -> MessagePlan:
        return cast("MessagePlan", self.plans[number])

    def _prepared(self, tables: Mapping[str, Tensor], call: Call, share: float) -> list[Prepared]:
        """What updates have in common, for each plan; ``share``: of the penalties."""
        like = next(iter(tables.values()), torch.zeros(()))
        weights = self._all_weights(like, share)
        ones = [torch.ones_like(weight) for weight in weights] if self.problem.clip else weights
        plans = range(len(self.plans))
        return [self._plan(number).prepared(ones, like, call.facts, call.present) for number in plans]

    def _all_weights(self, like: Tensor, share: float = 1.0) -> list[Tensor]:
        """The parameters, and the penalties of hard statements."""
        return [*self.weights, *(like.new_tensor(penalty * share) for penalty in self.penalties)]

    def _refuse_transforms(self, given: Mapping[str, Tensor]) -> None:
        """Raise where a number decides how often to update, and numbers cannot be looked at.

        ``torch.compile`` is none of these: it runs the loop as it is, outside of its graph.
        """
        exporting = torch.compiler.is_exporting()
        if exporting or any(map(is_functorch_wrapped_tensor, (*given.values(), *self.weights))):
            raise UnsupportedError(
                "a layer that runs until it settles cannot be exported or transformed by torch.func",
                hint="give the number of updates: LogicLayer(model, iterations=20)",
            )

    def _refuse_call(self, what: str) -> None:
        if self.observed or self.ragged:
            raise UnsupportedError(
                f"{what} of a layer whose facts come with each call", hint="call the layer"
            )

    def _mask(self, name: str, present: Mapping[str, Tensor], lead: int) -> Tensor | None:
        """[batch axes, atom's axes]: whether all constants of a predicate's atoms are there."""
        types = self._types[name]
        total = None
        for place, kind in enumerate(types):
            if kind in present:
                there = present[kind] != 0
                batch = there.shape[:-1]
                shape = (*batch, *[1] * place, there.shape[-1], *[1] * (len(types) - place - 1))
                total = there.view(shape) if total is None else total & there.view(shape)
        return total

    def _base(self, unary: dict[str, Tensor], prepared: Sequence[Prepared]) -> dict[str, Tensor]:
        """Unary logits with what statements say whatever the marginals are."""
        if self.problem.clip is not None:
            return unary
        return self._plan().constant(prepared[0], unary)

    def _update(
        self, base: dict[str, Tensor], marginals: dict[str, Tensor], prepared: Sequence[Prepared]
    ) -> dict[str, Tensor]:
        """The logits that the marginals call for, on top of what is ``base`` for any of them."""
        if self.problem.clip is not None:
            return self._clipped(base, marginals, prepared)
        messages = self._plan()(marginals, prepared[0], base)
        if self.rests[0] is not None:
            rest_weights = self._all_weights(next(iter(marginals.values())))
            more = _slopes(self.rests[0], marginals, rest_weights)
            messages = {name: table + more[name] for name, table in messages.items()}
        return messages

    def _clipped(
        self, unary: dict[str, Tensor], marginals: dict[str, Tensor], prepared: Sequence[Prepared]
    ) -> dict[str, Tensor]:
        """The same, each statement's messages at weight 1 clipped before they are weighed."""
        zeros = {name: torch.zeros_like(table) for name, table in marginals.items()}

        def speak(weights: Sequence[float]) -> dict[str, Tensor]:
            number = list(weights).index(1.0)
            plan, rest = self._plan(number), self.rests[number]
            messages = plan(marginals, prepared[number], plan.constant(prepared[number], zeros))
            if rest is not None:
                more = _slopes(rest, marginals, weights)
                messages = {name: table + more[name] for name, table in messages.items()}
            return messages

        assert self.problem.clip is not None
        weights = self._all_weights(next(iter(marginals.values()), torch.zeros(())))
        clipped_messages = clipped(self.problem.unknowns, speak, weights, self.problem.clip)
        return (
            {name: table + clipped_messages[name] for name, table in unary.items()}
            if clipped_messages
            else unary
        )

    def _unary(
        self, logits: Mapping[str, Tensor], facts: Mapping[str, Tensor], present: Mapping[str, Tensor]
    ) -> tuple[dict[str, Tensor], tuple[int, ...], Call]:
        """All predicates' logits with soft evidence over one batch axis, the batch axes there were, and what
        else came with the call."""
        like = next(iter(logits.values()), next(iter(self.weights), torch.zeros(())))
        like = like if like.is_floating_point() else like.to(torch.get_default_dtype())
        ragged = self._ragged_shapes
        lead = self._lead(logits, facts, present, ragged)
        count = math.prod(lead)

        def whole(table: Tensor, shape: tuple[int, ...]) -> Tensor:
            table = table.to(like)
            if len(lead) == 1 and table.shape == (*lead, *shape):
                return table
            return table.expand((*lead, *shape)).reshape((count, *shape))

        unary = {}
        for name, shape in self.shapes.items():
            table = logits[name].to(like) if name in logits else like.new_zeros(shape)
            opinion = self.problem.unknowns.unary.get(name)
            if opinion is not None:
                table = table + opinion.to(like)
            unary[name] = whole(table, shape)
        ones = {name: like.new_ones(shape) for name, shape in ragged.items()} if ragged else {}
        there = {name: whole(present.get(name, ones[name]), shape) for name, shape in ragged.items()}
        for name in unary:
            mask = self._mask(name, there, 1) if self.problem.unknowns.tables[name].true_or_false else None
            if mask is not None:
                unary[name] = torch.where(mask, unary[name], -math.inf)
        tables = {name: whole(facts[name], shape) for name, shape in self.fact_shapes.items()}
        return unary, lead, Call(tables, there)

    def _lead(
        self,
        logits: Mapping[str, Tensor],
        facts: Mapping[str, Tensor],
        present: Mapping[str, Tensor],
        ragged: Mapping[str, tuple[int, ...]],
    ) -> tuple[int, ...]:
        """The batch axes of a call; refuses tables of the wrong names or shapes."""
        for name in self.observed:
            if name not in facts:
                raise UnsupportedError(
                    f"the facts of {name} are missing", hint=f"a tensor of shape {self.fact_shapes[name]}"
                )
        batches = {}
        for what, wanted, given, shapes in (
            ("logits", "open predicate", logits, self.shapes),
            ("facts", "observed predicate", facts, self.fact_shapes),
            ("constants", "ragged type", present, ragged),
        ):
            for name, table in given.items():
                shape = shapes.get(name)
                if shape is None:
                    raise UnsupportedError(
                        f"there is no {wanted} '{name}' to take {what}",
                        hint=f"{wanted.split()[0]}: {', '.join(shapes)}",
                    )
                if table.shape[table.dim() - len(shape) :] != shape or table.dim() < len(shape):
                    raise UnsupportedError(
                        f"the {what} of {name} have shape {tuple(table.shape)}",
                        hint=f"expected {shape}, after any batch axes",
                    )
                batches[name] = tuple(table.shape[: table.dim() - len(shape)])
        return _together(batches)

    def _sure(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        """Logits whose infinite ones need no mask: of a value that is sure, those of all others are -inf."""
        traced = any(map(_is_traced, given.values()))
        if not traced:
            if all(math.isfinite(table.detach().sum()) for table in given.values()):
                return given
            Masks.of(self.problem, given)  # refuses what contradicts itself
        settled = dict(given)
        for name, table in given.items():
            if not self.problem.unknowns.tables[name].true_or_false:
                sure = table == math.inf
                only = torch.where(sure, 0.0, -math.inf).to(table)
                settled[name] = torch.where(sure.any(-1, keepdim=True), only, table)
        return settled

    def _unrolled(self, unary: dict[str, Tensor], call: Call) -> dict[str, Tensor]:
        assert self.iterations is not None
        unknowns, keep = self.problem.unknowns, self.damping
        prepared = self._prepared(unary, call, 1.0)
        base = self._base(unary, prepared)
        logits = unknowns.gathered(unary)
        for number in range(self.iterations):
            if self.penalties and self.hard == "annealed":
                prepared = self._prepared(unary, call, (number + 1) / self.iterations)
                base = self._base(unary, prepared)
            updated = unknowns.gathered(self._update(base, unknowns.marginals(logits), prepared))
            if keep:  # not torch.lerp, which makes nan of two equal infinite logits
                updated = {
                    name: torch.add(logits[name] * keep, updated[name], alpha=1 - keep) for name in updated
                }
            logits = updated
        return logits

    def _settled(
        self, unary: dict[str, Tensor], masks: Masks, prepared: Sequence[Prepared], recorded: bool
    ) -> dict[str, Tensor]:
        """Logits at rest; ``recorded``: with gradients."""
        base = self._base(unary, prepared)

        def update(marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return self.problem.unknowns.gathered(self._update(base, dict(marginals), prepared))

        with torch.no_grad():
            logits = self._fixed_point(unary, update, masks)
            marginals = self.problem.unknowns.marginals(masks.put(logits))
        if not recorded:
            return logits
        return attached(self.problem.unknowns, update, marginals)

    def _fixed_point(
        self, unary: dict[str, Tensor], update: Callable[[Tables], Tables], masks: Masks
    ) -> dict[str, Tensor]:
        """Strides adapt, so that recursive rules do not oscillate; ``converged``: how it ended."""
        unknowns, stride = self.problem.unknowns, 1.0
        logits = unknowns.agreed(unknowns.gathered(unary))
        marginals = before = unknowns.marginals(masks.put(logits))
        for _ in range(MOST_ITERATIONS):
            goal = unknowns.agreed(update(marginals))
            slopes = (slope_of(logits[n], goal[n] - logits[n], marginals[n] - before[n]) for n in logits)
            stride = after_slope(stride, sum(slopes, Slope()))
            logits = {name: torch.lerp(logits[name], goal[name], stride) for name in logits}
            before, marginals = marginals, unknowns.marginals(masks.put(logits))
            moved = max(
                (float((marginals[n] - before[n]).abs().max()) for n in logits if logits[n].numel()),
                default=0.0,
            )
            self.converged = moved <= stride * self.tolerance
            if self.converged:
                break
        return logits


def _refuse_settings(
    iterations: int | None, clauses: str, clip: float | None, hard: str, penalty: float
) -> None:
    """Raise for settings that are none, or that cannot stand together."""
    for what, value, known in (("clauses", clauses, CLAUSES), ("hard statements", hard, HARD)):
        if not isinstance(value, str) or value not in known:
            raise UnsupportedError(f"{what} are '{value}'", hint=f"one of {', '.join(known)}")
    Number(above=0).check("a penalty", penalty)
    for what, is_asked in (
        ("annealed penalties", hard == "annealed"),
        ("clipped messages", clip is not None),
    ):
        if is_asked and iterations is None:
            raise UnsupportedError(
                f"{what} have no gradient at a fixed point", hint="say how many iterations to unroll"
            )


def _shown(parameter: Tensor) -> str:
    return f"{parameter.item():.4g}" if parameter.dim() == 0 else f"{tuple(parameter.shape)} numbers"


def _numbers(parameter: Tensor) -> list[float]:
    """The shortest decimals that are these numbers in their precision: 0.7, not 0.699999988079071."""
    table = parameter.detach().reshape(-1).cpu()
    exact = table if table.dtype == torch.float64 else table.float()
    return [float(str(number)) for number in exact.numpy()]


def _formula(statement: WeightedFormula) -> str:
    """The statement without its weight."""
    return statement_text(statement).partition(": ")[2]


def _planned(
    problem: Problem, observed: Sequence[str], ragged: Sequence[str]
) -> tuple[list[MessagePlan], list[Problem | None]]:
    """A plan of messages, and the problem of what it leaves; one for each statement, if they are clipped."""
    chosen = [problem.regular]
    if problem.clip is not None:
        numbers = range(len(problem.program.weights))
        chosen = [tuple(t for t in problem.regular if t.weight == number) for number in numbers]
    plans = [
        MessagePlan(
            problem.program,
            problem.evidence,
            problem.unknowns.tables,
            own,
            problem.score.relations,
            observed,
            ragged,
        )
        for own in chosen
    ]
    rests = [problem.without_plan(plan.left, True) for plan in plans]
    if (observed or ragged) and any(rests):
        raise UnsupportedError(
            "quantifiers, and hard statements that make atoms one, take no facts with each call",
            hint="state the facts in the model, a layer for each example",
        )
    return plans, rests


def _slopes(problem: Problem, marginals: Tables, weights: Sequence[Tensor | float]) -> Tables:
    """Derivatives of an expected log-weight by the marginals, for what no plan has steps for."""
    record = torch.is_grad_enabled()
    batch = next(iter(marginals.values())).shape[0]
    with torch.enable_grad():
        # Views, since marginals of tied atoms are made of those of their leaders: derivatives by the
        # leaders' own tables would count what is said to the tied ones as well.
        leaves = {
            name: m.view_as(m) if m.requires_grad else m.detach().requires_grad_()
            for name, m in marginals.items()
        }
        total = problem.value(leaves, weights, batch).sum()
        if not total.requires_grad:
            return {name: torch.zeros_like(m) for name, m in marginals.items()}
        gradients = torch.autograd.grad(total, list(leaves.values()), create_graph=record, allow_unused=True)
    zeros = (torch.zeros_like(m) if g is None else g for m, g in zip(leaves.values(), gradients, strict=True))
    return dict(zip(leaves, zeros, strict=True))


def _is_traced(tensor: Tensor) -> bool:
    """Whether numbers cannot be looked at: under ``torch.compile``, ``torch.export`` or ``vmap``."""
    return torch.compiler.is_compiling() or is_functorch_wrapped_tensor(tensor)


def _together(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch axes of all predicates' logits."""
    if len(batches) == 1:
        return next(iter(batches.values()))
    try:
        return tuple(torch.broadcast_shapes(*batches.values()))
    except RuntimeError:
        shown = ", ".join(f"{name} has {axes}" for name, axes in batches.items())
        raise UnsupportedError(
            f"the batch axes of the logits do not fit together: {shown}", hint="equal ones, or 1, or none"
        ) from None
