"""Digits learned from sums alone: python examples/digit_sums/run.py [PICTURE.svg]

Pictures come in pairs, and only the sum of the two digits of a pair is known. One linear network reads both
pictures and guesses the sum. Another gives each picture a score for each digit; the query layer takes the
scores as the neural predicate ``shows``, and the loss on the sums trains that network through the proofs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn

import herbrand as hb
from herbrand.learning.curve import lines

PICTURES, DIGITS, PIXELS, TAUGHT = 400, 5, 12, 200
SUMS = 2 * DIGITS - 1
THEORY = Path(__file__).with_name("sums.hb")
FIRST, SECOND = torch.arange(0, PICTURES, 2), torch.arange(1, PICTURES, 2)


def pictures(random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Pixels [picture, pixel] and digits [picture]."""
    digits = torch.randint(DIGITS, (PICTURES,), generator=random)
    drawings = torch.randn(DIGITS, PIXELS, generator=random)
    return drawings[digits] + 0.5 * torch.randn(PICTURES, PIXELS, generator=random), digits


def train(seed: int, steps: int, logic: bool) -> list[float]:
    """Mean F1 of the sums of pairs that were not trained on, after each step."""
    pixels, digits = pictures(torch.Generator().manual_seed(seed))
    sums = digits[FIRST] + digits[SECOND]
    torch.manual_seed(seed)
    plus = [(x, y, x + y) for x in range(DIGITS) for y in range(DIGITS)]
    model = hb.Model(hb.read(THEORY), {"plus": plus})
    layer = hb.nn.QueryLayer(model, "sum(a, b, s)", given=["a", "b"], neural=["shows"])
    network = nn.Linear(PIXELS, DIGITS) if logic else nn.Linear(2 * PIXELS, SUMS)

    def log_shares() -> Tensor:
        if logic:
            return layer({"a": FIRST, "b": SECOND}, {"shows": network(pixels).softmax(1)}).log()
        return network(torch.cat([pixels[FIRST], pixels[SECOND]], 1)).log_softmax(1)

    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    curve, half = [], TAUGHT // 2
    for _ in range(steps):
        optimizer.zero_grad()
        found = log_shares()
        nn.functional.nll_loss(found[:half], sums[:half]).backward()
        optimizer.step()
        guessed = found[half:].argmax(1)  # before the step, of pairs that it has not seen
        curve.append(mean(f1(guessed == one, sums[half:] == one) for one in range(SUMS)))
    return curve


def f1(guessed: Tensor, true: Tensor) -> float:
    return float(2 * (guessed & true).sum() / (guessed.sum() + true.sum()).clamp(min=1))


def main(seeds: int = 5, steps: int = 100, picture: str | None = None) -> dict[str, list[float]]:
    """F1 at the end without and with logic, one a seed."""
    curves = {
        name: [train(seed, steps, logic) for seed in range(seeds)]
        for name, logic in (("network alone", False), ("with logic", True))
    }
    if picture:
        means = {name: list(map(mean, zip(*runs, strict=True))) for name, runs in curves.items()}
        Path(picture).write_text(lines("mean F1 of sums", means))
    return {name: [run[-1] for run in runs] for name, runs in curves.items()}


if __name__ == "__main__":
    for who, found in main(picture=next(iter(sys.argv[1:]), None)).items():
        print(f"{who}: F1 {mean(found):.3f} ({', '.join(f'{one:.3f}' for one in found)})")
