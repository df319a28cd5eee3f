"""Query layers beside the same sums written by hand in torch, and beside klaycircuits where they fit.

    python -m benchmarks query_layer      (make bench-layer)

Sums of two digits, each a distribution, and paths through a grid whose edges have scores: forward and back
in float32, every example a scene of its own. klaycircuits (``pip install klaycircuits``, where it is there)
evaluates the circuit that our compiler found, in ordinary numbers, as plain layers. Medians of repeats in
turn: processor time, or on an accelerator the time by the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from torch import Tensor

import herbrand as hb
from herbrand.engines.circuit.forms import Form

REPEATS, SHORT_REPEATS, SHORT = 9, 61, 0.02
Answer = Callable[[Tensor], Tensor]

SUMS = """
type image = {"first", "second"}
type digit = 0..9
type total = 0..18
predicate digit(image) in digit: observed
predicate plus(digit, digit, total): observed
predicate sum(image, image, total)
sum(a, b, s) :- digit(a) = x, digit(b) = y, plus(x, y, s)
"""
PATHS = """
predicate edge(cell, cell): observed
predicate path(cell, cell)
path(x, y) :- edge(x, y)
path(x, z) :- edge(x, y), path(y, z)
"""


@dataclass(frozen=True)
class Case:
    """``layer`` takes scores [scene, ...], of which ``draw`` makes some; ``form``: what it evaluates."""

    what: str
    algebra: str
    scenes: int
    layer: Answer
    draw: Callable[[int], Tensor]
    form: Callable[[], tuple[Form, Any]]
    hand: Answer | None = None


def cases() -> Iterator[Case]:
    for scenes in (64, 1024, 16384):
        yield digits(scenes)
    for size, scenes in ((4, 64), (4, 1024), (6, 64), (6, 1024)):
        yield grid(size, "probability", scenes)
    for scenes in (64, 1024):
        yield grid(12, "max", scenes)
    yield grid(6, "top-k", 64)


def digits(scenes: int) -> Case:
    plus = [(x, y, x + y) for x in range(10) for y in range(10)]
    model = hb.Model(hb.parse(SUMS), {"plus": plus})
    layer = hb.nn.QueryLayer(model, "sum(a, b, s)", given=["a", "b"], neural=["digit"], algebra="probability")
    totals = torch.tensor([x + y for x, y, _ in plus])

    def ours(digits: Tensor) -> Tensor:
        return layer({"a": ["first"], "b": ["second"]}, {"digit": digits})

    def hand(digits: Tensor) -> Tensor:
        both = torch.einsum("nx,ny->nxy", digits[:, 0], digits[:, 1]).flatten(1)
        return both.new_zeros(len(both), 19).index_add(1, totals.to(both.device), both)

    def draw(count: int) -> Tensor:
        return torch.randn(count, 2, 10, generator=torch.Generator().manual_seed(0)).softmax(-1)

    return Case("two digits", "probability", scenes, ours, draw, lambda: _form(layer, (0, 1)), hand)


def grid(size: int, algebra: str, scenes: int) -> Case:
    """From one corner to the other, to the right and down."""
    steps = [((i, j), (i, j + 1)) for i in range(size) for j in range(size - 1)]
    steps += [((j, i), (j + 1, i)) for i in range(size) for j in range(size - 1)]
    edges = sorted((one[0] * size + one[1], other[0] * size + other[1]) for one, other in steps)
    text = f"type cell = 0..{size * size - 1}\n{PATHS}"
    model = hb.Model(hb.parse(text), {"edge": edges})
    goal = f"path(0, {size * size - 1})"
    depth = "fixpoint" if algebra == "probability" else 2 * size
    layer = hb.nn.QueryLayer(model, goal, neural=["edge"], algebra=algebra, depth=depth)
    places = {edge: place for place, edge in enumerate(edges)}

    def ours(scores: Tensor) -> Tensor:
        return layer({}, {"edge": scores})

    def best_path(scores: Tensor) -> Tensor:
        best: dict[int, Tensor] = {0: scores.new_ones(len(scores))}
        for cell in range(1, size * size):
            ways = [
                best[before] * scores[:, places[before, cell]]
                for before in (cell - 1, cell - size)
                if (before, cell) in places
            ]
            best[cell] = ways[0] if len(ways) == 1 else torch.maximum(*ways)
        return best[size * size - 1]

    def draw(count: int) -> Tensor:
        return torch.rand(count, len(edges), generator=torch.Generator().manual_seed(0))

    what = f"path in a {size} × {size} grid"
    hand = best_path if algebra == "max" else None
    return Case(what, algebra, scenes, ours, draw, lambda: _form(layer, layer._read.inputs), hand)


def _form(layer: hb.nn.QueryLayer, inputs: tuple[int, ...]) -> tuple[Form, Any]:
    layer._road.prepare(inputs)
    answers = layer._road.answers(inputs, None)
    return answers.form, answers


def by_klay(case: Case, device: str) -> Answer:
    """The same form as a circuit of klaycircuits."""
    import klay  # pyright: ignore[reportMissingImports]

    form, answers = case.form()
    circuit = klay.Circuit()
    signs = [-1 if less else 1 for less in answers.less.tolist()]
    nodes = [circuit.true_node()]
    nodes += [
        circuit.literal_node(sign * (source + 1))
        for sign, source in zip(signs, answers.sources.tolist(), strict=True)
    ]
    for is_product, (low, high) in zip(form.is_product.tolist(), pairwise(form.starts.tolist()), strict=True):
        join = circuit.and_node if is_product else circuit.or_node
        nodes.append(join([nodes[kid] for kid in form.kids[low:high].tolist()]))
    for root in form.roots:
        circuit.set_root(nodes[root])
    module = circuit.to_torch_module(semiring="real", compile=False).to(device)
    return lambda scores: module(scores.flatten(1))


def seconds(answer: Answer, scores: Tensor) -> float:
    """Forward and backward."""
    leaf = scores.clone().requires_grad_()
    clock = time.perf_counter if leaf.is_cuda else time.process_time
    if leaf.is_cuda:
        torch.cuda.synchronize()
    began = clock()
    answer(leaf).sum().backward()
    if leaf.is_cuda:
        torch.cuda.synchronize()
    return clock() - began


def medians(answers: list[Answer], scores: Tensor) -> list[float]:
    first = [[seconds(answer, scores) for _ in range(3)] for answer in answers]
    repeats = SHORT_REPEATS if min(map(min, first)) < SHORT else REPEATS
    times = [[seconds(answer, scores) for answer in answers] for _ in range(repeats)]
    return [median(column) for column in zip(*times, strict=True)]


def row(case: Case, device: str) -> str:
    scores = case.draw(case.scenes).to(device)
    others: dict[str, Answer] = {} if case.hand is None else {"hand": case.hand}
    if find_spec("klay") is not None and case.algebra == "probability":
        others["klay"] = by_klay(case, device)
    for other in others.values():
        ours = case.layer(scores)
        torch.testing.assert_close(ours.flatten(), other(scores).flatten(), rtol=1e-4, atol=1e-5)
    ours, *rest = medians([case.layer, *others.values()], scores)
    told = dict(zip(others, rest, strict=True))
    cells = [
        f"{told[name] * 1e3:.2f} | {ours / told[name]:.2f}" if name in told else " | "
        for name in ("hand", "klay")
    ]
    return f"| {case.what} | {case.algebra} | {case.scenes:,} | {ours * 1e3:.2f} | {' | '.join(cells)} |"


def report() -> str:
    """The page's table."""
    devices = ["cpu", *["cuda"] * torch.cuda.is_available()]
    lines = [
        "Milliseconds of a forward and backward pass. Ratios are our time divided by theirs, below 1 "
        "where ours is faster."
    ]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for device in devices:
            where = "one thread of the processor" if device == "cpu" else torch.cuda.get_device_name()
            lines += ["", f"On {where}:", ""]
            lines.append("| question | algebra | scenes | layer | by hand | ratio | klaycircuits | ratio |")
            lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
            for case in cases():
                lines.append(row(case, device))
                print(lines[-1], flush=True)
    finally:
        torch.set_num_threads(threads)
    return "\n".join(lines)


if __name__ == "__main__":
    report()
