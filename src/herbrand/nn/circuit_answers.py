"""Weights of answers as tensors, computed in batches: all questions of a call whose circuits have one form.

A call has *scenes*, rows of sources (:mod:`herbrand.engines.proof.scored_worlds`), and questions: as many
questions as scenes, or a single one of either for all of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from herbrand.engines.circuit.differentiable import KEPT, Leaves, evaluated
from herbrand.engines.proof.scored_answers import Answering, ScoredAnswers
from herbrand.engines.proof.sources import Row, Sources
from herbrand.errors import ContradictionError, UnsupportedError


def answered(
    road: Answering, named: Sources, questions: Sequence[Row], sources: Tensor, sizes: Sequence[int]
) -> Tensor:
    """Weights of answers [question or scene, asked...] from ``sources`` [scene, scored facts and rules]."""
    for question in questions:
        road.prepare(question)
    if named.stated:
        stated = sources.new_tensor([*named.stated]).expand(sources.shape[0], -1)
        sources = torch.cat([sources, stated], 1)
    answers = math.prod(sizes)
    count = sources.shape[0] if len(questions) == 1 else len(questions)
    if len(questions) == 1 and not road.needs_numbers:
        summed = _of_all(road.answers(questions[0], None), sources, answers)
        return summed if summed.shape == (count, *sizes) else summed.reshape(count, *sizes)
    summed = sources.new_zeros((count, answers))
    for numbers, same in _by_form(_queried(road, questions, sources, count)):
        weights = _conditioned(same[0], evaluated(same[0].form, _table(same, numbers, sources)), numbers)
        places = torch.from_numpy(np.stack([one.places for one in same]))
        examples = torch.tensor(numbers, device=summed.device)[:, None].expand(places.shape)
        summed = summed.index_put((examples, places.to(summed.device)), weights)
    return summed.reshape(count, *sizes)


def _queried(road: Answering, questions: Sequence[Row], sources: Tensor, count: int) -> list[ScoredAnswers]:
    """Circuits of the answers of each example."""
    if not road.needs_numbers:
        return [road.answers(question, None) for question in questions]
    scenes = sources.detach().double().cpu().tolist()
    each = [questions[0]] * count if len(questions) == 1 else questions
    own = scenes * count if len(scenes) == 1 else scenes
    return [road.answers(question, numbers) for question, numbers in zip(each, own, strict=True)]


def _of_all(queried: ScoredAnswers, sources: Tensor, answers: int) -> Tensor:
    """Weights of one question's answers in all scenes, [scene, answer]."""
    leaves = _leaves(queried, sources.device)
    weights = _conditioned(queried, evaluated(queried.form, sources, leaves), range(sources.shape[0]))
    if len(queried.places) < answers:
        there = torch.from_numpy(queried.places).to(weights.device)
        weights = weights.new_zeros((sources.shape[0], answers)).index_copy(1, there, weights)
    return weights


@lru_cache(maxsize=KEPT)
def _leaves(queried: ScoredAnswers, device: torch.device) -> Leaves:
    return Leaves.of(queried.sources, queried.less, device)


def _table(same: Sequence[ScoredAnswers], numbers: Sequence[int], sources: Tensor) -> Tensor:
    """Leaf weights [question, leaf] of questions of one form, each in its own scene or all in one."""
    places, less = (
        np.stack(column) for column in zip(*((one.sources, one.less) for one in same), strict=True)
    )
    if sources.shape[0] > 1:
        places = places + np.array(numbers)[:, None] * sources.shape[1]
    leaves = sources.reshape(-1)[torch.from_numpy(places).to(sources.device)]
    return torch.where(torch.from_numpy(less).to(leaves.device), 1 - leaves, leaves) if less.any() else leaves


def _conditioned(queried: ScoredAnswers, weights: Tensor, numbers: Sequence[int]) -> Tensor:
    """Probabilities of answers conditioned on the evidence."""
    if not queried.observed:
        return weights
    answers, factors = weights[:, : -queried.observed], weights[:, -queried.observed :].detach()
    impossible = (factors <= 0).any(1)
    if bool(impossible.any()):
        number = numbers[int(impossible.nonzero()[0])]
        raise ContradictionError(
            f"the evidence has probability 0 by the scores of example {number}",
            hint="scores of exactly 0 and 1 leave no doubt; or state other evidence",
        )
    evidence = weights[:, -queried.observed]
    least, kind = torch.finfo(weights.dtype).tiny, str(weights.dtype).removeprefix("torch.")
    small = evidence.detach() < least
    if bool(small.any()):  # below it numbers lose their digits, and slopes are infinite
        raise UnsupportedError(
            f"the evidence has a probability below {least:.1e} by the scores of example "
            f"{numbers[int(small.nonzero()[0])]}, which {kind} cannot divide by",
            hint="give less extreme scores" + ("" if kind == "float64" else ", or scores of torch.float64"),
        )
    return answers / evidence[:, None]


def _by_form(queried: Sequence[ScoredAnswers]) -> list[tuple[list[int], list[ScoredAnswers]]]:
    groups: dict[int, tuple[list[int], list[ScoredAnswers]]] = {}
    for number, one in enumerate(queried):
        numbers, same = groups.setdefault(id(one.form), ([], []))
        numbers.append(number)
        same.append(one)
    return [*groups.values()]
