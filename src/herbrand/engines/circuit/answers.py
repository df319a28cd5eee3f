"""Answers of ``query`` for theories with choices: bindings of a goal's variables, each with its marginal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, cast

import numpy as np

from herbrand.answers.bindings import Bindings
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import Marginals
from herbrand.engines.proof.goals import literals_of
from herbrand.engines.proof.request import PROBABILITY, Request
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language.comparisons import bound_variables, plain_variables, tests_of, variables_of
from herbrand.language.names import shown_name
from herbrand.language.parse import parse_formula
from herbrand.language.signature import Signature
from herbrand.language.syntax import Atom, BodyLiteral, Formula, Not, Rule, Value, Variable
from herbrand.program.question import computing_goal, with_own_names

PASSED_ON = ("memory", "time_limit", "seed")


def request_of(options: Mapping[str, Any]) -> tuple[Request, dict[str, Any]]:
    """The request, with the default algebra filled in, and the options to pass on to ``infer``.

    Raises ``UnsupportedError`` for any algebra but ``probability``.
    """
    known = {name: value for name, value in options.items() if value is not None}
    algebra = known.setdefault("algebra", PROBABILITY)
    if algebra != PROBABILITY:
        raise UnsupportedError(
            f"a theory with choices (::) has no algebra {algebra}", hint="its answers are probabilities"
        )
    return Request.of(known), {name: known[name] for name in PASSED_ON if name in known}


def goal_atom(goal: str, signature: Signature) -> Atom:
    """The goal as one atom over named variables and constants, the only kind of goal a database answers."""
    atom, rules = read_goal(goal, signature)
    if rules:
        raise UnsupportedError(
            f"on a database a goal under choices (::) is one atom over named variables: {goal}",
            hint="leave out --on, or define a predicate by a rule and ask for it",
        )
    return atom


def read_goal(goal: str, signature: Signature) -> tuple[Atom, tuple[Rule, ...]]:
    """The atom whose instances are the answers, and the rule that derives it unless the goal is that atom."""
    computing = computing_goal(goal, signature.valued_names)
    if computing is not None:
        computed = tuple(with_own_names(one, signature) for one in computing.literals)
        joined, tests = tests_of(computed)
        free = variables_of([one for one in joined if not isinstance(one, Not)])
        named_variables = free | {name: x for test in tests for name, x in plain_variables(test).items()}
        named_columns = (
            x for name, x in named_variables.items() if name not in computing.made and not x.anonymous
        )
        return _derived(tuple(named_columns), computed)
    read = with_own_names(parse_formula(goal, "<goal>", signature.valued_names), signature)
    literals = tuple(literals_of(read))
    variables = variables_of([one for one in literals if not isinstance(one, Not)])
    named = tuple(variable for variable in variables.values() if not variable.anonymous)
    if isinstance(read, Atom) and len(named) == len(variables):
        declared = signature.predicate(read.predicate, read.span)
        if declared.value_type is None and declared.arity == len(read.arguments):
            return read, ()
    for variable in named:
        if variable.name not in bound_variables(literals):
            raise LanguageError(f"no atom of the goal binds {shown_name(variable.name)}", span=variable.span)
    return _derived(named, literals)


def _derived(variables: tuple[Variable, ...], literals: tuple[Formula, ...]) -> tuple[Atom, tuple[Rule, ...]]:
    head = Atom("`goal`", variables)
    return head, (Rule(head, cast("tuple[BodyLiteral, ...]", literals)),)


def answers(atom: Atom, marginals: Marginals, request: Request) -> Bindings:
    """The answers of positive probability, likeliest first, normalized and cut as the request says."""
    names = tuple(dict.fromkeys(term.name for term in atom.arguments if isinstance(term, Variable)))
    rows: list[tuple[float, tuple[Value, ...]]] = []
    named = (replace(table, predicate="goal") for table in marginals.tables)  # else rows leave arguments out
    for row in chain.from_iterable(table.rows() for table in named):
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
    exact = marginals.guarantee == Guarantee.EXACT  # else a weight is the middle of bounds
    guarantee = marginals.guarantee if exact else Guarantee.APPROXIMATION
    answer = Bindings(marginals.engine, guarantee, marginals.status, names, columns, weights, False)
    return answer.normalized(request.normalize).top(request.top)
