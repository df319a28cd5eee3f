"""Target atoms that hard statements tie: pseudo-likelihood changes them together.

It predicts each atom from all others; if these include a tied atom, nothing is left to predict, as every
change of one alone violates a hard statement. So a class of tied atoms is treated as one atom with several
places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.mean_field.grounded import Leaders
from herbrand.engines.mean_field.hard import leaders_of
from herbrand.engines.reading import rows_that_hold
from herbrand.errors import UnsupportedError
from herbrand.graphs import strong_component_of
from herbrand.learning.contradiction import refuse_contradiction
from herbrand.learning.example import Example
from herbrand.program.evidence import LATENT
from herbrand.program.ground import SATISFIED, Ground, GroundTemplate, LatentAtoms, ground_template
from herbrand.program.program import Program, Template


@dataclass(frozen=True, eq=False)
class Ties:
    """Classes of tied atoms. ``leaders``: the atom that each one follows; ``None`` if no atom follows
    another.

    ``following``: number of followers of each predicate; ``tied``: predicates of atoms that follow or lead.
    """

    leaders: Leaders | None
    following: Mapping[str, int]
    tied: Collection[str]

    def followers(self, predicate: str) -> int:
        return self.following.get(predicate, 0)

    def touch(self, template: Template) -> bool:
        """Whether the template contains predicates with tied atoms."""
        return not template.predicates.isdisjoint(self.tied)


NONE = Ties(None, {}, ())


def ties(example: Example, budget: Budget) -> Ties:
    """Classes of atoms that hard statements of at most two open literals tie.

    Raise an error if the facts violate these statements, or do not give the value of a tied atom.
    """
    templates = binding(example.program, example.targets)
    if not templates:
        return NONE
    atoms = LatentAtoms(example.hidden, budget)
    ground = [ground_template(template, example.hidden, atoms, budget) for template in templates]
    leaders = leaders_of(Ground(example.program, example.hidden, atoms, tuple(ground)))
    follows = leaders.leader != np.arange(atoms.count)
    tied = follows.copy()
    tied[leaders.leader[follows]] = True
    if not tied.any():
        return NONE
    labels = np.full(atoms.count, LATENT)
    for name in example.targets:
        if name in atoms.codes:
            labels[atoms.places(name)] = example.labels(name, atoms.codes[name])
    for one in ground:
        _refuse_broken(example, one, atoms, labels)
    _refuse_unlabelled(example, atoms, np.flatnonzero(tied & (labels == LATENT)))
    return Ties(
        leaders,
        {name: int(follows[atoms.places(name)].sum()) for name in atoms.codes},
        {name for name in atoms.codes if tied[atoms.places(name)].any()},
    )


def _refuse_broken(example: Example, ground: GroundTemplate, atoms: LatentAtoms, labels: np.ndarray) -> None:
    """Raise ContradictionError if the facts make a forbidden conjunction true."""
    for row in ground.conjunction.atoms[rows_that_hold(ground.conjunction, labels)]:
        open_atoms = row[row != SATISFIED]
        if len(open_atoms):
            refuse_contradiction(example, ground.template, *atoms.atom(int(open_atoms[0])))


def _refuse_unlabelled(example: Example, atoms: LatentAtoms, unlabelled: np.ndarray) -> None:
    if len(unlabelled):
        name, code = atoms.atom(int(unlabelled[0]))
        atom = example.hidden.atom_text(name, code)[0]
        raise UnsupportedError(
            f"hard statements make {atom} equal to other atoms, and it is not known: pseudo-likelihood needs "
            "to know all of them",
            hint="--method likelihood or layers takes such atoms as one, known or not",
        )


def refuse_possibly_tied(example: Example) -> None:
    """Raise UnsupportedError if hard statements may tie atoms of targets, judged by their form, whatever the
    facts."""
    binds = binding(example.program, example.targets)
    names = {name for template in binds for name in template.predicates if name in example.targets}
    if names & learned_predicates(example.program):
        raise UnsupportedError(
            f"hard statements may tie atoms of {', '.join(sorted(names))}, which then have to change "
            "together: a database counts changes of single atoms only",
            hint="in memory such atoms change together: leave out --on, or allow more by --memory",
        )


def learned_predicates(program: Program) -> set[str]:
    """Predicates in templates whose weights are learned."""
    return {
        name
        for template in program.templates
        if template.weight is not None and program.weights[template.weight].learned
        for name in template.predicates
    }


def binding(program: Program, targets: tuple[str, ...]) -> list[Template]:
    """Hard statements through which target atoms may imply each other in a cycle, the only way to tie atoms.

    Two literals of targets that exclude each other are implications in both directions; if these form a cycle
    between predicates, they may do so between atoms.
    """
    templates, edges = [], []
    places = {name: place for place, name in enumerate(targets)}
    for template in program.templates:
        if template.weight is not None or template.conjunction.blocks:
            continue
        literals = [x for x in template.conjunction.literals if x.predicate in places]
        valued = any(program.signature.predicates[x.predicate].value_type is not None for x in literals)
        if len(literals) > 2 or valued:
            continue
        templates.append(template)
        if len(literals) == 2:
            ends = [(2 * places[x.predicate], int(1 in x.allowed)) for x in literals]
            for (one, value), (other, opposite) in (ends, ends[::-1]):
                edges.append((one + value, other + 1 - opposite))
    if not edges:
        return []
    links = np.array(edges)
    ends = strong_component_of(2 * len(targets), links)[links]
    return templates if (ends[:, 0] == ends[:, 1]).any() else []
