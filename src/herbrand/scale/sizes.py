"""What a model on a database comes to: counts from its tables, and which engines can run there."""

from __future__ import annotations

from herbrand.contraction.memory import readable
from herbrand.engines.engine import Support
from herbrand.engines.registry import INFERENCE
from herbrand.errors import HerbrandError
from herbrand.program.program import Program
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.inference import ENGINES, StoredModel
from herbrand.scale.mean_field import estimate
from herbrand.scale.place import opened


def measured(
    model: StoredModel, memory: int | None = None
) -> tuple[Program, StoredEvidence, dict[str, Support]]:
    """The program, how many of its atoms are known, and the engines; the database is closed again.

    Only counts may be asked of the evidence from here on.
    """
    with opened(model.place, memory) as database:
        evidence = model.evidence_of(database)
        for predicate in evidence.program.signature.predicates:
            evidence.known(predicate)
        return (
            evidence.program,
            evidence,
            {name: _support(name, evidence, str(model.place)) for name in INFERENCE},
        )


def _support(name: str, evidence: StoredEvidence, where: str) -> Support:
    if name not in ENGINES:
        return Support(False, "does not run on a database; leave out --on")
    try:
        rows, disk = estimate(evidence)
    except HerbrandError as error:
        return Support(False, error.mistakes[0].message)
    return Support(True, "", rows, 0.0, detail=f"on {where}, {readable(disk)} of its disk")
