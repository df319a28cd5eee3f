"""Records that are one entity: python examples/entities/run.py [PICTURE.svg]

Two real-valued similarities of each pair are numbers of observed atoms, and the weights of the statements
that use them are learned end to end with that of transitivity, by gradients through the layer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn

import herbrand as hb
from herbrand.learning.curve import lines

RECORDS, ENTITIES, NOISE = 14, 4, 0.7
THEORY = Path(__file__).with_name("entities.hb")
PAIRS = torch.triu(torch.ones(RECORDS, RECORDS), 1).bool()
Facts = dict[str, list[tuple[int, int, float]]]


def records(random: torch.Generator) -> tuple[Facts, Tensor]:
    """Similarities of pairs, and which pairs are one entity [record, record]."""
    entity = torch.randint(ENTITIES, (RECORDS,), generator=random)
    same = entity[:, None] == entity[None, :]
    facts = {}
    for name in ("name_score", "word_score"):
        scores = same + NOISE * torch.randn(RECORDS, RECORDS, generator=random)
        facts[name] = [(i, j, round(float(scores[i, j]), 3)) for i, j in PAIRS.nonzero().tolist()]
    return facts, same


def train(seed: int, steps: int, logic: bool) -> list[float]:
    """F1 on records that were not trained on, after each step."""
    random = torch.Generator().manual_seed(seed)
    (facts, same), (others, labels) = records(random), records(random)
    theory = hb.read(THEORY)
    taught, tested = (hb.nn.LogicLayer(hb.Model(theory, known), 3) for known in (facts, others))
    transitivity = taught.weights[-1].requires_grad_(logic)
    optimizer = torch.optim.Adam([w for w in taught.weights if logic or w is not transitivity], lr=0.1)
    curve = []
    for _ in range(steps):
        optimizer.zero_grad()
        odds = taught.log_odds()["same"][PAIRS]
        nn.functional.binary_cross_entropy_with_logits(odds, same[PAIRS].float()).backward()
        optimizer.step()
        tested.load_state_dict(taught.state_dict())
        with torch.no_grad():
            curve.append(f1(tested.log_odds()["same"][PAIRS] > 0, labels[PAIRS]))
    return curve


def f1(guessed: Tensor, true: Tensor) -> float:
    return float(2 * (guessed & true).sum() / (guessed.sum() + true.sum()).clamp(min=1))


def main(seeds: int = 5, steps: int = 25, picture: str | None = None) -> dict[str, list[float]]:
    """F1 at the end without and with logic, one a seed."""
    curves = {
        name: [train(seed, steps, logic) for seed in range(seeds)]
        for name, logic in (("similarities alone", False), ("with logic", True))
    }
    if picture:
        means = {name: list(map(mean, zip(*runs, strict=True))) for name, runs in curves.items()}
        Path(picture).write_text(lines("F1 of pairs", means))
    return {name: [run[-1] for run in runs] for name, runs in curves.items()}


if __name__ == "__main__":
    for who, found in main(picture=next(iter(sys.argv[1:]), None)).items():
        print(f"{who}: F1 {mean(found):.3f} ({', '.join(f'{one:.3f}' for one in found)})")
