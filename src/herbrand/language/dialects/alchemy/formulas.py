"""Reader of formulas in Alchemy's syntax.

Takes a cursor and the names that the file has used so far; returns formulas. ``<=>`` binds loosest, then
``=>``, ``v``, ``^``, ``!``; equal connectives group to the left, even ``=>``; the scope of a quantifier
reaches as far right as it can. ``v`` is a disjunction only where a connective can stand; elsewhere it is a
name like any other. In a file with variables such as ``?x``, as in pracmln's second grammar, every other term
is a constant, ``v`` binds tighter than ``^``, and the scope of a quantifier is the next formula alone.

>>> from herbrand.errors import Source
>>> from herbrand.language.dialects.alchemy.lexicon import TOKENS
>>> cursor = Cursor(Source("t", "Smokes(x) ^ Friends(x, Bob) => Smokes(Bob)"), TOKENS)
>>> FormulaReader(cursor, Names()).read().conclusion
Atom(predicate='Smokes', arguments=(Constant(value='Bob'),))
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from math import inf, isinf

from herbrand.errors import LanguageError, Span, counted
from herbrand.language.dialects.alchemy.definite import DefiniteClause, is_body
from herbrand.language.dialects.alchemy.lexicon import (
    EXISTS_WORDS,
    QUANTIFIERS,
    is_constant_name,
    text_of_string,
)
from herbrand.language.dialects.alchemy.numbers import Order, Shift, is_number, number_of
from herbrand.language.dialects.infix import Connective, grouped_left, read_formula, spanning
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token
from herbrand.language.formulas import (
    Aggregate,
    And,
    Atom,
    Comparison,
    Computed,
    Constant,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Operator,
    Or,
    Term,
    ValueIs,
    Variable,
)
from herbrand.language.scope import free_variables

CONNECTIVES = {
    "<=>": Connective(1, grouped_left(Iff)),
    "=>": Connective(2, grouped_left(Implies)),
    "v": Connective(3, Or),
    "^": Connective(4, And),
}
PRACMLN_CONNECTIVES = {**CONNECTIVES, "^": Connective(3, And), "v": Connective(4, Or)}
EQUALITIES: dict[str, Operator] = {"=": "=", "!=": "!=", "=/=": "!="}
_ORDERINGS: dict[str, Operator] = {"<": "<", ">": ">", "<=": "<=", ">=": ">="}
_COMPARISONS = EQUALITIES | _ORDERINGS
_COMPARED_OR_STEPPED = {*_COMPARISONS, "+", "-"}
_COMPARING = {
    "equals": "=",
    "notEquals": "!=",
    "lessThan": "<",
    "lessThanEq": "<=",
    "greaterThan": ">",
    "greaterThanEq": ">=",
}
"""Built-in predicates of Alchemy and LoMRF, in files that declare others."""
_COUNTING = {"count"}
"""pracmln's word for the number of true groundings of an atom."""
_STEPPING = {"succ": 1, "prec": -1}
"""Built-in functions of LoMRF, with the step that they add."""
_BEHIND_CONSTANTS = {*_COMPARISONS, "=>", "<=>", ",", "(", ")", "]", "^", "\n"}
_UNDECLARED = "declare it above, as in: person Mother(person)"
_LIKELY_SIGNS = {
    "and": "'^'",
    "&": "'^'",
    "or": "' v '",
    "|": "' v '",
    "not": "'!'",
    "~": "'!'",
    "-": "'!' for not, '=>' for implies",
    "<": "'<=>' for if and only if",
}


@dataclass
class Names:
    """Names that the file has declared or used so far.

    ``many_valued``: predicates whose last argument is read as a value. ``functions``: number of arguments of
    each function; its predicate has one more. ``constants``: lower-case names that a type lists. ``seen``:
    first span of each predicate, ``numbers``: of each relation of numbers, ``weighing``: of each type whose
    numbers are weights. ``declared``: argument types of each declared predicate. ``question_marks``: whether
    variables of the file begin with ``?``.
    """

    is_constant: Callable[[str], bool] = is_constant_name
    many_valued: set[str] = field(default_factory=set)
    functions: dict[str, int] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    seen: dict[str, Span] = field(default_factory=dict)
    declared: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: dict[Shift | Order, Span] = field(default_factory=dict)
    weighing: dict[str, Span] = field(default_factory=dict)
    question_marks: bool = False

    @property
    def connectives(self) -> dict[str, Connective]:
        return PRACMLN_CONNECTIVES if self.question_marks else CONNECTIVES


@dataclass
class _Scope:
    """A scope for the variables of function values: a quantifier's body, or the whole formula.

    ``bound``: names of variables bound here. ``values``: for each function term, its variable and the atom
    that states its value.
    """

    bound: list[str] = field(default_factory=list)
    values: dict[tuple[str, tuple[Term, ...]], tuple[Variable, Formula]] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(variable for variable, _ in self.values.values())

    def with_values(self, formula: Formula, *, implied: bool) -> Formula:
        """The formula joined with the atoms of values: as premises if ``implied``, else by 'and'."""
        atoms = tuple(atom for _, atom in self.values.values())
        if not atoms:
            return formula
        if implied:
            return Implies(atoms[0] if len(atoms) == 1 else And(atoms), formula, formula.span)
        return And((*atoms, formula), formula.span)


class FormulaReader:
    """Reader of one formula at a cursor.

    A ``*P(x)`` and a group ``P|Q(x)`` stand for several atoms. ``choices``: index of the atom to read at each
    of them in turn, 0 at those beyond its end; ``options``: number of atoms at each. ``marked``: variables
    with a ``+``, in order.
    """

    def __init__(self, cursor: Cursor, names: Names, choices: Sequence[int] = ()) -> None:
        self.cursor = cursor
        self.names = names
        self.choices = choices
        self.options: list[int] = []
        self.marked: list[Variable] = []
        self._begin = cursor.position
        self._scopes = [_Scope()]
        self._numbers = count(1)
        self._words = False  # whether AND, OR and NOT connect here

    def statement(self, weight: float | None = None) -> Formula:
        """Read a whole formula of this weight, with function terms replaced by variables for their values.

        A function has exactly one value, so a weight counts each grounding once if the values are joined to
        the formula by 'and'; a hard formula holds for whatever values there are. A formula of weight minus
        infinity never holds, so its negation is returned, as a hard formula.
        """
        return self._weighted(self.read(), weight)

    def _weighted(self, formula: Formula, weight: float | None) -> Formula:
        if weight == -inf:
            formula = Not(formula, formula.span)
        hard = (weight is not None and isinf(weight)) or self.cursor.at(".")
        return self._scopes[0].with_values(formula, implied=hard)

    def definite_clause(self, weight: float | None) -> tuple[Formula, DefiniteClause]:
        """Read LoMRF's ``Head(x) :- Body(x, z)``; return its formula and the clause for the completion.

        Variables in the body alone are existentially quantified. They are known only at the end of the body,
        and the scope of the values of function terms depends on them, so the clause is read twice.
        """
        begin = self.cursor.position
        local = FormulaReader(self.cursor, self.names)._variables_of_body()
        self.cursor.position = begin
        head = self._head()
        self._scopes.append(_Scope([variable.name for variable in local]))
        body = self._body()
        scope = self._scopes.pop()
        inside = scope.with_values(body, implied=False)
        variables = (*local, *scope.variables)
        premise = Exists(variables, inside, body.span) if variables else inside
        formula = self._weighted(Implies(premise, head, spanning(head, body)), weight)
        return formula, DefiniteClause(head, self._scopes[0].with_values(inside, implied=False))

    def _variables_of_body(self) -> list[Variable]:
        """Read a clause; return the variables in its body alone, without those of function values."""
        outside = free_variables(self._scopes[0].with_values(self._head(), implied=False))
        whole = free_variables(self._scopes[0].with_values(self._body(), implied=False))
        values = {variable.name for variable in self._scopes[0].variables}
        return [variable for name, variable in whole.items() if name not in outside and name not in values]

    def _head(self) -> Atom:
        """Read the head of a definite clause and its ``:-``."""
        cursor, first = self.cursor, self.cursor.here
        if first.kind != "name":
            raise cursor.expected("a predicate before ':-'", "the head of such a clause is one atom")
        head = self._atom() if cursor.after.text in ("(", "|") else self._nullary()
        if not isinstance(head, Atom) or self.options:
            raise cursor.refusal("the head of ':-' is one atom of a predicate that is not many-valued", first)
        cursor.expect(":-", hint="the head of such a clause is one atom")
        cursor.skip(NEWLINE)
        return head

    def _body(self) -> Formula:
        """Read the literals after ``:-``, joined by ``^``, or by commas as in Tuffy."""
        first = self.cursor.here
        parts, _ = self._chains()
        body = parts[0] if len(parts) == 1 else And(tuple(parts), spanning(parts[0], parts[-1]))
        if not is_body(body) or self.options:
            hint = "write each way in which the head becomes true as a clause of its own"
            raise self.cursor.refusal("the body of ':-' is a conjunction of literals", first, hint)
        return body

    def weighs(self, variable: Variable) -> None:
        """Note that the numbers of a variable's type are weights."""
        span = variable.span or self.cursor.span_of(self.cursor.here)
        self.names.weighing.setdefault(self._type_of(variable, span), span)

    def read(self) -> Formula:
        formulas, commas = self._chains()
        return formulas[0] if len(formulas) == 1 else self._with_premises(formulas, commas[0])

    def _with_premises(self, formulas: list[Formula], comma: Token) -> Formula:
        """The implication that Tuffy writes as ``P(x), Q(x) => R(x)``, with commas between premises."""
        *premises, last = formulas
        if not isinstance(last, Implies):
            raise self.cursor.refusal("a comma joins the premises of a '=>'", comma, hint="write '^'")
        return Implies(And((*premises, last.premise), spanning(premises[0], last.premise)), last.conclusion)

    def _chains(self) -> tuple[list[Formula], list[Token]]:
        """Read formulas and the commas between them."""
        formulas, commas = [self._chain()], list[Token]()
        while (comma := self.cursor.accept(",")) is not None:
            self.cursor.skip(NEWLINE)
            formulas.append(self._chain())
            commas.append(comma)
        return formulas, commas

    def _chain(self) -> Formula:
        connectives = self.names.connectives
        if self._words:
            connectives = {**connectives, "AND": connectives["^"], "OR": connectives["v"]}
        return read_formula(self.cursor, connectives, self._operand)

    def _choice(self, options: int) -> int:
        """Index of the variant to read here, out of ``options``."""
        place = len(self.options)
        self.options.append(options)
        return self.choices[place] if place < len(self.choices) else 0

    def comparison(self) -> Comparison:
        """Read a comparison such as ``x != y`` after the colon of a formula."""
        left = self._term()
        sign = self.cursor.here
        if sign.text not in EQUALITIES:
            hint = "an order comparison belongs into the formula" if sign.text in _ORDERINGS else ""
            raise self.cursor.expected("'=' or '!='", hint=hint)
        self.cursor.take()
        right = self._term()
        return Comparison(EQUALITIES[sign.text], left, right, spanning(left, right))

    def _compared(self) -> Formula:
        """Read ``x != y``, ``t1 = t + 1`` or ``t > 2`` within a formula."""
        left = self._stepped()
        sign = self.cursor.here
        if sign.text not in _COMPARISONS:
            raise self.cursor.expected("'=' or '!='")
        self.cursor.take()
        return self._related(sign.text, left, self._stepped())

    def _stepped(self) -> tuple[Term, int]:
        """Read a term and the number added to it: ``t + 1``, ``succ(t)``."""
        by, word = 0, self.cursor.here
        if self._is_known_by_itself(word.text, _STEPPING):
            by = _STEPPING[self.cursor.take().text]
            term = self._only_argument(word)
        else:
            term = self._term()
        return term, by + self._step()

    def _related(self, sign: str, left: tuple[Term, int], right: tuple[Term, int]) -> Formula:
        """The comparison of two terms with numbers added to them: ``t - 1 > s`` becomes ``t > s + 1``."""
        (one, before), (other, behind) = left, right
        by = behind - before
        if by and isinstance(other, Constant):
            other, by = self._moved(other, by), 0
        elif by and isinstance(one, Constant):
            one, by = self._moved(one, -by), 0
        if sign not in EQUALITIES:
            atom = self._ordered(sign, one, other, by)
            return Not(atom, atom.span) if sign.endswith("=") else atom
        if not by:
            return Comparison(EQUALITIES[sign], one, other, spanning(one, other))
        assert isinstance(other, Variable)
        span = spanning(one, other) or self.cursor.span_of(self.cursor.here)
        atom = self._of_numbers(Shift(self._type_of(other, span), by), (other, one), span)
        return atom if EQUALITIES[sign] == "=" else Not(atom, span)

    def _moved(self, constant: Constant, by: int) -> Constant:
        if not is_number(str(constant.value)):
            raise self.cursor.refusal(f"'{constant.value}' is no number to be counted on from")
        return Constant(str(number_of(str(constant.value)) + by), constant.span)

    def _ordered(self, sign: str, left: Term, right: Term, by: int) -> Atom:
        """The atom of an order comparison; for ``<=`` and ``>=`` of the opposite one, which must be false."""
        above = sign in (">", "<=")  # whether the left side is to be above, which '<=' denies
        span = spanning(left, right) or self.cursor.span_of(self.cursor.here)
        if isinstance(left, Constant):
            left, right, above = right, left, not above
        if isinstance(left, Constant) or (isinstance(right, Constant) and not is_number(str(right.value))):
            raise self.cursor.refusal("an order comparison is of a variable with a variable or a number")
        kind = self._type_of(left, span)
        if isinstance(right, Constant):
            return self._of_numbers(Order(kind, ">" if above else "<", str(right.value)), (left,), span)
        if above:
            return self._of_numbers(Order(kind, ">", by=by), (left, right), span)
        return self._of_numbers(Order(kind, ">", by=-by), (right, left), span)

    def _of_numbers(self, relation: Shift | Order, terms: tuple[Term, ...], span: Span) -> Atom:
        self.names.numbers.setdefault(relation, span)
        return Atom(relation.predicate, terms, span)

    def _type_of(self, variable: Variable, span: Span) -> str:
        """Type of a variable, from its position in an atom of a declared predicate in the statement."""
        tokens, declared = self.cursor.tokens, self.names.declared
        for position in range(self._begin, len(tokens)):
            if tokens[position].kind in (NEWLINE, END) and position > self.cursor.position:
                break
            if tokens[position].text in declared and tokens[position + 1].text == "(":
                places = arguments_at(self.cursor, position + 1)
                for kind, argument in zip(declared[tokens[position].text], places, strict=False):
                    if variable.name in [token.text.removeprefix("?") for token in argument]:
                        return kind
        raise LanguageError(
            f"nothing says what type '{variable.name}' has",
            span=variable.span or span,
            hint="numbers are compared and counted on for variables of declared predicates",
        )

    def _shifted(self, term: Term, by: int, start: Token, kind: str | None = None) -> Variable:
        """The variable for ``term + by``; ``kind``: its type, by default that of the term."""
        span = self.cursor.span_from(start.start)
        if kind is None:
            if not isinstance(term, Variable):
                raise self.cursor.refusal("only a variable is counted on from", start)
            kind = self._type_of(term, span)
        shift = Shift(kind, by)
        return self._value_of(
            shift.predicate, (term,), lambda value: self._of_numbers(shift, (term, value), span)
        )

    def _operand(self) -> Formula:
        self.cursor.enter()
        formula = self._nested()
        self.cursor.leave()
        return formula

    def _nested(self) -> Formula:
        cursor, token = self.cursor, self.cursor.here
        if token.text in ("(", "["):
            return self._bracketed()
        if token.text == "!" or (token.text == "NOT" and self._words):
            cursor.take()
            operand = self._operand()
            return Not(operand, cursor.span_from(token.start))
        if token.text == "*":
            return self._starred()
        if token.text.lower() in QUANTIFIERS and cursor.after.kind in ("name", "marked"):
            return self._quantified()
        if self._is_known_by_itself(token.text, _COUNTING) and cursor.token_ahead(3).text == "(":
            return self._counted()
        if token.kind == "name" and cursor.after.text in ("(", "|"):
            return self._atom()
        if token.kind in ("name", "string", "number", "marked") or token.text == "+":
            return self._comparison_or_nullary()
        raise cursor.expected("a formula", hint=likely_sign(token))

    def _bracketed(self) -> Formula:
        opening, outside = self.cursor.take(), self._words
        self._words |= opening.text == "["  # Tuffy's conditions: [a != b AND b < 3]
        formula = self.read()
        self._words = outside
        self.cursor.expect(")" if opening.text == "(" else "]", hint=likely_sign(self.cursor.here))
        return formula

    def _quantified(self) -> Formula:
        word = self.cursor.take()
        variables = [self._quantified_variable()]
        while self.cursor.accept(","):
            variables.append(self._quantified_variable())
        self._scopes.append(_Scope([variable.name for variable in variables]))
        body = self._operand() if self.names.question_marks else self.read()
        scope = self._scopes.pop()
        exists = word.text.lower() in EXISTS_WORDS
        body = scope.with_values(body, implied=not exists)
        span = self.cursor.span_from(word.start)
        return (Exists if exists else Forall)((*variables, *scope.variables), body, span)

    def _quantified_variable(self) -> Variable:
        if self.names.question_marks:
            return self._variable(self.cursor.expect_kind("marked", "a variable such as ?x"))
        token = self.cursor.expect_kind("name", "a variable")
        if self.names.is_constant(token.text):
            raise self.cursor.refusal(
                f"'{token.text}' cannot be quantified", token, "variables begin with a lower-case letter"
            )
        return self._variable(token)

    def _starred(self) -> Formula:
        star = self.cursor.take()
        if self.cursor.here.kind != "name":
            raise self.cursor.expected("a predicate behind '*'")
        atom = self._atom() if self.cursor.after.text in ("(", "|") else self._nullary()
        return Not(atom, self.cursor.span_from(star.start)) if self._choice(2) else atom

    def _comparison_or_nullary(self) -> Formula:
        following = self.cursor.after.text
        if self.cursor.here.kind == "name" and following not in _COMPARED_OR_STEPPED:
            return self._nullary()
        return self._compared()

    def _nullary(self) -> Formula:
        token = self.cursor.take()
        return self._atom_of(token, (), self.cursor.span_of(token))

    def _atom(self) -> Formula:
        if self.cursor.here.text in self.names.functions:
            return self._function_compared()
        if self._is_known_by_itself(self.cursor.here.text, _STEPPING):
            return self._compared()
        if self._is_known_by_itself(self.cursor.here.text, _COMPARING):
            return self._compared_by_name()
        predicates = [self.cursor.take()]
        while self.cursor.accept("|"):
            predicates.append(self.cursor.expect_kind("name", "a predicate"))
        predicate = predicates[self._choice(len(predicates)) if len(predicates) > 1 else 0]
        arguments = self._arguments(predicate.text)
        span = self.cursor.span_from(predicates[0].start)
        if self.cursor.here.text in _ORDERINGS and predicate.text in self.names.declared:
            hint = "an implication is written premise => conclusion"
            raise self.cursor.refusal(f"'{predicate.text}' has no value to be compared", predicate, hint)
        if self.cursor.here.text in _COMPARISONS:
            raise self.cursor.refusal(f"'{predicate.text}' is used as a function", predicate, _UNDECLARED)
        return self._atom_of(predicate, arguments, span)

    def _is_known_by_itself(self, name: str, known: Container[str]) -> bool:
        """Whether a name is built in: one of ``known`` that the file, which declares others, does not
        declare."""
        names = self.names
        return name in known and bool(names.declared) and name not in names.declared

    def _counted(self) -> Computed:
        """Read ``count(P(x, y) | x) >= 2``: the count is over the variables that do not follow the bar."""
        cursor, word = self.cursor, self.cursor.take()
        cursor.expect("(")
        atom = self._atom()
        fixed: list[Term] = []
        while cursor.accept("," if fixed else "|"):
            fixed.append(self._term())
        cursor.expect(")")
        over = tuple(v for v in free_variables(atom).values() if v not in fixed)
        if not over:
            raise cursor.refusal("every variable of this count is fixed", word)
        sign = cursor.take()
        if sign.text not in _COMPARISONS:
            raise cursor.refusal("a count is compared with a number", sign)
        number = cursor.expect_kind("number", "a whole number")
        total = Aggregate("count", over, (atom,), cursor.span_from(word.start))
        limit = Constant(self._whole(number), cursor.span_of(number))
        return Computed(_COMPARISONS[sign.text], total, limit, cursor.span_from(word.start))

    def _compared_by_name(self) -> Formula:
        """Read a comparison by name, ``greaterThan(s, t + 1)``."""
        word = self.cursor.take()
        self.cursor.expect("(")
        terms = [self._stepped()]
        while self.cursor.accept(","):
            terms.append(self._stepped())
        self.cursor.expect(")")
        if len(terms) != 2:
            raise self.cursor.refusal(f"'{word.text}' takes 2 arguments", word)
        return self._related(_COMPARING[word.text], *terms)

    def _only_argument(self, word: Token, kind: str | None = None) -> Term:
        """Read the argument of a word that takes one; ``kind``: its type, if that is known."""
        arguments = self._arguments(word.text, () if kind is None else (kind,))
        if len(arguments) != 1:
            raise self.cursor.refusal(f"'{word.text}' takes 1 argument", word)
        return arguments[0]

    def _function_compared(self) -> Formula:
        """Read ``Mother(x) = y``, which states the value of a function."""
        function, arguments = self._function_term()
        sign = self.cursor.here
        if sign.text not in EQUALITIES:
            hint = f"write {function.text}(...) = value"
            raise self.cursor.refusal(f"'{function.text}' is a function and has no truth", function, hint)
        self.cursor.take()
        value = self._term()
        valued = self._atom_of(function, (*arguments, value), self.cursor.span_from(function.start))
        return valued if EQUALITIES[sign.text] == "=" else Not(valued, valued.span)

    def _arguments(self, predicate: str, types: tuple[str, ...] = ()) -> tuple[Term, ...]:
        """Read arguments in brackets; ``types``: theirs, if the name is not that of a declared predicate."""
        types = self.names.declared.get(predicate, types)
        self.cursor.expect("(")
        if self.cursor.accept(")"):
            return ()
        arguments = [self._argument(types, 0)]
        while not self.cursor.accept(")"):
            if not self.cursor.accept(","):
                raise self.cursor.expected("',' or ')'")
            self.cursor.skip(NEWLINE)
            arguments.append(self._argument(types, len(arguments)))
        return tuple(arguments)

    def _argument(self, types: tuple[str, ...], place: int) -> Term:
        """Read a term, perhaps with a number added as in LoMRF's ``t++`` or Alchemy's ``t + 1``."""
        start, kind = self.cursor.here, types[place] if place < len(types) else None
        term = self._term(kind)
        by = self._step()
        if not by:
            return term
        if kind is None:
            raise self.cursor.refusal(
                "arithmetic needs a predicate that is declared", start, "declare its types above"
            )
        return self._shifted(term, by, start, kind)

    def _step(self) -> int:
        """Read the number added to a term by ``++``, ``--``, ``+ 2`` or ``- 2``; 0 if there is none."""
        cursor = self.cursor
        if cursor.here.kind == "number" and cursor.here.text.startswith("-"):
            return int(self._whole(cursor.take()))
        if not cursor.at("+", "-"):
            return 0
        sign = cursor.take()
        if cursor.accept(sign.text):
            return 1 if sign.text == "+" else -1
        by = self._whole(cursor.expect_kind("number", "a whole number"))
        return by if sign.text == "+" else -by

    def _whole(self, token: Token) -> int:
        if not token.text.removeprefix("-").isdecimal() or len(token.text) > 9:
            raise self.cursor.refusal(f"expected a whole number, found {token.shown}", token)
        return int(token.text)

    def _atom_of(self, predicate: Token, arguments: tuple[Term, ...], span: Span) -> Formula:
        """The atom; for a many-valued predicate, the last argument becomes its value."""
        self.names.seen.setdefault(predicate.text, span)
        if predicate.text not in self.names.many_valued:
            return Atom(predicate.text, arguments, span)
        if not arguments:
            raise self.cursor.refusal(f"'{predicate.text}' is many-valued and has no value here", predicate)
        return ValueIs(Atom(predicate.text, arguments[:-1], span), arguments[-1], span)

    def _term(self, kind: str | None = None) -> Term:
        """Read a term; ``kind``: its type, if its place says so."""
        cursor, token = self.cursor, self.cursor.here
        if token.text == "+":
            return self._marked_variable()
        if token.kind == "name" and cursor.after.text == "(":
            return self._function_value(kind)
        if token.kind not in ("name", "string", "number", "marked"):
            raise cursor.expected("a variable or a constant")
        cursor.take()
        if token.kind == "string":
            return Constant(text_of_string(token.text), cursor.span_of(token))
        if self.names.question_marks and token.kind != "marked":
            return self._dotted_constant(token)
        if token.kind == "number" or (token.kind == "name" and self._is_constant(token.text)):
            return Constant(token.text, cursor.span_of(token))
        return self._variable(token)

    def _dotted_constant(self, first: Token) -> Constant:
        """Read a constant up to a blank, comma, bracket or comparison, such as ``00.5_a``."""
        cursor, end = self.cursor, first.end
        while cursor.here.start == end and not cursor.at_end and cursor.here.text not in _BEHIND_CONSTANTS:
            end = cursor.take().end
        span = cursor.span_from(first.start)
        return Constant(span.text, span)

    def _function_value(self, kind: str | None) -> Variable:
        """Read a function term; return the variable for its value. ``kind``: type of the value, if known."""
        if self._is_known_by_itself(self.cursor.here.text, _STEPPING):
            word = self.cursor.take()
            return self._shifted(self._only_argument(word, kind), _STEPPING[word.text], word, kind)
        function, arguments = self._function_term()
        span = self.cursor.span_from(function.start)
        return self._value_of(
            function.text, arguments, lambda value: self._atom_of(function, (*arguments, value), span)
        )

    def _function_term(self) -> tuple[Token, tuple[Term, ...]]:
        """Read a function and its arguments; files without declarations need not declare functions."""
        names, function = self.names, self.cursor.take()
        known = function.text in names.functions
        if not known and (names.declared or function.text in names.seen):
            raise self.cursor.refusal(f"'{function.text}' is used as a function", function, _UNDECLARED)
        arguments = self._arguments(function.text)
        expected = names.functions.setdefault(function.text, len(arguments))
        if len(arguments) != expected:
            raise self.cursor.refusal(
                f"'{function.text}' takes {counted(expected, 'argument')}, not {len(arguments)}", function
            )
        names.seen.setdefault(function.text, self.cursor.span_from(function.start))
        return function, arguments

    def _value_of(
        self, what: str, arguments: tuple[Term, ...], stated: Callable[[Variable], Formula]
    ) -> Variable:
        """The variable for the value of ``what`` of these arguments, the same one for equal terms in a scope.

        Its scope is the innermost one that binds one of the arguments, else the whole formula. ``stated``
        makes the atom that states its value.
        """
        used = {term.name for term in arguments if isinstance(term, Variable)}
        scope = next((scope for scope in reversed(self._scopes) if used & {*scope.bound}), self._scopes[0])
        if (what, arguments) not in scope.values:
            text = self.cursor.source.text
            name = next(name for n in self._numbers if (name := f"{what}_{n}") not in text)
            value = Variable(name)
            scope.bound.append(name)
            scope.values[what, arguments] = value, stated(value)
        return scope.values[what, arguments][0]

    def _variable(self, token: Token) -> Variable:
        """The variable of a token; ``_``, a name like any other here, must not become our anonymous one."""
        name = _name_for_blank(self.cursor.source.text) if token.text == "_" else token.text
        return Variable(name.removeprefix("?"), self.cursor.span_of(token))

    def _is_constant(self, name: str) -> bool:
        if self.names.question_marks:
            return True
        bound = any(name in scope.bound for scope in self._scopes)
        return not bound and (self.names.is_constant(name) or name in self.names.constants)

    def _marked_variable(self) -> Variable:
        plus = self.cursor.take()
        variable = self._term()
        bound = {name for scope in self._scopes for name in scope.bound}
        if not isinstance(variable, Variable) or variable.name in bound:
            raise self.cursor.refusal("'+' goes before a free variable", plus)
        if variable not in self.marked:
            self.marked.append(variable)
        return variable


@lru_cache(maxsize=1)
def _name_for_blank(text: str) -> str:
    """A name in place of ``_`` that occurs nowhere in the text."""
    return next(name for number in count() if (name := f"_{number}") not in text)


def arguments_at(cursor: Cursor, opening: int) -> list[list[Token]]:
    """Tokens of each argument from an opening bracket to the one that closes it, or to the end; those in
    nested brackets are left out."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for token in cursor.tokens_from(opening):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            break
        if depth == 1 and token.text == ",":
            arguments.append([])
        elif depth == 1 and token.text != "(":
            arguments[-1].append(token)
    return arguments


def likely_sign(token: Token) -> str:
    """Hint for a token that is probably a sign of another language; empty if it is not."""
    meant = _LIKELY_SIGNS.get(token.text.lower())
    return f"write {meant}" if meant else ""
