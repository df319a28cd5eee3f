"""How many messages belief propagation would send over facts in a database, and what disk they take."""

from __future__ import annotations

from herbrand.errors import UnsupportedError
from herbrand.language.show import show_statement
from herbrand.program.ground import without_idle
from herbrand.program.program import Program, Template
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.groundings import expected_groundings

BYTES_A_VALUE = 40
"""On disk at the most, of one value of one atom or of one message, in the tables of two steps and what they
are made of; a million factors between 100,000 atoms took half of it."""


def expected_size(atoms: StoredAtoms) -> tuple[float, float]:
    """About how many messages there are, and the bytes of disk for them; raises for what is not served."""
    program = atoms.evidence.program
    messages = values = 0.0
    for name in atoms.starts:
        values += atoms.evidence.known(name).latent_count() * atoms.value_count(name)
    for template in program.templates:
        refuse_quantifiers(template, program)
        conjunction, multiplicity = without_idle(template, program)
        latent = [x for x in conjunction.literals if x.predicate in atoms.starts]
        if not multiplicity or len(latent) < 2:
            continue
        rows = expected_groundings(conjunction, atoms)
        messages += rows * len(latent)
        values += rows * sum(atoms.value_count(x.predicate) for x in latent)
    return messages, values * BYTES_A_VALUE


def refuse_quantifiers(template: Template, program: Program) -> None:
    if template.conjunction.blocks:
        statement = program.statements[template.statement]
        raise UnsupportedError(
            "on a database belief propagation has no quantifier inside a formula: "
            f"{next(iter(show_statement(statement)))}",
            span=statement.span,
            hint="leave out --on, or write the formula without exists and forall",
        )
