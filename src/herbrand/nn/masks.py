"""Infinite logits as masks: an atom that is certainly false (-inf) or true (+inf).

The layers compute with finite logits, since inf - inf is nan; masks are put into the marginals instead. A
mask on one of several atoms that hard statements tie applies to all of them. For a many-valued atom -inf
excludes a value, and +inf excludes all others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from herbrand.engines.mean_field.problem import Problem
from herbrand.engines.mean_field.unknowns import Ties
from herbrand.errors import ContradictionError

Logits = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Masks:
    """Masks of each predicate that has some: a table like its logits of -inf, +inf, or 0 for no mask."""

    tables: Mapping[str, Tensor]

    @classmethod
    def of(cls, problem: Problem, logits: Logits) -> Masks:
        """Make the masks; raises ``ContradictionError`` if facts or hard statements exclude what they
        allow."""
        masks: dict[str, Tensor] = {}
        for name, table in logits.items():
            if bool(table.isinf().any()):
                valued = not problem.unknowns.tables[name].true_or_false
                masks[name] = _of_values(problem, name, table) if valued else _of_truth(table)
        for tie in problem.unknowns.ties:
            if tie.predicate in masks:
                masks[tie.leader] = _on_leaders(problem, tie, masks, logits)
        masks = problem.unknowns.agreed({**{n: torch.zeros_like(t) for n, t in logits.items()}, **masks})
        masks = {name: mask for name, mask in masks.items() if bool((mask != 0).any())}
        for name, mask in masks.items():
            _check_evidence(problem, name, mask)
        return cls(masks)

    def put(self, logits: Logits) -> dict[str, Tensor]:
        """Put the masks into the logits."""
        return {
            name: torch.where(self.tables[name] != 0, self.tables[name], table)
            if name in self.tables
            else table
            for name, table in logits.items()
        }


def finite(logits: Logits) -> dict[str, Tensor]:
    """The logits with 0 in place of infinities."""
    return {name: torch.where(table.isinf(), 0.0, table) for name, table in logits.items()}


def _of_truth(logits: Tensor) -> Tensor:
    return torch.where(logits.isinf(), logits, 0.0).detach()


def _of_values(problem: Problem, name: str, logits: Tensor) -> Tensor:
    """Masks of values: -inf for each excluded value; +inf of one value excludes all others."""
    sure = (logits == math.inf).detach()
    if bool((sure.sum(-1) > 1).any()):
        raise _conflict(problem, name, (sure.sum(-1) > 1), "two of its values have the logit inf")
    excluded = torch.where(sure.any(-1, keepdim=True), ~sure, logits.detach() == -math.inf)
    return torch.where(excluded, -math.inf, 0.0).to(logits)


def _on_leaders(problem: Problem, tie: Ties, masks: Logits, logits: Logits) -> Tensor:
    """Combine the masks of a tie's leaders with those of the atoms that follow them."""
    unknowns = problem.unknowns
    own = masks.get(tie.leader)
    own = torch.zeros_like(logits[tie.leader]) if own is None else own
    flat = unknowns.flat(tie.leader, own)
    sent = unknowns.flat(tie.predicate, masks[tie.predicate])[..., tie.tied].sign()
    sent = torch.where(tie.opposite, -sent, sent)
    true, false = (
        (flat == side).to(flat).index_add(-1, tie.leading, (sent * side > 0).to(flat)) > 0
        for side in (math.inf, -math.inf)
    )
    if bool((true & false).any()):
        message = "hard statements make it one with another atom, whose infinite logit says the opposite"
        raise _conflict(problem, tie.leader, (true & false).view(own.shape), message)
    mask = torch.where(true, math.inf, torch.where(false, -math.inf, 0.0)).to(own)
    return mask.view(own.shape)


def _check_evidence(problem: Problem, name: str, mask: Tensor) -> None:
    """Raise an error if facts and hard statements leave no value that the mask allows."""
    table = problem.unknowns.tables[name]
    known = table.settled(torch.zeros_like(mask))
    if table.true_or_false:
        wrong = (mask != 0) & (known != 0) & (mask != known)
    else:
        wrong = ((mask == -math.inf) | (known == -math.inf)).all(-1)
    if bool(wrong.any()):
        message = "its infinite logits, the facts and the hard statements leave it no value"
        raise _conflict(problem, name, wrong, message)


def _conflict(problem: Problem, name: str, wrong: Tensor, message: str) -> ContradictionError:
    """Error that names the first atom at fault."""
    atoms = wrong.reshape(-1, math.prod(problem.evidence.sizes(name)))
    code = atoms.any(0).nonzero()[:1, 0].cpu().numpy()
    return ContradictionError(
        f"{problem.evidence.atom_text(name, code)[0]}: {message}",
        hint="a logit of -inf says false and one of inf says true, for sure; use finite ones for opinions",
    )
