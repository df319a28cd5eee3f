"""A small network and a rule, trained together: run it with ``python examples/logic_layer/run.py``.

Papers have noisy features and cite each other, mostly within their topic. A linear network reads the features
and gives each paper logits for its topic; the logic layer tells papers what those they are linked to say; the
loss on a few labelled papers trains both the network and the rule's weight.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

import herbrand as hb

PAPERS, TOPICS, FEATURES, LABELLED = 120, 3, 8, 30
THEORY = Path(__file__).with_name("topics.hb")


class World(NamedTuple):
    """``topics`` [paper]; ``features`` [paper, feature]; ``links`` pairs of papers' names."""

    topics: Tensor
    features: Tensor
    links: list[tuple[str, str]]


def made_up_world(seed: int) -> World:
    random = torch.Generator().manual_seed(seed)
    topics = torch.randint(TOPICS, (PAPERS,), generator=random)
    directions = torch.randn(TOPICS, FEATURES, generator=random)
    features = directions[topics] + 2.5 * torch.randn(PAPERS, FEATURES, generator=random)
    wanted = torch.where(topics[:, None] == topics[None, :], 0.06, 0.01)
    links = torch.rand(PAPERS, PAPERS, generator=random) < wanted
    names = [(f"p{i:03}", f"p{j:03}") for i, j in links.nonzero().tolist() if i != j]
    itself = [(f"p{i:03}", f"p{i:03}") for i in range(PAPERS)]  # so that papers without links are known too
    return World(topics, features, [*names, *itself])


def train(seed: int = 0, steps: int = 60) -> dict[str, float]:
    """Accuracy on the unlabelled papers of the network alone and of the network with the rule."""
    world = made_up_world(seed)
    torch.manual_seed(seed)
    return {
        "network alone": accuracy(world, None, steps),
        "network and rule": accuracy(world, hb.nn.LogicLayer(model_of(world), iterations=3), steps),
    }


def model_of(world: World) -> hb.Model:
    return hb.Model(hb.read(THEORY), {"cites": world.links})


def accuracy(world: World, layer: hb.nn.LogicLayer | None, steps: int) -> float:
    network = nn.Linear(FEATURES, TOPICS)
    modules = nn.ModuleList([network] if layer is None else [network, layer])
    optimizer = torch.optim.Adam(modules.parameters(), lr=0.05, weight_decay=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        scores = log_probabilities(network, layer, world.features)
        nn.functional.nll_loss(scores[:LABELLED], world.topics[:LABELLED]).backward()
        optimizer.step()
    with torch.no_grad():
        guessed = log_probabilities(network, layer, world.features).argmax(dim=1)
    return float((guessed[LABELLED:] == world.topics[LABELLED:]).float().mean())


def log_probabilities(network: nn.Module, layer: hb.nn.LogicLayer | None, features: Tensor) -> Tensor:
    logits = network(features)
    if layer is not None:
        logits = layer.log_odds({"topic": logits})["topic"]
    return torch.log_softmax(logits, dim=1)


if __name__ == "__main__":
    for who, share in train().items():
        print(f"{who}: {share:.0%} of the unlabelled papers right")
