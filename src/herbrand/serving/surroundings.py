"""The ground network around an atom, for drawing: its groundings, their atoms, and the groundings of these.

>>> import herbrand as hb
>>> theory = hb.parse("1.5: smokes(x) and friends(x, y) => smokes(y)")
>>> found = surroundings_of(hb.Model(theory, {"friends": [("anna", "bob")]}), 'smokes("bob")')
>>> [atom["atom"] for atom in found["atoms"]]
['smokes("bob")', 'smokes("anna")']
>>> [(each["where"], each["atoms"]) for each in found["groundings"]]
[('x = "anna", y = "bob"', ['smokes("bob")', 'smokes("anna")'])]

For an atom that rules or choices derive, these are the groundings of its derivations, down to those without
atoms.

>>> found = surroundings_of(hb.Model(hb.parse("0.3 :: rain\\nwet :- rain")), "wet")
>>> [(each["statement"], each["atoms"], each["heads"]) for each in found["groundings"]]
[('wet :- rain', ['rain'], ['wet']), ('0.3 :: rain', [], ['rain'])]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from herbrand.budget import UNLIMITED
from herbrand.engines.reading import ExplainedAtom
from herbrand.errors import UnsupportedError
from herbrand.language.names import shown_where
from herbrand.language.show import statement_text
from herbrand.model import Model
from herbrand.program.dependencies import derived_by
from herbrand.program.evidence import Evidence
from herbrand.program.ground import SATISFIED, Ground, GroundConjunction, ground
from herbrand.program.program import Program
from herbrand.program.question import read_explained
from herbrand.serving.derivations import derivations_of

MOST_ATOMS = 60
"""Most atoms of a drawing."""
MOST_ROWS = 1e6
"""Most groundings of one statement."""
STEPS = 2
"""Number of steps around an atom; one leads from an atom by a grounding to another atom."""


def queried_atom(model: Model, atom: str, given: Sequence[str]) -> tuple[Program, ExplainedAtom]:
    """Lower a model under the evidence ``given``, and read the atom of a drawing."""
    program = model.measured_program(UNLIMITED, given=given)
    question = read_explained(atom, program.signature, program.facts)
    return program, ExplainedAtom.of(question, Evidence(program))


def surroundings_of(
    model: Model, atom: str, given: Sequence[str] = (), steps: int = STEPS, most: int = MOST_ATOMS
) -> dict[str, Any]:
    """Atoms at most ``steps`` groundings away, the nearest first, and the groundings among them; for a
    derived atom, those of its derivations. There are at most ``most`` atoms.

    Evidence is absorbed: a grounding lists its latent atoms only.
    """
    program, queried = queried_atom(model, atom, given)
    if queried.predicate in derived_by(program.uncertain):
        return derivations_of(program, queried, most)
    if queried.known is not None:
        raise UnsupportedError(
            f"{queried.atom} is evidence, and so no part of the ground network",
            hint="choose an atom that has a probability",
        )
    network = ground(program, UNLIMITED, MOST_ROWS)
    links = _Links.of(network)
    start = queried.axis(network.atoms)
    near, beyond = links.near(start, steps, most)
    texts = {number: _text(network, number) for number in near}
    return {
        "atoms": [{"atom": text, "steps": near[number]} for number, text in texts.items()],
        "groundings": list(_groundings(network, links, texts)),
        "left_out": beyond,
    }


@dataclass(frozen=True, eq=False)
class _Links:
    """Pairs of rows and atoms. Pair i: row ``rows[i]``, counted through all templates from ``first`` on,
    binds atom ``atoms[i]``."""

    rows: np.ndarray
    atoms: np.ndarray
    first: tuple[int, ...]

    @classmethod
    def of(cls, network: Ground) -> _Links:
        counts = [len(template.conjunction) for template in network.templates]
        first = np.cumsum([0, *counts])
        pairs = [
            (start + rows, atoms)
            for start, template in zip(first, network.templates, strict=False)
            for rows, atoms in _pairs(template.conjunction)
        ]
        nothing = np.empty(0, np.int64)
        rows, atoms = zip(*pairs, strict=True) if pairs else ([nothing], [nothing])
        return cls(np.concatenate(rows), np.concatenate(atoms), tuple(map(int, first)))

    def near(self, start: int, steps: int, most: int) -> tuple[dict[int, int], int]:
        """Atoms within ``steps``, each with its distance, and the number of those left out beyond
        ``most``."""
        distances = {start: 0}
        for step in range(1, steps + 1):
            touched = np.unique(self.rows[np.isin(self.atoms, list(distances))])
            reached = np.unique(self.atoms[np.isin(self.rows, touched)]).tolist()
            distances |= {number: step for number in reached if number not in distances}
        kept = dict(list(distances.items())[:most])
        return kept, len(distances) - len(kept)


def _pairs(conjunction: GroundConjunction) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows with their latent atoms, those of their blocks included."""
    rows, columns = np.nonzero(conjunction.atoms != SATISFIED)
    yield rows, conjunction.atoms[rows, columns]
    for block in conjunction.blocks:
        for piece in block.pieces:
            for inner, atoms in _pairs(piece):
                yield piece.origin[inner], atoms


def _groundings(network: Ground, links: _Links, texts: dict[int, str]) -> Iterator[dict[str, Any]]:
    """Yield the groundings whose atoms are all drawn; the rows of one grounding are joined."""
    drawn = np.isin(links.atoms, list(texts))
    whole = np.setdiff1d(links.rows[drawn], links.rows[~drawn])
    atoms_of: dict[tuple[int, tuple[Any, ...]], dict[int, None]] = {}
    for template, first, end in zip(network.templates, links.first, links.first[1:], strict=False):
        rows = whole[(whole >= first) & (whole < end)]
        where = template.groundings(network.program) if len(rows) else []
        for row in rows.tolist():
            key = (template.template.statement, where[row - first])
            atoms_of.setdefault(key, {}).update(dict.fromkeys(links.atoms[links.rows == row].tolist()))
    for (statement, where), atoms in atoms_of.items():
        yield {
            "statement": statement_text(network.program.statements[statement]),
            "where": shown_where(where),
            "atoms": [texts[number] for number in texts if number in atoms],
            "heads": [],
        }


def _text(network: Ground, number: int) -> str:
    return network.evidence.atom_text(*network.atoms.atom(number))[0]
