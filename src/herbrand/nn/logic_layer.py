"""Mean field as a torch module: unary logits in, marginals out, rule weights as parameters.

Each iteration updates every atom by the messages of the statements under the current marginals of the other
atoms. With ``iterations=T`` T updates are unrolled; with ``None`` they run to a fixed point, and gradients
are computed by implicit differentiation, so that memory does not grow with the number of iterations.
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
from herbrand.language.syntax import WeightedFormula
from herbrand.language.theory import Theory
from herbrand.language.written_weights import relearned, weight_statements, with_weights
from herbrand.nn.devices import on_processor
from herbrand.nn.given_tables import given_tables, no_probabilities
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
"""Largest number of weights that are shown with their statements."""


@dataclass(frozen=True, eq=False)
class Call:
    """Inputs of a call besides the logits, each [example, ...]: facts, and which constants are present."""

    facts: Tables
    present: Tables


class LogicLayer(Layer):
    """Marginals of a model's open predicates from unary logits, differentiable in both logits and weights.

    ``iterations``: number of unrolled updates; ``None``: iterate until nothing moves by more than
    ``tolerance``. ``damping``: share of the old logits that an unrolled update keeps (0 is the published
    layer). ``clauses="independent"`` gives the weight to each clause of a formula separately, the published
    convention; a different model if a formula has several clauses. ``clip``: limit on the change of an atom's
    log-odds by a statement, in units of its weight; also a different model
    (:mod:`herbrand.engines.mean_field.clipping`), for unrolled layers only.

    ``weights``: a parameter for each weighted statement, in order: a number, or a table for a weight that is
    learned for each constant. ``shapes``: shape of each predicate's logits: the sizes of its domains, and for
    a many-valued one its number of values last.

    ``observed``: predicates whose facts are given with each call, different ones for each example.
    ``ragged``: types of which an example may lack some constants. ``hard``: treatment of hard statements that
    mean field cannot keep: ``refused``; ``penalised``: violations cost ``penalty``; ``annealed``: the cost
    grows with each update up to ``penalty``. The latter two are different models.
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
        drawn = "a query layer with algebra='probability' takes choices"
        refuse_unusable(program.statements, "a logic layer", "weights", "rules", for_choices=drawn)
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
        """Shape of the facts of each observed predicate in a call, without batch axes."""
        self._ragged_shapes = {name: (len(program.domain(name)),) for name in self.ragged}
        self._types = {name: program.signature.predicates[name].types for name in self.shapes}
        self.to(torch.get_default_device())
        self.converged = True

    def _updated(self, clauses: str, budget: Budget) -> Program:
        """The program whose messages are used in updates: a changed model if clauses are independent or hard
        statements penalised."""
        program = self.program
        if clauses == "independent":
            program = with_independent_clauses(program, self.observed)
        elif self.observed:
            stated = Theory(program.statements)
            program = lower(stated, program.signature, program.facts, unsettled=self.observed)
        return program if self.hard == "refused" else penalised(program, budget, self.penalty)

    def _parameter(self, weight: Weight) -> nn.Parameter:
        """Parameter of a weight: a number, or a table for a weight that is learned for each constant."""
        if weight.by:
            return nn.Parameter(torch.zeros([len(self.program.domain(name)) for name in weight.by]))
        return nn.Parameter(torch.tensor(weight.value, dtype=torch.get_default_dtype()))

    def _refuse_observed(self) -> None:
        """Raise an error for ``observed`` predicates and ``ragged`` types that cannot be given with each
        call."""
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
                    f"a hard statement is about {next(iter(about or kinds))}, given with each call",
                    span=self.program.span_of(template),
                    hint="give the statement a large weight",
                )

    def extra_repr(self) -> str:
        """Text of the options, and of the weights with their statements."""
        stated = weight_statements(self.theory)
        lines = [
            f"weights.{number} = {_shown(parameter)}: {_formula(statement)}"
            for number, (parameter, statement) in enumerate(zip(self.weights, stated, strict=True))
        ]
        if len(lines) > MOST_SHOWN:
            lines[MOST_SHOWN:] = [f"... and {len(lines) - MOST_SHOWN} more"]
        return "\n".join([", ".join(self._options()), *lines])

    def _options(self) -> Iterator[str]:
        """Texts of the options: iterations and damping, and others that differ from the defaults."""
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
        """The theory with the current weights."""
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
        """Shape of the logits of each open predicate, without batch axes."""
        return {name: table.shape for name, table in self.problem.unknowns.tables.items()}

    def forward(
        self,
        logits: Mapping[str, Tensor] | None = None,
        facts: Mapping[str, Tensor] | None = None,
        present: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Marginals by predicate, shaped like the logits: the probability of true, or of each value.

        Logits may have leading batch axes; those of a predicate that is left out are 0. Marginals of evidence
        atoms are 0 or 1. A logit of -inf or inf makes its atom certainly false or true (for a many-valued
        atom it excludes the value, or all others). The dtype and device are those of the logits, else of the
        weights.

        ``facts``: for each ``observed`` predicate 1 for true and 0 for false atoms, or their probability.
        ``present``: for each ``ragged`` type which constants an example has; all by default. Atoms of absent
        constants are false, and send no messages.
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
        """Log-odds of the marginals, before the sigmoid or softmax; better for ranking, as probabilities near
        1 tie. Arguments are those of a call.

        Infinite for atoms fixed by evidence, a hard statement or an infinite logit; equal for atoms that hard
        statements tie.
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
        """Messages of the statements to each atom (log-odds) or value, differentiable in marginals and
        weights.

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
        """Values that all updates of a call share, for each plan; ``share``: factor of the penalties."""
        like = next(iter(tables.values()), torch.zeros(()))
        weights = self._all_weights(like, share)
        ones = [torch.ones_like(weight) for weight in weights] if self.problem.clip else weights
        plans = range(len(self.plans))
        return [self._plan(number).prepared(ones, like, call.facts, call.present) for number in plans]

    def _all_weights(self, like: Tensor, share: float = 1.0) -> list[Tensor]:
        """The weights of all statements: parameters, and penalties of hard statements."""
        return [*self.weights, *(like.new_tensor(penalty * share) for penalty in self.penalties)]

    def _refuse_transforms(self, given: Mapping[str, Tensor]) -> None:
        """Raise an error if the number of updates depends on values, which transforms hide.

        ``torch.compile`` is no such transform: it runs the loop outside of its graph.
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
        """Whether all constants of a predicate's atoms are present [batch axes, atom's axes]."""
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
        """Unary logits plus the messages that do not depend on marginals."""
        if self.problem.clip is not None:
            return unary
        return self._plan().constant(prepared[0], unary)

    def _update(
        self, base: dict[str, Tensor], marginals: dict[str, Tensor], prepared: Sequence[Prepared]
    ) -> dict[str, Tensor]:
        """The next logits: ``base`` plus the messages that depend on the marginals."""
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
        """The next logits, with each statement's messages at weight 1 clipped before they are weighted."""
        zeros = {name: torch.zeros_like(table) for name, table in marginals.items()}

        def compute_messages(weights: Sequence[float]) -> dict[str, Tensor]:
            number = list(weights).index(1.0)
            plan, rest = self._plan(number), self.rests[number]
            messages = plan(marginals, prepared[number], plan.constant(prepared[number], zeros))
            if rest is not None:
                more = _slopes(rest, marginals, weights)
                messages = {name: table + more[name] for name, table in messages.items()}
            return messages

        assert self.problem.clip is not None
        weights = self._all_weights(next(iter(marginals.values()), torch.zeros(())))
        clipped_messages = clipped(self.problem.unknowns, compute_messages, weights, self.problem.clip)
        return (
            {name: table + clipped_messages[name] for name, table in unary.items()}
            if clipped_messages
            else unary
        )

    def _unary(
        self, logits: Mapping[str, Tensor], facts: Mapping[str, Tensor], present: Mapping[str, Tensor]
    ) -> tuple[dict[str, Tensor], tuple[int, ...], Call]:
        """Logits of all predicates, soft evidence included, with one batch axis; the batch axes of the call;
        and the other inputs of the call."""
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
        """Batch axes of a call; raises an error for tables of wrong names or shapes, and for facts and
        constants outside of 0 to 1."""
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
                    stated = what == "logits" and name in self.program.signature.predicates
                    if stated and self.program.is_open(name):
                        raise UnsupportedError(
                            f"no atom of {name} is uncertain, so it takes no logits", hint="leave them out"
                        )
                    raise UnsupportedError(
                        f"there is no {wanted} '{name}' to take {what}",
                        hint=f"{wanted.split()[0]}: {', '.join(shapes)}",
                    )
                if table.shape[table.dim() - len(shape) :] != shape or table.dim() < len(shape):
                    raise UnsupportedError(
                        f"the {what} of {name} have shape {tuple(table.shape)}",
                        hint=f"expected {shape}, after any batch axes",
                    )
                if what != "logits" and not _is_traced(table) and len(wrong := no_probabilities(table)):
                    raise UnsupportedError(
                        f"the {what} of {name} have the number {float(wrong[0]):g}",
                        hint="expected numbers from 0, false or absent, to 1",
                    )
                batches[name] = tuple(table.shape[: table.dim() - len(shape)])
        return _together(batches)

    def _sure(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        """Replace +inf of a value by -inf of all other values, so that the softmax needs no mask."""
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
        """Logits at the fixed point; ``recorded``: with gradients."""
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
        """Iterate to the fixed point, with adaptive strides, so that recursive rules do not oscillate; sets
        ``converged``."""
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
    """Raise an error for invalid settings, and for combinations that are not supported."""
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
    """Shortest decimals that round to these numbers in their precision: 0.7, not 0.699999988079071."""
    table = parameter.detach().reshape(-1).cpu()
    exact = table if table.dtype == torch.float64 else table.float()
    return [float(str(number)) for number in exact.numpy()]


def _formula(statement: WeightedFormula) -> str:
    """Text of the statement without its weight."""
    return statement_text(statement).partition(": ")[2]


def _planned(
    problem: Problem, observed: Sequence[str], ragged: Sequence[str]
) -> tuple[list[MessagePlan], list[Problem | None]]:
    """Message plans, each with the problem of the products that it does not cover; one plan for each
    statement if messages are clipped."""
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
            "quantifiers, and hard statements that tie atoms, do not go with facts given in each call",
            hint="state the facts in the model, a layer for each example",
        )
    return plans, rests


def _slopes(problem: Problem, marginals: Tables, weights: Sequence[Tensor | float]) -> Tables:
    """Derivatives of an expected log-weight by the marginals, for products that no plan covers."""
    record = torch.is_grad_enabled()
    batch = next(iter(marginals.values())).shape[0]
    with torch.enable_grad():
        # Views, since marginals of tied atoms are made of those of their leaders: derivatives by the
        # leaders' own tables would count the tied atoms' statements as well.
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
    """Whether values of a tensor cannot be read: under ``torch.compile``, ``torch.export`` or ``vmap``."""
    return torch.compiler.is_compiling() or is_functorch_wrapped_tensor(tensor)


def _together(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Common batch axes of all predicates' logits. ``torch.broadcast_shapes`` would import sympy, which takes
    half a second; views of one number have the same shape and need no import."""
    if len(batches) < 2:
        return next(iter(batches.values()), ())
    try:
        number = torch.empty(())
        return tuple(torch.broadcast_tensors(*(number.expand(axes) for axes in batches.values()))[0].shape)
    except RuntimeError:
        shown = ", ".join(f"{name} has {axes}" for name, axes in batches.items())
        raise UnsupportedError(
            f"the batch axes of the logits do not fit together: {shown}", hint="equal ones, or 1, or none"
        ) from None
