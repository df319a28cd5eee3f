"""The expected log-weight of a world under a product distribution, and its derivatives: the messages.

The expected log-weight is multilinear in the marginals, so its derivative by one of them is the expected
change of log-weight when that atom becomes true: exactly the mean-field message. One backward pass through a
product gives the messages to all its literals, which share what they have in common.

The probability that none of many independent events happens is computed in log space.

>>> from herbrand.contraction import Dense
>>> none_of(Dense(torch.tensor([[0.5, 0.5], [1.0, 0.2]], dtype=torch.float64)), 1)
tensor([2.5000e-01, 7.9936e-16], dtype=torch.float64)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from herbrand.arrays import type_name
from herbrand.contraction import Contraction, Dense, Plan, Relation, Sparse, Statistics, plan, run
from herbrand.contraction.blocks import one_thread
from herbrand.contraction.expression import Sizes
from herbrand.contraction.relation import positions
from herbrand.engines.mean_field.folding import folded
from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.products import (
    Observed,
    Operand,
    PerConstant,
    Piece,
    Product,
    Quantified,
    Together,
    Unequal,
)
from herbrand.engines.mean_field.relations import CPU, KnownRelations
from herbrand.engines.mean_field.tables import PredicateTable
from herbrand.extras import Tensor, torch

# Probability that none of many events happens


ALMOST_ONE = {"float64": 1 - 1e-15, "float32": 1 - 1e-7}
"""Largest probability in log(1 - p), by type: it stays finite, so that a product with a factor of 0 still has
derivatives."""


def none_of(table: Relation, kept: int) -> Tensor:
    """The product of 1 - p over all but the first ``kept`` axes."""
    if len(table.shape) == kept:
        return 1 - table.to_dense()
    if isinstance(table, Sparse) and not isinstance(table.default, torch.Tensor) and table.default == 0:
        shape = table.shape[:kept]
        rows = torch.from_numpy(positions(table.indices[:, :kept], shape))
        logs = table.values.new_zeros(math.prod(shape)).index_add(0, rows, _log_of_none(table.values))
        return logs.exp().view(shape)
    logs = _log_of_none(table.to_dense())
    return logs.sum(tuple(range(kept, logs.dim()))).exp()


def _log_of_none(probabilities: Tensor) -> Tensor:
    return torch.log1p(-probabilities * ALMOST_ONE.get(type_name(probabilities.dtype), 1 - 1e-3))


# The score


BATCH = "batch"
WORTH_THREADS = 4e7
"""Operations of one product below which threads cost more than they save."""

KEPT_BYTES = 1 << 26
"""Most bytes of intermediate results of products that are differentiated together."""

Weights = Sequence[Tensor | float]
Key = tuple[str, tuple[object, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class CountedProduct:
    """A product and its count for each weight (``counts``)."""

    product: Product
    counts: Mapping[int, float]


class Leaves:
    """The tensors that products read, one for each way of reading a table, and relations made of them.

    ``detached``: derivatives stop at these tensors, and are added into tables afterwards.
    """

    def __init__(
        self,
        tables: Mapping[str, PredicateTable],
        marginals: Mapping[str, Tensor],
        batch: int | None = None,
        detached: bool = False,
    ) -> None:
        self.tables, self.marginals, self.batch, self.detached = tables, marginals, batch, detached
        self.tensors: dict[Key, list[Tensor]] = {}
        self.readings: dict[Key, Reading] = {}
        self.like = next(iter(marginals.values()), torch.zeros((), dtype=torch.float64))

    def relation(self, reading: Reading) -> Relation:
        key = self.key(reading)
        if key not in self.tensors:
            table = self.tables[reading.source]
            leaf = table.leaf(self.marginals[reading.source], reading, self.batch is not None)
            self.tensors[key] = [one.detach().requires_grad_() for one in leaf] if self.detached else leaf
            self.readings[key] = reading
        return self.tables[reading.source].relation(self.tensors[key], reading)

    def key(self, reading: Reading) -> Key:
        """The key of a reading's tensors; opposite readings of boolean atoms share theirs."""
        true_or_false = self.tables[reading.source].true_or_false
        return reading.source, reading.arguments, () if true_or_false else reading.allowed


class Score:
    """The expected log-weight, planned once for the products of a program, run for any marginals and
    weights."""

    def __init__(
        self,
        relations: KnownRelations,
        tables: Mapping[str, PredicateTable],
        products: Mapping[Product, Mapping[int, float]],
    ) -> None:
        self.relations, self.tables, self.memory = relations, tables, relations.memory
        self._plans: dict[object, Plan] = {}
        self.known: list[CountedProduct] = []
        self.parts: list[CountedProduct] = []
        for product, counts in products.items():
            if all(isinstance(operand, Observed) for operand in product.operands):
                self.known.append(CountedProduct(product, counts))
            else:
                self.parts.append(CountedProduct(folded(product, self.relations), counts))

    @cached_property
    def constants(self) -> dict[int, float]:
        """Count for each weight from products without latent literals, whose values are numbers."""
        constants: dict[int, float] = {}
        for part in self.known:
            value = float(self._total(part, Leaves(self.tables, {}), ()))
            for weight, count in part.counts.items():
                constants[weight] = constants.get(weight, 0.0) + count * value
        return constants

    @cached_property
    def plans(self) -> list[Plan]:
        """Plans of all products for one world, without making a tensor. Raises ``BudgetError`` where one of
        them, or a product of known literals alone, does not fit."""
        for part in self.known:
            self._planned(part)
        return list(map(self._planned, self.parts))

    def _planned(self, part: CountedProduct) -> Plan:
        return self._plan(part.product.piece, None, "float64")

    @property
    def operations(self) -> float:
        """Estimated operations of one run with its derivatives."""
        return 3 * sum(plan.operations for plan in self.plans)

    @property
    def bytes(self) -> int:
        return max((plan.bytes for plan in self.plans), default=0)

    def value(self, marginals: Mapping[str, Tensor], weights: Weights, batch: int | None = None) -> Tensor:
        """Compute the expected log-weight [batch]; differentiable in marginals and weights."""
        leaves = Leaves(self.tables, marginals, batch)
        total: Tensor | float = 0.0
        for weight, count in self.constants.items():
            total = total + weights[weight] * count
        for part in self.parts:
            coefficient = self.coefficient(part, weights)
            if coefficient is not None:
                total = total + coefficient * self._total(part, leaves, weights)
        expected = torch.as_tensor(total, dtype=leaves.like.dtype, device=leaves.like.device)
        return expected if batch is None else expected.expand(batch)

    def messages(self, marginals: Mapping[str, Tensor], weights: Weights) -> tuple[float, dict[str, Tensor]]:
        """Compute the expected log-weight and its derivative by every marginal, as tables; no graph is
        kept."""
        leaves = Leaves(self.tables, marginals, detached=True)
        gradients: dict[Key, list[Tensor]] = {}
        total = math.fsum(float(weights[weight]) * count for weight, count in self.constants.items())
        for batch in self._batches(weights):
            used = {leaves.key(x) for part, _, _ in batch for x in readings(part.product.operands)}
            with _threads(max(planned.operations for _, _, planned in batch)):
                with torch.enable_grad():
                    terms = [
                        coefficient * self._total(part, leaves, weights) for part, coefficient, _ in batch
                    ]
                    value = torch.stack(terms).sum()
                _accumulate(gradients, leaves, used, value)
            total += value.item()
        return total, self._as_tables(gradients, leaves)

    def _batches(self, weights: Weights) -> Iterator[list[tuple[CountedProduct, Tensor | float, Plan]]]:
        """Products with a nonzero factor: small ones in batches that fit ``KEPT_BYTES``, large ones alone."""
        batch: list[tuple[CountedProduct, Tensor | float, Plan]] = []
        kept = 0
        for part, planned in zip(self.parts, self.plans, strict=True):
            coefficient = self.coefficient(part, weights)
            if coefficient is None:
                continue
            if planned.operations >= WORTH_THREADS:
                yield [(part, coefficient, planned)]
                continue
            if batch and kept + planned.bytes > KEPT_BYTES:
                yield batch
                batch, kept = [], 0
            batch.append((part, coefficient, planned))
            kept += planned.bytes
        if batch:
            yield batch

    def _as_tables(self, gradients: Mapping[Key, list[Tensor]], leaves: Leaves) -> dict[str, Tensor]:
        """Add the derivatives by what is read into derivatives by the marginals."""
        messages: dict[str, Tensor] = {}
        waiting = dict(gradients)
        times = Counter(one.untyped_storage().data_ptr() for tensors in gradients.values() for one in tensors)
        for key, tensors in gradients.items():
            whole = self.tables[key[0]].whole(tensors, leaves.readings[key])
            if whole is not None and key[0] not in messages and _is_own(whole, times):
                messages[key[0]] = whole
                del waiting[key]
        for key, tensors in waiting.items():
            if key[0] not in messages:
                messages[key[0]] = torch.zeros_like(leaves.marginals[key[0]])
            self.tables[key[0]].add(messages[key[0]], tensors, leaves.readings[key])
        return messages

    def coefficient(self, part: CountedProduct, weights: Weights) -> Tensor | float | None:
        """The factor of a product, its counts times weights; ``None`` for 0. With a weight for each constant,
        the count alone."""
        total: Tensor | float = 0.0
        by_constant = any(isinstance(operand, PerConstant) for operand in part.product.operands)
        for weight, count in part.counts.items():
            value = weights[weight]
            if by_constant:
                counts = isinstance(value, torch.Tensor) and (value.requires_grad or bool(value.any()))
                return float(count) if counts else None
            total = total + value * count
        return total if isinstance(total, torch.Tensor) or total else None

    def _total(self, part: CountedProduct, leaves: Leaves, weights: Weights) -> Tensor:
        """The value [batch] of one product."""
        return self._run(part.product.piece, leaves, weights).to_dense()

    def _run(self, piece: Piece, leaves: Leaves, weights: Weights) -> Relation:
        """The value [batch, axes] of one piece."""
        relations = [self._relation(operand, leaves, weights) for operand in piece.operands]
        like = leaves.like
        return run(self._plan(piece, leaves.batch, type_name(like.dtype), like.device.type), relations, like)

    def _plan(self, piece: Piece, batch: int | None, dtype: str, device: str = CPU) -> Plan:
        key = (piece, batch, dtype, device)
        if key not in self._plans:
            lead = () if batch is None else (BATCH,)
            axes = [(*(lead if _varies(x) else ()), *x.axes) for x in piece.operands]
            everything = Sizes({**piece.sizes, **dict.fromkeys(lead, batch or 0)})
            contraction = Contraction(tuple(axes), (*lead, *piece.axes), everything, piece.distinct)
            itemsize = np.dtype(dtype).itemsize
            known = [self._statistics(operand, itemsize, device) for operand in piece.operands]
            self._plans[key] = plan(contraction, known, self.memory, True)
        return self._plans[key]

    def _statistics(self, operand: Operand, itemsize: int, device: str) -> Statistics:
        """What planning needs of an operand before it has values."""
        if isinstance(operand, Observed | Together):
            return self.relations.statistics(operand, itemsize, device)
        if isinstance(operand, Reading) and (listed := self.tables[operand.source].listed) is not None:
            return Statistics(listed, True, itemsize)
        return Statistics(itemsize=itemsize)

    def _relation(self, operand: Operand, leaves: Leaves, weights: Weights) -> Relation:
        like = leaves.like
        match operand:
            case Reading():
                return leaves.relation(operand)
            case Observed() | Together():
                return self.relations.relation(operand, type_name(like.dtype), like.device)
            case PerConstant(weight=weight):
                table = torch.as_tensor(weights[weight]).to(like)
                return Dense(operand.reading.region(table, False))
            case Unequal(constant=constant, size=size):
                ones = torch.ones(size, dtype=like.dtype, device=like.device)
                ones[constant] = 0
                return Dense(ones)
            case Quantified():
                return Dense(self._quantified(operand, leaves))

    def _quantified(self, block: Quantified, leaves: Leaves) -> Tensor:
        """The probability [batch, axes] that no piece holds for any assignment, or that one does."""
        lead = () if leaves.batch is None else (leaves.batch,)
        none = torch.ones((*lead, *block.shape), dtype=leaves.like.dtype, device=leaves.like.device)
        for group in block.groups:
            pieces = [self._run(piece, leaves, ()) for piece in group]
            table = pieces[0] if len(pieces) == 1 else Dense(sum(piece.to_dense() for piece in pieces))  # type: ignore[arg-type]
            none = none * none_of(table, len(lead) + len(block.axes))
        return 1 - none if block.some else none


def readings(operands: Iterable[Operand]) -> Iterator[Reading]:
    """All readings of open predicates among operands, including those inside quantifiers."""
    for operand in operands:
        if isinstance(operand, Reading):
            yield operand
        elif isinstance(operand, Quantified):
            for group in operand.groups:
                for piece in group:
                    yield from readings(piece.operands)


def _varies(operand: Operand) -> bool:
    """Whether an operand differs between the worlds of a batch."""
    return isinstance(operand, Reading | Quantified)


def _threads(operations: float) -> AbstractContextManager[object]:
    """Torch's own threads for large products only: in small ones they mostly wait for each other."""
    return nullcontext() if operations >= WORTH_THREADS else one_thread()


def _is_own(gradient: Tensor, times: Counter[int]) -> bool:
    """Whether no other tensor shares its memory: torch may give one tensor to several terms of a sum."""
    storage = gradient.untyped_storage()
    return times[storage.data_ptr()] == 1 and storage.nbytes() == gradient.numel() * gradient.itemsize


def _accumulate(
    gradients: dict[Key, list[Tensor]], leaves: Leaves, keys: Iterable[Key], value: Tensor
) -> None:
    """Add the derivatives of a value by the leaves that it depends on."""
    keys = [key for key in keys if key in leaves.tensors]
    flat = [tensor for key in keys for tensor in leaves.tensors[key]]
    if not flat or not value.requires_grad:
        return
    fresh = iter(torch.autograd.grad(value, flat, allow_unused=True))
    for key in keys:
        new = [torch.zeros_like(leaf) if (g := next(fresh)) is None else g for leaf in leaves.tensors[key]]
        if key in gradients:
            new = [old + more for old, more in zip(gradients[key], new, strict=True)]
        gradients[key] = new
