"""Adjacent to number zero: nodes are pictures of digits, read by a network that learns with the machine.

    python -m benchmarks.induction_digits             the figures of the kept runs
    python -m benchmarks.induction_digits train 0 1   learns and examines with these seeds (a CPU minute each)

Nobody tells the network which digit a picture shows: all it learns comes from which nodes have a neighbour
that is a zero. Pictures are those of scikit-learn, 8 by 8; one in five is never seen in training.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.induction_runs import KEPT
from benchmarks.worlds.graphs import erdos_renyi
from herbrand.induction.machine import SPREAD, draw_weights
from herbrand.induction.target import TargetMachine

FIGURES = KEPT / "digits.json"
CLASSES = 10
NODES, LARGE = 10, 50
PAPER = 0.994


class Reader(nn.Module):
    """Ten properties of a picture, each between 0 and 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, CLASSES), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """``[..., 10]`` of pictures ``[..., 8, 8]``."""
        found = self.layers(pictures.reshape(-1, 1, 8, 8))
        return found.view(*pictures.shape[:-2], CLASSES)


@dataclass(frozen=True)
class Pictures:
    """Pictures and the digits that they show."""

    pictures: torch.Tensor
    digits: np.ndarray

    def draw(
        self, rng: np.random.Generator, graphs: int, nodes: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Pictures of the nodes, edges, and which nodes have a neighbour that is a zero."""
        edges = erdos_renyi(rng, graphs, nodes)
        chosen = rng.integers(len(self.digits), size=(graphs, nodes))
        zero = (self.digits[chosen] == 0).astype(np.float32)
        target = (edges @ zero[..., None])[..., 0] > 0
        return (
            self.pictures[torch.from_numpy(chosen)],
            torch.from_numpy(edges[..., None]),
            torch.from_numpy(target.astype(np.float32)),
        )


def split() -> tuple[Pictures, Pictures]:
    """Pictures to learn from, and those kept back."""
    from sklearn.datasets import load_digits

    found: Any = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    pictures = torch.from_numpy(found.images.astype(np.float32) / 16)
    back, kept = np.split(order, [len(order) // 5])
    return (
        Pictures(pictures[torch.from_numpy(kept)], found.target[kept]),
        Pictures(pictures[torch.from_numpy(back)], found.target[back]),
    )


def train(seed: int = 0, batches: int = 3_000, batch: int = 16) -> dict[str, float]:
    """Learns together, and counts the errors in large graphs of pictures that were kept back."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    seen, unseen = split()
    reader = Reader()
    machine = TargetMachine((0, CLASSES, 1), target_arity=1, depth=4, breadth=2)
    draw_weights(machine, seed, spread=SPREAD)
    weights = [*reader.parameters(), *machine.parameters()]
    optimiser = torch.optim.Adam(weights, lr=0.003)
    began = time.process_time()
    for number in range(1, batches + 1):
        pictures, edges, target = seen.draw(rng, batch, NODES)
        loss = functional.binary_cross_entropy_with_logits(machine({1: reader(pictures), 2: edges}), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if number % 250 == 0:
            print(f"{number * batch:,} graphs, loss {float(loss.detach()):.4f}", flush=True)
    seconds = time.process_time() - began
    errors = tuples = 0
    for _ in range(50):
        pictures, edges, target = unseen.draw(rng, 20, LARGE)
        with torch.no_grad():
            told = machine({1: reader(pictures), 2: edges}) > 0
        errors, tuples = errors + int((told != (target > 0.5)).sum()), tuples + target.numel()
    return {
        "seed": seed,
        "examples": batches * batch,
        "cpu_seconds": round(seconds, 1),
        "graphs": 1_000,
        "objects": LARGE,
        "nodes": tuples,
        "errors": errors,
    }


def kept_runs() -> list[dict[str, float]]:
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else []


def report() -> str:
    """The figures of the kept runs."""
    runs = kept_runs()
    if not runs:
        return "No run is kept."
    first, right = runs[0], [1 - one["errors"] / one["nodes"] for one in runs]
    failed = [str(one["seed"]) for one, share in zip(runs, right, strict=True) if share < PAPER]
    seconds = median(one["cpu_seconds"] for one in runs)
    return (
        f"The task is adjacent-to-number-zero, read from pictures. Over {len(runs)} seeds, {min(right):.2%} "
        f"to {max(right):.2%} of {first['nodes']:,} nodes are right in {first['graphs']:,} graphs of "
        f"{first['objects']} held-out pictures, after {first['examples']:,} graphs of {NODES} and "
        f"{seconds:.0f} CPU seconds (median). The paper, with MNIST, has {PAPER:.1%} after 100,000. "
        f"{_below(failed)}"
    )


def _below(failed: list[str]) -> str:
    """The sentence that names the seeds below the paper's share."""
    match failed:
        case []:
            return "No seed is below that."
        case [seed]:
            return f"Only seed {seed} is below that."
    return f"Seeds {', '.join(failed[:-1])} and {failed[-1]} are below that."


def main(arguments: list[str]) -> None:
    match arguments:
        case []:
            print(report())
        case ["train", *seeds]:
            for seed in map(int, seeds):
                figures = train(seed)
                runs = [one for one in kept_runs() if one["seed"] != seed]
                runs = sorted([*runs, figures], key=lambda one: one["seed"])
                FIGURES.write_text(json.dumps(runs, indent=1) + "\n")
                print(figures, flush=True)
        case _:
            print(__doc__)
            sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
