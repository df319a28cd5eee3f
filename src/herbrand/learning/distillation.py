"""Train a predictor by rules: posterior regularisation, with mean field as the teacher.

At each step the predictor's logits are the unary potentials of a mean field; the logits after its layers are
the training target, towards which Adam moves the predictor (mean square error of the logits). A step uses a
batch of groundings, sampled with a preference for facts, or all groundings at once. Weights stay fixed: rules
teach, and are not trained. The learned theory holds the predictor's probabilities as soft evidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from herbrand.adam import Adam
from herbrand.answers.guarantee import Status
from herbrand.errors import UnsupportedError
from herbrand.language.show import statement_text
from herbrand.language.theory import Theory
from herbrand.learning.batch import Batch, Batches
from herbrand.learning.example import Aim, World, learned_statements, masked_facts
from herbrand.learning.learned import Learning
from herbrand.learning.opinions import opinions, soft_facts
from herbrand.learning.predictor import Predictor
from herbrand.learning.sampling import Sampler, bears, refuse_unsampled
from herbrand.learning.settings import LearningSettings
from herbrand.learning.steps import EarlyStopping, Options, mark_of, resume, run_steps
from herbrand.learning.whole_graph import WholeLessons
from herbrand.program.evidence import Evidence
from herbrand.program.lower import lower
from herbrand.program.program import Program
from herbrand.tensor_files import under, whole_number, within

STEPS, LAYERS, SIZE, RATE, OBSERVED = 1000, 5, 128, 5e-4, 0.9
SMOOTHING = 0.98


Lesson = Batch | WholeLessons
"""Atoms by predicate, a mask of their possible values, and the teacher's logits for them."""


@dataclass(frozen=True, eq=False)
class SampledLessons:
    """A new batch of groundings at each step; the state is that of the random numbers."""

    sampler: Sampler
    batches: Batches
    size: int

    def draw(self) -> Batch:
        return self.batches.of(self.sampler.draw(self.size))

    def state(self) -> dict[str, Any]:
        return dict(self.sampler.rng.bit_generator.state)

    def restore(self, state: dict[str, Any]) -> None:
        self.sampler.rng.bit_generator.state = state


@dataclass
class Training:
    """The training of a predictor, with its state."""

    predictor: Predictor
    lessons: SampledLessons | WholeLessons
    layers: int
    adam: Adam
    stopping: EarlyStopping
    steps: int = 0
    groundings: int = 0
    losses: list[float] = field(default_factory=list)
    mark: str = ""
    options: Options = field(default_factory=dict)

    def step(self) -> float:
        """Train on one batch; return the loss before the update."""
        batch = self.lessons.draw()
        self.steps += 1
        self.groundings += len(batch)
        if not batch.atoms:
            return 0.0
        unary = logits_of(self.predictor, batch)
        with torch.no_grad():
            taught = batch.taught(unary.detach(), self.layers)
        loss = logit_loss(unary, taught, batch.possible)
        loss.backward()
        self.adam.step()
        return float(loss.detach())

    def kept(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The state to save: predictor, Adam's running means, and lessons."""
        tensors = under("predictor", self.predictor.state_dict()) | self.adam.tensors()
        return tensors, {"groundings": self.groundings, "lessons": self.lessons.state()}

    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Restore a state that :meth:`kept` returned."""
        self.predictor.load_state_dict(within("predictor", tensors))
        self.adam.restore(tensors)
        self.groundings = whole_number(about["groundings"])
        self.lessons.restore(about["lessons"])


def logits_of(predictor: Predictor, batch: Lesson) -> Tensor:
    """The predictor's logits [atom, value] for a batch; -inf for impossible values."""
    width = batch.possible.shape[1]
    parts = []
    for name, rows in batch.atoms.items():
        logits = predictor(name, rows)
        missing = width - logits.shape[1]
        parts.append(torch.nn.functional.pad(logits, (0, missing), value=-math.inf) if missing else logits)
    return torch.cat(parts)


def logit_loss(unary: Tensor, taught: Tensor, possible: Tensor) -> Tensor:
    """Mean over atoms of the squared distance of their logits, up to a common shift of each atom's."""
    zero = unary.new_zeros(())
    apart = torch.where(possible, unary - taught.detach(), zero)
    mean = apart.sum(dim=1, keepdim=True) / possible.sum(dim=1, keepdim=True)
    return torch.where(possible, apart - mean, zero).square().sum(dim=1).mean()


def training(program: Program, settings: LearningSettings, mark: str = "") -> Training:
    """The training of a predictor for a program's latent atoms, new or resumed from a saved state with this
    mark."""
    evidence = Evidence(program)
    latent = evidence.latent_predicates
    if not latent:
        raise UnsupportedError(
            "there is no latent atom to train a predictor for: the facts determine every atom",
            hint="leave facts of what is --latent out, or add constants of which nothing is known",
        )
    if not any(bears(template, evidence) for template in program.templates):
        raise UnsupportedError(
            f"no statement is about a latent atom of {', '.join(latent)}, so a predictor learns nothing",
            hint="state rules about what is --latent",
        )
    options = _options(settings)
    predictor = Predictor.of(program, latent, options["size"], settings.seed)
    lessons = _lessons(program, evidence, settings, options)
    adam = Adam.of(predictor.parameters(), options["rate"])
    stopping = EarlyStopping(settings.patience, SMOOTHING)
    trained = Training(predictor, lessons, options["layers"], adam, stopping, mark=mark, options=options)
    resume(trained, settings)
    return trained


def _options(settings: LearningSettings) -> Options:
    """The settings, with the method's defaults for those that are not given."""
    return {
        "size": settings.size or SIZE,
        "layers": settings.layers or LAYERS,
        "rate": settings.rate or RATE,
        "batch": settings.batch,
        "observed": OBSERVED if settings.observed is None else settings.observed,
        "clip": settings.clip,
        "seed": settings.seed,
    }


def _lessons(
    program: Program, evidence: Evidence, settings: LearningSettings, options: Options
) -> SampledLessons | WholeLessons:
    if settings.batch is None:
        return WholeLessons.of(program, options["layers"], settings.budget.memory, settings.clip)
    if settings.clip is not None:
        raise UnsupportedError(
            "--clip limits the sum of messages over all groundings, and a batch has only some of them",
            hint="leave out --batch, or --clip",
        )
    refuse_unsampled(program)
    sampler = Sampler(evidence, options["observed"], settings.seed)
    return SampledLessons(sampler, Batches(evidence), settings.batch)


def learn(theory: Theory, worlds: Sequence[World], aim: Aim, settings: LearningSettings) -> Learning:
    """The theory with soft evidence from a predictor that its rules have trained."""
    began = time.perf_counter()
    _refuse(theory, worlds, aim)
    (world,) = worlds
    program = lower(theory, world.signature, masked_facts(theory, world, aim, settings.budget))
    state = training(program, settings, mark_of(theory, worlds, sorted(aim.latent)))
    _refuse_decided(aim, state.predictor)
    done, before = state.groundings, state.steps
    status = run_steps(state, settings, STEPS)
    seconds = status.seconds
    names = aim.targets or tuple(name for name in state.predictor.types if name in aim.latent)
    name = "distillation" if settings.clip is None else f"distillation (clip {settings.clip:g})"
    predictions = opinions(state.predictor, program, names, status, name)
    status = Status(status.converged, status.iterations, time.perf_counter() - began, status.advice)
    metrics = {
        "loss": state.stopping.mean,
        "groundings": state.groundings,
        "groundings_per_second": (state.groundings - done) / max(seconds, 1e-9),
        "steps": state.steps - before,
        "parameters": sum(p.numel() for p in state.predictor.parameters()),
    }
    facts = [rows for table in predictions.tables for rows in soft_facts(table)]
    return Learning(name, theory + Theory(tuple(facts)), status, (), metrics, predictions)


def _refuse(theory: Theory, worlds: Sequence[World], aim: Aim) -> None:
    if len(worlds) > 1:
        raise UnsupportedError(
            "distillation trains a predictor of one world's constants",
            hint="leave --worlds out, or learn rule weights from several worlds by another method",
        )
    if not aim.latent:
        raise UnsupportedError(
            "distillation teaches a predictor of latent atoms, and no predicate is latent",
            hint="name what is not known: --latent PRED",
        )
    stray = [name for name in aim.targets if name not in aim.latent]
    if stray:
        raise UnsupportedError(f"--target {stray[0]}: it is not latent", hint=f"add --latent {stray[0]}")
    learned = learned_statements(theory)
    if learned:
        raise UnsupportedError(
            "distillation takes weights as they are, and this one is not known: "
            f"{statement_text(learned[0])}",
            span=learned[0].span,
            hint="learn it first by --method likelihood or layers",
        )


def _refuse_decided(aim: Aim, predictor: Predictor) -> None:
    decided = [name for name in aim.targets if name not in predictor.types]
    if decided:
        raise UnsupportedError(
            f"--target {decided[0]}: the facts decide every atom of it",
            hint="name a predicate with atoms of which nothing is known",
        )
