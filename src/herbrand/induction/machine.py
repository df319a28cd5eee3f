"""The Neural Logic Machine (Dong et al., ICLR 2019): layers from the facts of worlds to conclusions about
them.

>>> machine = LogicMachine((0, 0, 4), depth=4, breadth=3, target_arity=1)
>>> machine([None, None, torch.rand(2, 10, 10, 4)])[1].shape
torch.Size([2, 10, 32])

With ``target_arity``, units whose predicates never reach a predicate of that arity are not built, and
conclusions of other arities are ``None``. A widest group that only quantifiers read is never stored.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import torch
from torch import nn

from herbrand.budget import allowed_bytes, readable
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.induction.layer import Group, LogicLayer
from herbrand.options.kinds import Flag, Whole, is_whole

WIDEST = 4
"""The largest breadth: quaternary predicates."""

SPREAD = 3.0
"""Range of fresh weights for tasks that need several steps, in units of one over the root of the number of
inputs. A sigmoid passes on a quarter of a difference at most: with the usual spread of 1, what four layers
conclude hardly differs from object to object, and there is little to learn from."""

Predicates = Sequence[torch.Tensor | None] | Mapping[int, torch.Tensor]
"""A tensor ``[worlds, m * arity, channels]`` for each arity that has predicates."""


class LogicMachine(nn.Module):
    """``depth`` layers over predicates of up to ``breadth`` arguments.

    ``inputs``: number of predicates of each arity in a world, from nullary on. ``width``: number of
    predicates of each arity that a layer computes, one number or one an arity. ``hidden``: hidden widths of
    the units. ``residual``: whether a layer also passes on its inputs. ``target_arity``: keep only what
    conclusions of this arity need. ``rebuild_widest``: predicates of ``breadth`` arguments read narrower ones
    only, so that nothing of size ``m ** breadth`` is ever stored; they can still join narrower ones."""

    def __init__(
        self,
        inputs: Sequence[int],
        *,
        depth: int = 4,
        breadth: int = 3,
        width: int | Sequence[int] = 8,
        hidden: Sequence[int] = (),
        residual: bool = True,
        target_arity: int | None = None,
        rebuild_widest: bool = False,
    ) -> None:
        super().__init__()
        _check_counts(inputs=inputs, width=[width] if is_whole(width) else width, hidden=hidden)
        _check(inputs, depth, breadth, width, target_arity)
        for name, flag in (("residual", residual), ("rebuild_widest", rebuild_widest)):
            Flag().check(name, flag)
        self.breadth, self.depth, self.target_arity = breadth, depth, target_arity
        self.inputs = (*inputs, *[0] * (breadth + 1 - len(inputs)))[: breadth + 1]
        self.rebuild_widest = rebuild_widest and breadth > 1
        channels, layers = self.inputs, []
        for needed in _needed(depth, breadth, target_arity):
            layer = LogicLayer(
                channels, width, residual=residual, hidden=hidden, needed=needed,
                rebuild_widest=self.rebuild_widest,
            )  # fmt: skip
            layers.append(layer)
            channels = layer.outputs
        self.layers = nn.ModuleList(layers)
        self.outputs = channels
        self._hidden = tuple(hidden)

    def forward(
        self, predicates: Predicates, present: torch.Tensor | None = None
    ) -> list[torch.Tensor | None]:
        """Compute conclusions for each arity, ``[worlds, m * arity, channels]`` or ``None``.

        ``present``: ``[worlds, m]``, mask of the objects in each world of the batch; conclusions about others
        mean nothing. Facts and masks may be of whole numbers or truth values. Raise if an input does not fit,
        or if the result would not fit into memory.
        """
        given = self._tensors(predicates)
        if present is not None:
            _refuse_no_tensor("the mask of present objects is", present)
        worlds, objects = _sizes(given, present)
        present = None if present is None else present != 0
        groups = self._groups(given, worlds, objects)
        self._refuse_too_large(worlds, objects)
        for number, layer in enumerate(self.each_layer()):
            groups = layer(groups, objects, present, self._unstored(number))
        if self.target_arity is None:
            return [group.tensor() for group in groups]
        return [group.tensor() if arity == self.target_arity else None for arity, group in enumerate(groups)]

    def estimated_bytes(self, worlds: int, objects: int, training: bool = False) -> int:
        """Estimate the memory of a pass beside the weights: what is kept, and twice the largest tensor, or
        three times in training."""
        kept, largest = 0, 0
        for number, layer in enumerate(self.each_layer()):
            unstored = self._unstored(number)
            for built_arity in range(self.breadth + 1):
                unit = layer.unit(built_arity)
                if unit is not None:
                    arity = built_arity - (built_arity in unstored)
                    size = 4 * worlds * objects**arity * unit.width
                    kept, largest = kept + size, max(largest, size)
        return kept + (3 if training else 2) * largest

    def _unstored(self, number: int) -> set[int]:
        """Set of the widest arity, if only quantifiers read its new predicates and its unit reads narrower
        groups alone; else empty."""
        layers = self.each_layer()
        unit = layers[number].unit(self.breadth)
        if unit is None or self._hidden or self.breadth < 2 or unit.parts[1]:
            return set()
        later = number + 1 < self.depth and layers[number + 1].unit(self.breadth) is not None
        read_later = later and not self.rebuild_widest
        concluded = self.target_arity in (None, self.breadth)
        return set() if read_later or concluded else {self.breadth}

    def each_layer(self) -> list[LogicLayer]:
        """The layers, from the first to the last."""
        return [cast("LogicLayer", layer) for layer in self.layers]

    def _tensors(self, predicates: Predicates) -> dict[int, torch.Tensor]:
        """Tensor of each arity that has predicates; whole numbers and truth values get the weights' type."""
        if not isinstance(predicates, Mapping | Sequence):
            kind = type(predicates).__name__
            raise UnsupportedError(f"predicates are of type {kind}, not tensors by arity")
        listed = predicates.items() if isinstance(predicates, Mapping) else enumerate(predicates)
        given = {arity: tensor for arity, tensor in listed if tensor is not None}
        for arity, tensor in given.items():
            _refuse_no_tensor(f"predicates of arity {arity} are", tensor)
        like = next(self.parameters(), torch.empty(()))
        return {a: t if t.is_floating_point() else t.to(like.dtype) for a, t in given.items()}

    def _groups(self, given: dict[int, torch.Tensor], worlds: int, objects: int) -> list[Group]:
        groups = []
        for arity, channels in enumerate(self.inputs):
            tensor = given.pop(arity, None)
            width = 0 if tensor is None else tensor.shape[-1]
            if width != channels:
                raise UnsupportedError(
                    f"the machine reads {channels} predicates of arity {arity}, not {width}"
                )
            if tensor is not None and tensor.shape[:-1] != (worlds, *[objects] * arity):
                raise UnsupportedError(
                    f"predicates of arity {arity} have the shape {tuple(tensor.shape)}",
                    hint=f"expected {(worlds, *[objects] * arity, channels)}: worlds, objects, predicates",
                )
            groups.append(Group(() if tensor is None else (tensor,)))
        if given:
            raise UnsupportedError(
                f"predicates of arity {max(given)} are wider than the machine's breadth, {self.breadth}",
                hint=f"make it with breadth={max(given)}",
            )
        return groups

    def _refuse_too_large(self, worlds: int, objects: int) -> None:
        needed, allowed = self.estimated_bytes(worlds, objects, torch.is_grad_enabled()), allowed_bytes()
        if needed > allowed:
            raise BudgetError(
                f"{worlds} worlds of {objects:,} objects need {readable(needed)}, "
                f"more than {readable(allowed)}",
                hint="smaller batches, a smaller breadth, or rebuild_widest=True",
            )


def _refuse_no_tensor(what: str, given: Any) -> None:
    if not isinstance(given, torch.Tensor):
        raise UnsupportedError(f"{what} of type {type(given).__name__}, not a tensor")


def _sizes(given: Mapping[int, torch.Tensor], present: torch.Tensor | None) -> tuple[int, int]:
    """Numbers of worlds and objects; a mask tells the latter where all predicates are nullary."""
    if not given:
        raise UnsupportedError("a world has no predicates", hint="give at least one")
    for arity, tensor in given.items():
        if tensor.dim() != arity + 2:
            raise UnsupportedError(
                f"predicates of arity {arity} have the shape {tuple(tensor.shape)}",
                hint="expected worlds, an axis of objects for each argument, predicates",
            )
    worlds = next(iter(given.values())).shape[0]
    masked = present.shape[-1] if present is not None and present.dim() else 1
    objects = next((tensor.shape[1] for arity, tensor in given.items() if arity), masked)
    if present is not None and present.shape != (worlds, objects):
        raise UnsupportedError(
            f"the mask of present objects has the shape {tuple(present.shape)}",
            hint=f"expected {(worlds, objects)}: worlds, objects",
        )
    if objects == 0:
        raise UnsupportedError("a world has no objects", hint="leave empty worlds out")
    return worlds, objects


def _needed(depth: int, breadth: int, target: int | None) -> list[set[int]]:
    """Arities that each layer must compute, from the first layer to the last."""
    if target is None:
        return [set(range(breadth + 1))] * depth
    arities = [{target}]
    for _ in range(depth - 1):
        near = {arity + step for arity in arities[-1] for step in (-1, 0, 1)}
        arities.append({arity for arity in near if 0 <= arity <= breadth})
    return arities[::-1]


def draw_weights(module: nn.Module, seed: int, spread: float) -> None:
    """Draw the weights of every linear layer in a module, uniform within ``spread`` over the root of its
    inputs.

    Equal seeds give equal weights."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.Linear):
            bound = spread / math.sqrt(part.in_features)
            for weight in (part.weight, part.bias):
                if weight is not None:
                    nn.init.uniform_(weight, -bound, bound, generator)


def _check_counts(**given: Any) -> None:
    """Raise UnsupportedError unless each argument is a collection of whole numbers from 0 on; a text is
    none."""
    for name, counts in given.items():
        listed = isinstance(counts, Collection) and not isinstance(counts, str | bytes | Mapping)
        if not listed or not all(is_whole(count) and int(count) >= 0 for count in counts):
            raise UnsupportedError(f"{name} {counts!r}", hint="expected whole numbers from 0 on, in a list")


def _check(
    inputs: Sequence[int], depth: int, breadth: int, width: int | Sequence[int], target: int | None
) -> None:
    if not is_whole(depth) or depth < 1:
        raise UnsupportedError(f"a depth of {depth!r}", hint="a machine has at least one layer")
    if not is_whole(breadth) or not 0 <= breadth <= WIDEST:
        raise UnsupportedError(f"a breadth of {breadth!r}", hint=f"from 0 to {WIDEST}")
    widest = max((arity for arity, count in enumerate(inputs) if count), default=0)
    if widest > breadth:
        raise UnsupportedError(
            f"predicates of arity {widest} are wider than the machine's breadth, {breadth}",
            hint=f"choose breadth={widest}",
        )
    if target is not None:
        Whole(0).check("the target's arity", target)
    if target is not None and target > breadth:
        raise UnsupportedError(
            f"a target of arity {target} is wider than the machine's breadth, {breadth}",
            hint=f"choose breadth={target}",
        )
    if not isinstance(width, int) and len(width) != breadth + 1:
        raise UnsupportedError(f"{len(width)} widths for {breadth + 1} arities")
