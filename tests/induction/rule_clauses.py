"""Written rules as the clauses that the searches of induction try: the inverse of ``Clause.to_rule``."""

from __future__ import annotations

from collections.abc import Sequence

from herbrand.errors import UnsupportedError
from herbrand.induction.evaluation import ANY, Clause, Condition, Literal
from herbrand.language.syntax import Atom, Comparison, Constant, Not, Rule, Truth, Variable


def clause_of(rule: Rule) -> Clause:
    """A rule of the language as a clause; raises where it has more than atoms and comparisons of terms."""
    numbers: dict[str, int] = {}
    conditions: list[Condition] = []

    def number(term: object) -> int:
        if isinstance(term, Constant):
            fresh = numbers.setdefault(f"={len(numbers)}", len(numbers))
            conditions.append(Condition("=", fresh, value=term.value))
            return fresh
        assert isinstance(term, Variable)
        name = f"_{len(numbers)}" if term.anonymous else term.name
        return numbers.setdefault(name, len(numbers))

    def variables(terms: Sequence[object]) -> tuple[int, ...]:
        return tuple(number(term) for term in terms)

    head = variables(rule.head.arguments)
    body, apart = [], []
    for literal in rule.body:
        match literal:
            case Atom(predicate=predicate, arguments=arguments):
                body.append(Literal(predicate, variables(arguments)))
            case Not(operand=Atom(predicate=predicate, arguments=arguments)):
                places = (ANY if _is_any(term) else number(term) for term in arguments)
                body.append(Literal(predicate, tuple(places), True))
            case Comparison(operator="!=", left=Variable() as left, right=Variable() as right):
                apart.append(variables((left, right)))
            case Comparison(operator=sign, left=Variable() as left, right=Constant(value=value)):
                conditions.append(Condition(sign, number(left), value=value))
            case Comparison(operator=sign, left=Variable() as left, right=Variable() as right):
                conditions.append(Condition(sign, *variables((left, right))))
            case Truth(value=True):
                pass
            case _:
                raise UnsupportedError(
                    "this rule has more than atoms, negations and comparisons of variables", span=rule.span
                )
    return Clause(rule.head.predicate, head, tuple(body), tuple(apart), tuple(conditions))


def _is_any(term: object) -> bool:
    return isinstance(term, Variable) and term.anonymous
