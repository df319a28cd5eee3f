"""The one atom, or value of an atom, that an explanation is of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.language.names import shown_constant
from herbrand.program.bindings import Bindings
from herbrand.program.evidence import LATENT, Evidence
from herbrand.program.program import Program
from herbrand.program.question import Question


@dataclass(frozen=True, eq=False)
class ExplainedAtom:
    """``codes`` holds the atom's one code; ``value`` is 1 for its truth, or one of its values."""

    evidence: Evidence
    predicate: str
    codes: np.ndarray
    value: int

    @classmethod
    def of(cls, question: Question, evidence: Evidence) -> ExplainedAtom:
        """The atom of a question made by :func:`~herbrand.program.question.read_explained`."""
        (pattern,) = question.atoms
        codes = Bindings.nothing().codes(pattern.arguments, evidence.sizes(pattern.predicate))
        return cls(evidence, pattern.predicate, codes, question.value)

    @property
    def atom(self) -> str:
        """The atom as printed."""
        return self.evidence.atom_text(self.predicate, self.codes)[0]

    @property
    def text(self) -> str:
        """As printed: the atom, or the atom and its value."""
        text = self.atom
        value_type = self.evidence.program.signature.predicates[self.predicate].value_type
        if value_type is None:
            return text
        return f"{text} = {shown_constant(self.evidence.program.domain(value_type).value(self.value))}"

    @property
    def known(self) -> bool | None:
        """Whether facts say that it holds, or that it does not; ``None`` where it is latent."""
        settled = int(self.evidence.known(self.predicate).lookup(self.codes)[0])
        return None if settled == LATENT else settled == self.value


def forced(log_odds: float) -> Reason:
    """Fallback reason when no single statement forces the value."""
    return Reason("(facts and hard statements settle it)", {}, log_odds)


def known_fact(program: Program, question: Question) -> Explanation | None:
    """Why the one atom that is asked for is what it is, where facts say so."""
    asked = ExplainedAtom.of(question, Evidence(program))
    return None if asked.known is None else explained_fact(asked)


def explained_fact(asked: ExplainedAtom) -> Explanation:
    """Why a known atom is what it is: the facts say so."""
    log_odds = math.inf if asked.known else -math.inf
    listed = "listed among the facts" if asked.known else "not among the facts, or listed as false"
    reason = Reason(f"it is {listed}", {}, log_odds)
    return Explanation(asked.text, "log-odds", log_odds, "facts", Guarantee.EXACT, (reason,))
