"""Mentions that belong together: python examples/coreference/run.py [PICTURE.svg]

Pairs of mentions have noisy features, of which a linear network makes logits. The layer adds that belonging
together is symmetric, and learns how far it is transitive; network and weight are trained together.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn

import herbrand as hb
from herbrand.learning.curve import lines

MENTIONS, ENTITIES, FEATURES, NOISE, DOCUMENTS = 16, 4, 3, 1.1, 6
THEORY = Path(__file__).with_name("coreference.hb")


def documents(random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Features of pairs [document, mention, mention, feature], and which pairs belong together."""
    entity = torch.randint(ENTITIES, (DOCUMENTS, MENTIONS), generator=random)
    same = (entity[:, :, None] == entity[:, None, :]).float()
    noise = NOISE * torch.randn(DOCUMENTS, MENTIONS, MENTIONS, FEATURES, generator=random)
    return same[..., None] + (noise + noise.transpose(1, 2)) / 2**0.5, same


def train(seed: int, steps: int, logic: bool) -> list[float]:
    """F1 on documents that were not trained on, after each step."""
    random = torch.Generator().manual_seed(seed)
    (features, same), (others, labels) = documents(random), documents(random)
    torch.manual_seed(seed)
    network, layer = nn.Linear(FEATURES, 1), hb.nn.LogicLayer(hb.Model(hb.read(THEORY)), 5)
    pairs = torch.triu(torch.ones(MENTIONS, MENTIONS), 1).bool()

    def logits(table: Tensor) -> Tensor:
        scores = network(table)[..., 0]
        return (layer.log_odds({"same": scores})["same"] if logic else 2 * scores)[:, pairs]

    optimizer = torch.optim.Adam([*network.parameters(), *layer.parameters()], lr=0.1)
    curve = []
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(logits(features), same[:, pairs]).backward()
        optimizer.step()
        with torch.no_grad():
            curve.append(f1(logits(others) > 0, labels[:, pairs] > 0))
    return curve


def f1(guessed: Tensor, true: Tensor) -> float:
    return float(2 * (guessed & true).sum() / (guessed.sum() + true.sum()).clamp(min=1))


def main(seeds: int = 5, steps: int = 30, picture: str | None = None) -> dict[str, list[float]]:
    """F1 at the end without and with logic, one a seed."""
    curves = {
        name: [train(seed, steps, logic) for seed in range(seeds)]
        for name, logic in (("network alone", False), ("with logic", True))
    }
    if picture:
        means = {name: list(map(mean, zip(*runs, strict=True))) for name, runs in curves.items()}
        Path(picture).write_text(lines("F1 of pairs", means))
    return {name: [run[-1] for run in runs] for name, runs in curves.items()}


if __name__ == "__main__":
    for who, found in main(picture=next(iter(sys.argv[1:]), None)).items():
        print(f"{who}: F1 {mean(found):.3f} ({', '.join(f'{one:.3f}' for one in found)})")
