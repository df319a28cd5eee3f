"""Mean field as a torch module: unary logits in, marginals out, rule weights as parameters.

Each iteration tells every atom what the rules say to it under the other atoms' current marginals. With
``iterations=T`` that is unrolled T times; with ``None`` it runs until it settles, and gradients come from the
fixed point itself, so that memory does not grow with the number of iterations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from herbrand.engines.mean_field.clipping import clipped
from herbrand.engines.mean_field.moves import slope_of
from herbrand.engines.mean_field.problem import prepared
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
        self.problem = prepared(program, memory, listing=False, clip=clip)
        self.weights = nn.ParameterList(
            nn.Parameter(
                torch.zeros([len(self.program.domain(name)) for name in weight.by])
                if weight.by
                else torch.tensor(weight.value, dtype=torch.get_default_dtype())
            )
            for weight in self.program.weights
        )
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
        masks, unary = Masks.of(self.problem, given), finite(given)
        found = self._settled(unary, masks) if self.iterations is None else self._unrolled(unary, masks)
        found = self.problem.unknowns.settled(masks.put(found))
        return {name: table.reshape((*lead, *self.shapes[name])) for name, table in found.items()}

    def messages(self, marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the rules say to each atom (log-odds) or value, differentiable in marginals and weights.

        ``marginals`` of every open predicate, with at most one batch axis.
        """
        marginals = {name: marginals[name] for name in self.shapes}
        if self.problem.clip is None:
            return self._said(marginals, list(self.weights))
        found = clipped(
            self.problem.unknowns,
            lambda weights: self._said(marginals, weights),
            list(self.weights),
            self.problem.clip,
        )
        return found or {name: torch.zeros_like(m) for name, m in marginals.items()}

    def _said(self, marginals: dict[str, Tensor], weights: Sequence[Tensor | float]) -> dict[str, Tensor]:
        """What rules of these weights say."""
        record = torch.is_grad_enabled()
        with torch.enable_grad():
            # Views, since marginals of tied atoms are made of those of their leaders: derivatives by the
            # leaders' own tables would count what is said to the tied ones as well.
            leaves = {
                name: m.view_as(m) if m.requires_grad else m.detach().requires_grad_()
                for name, m in marginals.items()
            }
            total = self._expected(leaves, weights).sum()
            if not leaves or not total.requires_grad:
                return {name: torch.zeros_like(m) for name, m in marginals.items()}
            found = torch.autograd.grad(total, list(leaves.values()), create_graph=record, allow_unused=True)
        zeros = (torch.zeros_like(m) if g is None else g for m, g in zip(leaves.values(), found, strict=True))
        return dict(zip(leaves, zeros, strict=True))

    def expected(self, marginals: Mapping[str, Tensor]) -> Tensor:
        """The expected log-weight [batch] of worlds drawn atom by atom from the marginals."""
        return self._expected(marginals, list(self.weights))

    def _expected(self, marginals: Mapping[str, Tensor], weights: Sequence[Tensor | float]) -> Tensor:
        name = next(iter(self.shapes), None)
        batch = None
        if name is not None and marginals[name].dim() > len(self.shapes[name]):
            batch = marginals[name].shape[0]
        return self.problem.value(marginals, weights, batch)

    def _unary(self, logits: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], tuple[int, ...]]:
        """All predicates' logits with soft evidence, one
        batch axis at most, and the batch axes there were."""
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
        batch = () if not lead else (math.prod(lead),)
        found = {}
        for name, shape in self.shapes.items():
            table = logits[name].to(like) if name in logits else like.new_zeros(shape)
            opinion = self.problem.unknowns.unary.get(name)
            if opinion is not None:
                table = table + opinion.to(like)
            found[name] = table.expand((*lead, *shape)).reshape((*batch, *shape))
        return found, lead

    def _told(self, unary: Mapping[str, Tensor], marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The logits that the marginals call for."""
        told = self.messages(marginals)
        return self.problem.unknowns.gathered({name: unary[name] + told[name] for name in unary})

    def _unrolled(self, unary: dict[str, Tensor], masks: Masks) -> dict[str, Tensor]:
        assert self.iterations is not None
        logits = self.problem.unknowns.gathered(unary)
        for _ in range(self.iterations):
            told = self._told(unary, self.problem.unknowns.marginals(masks.put(logits)))
            logits = {name: torch.lerp(told[name], logits[name], self.damping) for name in logits}
        return logits

    def _settled(self, unary: dict[str, Tensor], masks: Masks) -> dict[str, Tensor]:
        with torch.no_grad():
            logits = self._fixed_point({name: table.detach() for name, table in unary.items()}, masks)
            marginals = self.problem.unknowns.marginals(masks.put(logits))
        if not torch.is_grad_enabled():
            return logits
        return attached(self.problem.unknowns, lambda m: self._told(unary, m), marginals)

    def _fixed_point(self, unary: dict[str, Tensor], masks: Masks) -> dict[str, Tensor]:
        """Strides adapt, so that recursive rules do not oscillate; ``converged`` tells how it ended."""
        unknowns, stride = self.problem.unknowns, 1.0
        logits = unknowns.agreed(unknowns.gathered(unary))
        marginals = before = unknowns.marginals(masks.put(logits))
        for _ in range(MOST_ITERATIONS):
            told = unknowns.agreed(self._told(unary, marginals))
            slopes = (slope_of(logits[n], told[n] - logits[n], marginals[n] - before[n]) for n in logits)
            stride = after_slope(stride, sum(slopes, Slope()))
            logits = {name: torch.lerp(logits[name], told[name], stride) for name in logits}
            before, marginals = marginals, unknowns.marginals(masks.put(logits))
            moved = max(
                (float((marginals[n] - before[n]).abs().max()) for n in logits if logits[n].numel()),
                default=0.0,
            )
            self.converged = moved <= stride * self.tolerance
            if self.converged:
                break
        return logits


def _together(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch axes of all predicates' logits."""
    try:
        return tuple(torch.broadcast_shapes(*batches.values()))
    except RuntimeError:
        told = ", ".join(f"{name} has {axes}" for name, axes in batches.items())
        raise UnsupportedError(
            f"the batch axes of the logits do not fit together: {told}", hint="equal ones, or 1, or none"
        ) from None
