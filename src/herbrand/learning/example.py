"""A world to learn from: its known facts, and which of these are to be predicted.

Learning assumes every predicate to be closed, unless it is latent. The *targets* are the predicates whose
atoms the learned statements should predict; their facts are the labels. So a world is two programs over the
same constants: ``known``, in which all facts hold, and ``program``, whose templates are lowered with the
targets open and without facts.

>>> import herbrand as hb
>>> theory = hb.parse('?: smokes(x) => cancer(x)')
>>> model = hb.Model(theory, {"smokes": ["anna", "bob"], "cancer": ["anna"]})
>>> found = example(theory, World(model.signature, model.program.facts), Aim())
>>> found.targets, found.labels("cancer", np.arange(2)).tolist()
(('smokes', 'cancer'), [1, 0])
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import Mistake, UnsupportedError, nearest
from herbrand.facts.facts import Facts, FactTable
from herbrand.language.show import show_atom, statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Learned,
    WeightedFormula,
    predicates_of,
)
from herbrand.language.theory import Theory
from herbrand.program.dependencies import resting_on
from herbrand.program.derive import derived
from herbrand.program.evidence import LATENT, Evidence, arguments_of, codes_of
from herbrand.program.lower import lower
from herbrand.program.program import Program
from herbrand.row_keys import Keys, first_missing

LATENT_ELSEWHERE = "learn through latent predicates by --method likelihood or layers, or list their facts"


@dataclass(frozen=True, eq=False)
class World:
    """Facts as they are stated, and the signature with what they add to it."""

    signature: Signature
    facts: Facts


@dataclass(frozen=True)
class Aim:
    """Targets and latent predicates. Without targets: see :func:`default_targets`.

    ``held_out``: worlds for evaluation only.
    """

    targets: tuple[str, ...] = ()
    latent: tuple[str, ...] = ()
    held_out: tuple[World, ...] = ()


@dataclass(frozen=True, eq=False)
class Example:
    """A world with labels. ``targets`` that are ``latent`` too have labels only for the atoms that are
    listed."""

    known: Program
    program: Program
    targets: tuple[str, ...]
    latent: tuple[str, ...]

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence with the labels."""
        return Evidence(self.known)

    @cached_property
    def hidden(self) -> Evidence:
        """Evidence without the labels."""
        return Evidence(self.program)

    def labels(self, predicate: str, codes: np.ndarray) -> np.ndarray:
        """Value of each atom of a target, ``LATENT`` if it has no label."""
        return self.evidence.known(predicate).lookup(codes)

    def label_count(self, predicate: str) -> int:
        """Number of a target's atoms whose label is true or false."""
        known = self.evidence.known(predicate)
        return known.atom_count - known.latent_count()

    def opinion_count(self, predicate: str) -> int:
        """Number of a target's atoms whose label is an opinion."""
        codes, _, _ = self.evidence.opinions(predicate)
        return len(np.unique(codes[self.labels(predicate, codes) == LATENT]))

    def labelled_codes(self, predicate: str) -> np.ndarray:
        """Codes of a target's atoms that have labels."""
        known = self.evidence.known(predicate)
        if known.default == LATENT:
            return known.codes
        return np.arange(known.atom_count)


def example(theory: Theory, world: World, aim: Aim, opinions: bool = False) -> Example:
    """The world as an example; raise an error if its facts cannot be learned from. ``opinions``: accept soft
    evidence; the atoms that it is about have no label then."""
    (only,) = _examples(theory, [world], aim, UNLIMITED, opinions)
    return only


def examples_of(
    theory: Theory, worlds: Iterable[World], aim: Aim, budget: Budget = UNLIMITED, opinions: bool = False
) -> list[Example]:
    """Worlds as examples, see :func:`example`, for a theory with weights to be learned; a target needs labels
    in at least one of them. A world without labels does not affect the weights."""
    refuse_nothing_learned(theory)
    return _examples(theory, worlds, aim, budget, opinions)


def _examples(
    theory: Theory, worlds: Iterable[World], aim: Aim, budget: Budget, opinions: bool
) -> list[Example]:
    known = (World(world.signature, masked_facts(theory, world, aim, budget, opinions)) for world in worlds)
    examples = [lowered(theory, world, aim) for world in known]
    refuse_unlabelled(examples)
    return examples


def lowered(theory: Theory, world: World, aim: Aim) -> Example:
    """The two programs of a world whose facts are prepared for learning."""
    signature, facts = world.signature, world.facts
    targets = aim.targets or default_targets(theory, signature, aim.latent)
    _refuse_derived(theory, targets)
    hidden = {name: FactTable.empty(facts.tables[name].columns, "open") for name in targets}
    known = Program(signature, facts, theory.statements, (), ())
    program = lower(theory, signature, Facts(facts.domains, {**facts.tables, **hidden}))
    return Example(known, program, targets, aim.latent)


def masked_facts(theory: Theory, world: World, aim: Aim, budget: Budget, opinions: bool = False) -> Facts:
    """Facts as learning assumes them: every predicate closed unless latent, with what rules derive."""
    signature, facts = world.signature, world.facts
    refuse_unknown(aim, signature)
    masked = {name: _masked(signature, facts, name, aim, budget, opinions) for name in facts.tables}
    facts = Facts(facts.domains, masked)
    _refuse_valueless(signature, facts)
    return derived(theory.rules, signature, facts, budget) if theory.rules else facts


def default_targets(theory: Theory, signature: Signature, latent: Iterable[str] = ()) -> tuple[str, ...]:
    """Predicates of learned statements that are neither declared observed, nor derived, nor latent, nor
    generated for a computation."""
    refuse_nothing_learned(theory)
    learned = learned_statements(theory)
    derived = {rule.head.predicate for rule in theory.rules}
    names = dict.fromkeys(name for statement in learned for name in predicates_of(statement))
    free = {name for name, known in signature.named.items() if known.role is None} - derived - set(latent)
    targets = tuple(name for name in names if name in free)
    if not targets:
        raise UnsupportedError(
            "nothing is there to predict: every predicate of the learned statements is observed, derived or "
            "latent",
            span=learned[0].span,
            hint="name what is to be predicted: --target PRED",
        )
    return targets


def _refuse_derived(theory: Theory, targets: Collection[str]) -> None:
    """Raise UnsupportedError if rules derive a target, or derive from a target a predicate of some formula,
    whose facts would then reveal the labels."""
    for rule in theory.rules:
        if rule.head.predicate in targets:
            raise UnsupportedError(
                f"{rule.head.predicate} is to be predicted, and this rule derives it: {statement_text(rule)}",
                span=rule.span,
                hint="what rules derive is certain: name other targets, --target PRED, or --ignore rules",
            )
    resting = resting_on(theory.rules, targets)
    for formula in theory.formulas:
        for name in predicates_of(formula):
            if name in resting:
                raise UnsupportedError(
                    f"this formula uses {name}, which depends on what is to be predicted: {resting[name]}",
                    span=formula.span,
                    hint="write the body of the rule into the formula, or name other targets: --target PRED",
                )


def refuse_nothing_learned(theory: Theory) -> None:
    """Raise UnsupportedError if no statement has a weight to be learned."""
    if learned_statements(theory):
        return
    hint = "write ? in place of a weight, as in: ?: smokes(x) => cancer(x), or learn given ones by --relearn"
    if any(s.span is not None and s.span.source.name.endswith(".mln") for s in theory.formulas):
        hint = "leave the weight of a formula out, or learn given ones by --relearn"
    of_facts = [predicate.name for predicate in theory.predicates if predicate.role == "learned"]
    if of_facts:
        hint = f"the weights of the facts of {of_facts[0]} are learned by --method proof"
    raise UnsupportedError("no statement has a weight to be learned", hint=hint)


def learned_statements(theory: Theory) -> list[WeightedFormula]:
    """Statements whose weights are to be learned."""
    return [s for s in theory.formulas if isinstance(s.weight, Learned)]


def refuse_latent(example: Example, hint: str = LATENT_ELSEWHERE) -> None:
    """Raise UnsupportedError if a statement about a target contains a latent predicate that is no target, as
    pseudo-likelihood cannot learn through it."""
    targets = set(example.targets)
    hidden = set(example.latent) - targets
    for template in example.program.templates:
        names = template.predicates
        unseen = sorted(names & hidden)
        if unseen and names & targets:
            statement = example.program.statements[template.statement]
            raise UnsupportedError(
                "pseudo-likelihood needs to know every atom, and "
                f"{unseen[0]} is latent: {statement_text(statement)}",
                span=statement.span,
                hint=hint,
            )


def _masked(
    signature: Signature, facts: Facts, name: str, aim: Aim, budget: Budget, opinions: bool
) -> FactTable:
    """A predicate's facts as learning assumes them: closed unless latent."""
    table = facts.tables[name]
    if name in aim.latent:
        return replace(table, world="open")
    if len(table.soft) and opinions:
        return _with_opinions(signature, facts, name, budget)
    if len(table.soft):
        row = next(facts.rows(signature.predicates[name], table.soft[:1]))
        raise UnsupportedError(
            f"{show_atom(name, row)} ~ {table.probabilities[0]:g} is soft evidence; labels are true or false",
            hint=f"say which it is, or that it is not known: --latent {name}",
        )
    return replace(table, world="closed")


def _with_opinions(signature: Signature, facts: Facts, name: str, budget: Budget) -> FactTable:
    """A table in which all atoms but those with soft evidence are known: unlisted ones are false."""
    table, evidence = facts.tables[name], Evidence(Program(signature, facts, (), (), ()))
    sizes = evidence.sizes(name)
    rows = np.concatenate([table.true, table.false, table.soft])[:, : len(sizes)]
    listed, count = np.unique(codes_of(rows, sizes)), math.prod(sizes)
    if len(listed) == count:
        return replace(table, world="open")
    if evidence.is_valued(name):
        raise _valueless(evidence, name, listed)
    hint = f"allow more by --memory, or say that what is not listed is not known: --latent {name}"
    budget.claim(8.0 * count * (1 + len(sizes)), f"a row for each of {count:,} atoms of {name}", hint)
    others = np.setdiff1d(np.arange(count), listed, assume_unique=True)
    rows = np.stack(arguments_of(others, sizes), axis=1).astype(table.false.dtype)
    false = np.concatenate([table.false, rows])
    return replace(table, false=false[np.lexsort(false.T[::-1])], world="open")


def _valueless(evidence: Evidence, name: str, listed: Keys) -> UnsupportedError:
    missing = first_missing(listed, evidence.sizes(name))
    return UnsupportedError(
        f"{evidence.atom_text(name, missing)[0]} has no value",
        hint=f"list one, or say that what is not listed is not known: --latent {name}",
    )


def _refuse_valueless(signature: Signature, facts: Facts) -> None:
    """Raise UnsupportedError if an atom of a closed many-valued predicate has no value: it cannot be false
    instead."""
    evidence = Evidence(Program(signature, facts, (), (), ()))
    for name, predicate in signature.predicates.items():
        table = facts.tables[name]
        if predicate.value_type is None or table.world == "open":
            continue
        sizes = evidence.sizes(name)
        listed = np.unique(codes_of(table.true[:, :-1], sizes))
        if len(listed) < math.prod(sizes):
            raise _valueless(evidence, name, listed)


def refuse_unknown(aim: Aim, signature: Signature) -> None:
    """Raise UnsupportedError if a target or latent predicate does not exist."""
    mistakes = [
        Mistake(f"{option}: there is no predicate '{name}'", hint=nearest(name, signature.predicates))
        for option, names in (("--target", aim.targets), ("--latent", aim.latent))
        for name in names
        if name not in signature.predicates
    ]
    if mistakes:
        raise UnsupportedError(mistakes)


def refuse_unlabelled(examples: Sequence[Example]) -> None:
    """Raise UnsupportedError if a target has no atom to predict."""
    for name in examples[0].targets:
        for number, one in enumerate(examples, 1):
            _refuse_no_constants(one, name, world_named(number, len(examples)))
        if not any(one.label_count(name) or len(one.known.facts.tables[name].soft) for one in examples):
            raise UnsupportedError(
                f"{name} is to be predicted, but no atom of it is known",
                hint=f"list facts of {name}; without --latent {name}, those that are not listed are false",
            )


def world_named(number: int, count: int) -> str:
    """The end of a message about one of ``count`` worlds; empty where there is one world alone.

    >>> world_named(2, 3), world_named(1, 1)
    (' in world 2', '')
    """
    return f" in world {number}" if count > 1 else ""


def _refuse_no_constants(example: Example, name: str, world: str) -> None:
    if example.evidence.known(name).atom_count:
        return
    empty = next(
        t for t in example.known.signature.predicates[name].types if not len(example.known.domain(t))
    )
    raise UnsupportedError(
        f"there is nothing to learn {name} from{world}: type {empty} has no constants",
        hint="point at facts, or declare its constants",
    )
