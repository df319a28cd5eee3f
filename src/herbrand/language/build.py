"""Transformer from the grammar's derivations to syntax, with one method for each production.

:mod:`herbrand.language.parse` calls it while the parser runs, so no tree is ever stored. Mistakes that the
grammar cannot refuse (a fact with a variable, a bound above 1) are noted with their place, and reading goes
on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lark import Token, Transformer

from herbrand.budget import UNLIMITED, Budget
from herbrand.errors import Mistake, Source, Span, nearest
from herbrand.language.arguments import in_body, in_formula, in_rule
from herbrand.language.comparisons import variables_of
from herbrand.language.formulas import (
    AGGREGATES,
    ARGUMENTS,
    BODY_HOLDS,
    FUNCTIONS,
    Aggregate,
    And,
    AnyAtom,
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Exists,
    Expression,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Truth,
    ValueIn,
    ValueIs,
    Variable,
    Xor,
    opposite_hint,
    unnegated,
)
from herbrand.language.names import (
    EXPECTED_MOMENT,
    moment,
    number_from,
    shown_constant,
    shown_name,
    shown_number,
    text_from,
)
from herbrand.language.suggestions import FACT_A_LINE
from herbrand.language.syntax import (
    Alternative,
    Bound,
    Choice,
    FactKind,
    FactRows,
    Hard,
    Learned,
    PredicateDeclaration,
    Rule,
    Statement,
    TypeDeclaration,
    WeightedFormula,
    one_sided,
)
from herbrand.visible import shortened

LONGEST_RANGE = 10_000_000
_BODY_HINTS: dict[type, str] = {
    And: "separate them by commas",
    Or: "write one rule for each alternative",
    Exists: "variables that the head does not name are bound by 'exists' already",
}
_NEGATED_HINTS: dict[type, str] = {
    And: "define a predicate by a rule, and negate its atom",
    Or: "negate each alternative, separated by commas",
}
_AGGREGATE_HINTS: dict[type, str] = {
    Or: "define a predicate by one rule for each alternative, and use it here",
}
_LIKE_P = {"p", "pr", "prob", "probability"}
_NUMBERED = {"soft": "probability", "weighted": "weight"}
_CONNECTIVES = {"=": "<=>", "!=": "xor"}
"""The connective by which atoms are equal or different, in the place of the sign between values."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_BOUND_FORM = "a probability bound is written P(...) = 0.5"
_ARROWS = "write :- for a rule, => for 'implies'"


class Builder(Transformer[Token, Any]):
    """Builder of the parts of one statement, whose place in the source ``begin`` sets."""

    def __init__(self) -> None:
        super().__init__(visit_tokens=False)
        self.begin(Source("", ""), 0, 0)

    def begin(self, source: Source, start: int, end: int, budget: Budget = UNLIMITED) -> None:
        self.budget = budget
        self.source = source
        self.offset = start
        self.whole = Span(source, start, end)
        self.label_text: str | None = None
        self.mistakes: list[Mistake] = []
        self.confused = False
        """Whether an atom stood where a value is computed; the parser's own error after it is dropped."""

    # Small functions that every production uses

    def refuse(self, message: str, span: Span | None, hint: str = "") -> None:
        self.mistakes.append(Mistake(message, span, hint))

    def at(self, token: Token) -> Span:
        self.budget.check()  # once for each name, so that even a statement of a million atoms stops in time
        start = self.offset + (token.start_pos or 0)
        return Span(self.source, start, start + len(token))

    def between(self, first: Any, last: Any) -> Span:
        begin = self.at(first) if isinstance(first, Token) else first.span
        end = self.at(last) if isinstance(last, Token) else last.span
        return Span(self.source, begin.start, end.end)

    def name(self, token: Token) -> str:
        return token[1:-1] if token[0] == "`" else str(token)

    def string(self, token: Token) -> str:
        try:
            return text_from(token)
        except UnicodeEncodeError:
            message, hint = "holds half a character", "these escapes come in pairs: \\ud83d\\ude00"
        except ValueError:
            message, hint = (
                "is not a valid string",
                'escapes are those of JSON: \\" \\\\ \\n \\t \\u00e9; a backslash is written \\\\',
            )
        self.refuse(f"{shortened(token)} {message}", self.at(token), hint)
        return ""

    def float_of(self, token: Token) -> float:
        number = float(token)
        if math.isinf(number):
            self.refuse(f"the number {shortened(token)} is too large", self.at(token))
            return 0.0
        return number

    def probability_of(self, token: Token) -> float:
        number = self.float_of(token)
        if not 0 <= number <= 1:
            hint = "expected a number from 0 to 1"
            self.refuse(f"{shortened(token)} is not a probability", self.at(token), hint)
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
            self.refuse(
                "a range is between two whole numbers",
                self.between(*parts),
                "a type of any numbers is declared as '= number'",
            )
            first, last = 0, 0
        elif first > last:
            self.refuse(
                f"the range {first}..{last} is empty", self.between(*parts), "write the smaller first"
            )
        elif last - first >= LONGEST_RANGE:
            self.refuse(
                f"the range {first}..{last} has more than {LONGEST_RANGE:,} values", self.between(*parts)
            )
        return {"bounds": (first, last)}

    def numeric(self, parts: list[Token]) -> dict[str, Any]:
        return {"numeric": True} if parts[0] == "number" else {"calendar": str(parts[0])}

    def predicate_declaration(self, parts: list[Any]) -> PredicateDeclaration:
        _, name, types, values, world = parts
        query = world if isinstance(world, Constant) else None
        return PredicateDeclaration(
            self.name(name),
            types or (),
            values,
            "observed" if query is not None else world and str(world),  # type: ignore[arg-type]
            None if query is None else str(query.value),
            label=self.label_text,
            span=self.whole,
        )

    def view(self, parts: list[Token]) -> Constant:
        return self.text(parts[1:])

    def types(self, parts: list[Token]) -> tuple[str, ...]:
        return tuple(map(self.name, parts))

    def value_set(self, parts: list[Any]) -> tuple[Constant, ...] | str:
        return self.name(parts[0]) if isinstance(parts[0], Token) else parts[0]

    def constant_set(self, parts: list[Constant]) -> tuple[Constant, ...]:
        seen: set[Constant] = set()
        for constant in parts:
            if constant in seen:
                shown = shortened(shown_constant(constant.value))
                self.refuse(f"{shown} stands twice in the set", constant.span)
            seen.add(constant)
        return tuple(parts)

    def weighted(self, parts: list[Any]) -> WeightedFormula:
        weight, times, formula, where = parts
        conditions = () if where is None else self.conditions(where)
        factor = None if times is None else Variable(self.name(times), self.at(times))
        if factor is not None and isinstance(weight, Hard):
            self.refuse("what always holds has no weight to multiply", factor.span, "write 'hard: ...'")
        return WeightedFormula(weight, in_formula(formula), conditions, self.label_text, self.whole, factor)

    def conditions(self, where: Formula) -> tuple[Comparison, ...]:
        parts = where.operands if isinstance(where, And) else (where,)
        for part in parts:
            if not isinstance(part, Comparison) or part.operator not in ("=", "!="):
                hint = "write x != y" if isinstance(part, Not) else ""
                self.refuse("'where' takes = and != between terms, joined by 'and'", part.span, hint)
        return tuple(part for part in parts if isinstance(part, Comparison))

    def number_weight(self, parts: list[Token]) -> float:
        return self.float_of(parts[0])

    def hard_weight(self, _: list[Token]) -> Hard:
        return Hard()

    def learned(self, parts: list[Token | None]) -> Learned:
        return Learned(tuple(Variable(self.name(p), self.at(p)) for p in parts if p is not None))

    def bound(self, parts: list[Any]) -> Bound:
        (event, given), (lower, upper), independent = parts
        event, given = in_formula(event), None if given is None else in_formula(given)
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
        return one_sided(parts[0], self.probability_of(parts[1]))

    def rule(self, parts: list[Any]) -> Rule:
        head, *body, weight = parts
        if not isinstance(head, Atom):
            self.refuse("the head of a rule is one atom, without a value", head.span)
            head = Atom("", span=head.span)
        for literal in body:
            self.check_body_literal(literal)
        (head,), body = in_rule([head], body)
        return Rule(head, body, weight, self.label_text, self.whole)

    def choice(self, parts: list[Any]) -> Choice:
        alternatives, *body = parts
        body = [literal for literal in body if literal is not None]
        for literal in body:
            self.check_body_literal(literal)
        heads, body = in_rule([one.head for one in alternatives], body)
        alternatives = tuple(replace(one, head=head) for one, head in zip(alternatives, heads, strict=True))
        return Choice(alternatives, body, self.label_text, self.whole)

    def alternatives(self, parts: list[Alternative]) -> tuple[Alternative, ...]:
        return tuple(parts)

    def alternative(self, parts: list[Any]) -> Alternative:
        chance, head = parts
        match head:
            case Atom() | ValueIs():
                known = head
            case Comparison(operator="=", left=Variable(name=name) as left, right=value):
                known = ValueIs(Atom(name, (), left.span), value, head.span)
            case _:
                hint = "a weighted formula has one colon: '0.3: ...'"
                self.refuse("behind '::' stands one atom, or an atom with a value", head.span, hint)
                known = Atom("", span=head.span)
        return Alternative(chance, known, head.span)

    def number_chance(self, parts: list[Token]) -> float:
        return min(max(self.probability_of(parts[0]), 0.0), 1.0)

    def check_body_literal(self, literal: Formula, hints: Mapping[type, str] = _BODY_HINTS) -> None:
        inner = unnegated(literal)
        if isinstance(inner, AnyAtom | Truth) or isinstance(literal, Comparison | Computed):
            return
        if isinstance(inner, Comparison) and inner.operator == "=" and isinstance(inner.left, Variable):
            return  # an atom if it names a many-valued predicate; known only with all declarations (check.py)
        opposite = isinstance(inner, Comparison | Computed)
        advice = hints if inner is literal else _BODY_HINTS | _NEGATED_HINTS
        hint = opposite_hint(inner.operator) if opposite else advice.get(type(inner), "")
        self.refuse(BODY_HOLDS, literal.span, hint)

    def soft(self, parts: list[Token]) -> tuple[FactKind, tuple[float]]:
        return "soft", (self.probability_of(parts[0]),)

    def fact_weight(self, parts: list[Token]) -> tuple[FactKind, tuple[float]]:
        return "weighted", (self.float_of(parts[0]),)

    def fact(self, parts: list[Any]) -> FactRows:
        formula_hint = "a formula begins with a weight: 'hard: ...' or '1.5: ...'"
        return self.fact_rows(parts, formula_hint, f"{FACT_A_LINE}; {formula_hint}")

    def fact_rows(self, parts: list[Any], formula_hint: str, several_hint: str) -> FactRows:
        """The fact; ``several_hint``: advice where facts are joined by ``and``."""
        stated, number = _as_negated_equality(parts[0]), parts[1]
        negated = isinstance(stated, Not)
        several = isinstance(stated, And) and not variables_of(stated)
        atom, value = self.fact_parts(unnegated(stated), several_hint if several else formula_hint)
        atom = self.without_computed(atom)
        terms = (*atom.arguments, *(() if value is None else (value,)))
        kind, numbers = number or ("false" if negated else "true", ())
        self.check_ground(atom, value, terms, formula_hint)
        if negated and number is not None:
            self.check_negated(kind, number[1][0], stated)
        return FactRows(
            atom.predicate,
            tuple((term.value if isinstance(term, Constant) else "",) for term in terms),
            1,
            kind,
            numbers,
            value is not None,
            self.label_text,
            self.whole,
            (self.whole.start,),
        )

    def without_computed(self, atom: Atom) -> Atom:
        """The atom of a fact; refuse arguments that are computed."""
        for argument in atom.arguments:
            if not isinstance(argument, Variable | Constant):
                self.refuse("a fact computes no values", argument.span, _value_itself(argument))
                return Atom(atom.predicate, (), atom.span)
        return atom

    def fact_parts(self, stated: Formula, formula_hint: str) -> tuple[Atom, Term | None]:
        """The atom of a fact, and its value if it is many-valued; refuse any other formula."""
        match stated:
            case Atom():
                return stated, None
            case ValueIs(atom=atom, value=value):
                return atom, value
            case Comparison(operator="=", left=Variable(name=name) as left, right=value):
                return Atom(name, (), left.span), value
        self.refuse("this is a formula, not a fact", stated.span, formula_hint)
        return Atom("", (), stated.span), None

    def check_ground(
        self, atom: Atom, value: Term | None, terms: tuple[Term, ...], formula_hint: str
    ) -> None:
        variables = [term for term in terms if isinstance(term, Variable)]
        if not variables:
            return
        names = " and ".join(shown_name(term.name) for term in variables)
        are = "is a variable" if len(variables) == 1 else "are variables"
        quoted = ", ".join(f'"{term.name}"' for term in variables)
        hint = f"constants stand in quotes: {quoted}; {formula_hint}"
        if atom.predicate.lower() in _LIKE_P and isinstance(value, Constant):
            hint = _BOUND_FORM
        self.refuse(f"a fact holds constants only, and {names} {are}", variables[0].span, hint)

    def check_negated(self, kind: str, number: float, stated: Not) -> None:
        hint = f"write ~ {shown_number(round(1 - number, 12))} without 'not'" if kind == "soft" else ""
        self.refuse(f"a fact with a {_NUMBERED[kind]} cannot be negated", stated.span, hint)

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
        return Atom(self.name(name), tuple(terms), Span(self.source, self.at(name).start, end))

    def holding(self, parts: list[Atom]) -> Atom:
        """An atom that stands as a formula; refuse atoms among its arguments."""
        for argument in parts[0].arguments:
            if isinstance(argument, Atom):
                hint = "arguments are variables, constants and what is computed: there are no functions"
                if parts[0].predicate.lower() in _LIKE_P:
                    hint = _BOUND_FORM
                self.refuse("an argument of an atom is a value", argument.span, hint)
                return Atom(parts[0].predicate, (), parts[0].span)
        return parts[0]

    def nullary(self, parts: list[Token]) -> Atom:
        return Atom(self.name(parts[0]), (), self.at(parts[0]))

    def comparison(self, parts: list[Any]) -> Formula:
        left, operator, right = parts
        span = self.between(left, right)
        if isinstance(left, Atom) and isinstance(right, Variable | Constant):
            return self.value_comparison(self.holding([left]), operator, right, span)
        atoms = [side for side in (left, right) if isinstance(side, Atom)]
        if atoms:
            self.refuse(
                "a comparison is between terms, not atoms", atoms[-1].span, _of_values(left, operator, right)
            )
        left, right = (Constant(0, x.span) if isinstance(x, Atom) else x for x in (left, right))
        if isinstance(left, Variable | Constant) and isinstance(right, Variable | Constant):
            return Comparison(operator, left, right, span)
        return Computed(operator, left, right, span)

    def value_comparison(self, atom: Atom, operator: str, value: Term, span: Span) -> Formula:
        if operator == "=":
            return ValueIs(atom, value, span)
        if operator == "!=":
            return Not(ValueIs(atom, value, span), span)
        self.refuse(f"an atom has no order; {operator} compares numbers", span)
        return ValueIs(atom, value, span)

    def value_in(self, parts: list[Any]) -> ValueIn:
        atom, values = parts
        return ValueIn(self.holding([atom]), values, self.between(atom, values[-1]))

    # Terms and values computed from them

    def called(self, parts: list[Atom]) -> Expression | Atom:
        """A name where a value may stand: a variable, a function if it has arguments, else an atom."""
        atom = parts[0]
        if not atom.arguments:
            return Variable(atom.predicate, atom.span)
        assert atom.span is not None
        if atom.predicate not in FUNCTIONS or self.source.text[atom.span.start] == "`":
            return atom
        operands = tuple(map(self.value, atom.arguments))
        count = ARGUMENTS.get(atom.predicate)
        if len(operands) < 2 if count is None else len(operands) != count:
            expected = {None: "two values or more", 1: "one value"}.get(count, "two values")
            self.refuse(f"{atom.predicate} is of {expected}", atom.span)
        return Arithmetic(atom.predicate, operands, atom.span)  # type: ignore[arg-type]

    def variable(self, parts: list[Token]) -> Variable:
        return Variable(self.name(parts[0]), self.at(parts[0]))

    def value(self, operand: Expression | Atom) -> Expression:
        if not isinstance(operand, Atom):
            return operand
        self.confused = True
        assert operand.span is not None
        before = self.source.text[self.whole.start : operand.span.start].rstrip()
        after = self.source.text[operand.span.end :].lstrip()
        hint = f"functions are {', '.join(FUNCTIONS)}"
        if before.endswith("<-"):
            hint = _ARROWS
        elif before.endswith("-"):
            name = re.search(r"\w$", before[:-1].rstrip())
            hint = "a name with '-' in it stands in back-quotes: `...`" if name else "write 'not'"
        if after.startswith(("//", "/*", "--", "%")):
            hint = "comments begin with #"
        shown = shown_name(operand.predicate)
        self.refuse(f"{shown}(...) is an atom, and an atom has no value to compute with", operand.span, hint)
        return Constant(0, operand.span)

    def arithmetic(self, parts: list[Any]) -> Arithmetic:
        left, sign, right = parts
        return Arithmetic(sign, (self.value(left), self.value(right)), self.between(left, right))

    def negative(self, parts: list[Any]) -> Expression:
        operand, span = self.value(parts[1]), self.between(parts[0], parts[1])
        if isinstance(operand, Constant) and not isinstance(operand.value, str):
            return Constant(-operand.value, span)
        return Arithmetic("negative", (operand,), span)

    def aggregate(self, parts: list[Any]) -> Aggregate:
        name, *terms, body = parts
        for literal in body:
            self.check_body_literal(literal, _BODY_HINTS | _AGGREGATE_HINTS)
        end = self.source.text.find(")", body[-1].span.end) + 1
        span = Span(self.source, self.at(name).start, end)
        if name not in AGGREGATES:
            self.refuse(f"{name} is none of {', '.join(AGGREGATES)}", self.at(name))
        return Aggregate(str(name), tuple(map(self.value, terms)), in_body(body), span)

    def body(self, parts: list[Formula]) -> tuple[Formula, ...]:
        """The literals of a body; 'and' between them is the same as a comma."""
        joined = (part.operands if isinstance(part, And) else (part,) for part in parts)
        return tuple(literal for group in joined for literal in group)

    def comparator(self, parts: list[Token]) -> str:
        return str(parts[0])

    sum_sign = product_sign = comparator

    def text(self, parts: list[Token]) -> Constant:
        return Constant(self.string(parts[0]), self.at(parts[0]))

    def number(self, parts: list[Token]) -> Constant:
        token = parts[0]
        try:
            return Constant(number_from(token), self.at(token))
        except OverflowError:
            hint = "whole numbers have 64 bits, others end at 1e308; larger ones are kept as text, in quotes"
            self.refuse(f"the number {shortened(token)} is too large for a constant", self.at(token), hint)
        return Constant(0, self.at(token))

    def date(self, parts: list[Token]) -> Constant:
        """A date or time as text in one canonical form, so that equality and order are those of time."""
        token = parts[0]
        calendar, written = token.split('"')[0].strip(), token.split('"')[1]
        try:
            return Constant(moment(calendar, written), self.at(token))
        except ValueError:
            self.refuse(f"{shortened(token)} is no {calendar}", self.at(token), EXPECTED_MOMENT[calendar])
        return Constant("", self.at(token))

    # Queries

    def query_probability(self, parts: list[Any]) -> tuple[Formula, Formula | None]:
        event, given = (parts[0], parts[1]) if len(parts) == 2 else parts[0]
        return in_formula(event), None if given is None else in_formula(given)

    def query_literal(self, parts: list[Any]) -> FactRows:
        formula_hint = 'evidence is a fact, such as smokes("anna") or not smokes("anna")'
        return self.fact_rows(parts, formula_hint, formula_hint)


def _as_negated_equality(stated: Formula) -> Formula:
    """Turn ``season != "winter"`` into the fact ``not season = "winter"``, as for atoms with arguments."""
    if isinstance(stated, Comparison) and stated.operator == "!=":
        return Not(replace(stated, operator="="), stated.span)
    return stated


def _value_itself(argument: Term | Arithmetic) -> str:
    """Advice for an argument of a fact that is written as a computation."""
    if _DATE.fullmatch(written := argument.span.text if argument.span else ""):
        return f'a date is written date "{written}"'
    if getattr(argument, "sign", "") == "/":
        return "write a fraction as a decimal number"
    return "write the value itself; a rule may compute it"


def _of_function(name: str) -> str:
    """Advice for an atom in the place of a value that may be meant as a function or an aggregate."""
    if name in AGGREGATES:
        return f"an aggregate has a colon behind its terms: {name}(a: pays(x, a))"
    return nearest(name, (*FUNCTIONS, *AGGREGATES))


def _of_values(left: Any, operator: str, right: Any) -> str:
    """Advice for a comparison with an atom in the place of a value."""
    if operator in ("<", "<="):
        return _ARROWS
    atoms = [side for side in (left, right) if isinstance(side, Atom)]
    if len(atoms) < 2:
        return _of_function(atoms[0].predicate)
    texts = [atom.span.text for atom in atoms if atom.span]
    if operator not in _CONNECTIVES:
        return ""
    connected = f"of true and false atoms write {f' {_CONNECTIVES[operator]} '.join(texts)}"
    if operator == "!=":
        return connected
    return f"equal values have one variable: {' and '.join(f'{text} = v' for text in texts)}; {connected}"
