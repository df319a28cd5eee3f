"""A network that learns digits from sums alone: run it with ``python examples/digit_sums/run.py``.

Pictures come in pairs, and only the sum of the two digits of a pair is told. The network gives each picture a
score for each digit; the query layer takes the scores as the neural predicate ``shows`` and gives the weight
of every sum; the loss on the sums trains the network through the proofs.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

import herbrand as hb

PICTURES, DIGITS, PIXELS, TAUGHT = 400, 5, 12, 300
THEORY = Path(__file__).with_name("sums.hb")


class Pictures(NamedTuple):
    """``digits`` [picture]; ``pixels`` [picture, pixel]."""

    digits: Tensor
    pixels: Tensor


def made_up_pictures(seed: int) -> Pictures:
    random = torch.Generator().manual_seed(seed)
    digits = torch.randint(DIGITS, (PICTURES,), generator=random)
    drawings = torch.randn(DIGITS, PIXELS, generator=random)
    return Pictures(digits, drawings[digits] + 0.5 * torch.randn(PICTURES, PIXELS, generator=random))


def sum_layer() -> hb.nn.QueryLayer:
    plus = [(x, y, x + y) for x in range(DIGITS) for y in range(DIGITS)]
    model = hb.Model(hb.read(THEORY), {"plus": plus})
    return hb.nn.QueryLayer(model, "sum(a, b, s)", given=["a", "b"], neural=["shows"])


def train(seed: int = 0, steps: int = 150) -> float:
    """The share of digits that the network gets right in pictures of which no sum was told."""
    pictures, layer = made_up_pictures(seed), sum_layer()
    torch.manual_seed(seed)
    network = nn.Linear(PIXELS, DIGITS)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    first, second = torch.arange(0, TAUGHT, 2), torch.arange(1, TAUGHT, 2)
    sums = pictures.digits[first] + pictures.digits[second]
    for _ in range(steps):
        optimizer.zero_grad()
        scores = network(pictures.pixels).softmax(dim=1)
        weights = layer({"a": first, "b": second}, {"shows": scores})
        nn.functional.nll_loss(weights.log(), sums).backward()
        optimizer.step()
    with torch.no_grad():
        guessed = network(pictures.pixels[TAUGHT:]).argmax(dim=1)
    return float((guessed == pictures.digits[TAUGHT:]).float().mean())


if __name__ == "__main__":
    for steps in (0, 150):
        print(f"after {steps} steps on sums: {train(steps=steps):.0%} of the digits right")
