"""From the grammar's derivations to syntax: one method a production.

Used by :mod:`herbrand.language.parse` while the parser runs, so no tree is ever stored. What the grammar cannot
refuse (a fact with a variable, a bound above 1) is noted as a mistake with its place, and reading goes on.
"""

from __future__ import annotations

import json
import math
from typing import Any

from lark import Token, Transformer

from herbrand.errors import Mistake, Source, Span
from herbrand.language.syntax import (
    And,
    Atom,
    Bound,
    Comparison,
    Constant,
    Exists,
    FactRows,
    Forall,
    Formula,
    Hard,
    Iff,
    Implies,
    Learned,
    Not,
    Or,
    PredicateDeclaration,
    Rule,
    Statement,
    Term,
    Truth,
    TypeDeclaration,
    Value,
    ValueIn,
    ValueIs,
    Variable,
    WeightedFormula,
    Xor,
)

LARGEST_NUMBER = 2**63 - 1
LONGEST_RANGE = 10_000_000


class Builder(Transformer[Token, Any]):
    """Builds the parts of one statement; ``begin`` says where it stands."""

    def __init__(self) -> None:
        super().__init__(visit_tokens=False)
        self.begin(Source("", ""), 0, 0)

    def begin(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.whole = Span(source, start, end)
        self.label_text: str | None = None
        self.mistakes: list[Mistake] = []

    # Small helpers that every production uses

    def refuse(self, message: str, span: Span | None, hint: str = "") -> None:
        self.mistakes.append(Mistake(message, span, hint))

    def at(self, token: Token) -> Span:
        start = token.start_pos or 0
        return Span(self.source, start, start + len(token))

    def between(self, first: Any, last: Any) -> Span:
        start = first.start_pos if isinstance(first, Token) else first.span.start
        end = last.end_pos if isinstance(last, Token) else last.span.end
        return Span(self.source, start, end)

    def name(self, token: Token) -> str:
        return token[1:-1] if token[0] == "`" else str(token)

    def string(self, token: Token) -> str:
        if "\\" not in token:
            return token[1:-1]
        try:
            text = json.loads(token, strict=False)
            text.encode()
        except (ValueError, UnicodeEncodeError):
            self.refuse(f"{token} is not a valid string", self.at(token), "escapes are those of JSON")
            return ""
        return text

    def float_of(self, token: Token) -> float:
        number = float(token)
        if math.isinf(number):
            self.refuse(f"the number {token[:40]} is too large", self.at(token))
        return number

    def probability_of(self, token: Token) -> float:
        number = self.float_of(token)
        if not 0 <= number <= 1:
            self.refuse(f"{token} is not a probability", self.at(token), "expected a number from 0 to 1")
        return number

    # Statements

    def statement(self, parts: list[Any]) -> Statement:
        return parts[-1]

    def label(self, parts: list[Token]) -> None:
        token = parts[0]
        self.label_text = self.string(token) if token.type == "STRING" else self.name(token)

    def type_declaration(self, parts: list[Any]) -> TypeDeclaration:
        _, name, values = parts
        return TypeDeclaration(self.name(name), **(values or {}), label=self.label_text, span=self.whole)

    def type_values(self, parts: list[Any]) -> dict[str, Any]:
        return {"values": parts[0]}

    def range(self, parts: list[Token]) -> dict[str, Any]:
        first, last = (self.number([token]).value for token in parts)
        if not isinstance(first, int) or not isinstance(last, int):
            self.refuse("a range is between two whole numbers", self.between(*parts))
        elif first > last:
            self.refuse(
                f"the range {first}..{last} is empty", self.between(*parts), "write the smaller first"
            )
        elif last - first >= LONGEST_RANGE:
            self.refuse(
                f"the range {first}..{last} has more than {LONGEST_RANGE:,} values", self.between(*parts)
            )
        return {"bounds": (first, last)}

    def numeric(self, _: list[Token]) -> dict[str, Any]:
        return {"numeric": True}

    def predicate_declaration(self, parts: list[Any]) -> PredicateDeclaration:
        _, name, types, values, role = parts
        return PredicateDeclaration(
            self.name(name),
            types or (),
            values,
            None if role is None else str(role),  # type: ignore[arg-type]
            label=self.label_text,
            span=self.whole,
        )

    def types(self, parts: list[Token]) -> tuple[str, ...]:
        return tuple(map(self.name, parts))

    def value_set(self, parts: list[Any]) -> tuple[Constant, ...] | str:
        return self.name(parts[0]) if isinstance(parts[0], Token) else parts[0]

    def constant_set(self, parts: list[Constant]) -> tuple[Constant, ...]:
        seen: set[Constant] = set()
        for constant in parts:
            if constant in seen:
                self.refuse(f"{constant.value!r} stands twice in the set", constant.span)
            seen.add(constant)
        return tuple(parts)

    def weighted(self, parts: list[Any]) -> WeightedFormula:
        weight, formula, where = parts
        conditions = () if where is None else self.conditions(where)
        return WeightedFormula(weight, formula, conditions, self.label_text, self.whole)

    def conditions(self, where: Formula) -> tuple[Comparison, ...]:
        parts = where.operands if isinstance(where, And) else (where,)
        for part in parts:
            if not isinstance(part, Comparison) or part.operator not in ("=", "!="):
                self.refuse("'where' takes = and != between terms, joined by 'and'", part.span)
        return tuple(part for part in parts if isinstance(part, Comparison))

    def number_weight(self, parts: list[Token]) -> float:
        return self.float_of(parts[0])

    def hard_weight(self, _: list[Token]) -> Hard:
        return Hard()

    def weight(self, parts: list[Any]) -> Learned:
        return parts[0]

    rule_weight = weight

    def learned(self, parts: list[Token | None]) -> Learned:
        return Learned(tuple(Variable(self.name(p), self.at(p)) for p in parts if p is not None))

    def bound(self, parts: list[Any]) -> Bound:
        (event, given), (lower, upper), independent = parts
        return Bound(event, given, lower, upper, independent is not None, self.label_text, self.whole)

    def probability(self, parts: list[Any]) -> tuple[Formula, Formula | None]:
        return parts[1], parts[2]

    def between_bounds(self, parts: list[Token]) -> tuple[float, float]:
        lower, upper = map(self.probability_of, parts)
        if lower > upper:
            self.refuse(
                f"the lower bound {parts[0]} is above the upper bound {parts[1]}", self.between(*parts)
            )
        return lower, upper

    def one_sided(self, parts: list[Token]) -> tuple[float, float]:
        side, number = parts[0], self.probability_of(parts[1])
        return (0.0 if side == "<=" else number), (1.0 if side == ">=" else number)

    def rule(self, parts: list[Any]) -> Rule:
        head, *body, weight = parts
        if not isinstance(head, Atom):
            self.refuse("the head of a rule is one atom", head.span)
            head = Atom("", span=head.span)
        for literal in body:
            self.check_body_literal(literal)
        return Rule(head, tuple(body), weight, self.label_text, self.whole)

    def check_body_literal(self, literal: Formula) -> None:
        inner = literal.operand if isinstance(literal, Not) else literal
        if isinstance(inner, Atom | ValueIs | ValueIn | Truth):
            return
        if isinstance(inner, Comparison) and inner is literal:
            return
        hint = "separate them by commas" if isinstance(inner, And) else "write one rule for each alternative"
        self.refuse(
            "a rule's body holds atoms, 'not' before an atom, and comparisons",
            literal.span,
            hint if isinstance(inner, And | Or) else "",
        )

    def soft(self, parts: list[Token]) -> tuple[str, float]:
        return "soft", self.probability_of(parts[0])

    def fact_weight(self, parts: list[Token]) -> tuple[str, float]:
        return "weighted", self.float_of(parts[0])

    def fact(self, parts: list[Any]) -> FactRows:
        said, number = parts
        kind, numbers = ("true", ()) if number is None else (number[0], (number[1],))
        stated = said
        if isinstance(said, Not):
            stated, kind = said.operand, "false" if number is None else kind
            if number is not None:
                self.refuse("'not' and a number do not go together", said.span, "turn the number round")
        atom, value = self.fact_parts(stated)
        terms = (*atom.arguments, *(() if value is None else (value,)))
        return FactRows(
            atom.predicate,
            tuple((self.ground(term),) for term in terms),
            1,
            kind,  # type: ignore[arg-type]
            numbers,
            value is not None,
            self.label_text,
            self.whole,
            (self.whole.start,),
        )

    def fact_parts(self, said: Formula) -> tuple[Atom, Term | None]:
        """The atom of a fact and the value it has, if it is many-valued."""
        match said:
            case Atom():
                return said, None
            case ValueIs(atom=atom, value=value):
                return atom, value
            case Comparison(operator="=", left=Variable(name=name), right=value):
                return Atom(name, (), said.left.span), value
        self.refuse(
            "this is a formula, not a fact",
            said.span,
            "give it a weight: 'hard: ...' or '1.5: ...'",
        )
        return Atom("", (), said.span), None

    def ground(self, term: Term) -> Value:
        if isinstance(term, Constant):
            return term.value
        self.refuse(
            f"a fact has constants only, and {term.name} is a variable",
            term.span,
            f'constants stand in quotes: "{term.name}"',
        )
        return ""

    # Formulas

    def iff(self, parts: list[Formula]) -> Iff:
        return Iff(parts[0], parts[1], self.between(parts[0], parts[1]))

    def implies(self, parts: list[Formula]) -> Implies:
        return Implies(parts[0], parts[1], self.between(parts[0], parts[1]))

    def conjunction(self, parts: list[Formula]) -> And:
        return And(tuple(parts), self.between(parts[0], parts[-1]))

    def disjunction(self, parts: list[Formula]) -> Or:
        return Or(tuple(parts), self.between(parts[0], parts[-1]))

    def xor(self, parts: list[Formula]) -> Xor:
        return Xor(tuple(parts), self.between(parts[0], parts[-1]))

    def negation(self, parts: list[Any]) -> Not:
        return Not(parts[1], self.between(parts[0], parts[1]))

    def exists(self, parts: list[Any]) -> Exists:
        return Exists(parts[1], parts[2], self.between(parts[0], parts[2]))

    def forall(self, parts: list[Any]) -> Forall:
        return Forall(parts[1], parts[2], self.between(parts[0], parts[2]))

    def variables(self, parts: list[Token]) -> tuple[Variable, ...]:
        for token in parts:
            if token == "_":
                self.refuse("a quantified variable needs a name", self.at(token))
        return tuple(Variable(self.name(token), self.at(token)) for token in parts)

    def truth(self, parts: list[Token]) -> Truth:
        return Truth(parts[0] == "true", self.at(parts[0]))

    def atom(self, parts: list[Any]) -> Atom:
        name, *terms = parts
        end = self.source.text.find(")", terms[-1].span.end) + 1
        return Atom(self.name(name), tuple(terms), Span(self.source, name.start_pos, end))

    def nullary(self, parts: list[Token]) -> Atom:
        return Atom(self.name(parts[0]), (), self.at(parts[0]))

    def value_comparison(self, parts: list[Any]) -> Formula:
        atom, operator, value = parts
        span = self.between(atom, value)
        if operator == "=":
            return ValueIs(atom, value, span)
        if operator == "!=":
            return Not(ValueIs(atom, value, span), span)
        self.refuse(f"an atom has no order; {operator} compares numbers", span)
        return ValueIs(atom, value, span)

    def value_in(self, parts: list[Any]) -> ValueIn:
        atom, values = parts
        return ValueIn(atom, values, self.between(atom, values[-1]))

    def named_comparison(self, parts: list[Any]) -> Comparison:
        token, operator, right = parts
        left = Variable(self.name(token), self.at(token))
        return Comparison(operator, left, right, self.between(left, right))

    def named_in(self, parts: list[Any]) -> ValueIn:
        token, values = parts
        return ValueIn(self.nullary([token]), values, self.between(token, values[-1]))

    def constant_comparison(self, parts: list[Any]) -> Comparison:
        left, operator, right = parts
        return Comparison(operator, left, right, self.between(left, right))

    def comparator(self, parts: list[Token]) -> str:
        return str(parts[0])

    # Terms

    def variable(self, parts: list[Token]) -> Variable:
        return Variable(self.name(parts[0]), self.at(parts[0]))

    def text(self, parts: list[Token]) -> Constant:
        return Constant(self.string(parts[0]), self.at(parts[0]))

    def number(self, parts: list[Token]) -> Constant:
        token = parts[0]
        if token.lstrip("-").isdigit() and len(token) < 20:
            number: int | float = int(token)
        else:
            number = self.float_of(token)
            number = int(number) if math.isfinite(number) and number.is_integer() else number
        if abs(number) > LARGEST_NUMBER:
            self.refuse(f"the number {token[:40]} is too large for a constant", self.at(token))
        return Constant(number, self.at(token))

    # Queries

    def query_formula(self, parts: list[Formula]) -> Formula:
        return parts[0]

    def query_probability(self, parts: list[Formula | None]) -> tuple[Formula | None, Formula | None]:
        return parts[0], parts[1]

    def query_literal(self, parts: list[Any]) -> FactRows:
        return self.fact(parts)
