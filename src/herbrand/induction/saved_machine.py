"""Saved machines of ``induce``, and what they conclude in new worlds.

The file holds the target, the predicates that the machine reads, and the theory that was given: its
declarations, its rules that derive predicates, and its facts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.marginals import AtomTable, Marginals
from herbrand.errors import FactsError, HerbrandError
from herbrand.facts.source import fact_sources
from herbrand.induction.checkpoint import load_machine, save_machine
from herbrand.induction.given_sample import Vocabulary, fitting_rows, sample_of
from herbrand.induction.given_worlds import read_world
from herbrand.induction.target import TargetMachine
from herbrand.language.parse import parse_theory
from herbrand.language.theory import Theory, show
from herbrand.options.kinds import Text, check_functions
from herbrand.tensor_files import restoring


@dataclass(frozen=True)
class About:
    """Description of a saved machine. ``vocabulary``: predicates that it reads; ``examples`` and
    ``accuracy``: of its training."""

    target: str
    theory: Theory
    vocabulary: Vocabulary
    examples: int
    accuracy: float | None


def save(path: str | Path, machine: TargetMachine, about: About) -> None:
    header = {
        "target": about.target,
        "theory": show(about.theory),
        "vocabulary": [[arity, list(names)] for arity, names in about.vocabulary.items()],
        "examples": about.examples,
        "accuracy": about.accuracy,
    }
    save_machine(path, machine, header)


def load(path: str | Path) -> tuple[TargetMachine, About]:
    """Load a machine and its description; refuse a file that does not have the predicates it reads."""
    machine, header = load_machine(path)
    if "vocabulary" not in header:
        raise HerbrandError(
            f"'{path}' does not say what its machine reads", hint="save one by herbrand induce --save"
        )
    with restoring(path):
        vocabulary = {int(arity): tuple(names) for arity, names in header["vocabulary"]}
        theory = parse_theory(header["theory"])
        return machine, About(header["target"], theory, vocabulary, header["examples"], header["accuracy"])


def conclude(
    machine: str | Path,
    facts: Any = None,
    *,
    header: bool | None = None,
    note: Callable[[str], None] | None = None,
) -> Marginals:
    """Estimate the probability of the target for each tuple of the world in ``facts``, by a saved
    ``machine``.

    ``facts``: tables, as a model takes them, of the predicates that the machine was trained on; a missing one
    is false of everything, and those that it does not read are noted, or refused if the saved theory declares
    only others. ``header`` and ``note`` are those of a model."""
    began = time.monotonic()
    Text().check("the machine's file", machine)
    check_functions(note=note)
    learned, about = load(machine)
    if not fact_sources(facts):
        raise FactsError("a machine concludes from facts, and none are given", hint="name tables by --facts")
    arity = learned.shape.target_arity
    reads = {name: width for width, names in about.vocabulary.items() for name in names}
    world = read_world(about.theory, about.target, arity, facts, header, note)
    for name, rows in world.facts.items():
        if reads.get(name, rows.shape[1]) != rows.shape[1]:
            raise FactsError(
                f"'{name}' has {rows.shape[1]} columns; the machine was trained on {reads[name]}"
            )
    unread = sorted(name for name, rows in world.facts.items() if len(rows) and name not in reads)
    if note is not None and unread:
        note(f"the machine does not read {', '.join(unread)}")
    sample = sample_of([world], about.vocabulary, arity)
    with torch.no_grad():
        log_odds = learned(sample.predicates, sample.present)[0]
    rows = fitting_rows(world, arity)
    likely = torch.sigmoid(log_odds[tuple(torch.as_tensor(column) for column in rows.T)]).reshape(-1)
    likely = likely.double().numpy()
    values = [value for *_, value in world.objects]
    columns = tuple([values[place] for place in column] for column in rows.T.tolist())
    table = AtomTable(about.target, columns, np.stack([1 - likely, likely], 1))
    status = Status(True, 1, time.monotonic() - began)
    return Marginals("nlm", Guarantee.APPROXIMATION, status, (table,))
