"""Answers of ``query`` under choices: the marginals of a goal's atoms as bindings of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import Marginals
from herbrand.engines.proof.request import PROBABILITY, Request
from herbrand.errors import UnsupportedError
from herbrand.language.parse import parse_formula
from herbrand.language.signature import Signature
from herbrand.language.syntax import Atom, Value, Variable
from herbrand.program.question import with_own_names

PASSED_ON = ("memory", "time_limit", "seed")


def request_of(options: Mapping[str, Any]) -> tuple[Request, dict[str, Any]]:
    """How the answers are wanted, and which options ``infer`` is to have."""
    known = {name: value for name, value in options.items() if value is not None}
    algebra = known.setdefault("algebra", PROBABILITY)
    if algebra != PROBABILITY:
        raise UnsupportedError(
            f"a theory with choices (::) has no algebra {algebra}", hint="its answers are probabilities"
        )
    return Request.of(known), {name: known[name] for name in PASSED_ON if name in known}


def goal_atom(goal: str, signature: Signature) -> Atom:
    """The goal as one atom over different variables and constants."""
    atom = with_own_names(parse_formula(goal, "<goal>", signature.valued_names), signature)
    if not isinstance(atom, Atom) or signature.predicate(atom.predicate, atom.span).value_type is not None:
        raise UnsupportedError(
            f"under choices (::) a goal is one atom that is true or false, and this is not: {goal}",
            hint="infer --query gives the probability of any formula and of values",
        )
    if any(isinstance(term, Variable) and term.anonymous for term in atom.arguments):
        raise UnsupportedError(
            f"under choices (::) the variables of a goal have names, and one of this has not: {goal}",
            hint="infer --query 'exists x: ...' gives the probability that something holds",
        )
    if len(atom.arguments) != len(signature.predicates[atom.predicate].types):
        raise UnsupportedError(f"{goal} has not all arguments of {atom.predicate}")
    return atom


def answers(atom: Atom, found: Marginals, request: Request) -> Bindings:
    """Every answer that is possible, likeliest first."""
    names = tuple(dict.fromkeys(term.name for term in atom.arguments if isinstance(term, Variable)))
    rows: list[tuple[float, tuple[Value, ...]]] = []
    for row in found.rows():
        if row.probability > 0:
            values = {
                t.name: v
                for t, v in zip(atom.arguments, row.arguments, strict=True)
                if isinstance(t, Variable)
            }
            rows.append((row.probability, tuple(values[name] for name in names)))
    rows.sort(key=lambda row: -row[0])
    columns = tuple(tuple(values[place] for _, values in rows) for place in range(len(names)))
    weights = np.array([probability for probability, _ in rows], np.float64)
    exact = found.guarantee == Guarantee.EXACT  # else a weight is the middle of bounds
    guarantee = found.guarantee if exact else Guarantee.APPROXIMATION
    answer = Bindings(found.engine, guarantee, found.status, names, columns, weights, False)
    return answer.normalized(request.normalize).top(request.top)
