"""A logic layer beside the same updates written by hand in torch: forward and backward, processor time.

    python -m benchmarks layer      (make bench-layer)

Five undamped updates, float32; the hand's gradients are torch's own. Memory is what stays for the backward
pass. Medians of repeats in turn: processor time, or on an accelerator the time by the clock.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from weakref import WeakSet

import torch
from torch import Tensor
from torch.nn.functional import pad

import herbrand as hb

STEPS, REPEATS = 5, 7
SHORT, SHORT_REPEATS = 0.02, 41
"""Two threads of a call of some milliseconds differ by half from one call to the next."""
Update = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Case:
    """A theory with facts, its one open predicate, and what its statements say to it, by hand."""

    what: str
    model: hb.Model
    batch: int
    said: Update
    weights: Tensor
    probabilities: Update = torch.sigmoid


def cases() -> Iterator[Case]:
    for size in (64, 128, 256, 512):
        for batch in (1, 8):
            yield transitivity(size, batch)
    for length, labels, batch in ((12, 5, 300), (50, 9, 64), (100, 17, 32)):
        yield sequence(length, labels, batch)
    yield grid(32, 5, 8)
    yield candidates(300, 1500, 8)


def transitivity(size: int, batch: int) -> Case:
    text = f"type t = 1..{size}\npredicate c(t, t)\n"
    text += "1: c(x, y) and c(y, z) => c(x, z) where x != y and y != z and x != z\n"
    off, weight = 1 - torch.eye(size), torch.ones((), requires_grad=True)

    def said(q: Tensor) -> Tensor:
        true, false = q * off, (1 - q) * off
        third = torch.einsum("bxy,byz->bxz", true, true)
        first = torch.einsum("byz,bxz->bxy", true, false)
        second = torch.einsum("bxy,bxz->byz", true, false)
        return weight * off * (third - first - second)

    return Case(f"transitivity, n = {size}", hb.Model(hb.parse(text)), batch, said, weight)


def sequence(length: int, labels: int, batch: int) -> Case:
    text = f"type p = 1..{length}\ntype l = 1..{labels}\npredicate tag(p, l)\n"
    text += "predicate next(p, p): observed\n?[a, b]: tag(x, a) and next(x, y) and tag(y, b)\n"
    pairs = [(i, i + 1) for i in range(1, length)]
    weight = torch.zeros(labels, labels, requires_grad=True)

    def said(q: Tensor) -> Tensor:
        return pad(q[:, :-1] @ weight, (0, 0, 1, 0)) + pad(q[:, 1:] @ weight.T, (0, 0, 0, 1))

    model = hb.Model(hb.parse(text), {"next": pairs})
    return Case(f"sequence, {length} × {labels}", model, batch, said, weight)


def grid(side: int, colours: int, batch: int) -> Case:
    names = ", ".join(f'"v{i}"' for i in range(colours))
    text = f"type c = 0..{side * side - 1}\npredicate colour(c) in {{{names}}}\n"
    text += "predicate beside(c, c): observed\n"
    text += "".join(
        f'0.5: colour(x) = "v{i}" and beside(x, y) and colour(y) = "v{i}"\n' for i in range(colours)
    )
    cells = [(i * side + j, i, j) for i in range(side) for j in range(side)]
    pairs = [(c, c + 1) for c, _, j in cells if j + 1 < side]
    pairs += [(c, c + side) for c, i, _ in cells if i + 1 < side]
    weight = torch.full((colours,), 0.5, requires_grad=True)

    def said(q: Tensor) -> Tensor:
        table = q.view(q.shape[0], side, side, colours)
        down, up = pad(table[:, :-1], (0, 0, 0, 0, 1, 0)), pad(table[:, 1:], (0, 0, 0, 0, 0, 1))
        right, left = pad(table[:, :, :-1], (0, 0, 1, 0)), pad(table[:, :, 1:], (0, 0, 0, 1))
        return ((down + up + right + left) * weight).view(q.shape)

    model = hb.Model(hb.parse(text), {"beside": pairs})
    return Case(f"Potts grid, {side} × {side} × {colours}", model, batch, said, weight, _softmax)


def _softmax(table: Tensor) -> Tensor:
    return torch.softmax(table, -1)


def candidates(size: int, count: int, batch: int) -> Case:
    text = f"type r = 0..{size - 1}\npredicate same(r, r)\npredicate near(r, r): observed\n"
    text += "1: near(x, y) and near(y, z) and near(x, z) and same(x, y) and same(y, z) => same(x, z)\n"
    drawn = torch.Generator("cpu").manual_seed(0)
    ends = torch.randint(0, size, (count, 2), generator=drawn, device="cpu").to(torch.get_default_device())
    ends = torch.cat([ends, torch.stack([ends[:, 0], (ends[:, 0] + 1) % size], 1)])
    ends = torch.unique(ends[ends[:, 0] < ends[:, 1]], dim=0)
    near = torch.zeros(size, size, dtype=torch.bool)
    near[ends[:, 0], ends[:, 1]] = True
    x, y, z = (near[:, :, None] & near[None] & near[:, None, :]).nonzero().T
    one, two, three = x * size + y, y * size + z, x * size + z
    weight = torch.ones((), requires_grad=True)

    def said(q: Tensor) -> Tensor:
        flat = q.flatten(1)
        a, b, c = (flat.index_select(1, rows) for rows in (one, two, three))
        found = torch.zeros_like(flat).index_add(1, one, b * (c - 1)).index_add(1, two, a * (c - 1))
        return (weight * found.index_add(1, three, a * b)).view(q.shape)

    model = hb.Model(hb.parse(text), {"near": [tuple(pair) for pair in ends.tolist()]})
    return Case(f"candidates, {len(ends)} of {size}², {len(x)} triples", model, batch, said, weight)


@dataclass(frozen=True)
class Row:
    """Medians of CPU seconds and bytes kept, ours and by hand."""

    what: str
    batch: int
    ours: float
    hand: float
    kept: int
    kept_by_hand: int


def measured(case: Case, device: str = "cpu") -> Row:
    layer = hb.nn.LogicLayer(case.model, STEPS, damping=0.0).to(device)
    (name,) = layer.shapes
    drawn = torch.Generator("cpu").manual_seed(1)
    logits = torch.randn(case.batch, *layer.shapes[name], generator=drawn, device="cpu").to(device)

    def by_layer(z: Tensor) -> Tensor:
        return layer({name: z})[name]

    def by_hand(z: Tensor) -> Tensor:
        q = case.probabilities(z)
        for _ in range(STEPS):
            q = case.probabilities(z + case.said(q))
        return q

    torch.testing.assert_close(by_layer(logits), by_hand(logits), rtol=0, atol=1e-4)
    seconds(by_layer, logits)
    repeats = SHORT_REPEATS if seconds(by_hand, logits) < SHORT else REPEATS
    times = [(seconds(by_layer, logits), seconds(by_hand, logits)) for _ in range(repeats)]
    ours, hand = (median(column) for column in zip(*times, strict=True))
    return Row(case.what, case.batch, ours, hand, kept_bytes(by_layer, logits), kept_bytes(by_hand, logits))


def seconds(update: Update, logits: Tensor) -> float:
    leaf = logits.clone().requires_grad_()
    gc.collect()
    clock = time.perf_counter if leaf.is_cuda else time.process_time
    began = clock()
    update(leaf).sum().backward()
    if leaf.is_cuda:
        torch.cuda.synchronize()
    return clock() - began


class _Kept:
    """A tensor that waits for the backward pass."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def kept_bytes(update: Update, logits: Tensor) -> int:
    """Of different memory that waits for the backward pass."""
    waiting: WeakSet[_Kept] = WeakSet()

    def pack(tensor: Tensor) -> _Kept:
        waiting.add(kept := _Kept(tensor))
        return kept

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
        found = update(logits.clone().requires_grad_())
    storages = {s.data_ptr(): s.nbytes() for kept in waiting if (s := kept.tensor.untyped_storage())}
    assert found.requires_grad
    return sum(storages.values())


def report() -> str:
    """The page's table."""
    threads = torch.get_num_threads()
    lines = [
        "Forward and backward pass of five updates, float32, processor time, on one thread and on two. "
        "Memory is what is kept for the backward pass.",
        "",
        "| what | batch | threads | layer, CPU s | by hand | ratio | layer, MB | by hand | ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    try:
        for case in cases():
            for count in (1, 2):
                torch.set_num_threads(count)
                lines.append(_told(str(count), measured(case)))
        if torch.cuda.is_available():
            with torch.device("cuda"):
                name = torch.cuda.get_device_name()
                lines += [_told(name, measured(case, "cuda")) for case in cases()]
    finally:
        torch.set_num_threads(threads)
    return "\n".join(lines)


def _told(where: str, row: Row) -> str:
    line = (
        f"| {row.what} | {row.batch} | {where} | {row.ours:.4f} | {row.hand:.4f} | "
        f"{row.ours / row.hand:.2f} | {row.kept / 1e6:.1f} | {row.kept_by_hand / 1e6:.1f} | "
        f"{row.kept / row.kept_by_hand:.2f} |"
    )
    print(line, flush=True)
    return line


if __name__ == "__main__":
    report()
