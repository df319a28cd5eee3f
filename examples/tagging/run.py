"""Words of references and their tags: python examples/tagging/run.py [PICTURE.svg]

A linear network reads each word. The layer adds how tags follow each other, and that words which are set
alike (in one list, between the same marks) tend to have one tag: which are, comes with each reference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn

import herbrand as hb
from herbrand.learning.curve import lines

WORDS, TAGS, FEATURES, NOISE, REFERENCES = 12, 4, 6, 1.5, 40
THEORY = Path(__file__).with_name("tagging.hb")


def references(random: torch.Generator, directions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Features [reference, word, feature], alike [reference, word, word], and tags [reference, word]."""
    ends = torch.rand(REFERENCES, WORDS, generator=random) < 0.3
    tags = (ends.cumsum(1) + torch.randint(TAGS, (REFERENCES, 1), generator=random)) % TAGS
    features = directions[tags] + NOISE * torch.randn(REFERENCES, WORDS, FEATURES, generator=random)
    share = torch.where(tags[:, :, None] == tags[:, None, :], 0.4, 0.03)
    alike = torch.rand(REFERENCES, WORDS, WORDS, generator=random) < share
    return features, alike.triu(1).float(), tags


def train(seed: int, steps: int, logic: bool) -> list[float]:
    """Mean F1 of the tags on references that were not trained on, after each step."""
    random = torch.Generator().manual_seed(seed)
    directions = torch.randn(TAGS, FEATURES, generator=random)
    (*taught, tags), (*others, labels) = references(random, directions), references(random, directions)
    torch.manual_seed(seed)
    following = [(place, place + 1) for place in range(WORDS - 1)]
    model = hb.Model(hb.read(THEORY), {"next": following})
    network, layer = nn.Linear(FEATURES, TAGS), hb.nn.LogicLayer(model, 5, observed=["alike"])

    def logits(features: Tensor, alike: Tensor) -> Tensor:
        scores = network(features)
        return layer.log_odds({"tag": scores}, {"alike": alike})["tag"] if logic else scores

    optimizer = torch.optim.Adam([*network.parameters(), *layer.parameters()], lr=0.1)
    curve = []
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits(*taught).flatten(0, 1), tags.flatten()).backward()
        optimizer.step()
        with torch.no_grad():
            guessed = logits(*others).argmax(2)
            curve.append(mean(f1(guessed == tag, labels == tag) for tag in range(TAGS)))
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
        Path(picture).write_text(lines("mean F1 of tags", means))
    return {name: [run[-1] for run in runs] for name, runs in curves.items()}


if __name__ == "__main__":
    for who, found in main(picture=next(iter(sys.argv[1:]), None)).items():
        print(f"{who}: F1 {mean(found):.3f} ({', '.join(f'{one:.3f}' for one in found)})")
