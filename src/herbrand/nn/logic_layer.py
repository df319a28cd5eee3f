"""Mean field as a torch module: unary logits in, marginals out, rule weights as parameters.

Each iteration tells every atom what the rules say to it under the other atoms' current marginals. With
``iterations=T`` that is unrolled T times; with ``None`` it runs until it settles, and gradients come from the
fixed point itself, so that memory does not grow with the number of iterations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor

from herbrand.budget import Budget
from herbrand.engines.mean_field.clipping import clipped
from herbrand.engines.mean_field.message_plan import MessagePlan, Prepared
from herbrand.engines.mean_field.moves import slope_of
from herbrand.engines.mean_field.problem import Problem, prepared
from herbrand.engines.mean_field.stride import Slope, after_slope
from herbrand.errors import UnsupportedError
from herbrand.nn.implicit import attached
from herbrand.nn.masks import Masks, finite
from herbrand.options.table import check
from herbrand.program.choices import refuse_choices
from herbrand.program.program import Program
from herbrand.program.rewrites.independent_clauses import with_independent_clauses

if TYPE_CHECKING:
    from herbrand.model import Model

Tables = dict[str, Tensor]

MOST_ITERATIONS = 1000
CLAUSES = ("exact", "independent")


class LogicLayer(nn.Module):
    """Marginals of a model's open predicates from unary logits, differentiable in both logits and weights.

    ``iterations``: how many updates are unrolled; ``None``: until nothing moves by more than ``tolerance``.
    ``damping``: the part of the old logits that an unrolled update keeps (0 is the published layer).
    ``clauses="independent"`` weighs the clauses of each formula apart, the published convention; it is
    another model wherever a formula has several clauses.
    ``clip``: a statement moves an atom's log-odds by less than this times its weight; another model too
    (:mod:`herbrand.engines.mean_field.clipping`), for unrolled layers.

    ``weights`` holds one parameter a weighted statement, in order: a number, or a table for a weight that
    is learned for each constant. ``shapes`` tells the shape of each predicate's logits: the sizes of its
    domains, and for a many-valued one its number of values last.
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
        memory: int | None = None,
    ) -> None:
        super().__init__()
        if clauses not in CLAUSES:
            raise UnsupportedError(f"clauses are '{clauses}'", hint=f"one of {', '.join(CLAUSES)}")
        given = {"iterations": iterations, "damping": damping, "clip": clip, "tolerance": tolerance}
        check("infer", given | {"memory": memory})
        if clip is not None and iterations is None:
            raise UnsupportedError(
                "clipped messages have no gradient at a fixed point", hint="say how many iterations to unroll"
            )
        program = model if isinstance(model, Program) else model.program
        refuse_choices(program.statements, "a logic layer")
        self.iterations, self.damping, self.tolerance = iterations, damping, tolerance
        self.program = program
        if clauses == "independent":
            program = with_independent_clauses(program)
        self.problem = prepared(program, Budget(memory), listing=False, clip=clip)
        self.weights = nn.ParameterList(
            nn.Parameter(
                torch.zeros([len(self.program.domain(name)) for name in weight.by])
                if weight.by
                else torch.tensor(weight.value, dtype=torch.get_default_dtype())
            )
            for weight in self.program.weights
        )
        plans, self.rests = _planned(self.problem)
        self.plans = nn.ModuleList(plans)
        self.converged = True

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What logits of each open predicate look like, batches left out."""
        return {name: table.shape for name, table in self.problem.unknowns.tables.items()}

    def forward(self, logits: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
        """Marginals by predicate, shaped like the logits: the probability of true, or of each value.

        Logits may have leading batch axes; a predicate that is left out has logits 0. Evidence is put in. A
        logit of -inf or inf makes its atom false or true for sure (of a many-valued atom, excludes a value or
        leaves no other). The dtype and device are those of the logits, else of the weights.
        """
        return self.problem.unknowns.marginals(self.log_odds(logits))

    def log_odds(self, logits: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
        """The same before the sigmoid or softmax: what to rank by, since probabilities near 1 tie.

        Infinite where evidence, a hard statement or an infinite logit decides; atoms that hard statements
        make one have the same.
        """
        given, lead = self._unary(logits or {})
        prepared = self._prepared(given)
        if self.iterations is None:
            masks = Masks.of(self.problem, given)
            found = masks.put(self._settled(finite(given), masks, prepared))
        else:
            found = self._unrolled(self._sure(given), prepared)
        found = self.problem.unknowns.settled(found)
        return {name: table.reshape((*lead, *self.shapes[name])) for name, table in found.items()}

    def messages(self, marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the rules say to each atom (log-odds) or value, differentiable in marginals and weights.

        ``marginals`` of every open predicate, with at most one batch axis.
        """
        tables = {name: marginals[name] for name in self.shapes}
        plain = {name: table.dim() == len(self.shapes[name]) for name, table in tables.items()}
        tables = {name: table.unsqueeze(0) if plain[name] else table for name, table in tables.items()}
        zeros = {name: torch.zeros_like(table) for name, table in tables.items()}
        prepared = self._prepared(tables)
        found = self._told(self._base(zeros, prepared), tables, prepared)
        return {name: table.squeeze(0) if plain[name] else table for name, table in found.items()}

    def expected(self, marginals: Mapping[str, Tensor]) -> Tensor:
        """The expected log-weight [batch] of worlds drawn atom by atom from the marginals."""
        return self._expected(marginals, list(self.weights))

    def _expected(self, marginals: Mapping[str, Tensor], weights: Sequence[Tensor | float]) -> Tensor:
        name = next(iter(self.shapes), None)
        batch = None
        if name is not None and marginals[name].dim() > len(self.shapes[name]):
            batch = marginals[name].shape[0]
        return self.problem.value(marginals, weights, batch)

    def _plan(self, number: int = 0) -> MessagePlan:
        return cast("MessagePlan", self.plans[number])

    def _prepared(self, tables: Mapping[str, Tensor]) -> list[Prepared]:
        """What the updates of a call share, for each plan."""
        like = next(iter(tables.values()), torch.zeros(()))
        weights = list(self.weights)
        ones = [torch.ones_like(weight) for weight in weights] if self.problem.clip else weights
        return [self._plan(n).prepared(ones, like, {}, {}) for n in range(len(self.plans))]

    def _base(self, unary: dict[str, Tensor], prepared: Sequence[Prepared]) -> dict[str, Tensor]:
        """Unary logits with what statements say whatever the marginals are."""
        if self.problem.clip is not None:
            return unary
        return self._plan().constant(prepared[0], unary)

    def _told(
        self, base: dict[str, Tensor], marginals: dict[str, Tensor], prepared: Sequence[Prepared]
    ) -> dict[str, Tensor]:
        """The logits that the marginals call for, on top of what is ``base`` for any of them."""
        if self.problem.clip is not None:
            return self._clipped(base, marginals, prepared)
        found = self._plan()(marginals, prepared[0], base)
        if self.rests[0] is not None:
            more = _slopes(self.rests[0], marginals, list(self.weights))
            found = {name: table + more[name] for name, table in found.items()}
        return found

    def _clipped(
        self, unary: dict[str, Tensor], marginals: dict[str, Tensor], prepared: Sequence[Prepared]
    ) -> dict[str, Tensor]:
        """The same, each statement's messages at weight 1 clipped before they are weighed."""
        zeros = {name: torch.zeros_like(table) for name, table in marginals.items()}

        def speak(weights: Sequence[float]) -> dict[str, Tensor]:
            number = list(weights).index(1.0)
            plan, rest = self._plan(number), self.rests[number]
            found = plan(marginals, prepared[number], plan.constant(prepared[number], zeros))
            if rest is not None:
                more = _slopes(rest, marginals, weights)
                found = {name: table + more[name] for name, table in found.items()}
            return found

        assert self.problem.clip is not None
        said = clipped(self.problem.unknowns, speak, list(self.weights), self.problem.clip)
        return {name: table + said[name] for name, table in unary.items()} if said else unary

    def _unary(self, logits: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], tuple[int, ...]]:
        """All predicates' logits with soft evidence over one batch axis, and the batch axes there were."""
        like = next(iter(logits.values()), next(iter(self.weights), torch.zeros(())))
        for name, given in logits.items():
            shape = self.shapes.get(name)
            if shape is None:
                raise UnsupportedError(
                    f"there is no open predicate '{name}' to take logits",
                    hint=f"open: {', '.join(self.shapes)}",
                )
            if given.shape[given.dim() - len(shape) :] != shape or given.dim() < len(shape):
                raise UnsupportedError(
                    f"the logits of {name} have shape {tuple(given.shape)}",
                    hint=f"expected {shape}, after any batch axes",
                )
        lead = _together({n: tuple(t.shape[: t.dim() - len(self.shapes[n])]) for n, t in logits.items()})
        found = {}
        for name, shape in self.shapes.items():
            table = logits[name].to(like) if name in logits else like.new_zeros(shape)
            opinion = self.problem.unknowns.unary.get(name)
            if opinion is not None:
                table = table + opinion.to(like)
            found[name] = table.expand((*lead, *shape)).reshape((math.prod(lead), *shape))
        return found, lead

    def _sure(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        """Logits whose infinite ones need no mask: of a value that is sure, those of all others are -inf."""
        traced = any(map(_is_traced, given.values()))
        if not traced:
            if all(bool(table.sum().isfinite()) for table in given.values()):
                return given
            Masks.of(self.problem, given)  # refuses what contradicts itself
        found = dict(given)
        for name, table in given.items():
            if not self.problem.unknowns.tables[name].true_or_false:
                sure = table == math.inf
                only = torch.where(sure, 0.0, -math.inf).to(table)
                found[name] = torch.where(sure.any(-1, keepdim=True), only, table)
        return found

    def _unrolled(self, unary: dict[str, Tensor], prepared: Sequence[Prepared]) -> dict[str, Tensor]:
        assert self.iterations is not None
        unknowns, keep = self.problem.unknowns, self.damping
        base = self._base(unary, prepared)
        logits = unknowns.gathered(unary)
        for _ in range(self.iterations):
            told = unknowns.gathered(self._told(base, unknowns.marginals(logits), prepared))
            if keep:  # not torch.lerp, which makes nan of two equal infinite logits
                told = {name: torch.add(logits[name] * keep, told[name], alpha=1 - keep) for name in told}
            logits = told
        return logits

    def _settled(
        self, unary: dict[str, Tensor], masks: Masks, prepared: Sequence[Prepared]
    ) -> dict[str, Tensor]:
        base = self._base(unary, prepared)

        def told(marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return self.problem.unknowns.gathered(self._told(base, dict(marginals), prepared))

        with torch.no_grad():
            logits = self._fixed_point(unary, told, masks)
            marginals = self.problem.unknowns.marginals(masks.put(logits))
        if not torch.is_grad_enabled():
            return logits
        return attached(self.problem.unknowns, told, marginals)

    def _fixed_point(
        self, unary: dict[str, Tensor], told: Callable[[Tables], Tables], masks: Masks
    ) -> dict[str, Tensor]:
        """Strides adapt, so that recursive rules do not oscillate; ``converged`` tells how it ended."""
        unknowns, stride = self.problem.unknowns, 1.0
        logits = unknowns.agreed(unknowns.gathered(unary))
        marginals = before = unknowns.marginals(masks.put(logits))
        for _ in range(MOST_ITERATIONS):
            goal = unknowns.agreed(told(marginals))
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


def _planned(problem: Problem) -> tuple[list[MessagePlan], list[Problem | None]]:
    """A plan of messages, and the problem of what it leaves; one for each statement, if they are clipped."""
    chosen = [problem.regular]
    if problem.clip is not None:
        numbers = range(len(problem.program.weights))
        chosen = [tuple(t for t in problem.regular if t.weight == number) for number in numbers]
    plans = [
        MessagePlan(problem.program, problem.evidence, problem.unknowns.tables, own, problem.score.relations)
        for own in chosen
    ]
    return plans, [problem.without_plan(plan.left, True) for plan in plans]


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
        found = torch.autograd.grad(total, list(leaves.values()), create_graph=record, allow_unused=True)
    zeros = (torch.zeros_like(m) if g is None else g for m, g in zip(leaves.values(), found, strict=True))
    return dict(zip(leaves, zeros, strict=True))


def _is_traced(tensor: Tensor) -> bool:
    """Whether numbers cannot be looked at: under ``torch.compile``, ``torch.export`` or ``vmap``."""
    return torch.compiler.is_compiling() or is_functorch_wrapped_tensor(tensor)


def _together(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch axes of all predicates' logits."""
    try:
        return tuple(torch.broadcast_shapes(*batches.values()))
    except RuntimeError:
        told = ", ".join(f"{name} has {axes}" for name, axes in batches.items())
        raise UnsupportedError(
            f"the batch axes of the logits do not fit together: {told}", hint="equal ones, or 1, or none"
        ) from None
