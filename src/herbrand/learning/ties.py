"""Refusal of pseudo-likelihood where hard statements make target atoms one.

It predicts each atom from all others; where these include the atom's twin nothing is left to predict, and
every weight on such atoms would come out as 0, or as what the untied atoms alone say.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from herbrand.engines.mean_field.hard import leaders_of
from herbrand.errors import UnsupportedError
from herbrand.learning.example import Example
from herbrand.program.ground import LatentAtoms, ground_template
from herbrand.program.program import Program
from herbrand.program.template import Template, literals_of


def refuse_tied(example: Example, memory: int) -> None:
    """Raise where two atoms of a target are one, and a weight that is learned bears on them."""
    templates = binding(example.program, example.targets)
    if not templates:
        return
    atoms = LatentAtoms(example.hidden, memory)
    ground = [ground_template(template, example.hidden, atoms, memory) for template in templates]
    leaders = leaders_of(example.program, atoms, ground)
    tied = np.flatnonzero(leaders.leader != np.arange(len(leaders.leader)))
    weighed = learned_predicates(example.program)
    for pair in zip(tied.tolist(), leaders.leader[tied].tolist(), strict=True):
        names = [_place(atoms, number) for number in pair]
        if weighed & {name for name, _ in names}:
            texts = [example.hidden.atom_text(name, code)[0] for name, code in names]
            raise refusal(f"{texts[0]} and {texts[1]}")


def refuse_possibly_tied(example: Example) -> None:
    """Raise where hard statements may tie atoms of targets, by their form alone, whatever the facts are."""
    names = {
        literal.predicate
        for template in binding(example.program, example.targets)
        for literal in literals_of(template.conjunction)
        if literal.predicate in example.targets
    }
    if names & learned_predicates(example.program):
        raise refusal(f"atoms of {', '.join(sorted(names))}")


def refusal(what: str) -> UnsupportedError:
    """``what`` cannot be predicted one by one."""
    return UnsupportedError(
        f"hard statements make {what} one: pseudo-likelihood predicts each atom from all others, so the "
        "weights on them cannot be learned by it",
        hint="--method layers takes such atoms as one",
    )


def learned_predicates(program: Program) -> set[str]:
    """The predicates on which weights to be learned bear."""
    return {
        literal.predicate
        for template in program.templates
        if template.weight is not None and program.weights[template.weight].learned
        for literal in literals_of(template.conjunction)
    }


def binding(program: Program, targets: tuple[str, ...]) -> list[Template]:
    """Hard statements that may make target atoms imply each other in a circle: all that may tie atoms.

    Two literals of targets that exclude each other are implications both ways; what lies on a circle of them,
    predicate by predicate, may do so atom by atom.
    """
    found, edges = [], []
    places = {name: place for place, name in enumerate(targets)}
    for template in program.templates:
        if template.weight is not None or template.conjunction.blocks:
            continue
        literals = [x for x in template.conjunction.literals if x.predicate in places]
        valued = any(program.signature.predicates[x.predicate].value_type is not None for x in literals)
        if len(literals) > 2 or valued:
            continue
        found.append(template)
        if len(literals) == 2:
            ends = [(2 * places[x.predicate], int(1 in x.allowed)) for x in literals]
            for (one, value), (other, opposite) in (ends, ends[::-1]):
                edges.append((one + value, other + 1 - opposite))
    if not edges:
        return []
    rows, columns = np.array(edges).T
    size = 2 * len(targets)
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    component = connected_components(graph, directed=True, connection="strong")[1]
    return found if (component[rows] == component[columns]).any() else []


def _place(atoms: LatentAtoms, number: int) -> tuple[str, np.ndarray]:
    """The predicate of an atom and its code."""
    for name, codes in atoms.codes.items():
        if 0 <= number - atoms.start[name] < len(codes):
            return name, codes[number - atoms.start[name]][None]
    raise AssertionError("a number that no atom has")
