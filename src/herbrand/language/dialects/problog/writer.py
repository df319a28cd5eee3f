"""Writer of ProbLog's ``.pl`` files: facts, rules, choices, evidence and the queries of the theory.

Statements that ProbLog does not have are refused: weights, bounds, many-valued and open predicates, soft
evidence. Goals stand in an order in which Prolog can try them. A variable that none of them binds ranges over
its type, whose constants become facts, as ProbLog has no types.

>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('0.3 :: ill(x) :- not safe(x), person(x)\\nperson("Ann")\\nsafe("b")')
>>> print(write_pl(theory, check(theory)), end="")
0.3::ill(X) :- person(X), \\+safe(X).
person('Ann').
safe(b).
>>> theory = parse_theory('type coin = {"a", "b"}\\npredicate heads(coin)\\n0.4 :: heads(x)')
>>> print(write_pl(theory, check(theory)), end="")
0.4::heads(X) :- coin(X).
coin(a).
coin(b).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from herbrand.errors import UnsupportedError
from herbrand.language.comparisons import variables_of
from herbrand.language.dialects.collecting import as_text, has_no, refusal, written_lines
from herbrand.language.dialects.problog.goals import BUILT_IN, NO_ATOMS
from herbrand.language.dialects.problog.names import valued
from herbrand.language.dialects.renaming import SpelledNames, fresh_name
from herbrand.language.formulas import (
    FUNCTIONS,
    OF_TEXTS,
    Arithmetic,
    Atom,
    Comparison,
    Computed,
    Constant,
    Expression,
    Formula,
    Not,
    Term,
    Truth,
    Value,
    Variable,
    unnegated,
)
from herbrand.language.names import shown_constant, shown_number
from herbrand.language.scope import variable_types, with_terms
from herbrand.language.show import show_formula
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    Alternative,
    BodyLiteral,
    Bound,
    Chance,
    Choice,
    FactRows,
    Learned,
    NetworkTable,
    PredicateDeclaration,
    Query,
    Rule,
    Single,
    TypeDeclaration,
    WeightedFormula,
    formulas_in,
    learned_by,
)
from herbrand.language.theory import Theory

_PLAIN = re.compile(r"[a-z][A-Za-z0-9_]*")
_ESCAPED = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})
_SIGNS = {"=": "=", "!=": "\\=", "<": "<", "<=": "=<", ">": ">", ">=": ">="}
_TAKEN = BUILT_IN | NO_ATOMS
"""Names with a number of arguments, such as ``p/2``, that have a built-in meaning."""
_TAKEN_NAMES = {"query", "evidence", "not", "call"}
_OBSERVED = "where what is not listed is false, declare it: predicate {}: observed"


def _unsaid(statement: Single | Query) -> str:
    """What a ``.pl`` file lacks to hold a statement of this kind."""
    match statement:
        case Rule():
            return "weights behind rules"
        case NetworkTable():
            return "tables of networks"
        case PredicateDeclaration(values=None):
            return "predicates with learned tuples"
        case PredicateDeclaration():
            return "many-valued predicates"
        case _:
            return "queries but of one atom"


def write_pl(theory: Theory, signature: Signature) -> str:
    """Write a theory as ``.pl`` text. Raises one UnsupportedError for all statements of other kinds."""
    writer = _Writer(theory, signature)
    lines = written_lines([*theory.singly(), *theory.queries], writer.lines)
    lines += writer.range_lines()
    listed = {rows.predicate for rows in theory.facts}
    given = [each for name, each in signature.named.items() if name not in theory.derived]
    for predicate in given:
        has_facts = predicate.name in listed and (predicate.undecided or not predicate.declared)
        if predicate.role != "observed" and not has_facts:
            message = f"'{predicate.name}' is open, and a .pl file has closed predicates only"
            raise UnsupportedError(message, span=predicate.span, hint=_OBSERVED.format(predicate))
    bare = [predicate for predicate in given if predicate.name not in listed]
    undefined = bare or any(not writer.constants(name) for name in writer.ranges)
    return as_text([":- unknown(fail).", *lines] if undefined else lines)


class _Writer:
    """Writer of statements. ``ranges``: types of variables that no goal binds, each with the predicate that
    lists its constants."""

    def __init__(self, theory: Theory, signature: Signature) -> None:
        self._theory, self._signature = theory, signature
        self._derived = theory.derived.keys()
        self._spelled = theory.spelled
        self._made = {
            name for statement in (*theory.rules, *theory.choices) for name in self._made_types(statement)
        }
        self.ranges: dict[str, str] = {}

    def range_lines(self) -> Iterator[str]:
        """Yield facts for the constants of each type over which variables range."""
        for name, predicate in self.ranges.items():
            yield from (f"{_quoted(predicate)}({_constant(value)})." for value in self.constants(name))

    def constants(self, type_name: str) -> Collection[Value]:
        """Constants of a type: those that it declares, that statements name, and that facts have."""
        known = self._signature.types[type_name].values or ()
        constants = dict.fromkeys((*known, *self._signature.mentioned.get(type_name, ())))
        for rows in self._theory.facts:
            types = self._signature.predicates[rows.predicate].column_types
            for name, column in zip(types, rows.columns, strict=True):
                constants |= dict.fromkeys(column if name == type_name else ())
        return constants

    def _range(self, type_name: str) -> str:
        if type_name not in self.ranges:
            taken = {
                *self._signature.predicates,
                *self._spelled.values(),
                *self.ranges.values(),
                *_TAKEN_NAMES,
            }
            taken |= {each.rpartition("/")[0] for each in _TAKEN}
            self.ranges[type_name] = fresh_name(type_name, taken)
        return self.ranges[type_name]

    def lines(self, statement: Single | Query) -> Iterator[str]:
        match statement:
            case FactRows(kind="true" | "false"):
                yield from self._facts(statement)
            case Rule(head=head, body=body, weight=None):
                yield self._clause([head], (), body)
            case Choice(alternatives=alternatives, body=body):
                chances = [each.probability for each in alternatives]
                yield self._clause(list(map(self._head, alternatives)), chances, body)
            case Query(formula=Not(operand=Atom() as atom)):
                yield f"query(\\+{self._atom(atom, _spelled_variables([atom]))})."
            case Query(formula=Atom() as atom):
                yield f"query({self._atom(atom, _spelled_variables([atom]))})."
            case TypeDeclaration() | PredicateDeclaration(values=None, role=None | "observed"):
                return
            case WeightedFormula() | Bound():
                raise has_no("a .pl file", statement)
            case FactRows():
                raise refusal(statement, f"a .pl file has no {statement.kind} facts")
            case _:
                raise refusal(statement, f"a .pl file has no {_unsaid(statement)}")

    def _facts(self, rows: FactRows) -> Iterator[str]:
        if rows.valued:
            raise refusal(rows, "a .pl file has no many-valued predicates")
        if rows.kind == "false" and rows.predicate not in self._derived:
            raise refusal(rows, "a .pl file lists what is true; only evidence on derived predicates is false")
        for index in range(rows.row_count):
            atom = Atom(rows.predicate, tuple(map(Constant, rows.row(index))), rows.row_span(index))
            text = self._atom(atom, None)
            if rows.predicate not in self._derived or (rows.kind == "true" and not self._theory.choices):
                yield f"{text}."
            else:
                yield f"evidence({text}, {rows.kind})."

    def _head(self, alternative: Alternative) -> Atom:
        if not isinstance(alternative.head, Atom):
            raise UnsupportedError("a .pl file has no many-valued predicates", span=alternative.span)
        return alternative.head

    def _made_types(self, statement: Rule | Choice) -> Iterator[str]:
        """Yield the open types of which a statement computes values."""
        values = variables_of([part for part in statement.body if isinstance(part, Computed)])
        atoms = variables_of([part for part in statement.body if isinstance(part, Atom)])
        for name, type in variable_types(formulas_in(statement), self._signature).items():
            if name in values and name not in atoms and self._signature.types[type].values is None:
                yield type

    def _listed(self, names: Sequence[str], types: Mapping[str, str], plain: bool, head: Atom) -> list[str]:
        """The variables that range over constants which a file can list; refuse those over computed numbers.

        ``plain``: the clause is a choice without a body; such a choice is made once for each call, so
        computed numbers need no list.
        """
        generated = [name for name in names if types[name] in self._made]
        if generated and not plain:
            message = f"{generated[0]} ranges over numbers that rules make, which a .pl file does not list"
            raise UnsupportedError(message, span=head.span)
        return [name for name in names if name not in generated]

    def _clause(self, heads: list[Atom], chances: Sequence[Chance], body: tuple[BodyLiteral, ...]) -> str:
        """Text of a choice, or of a rule, whose only head has no chance."""
        by = [variable for chance in chances for variable in learned_by(chance)]
        named = [chance for chance in chances if isinstance(chance, Variable)]
        taken = set(variables_of([*by, *named, *heads, *map(unnegated, body)]))
        heads = [_with_named(head, taken) for head in heads]
        body = tuple(_apart(body, variables_of([*by, *named, *heads, *_not_negated(body)]).keys(), taken))
        names = _spelled_variables([*heads, *body], [*by, *named])
        shown = [f"{_chance(chance, names)}::" for chance in chances] or [""]
        text = "; ".join(before + self._atom(head, names) for before, head in zip(shown, heads, strict=True))
        types = variable_types([*heads, *body], self._signature)
        texts = {name for name, type in types.items() if self._signature.types[type].kind == "text"}
        unbound = _unbound(heads, body)
        goals = [self._goal(literal, names, texts) for literal in _in_order(body, set(unbound))]
        closed = {name for name, type in types.items() if self._signature.types[type].values is not None}
        computed = _computed(heads, body, closed.difference(unbound))
        plain = bool(chances) and not body
        listed = self._listed(unbound, types, plain, heads[0])
        goals = [self._of_type(types[n], names[n]) for n in listed] + goals
        goals += [self._of_type(types[n], names[n]) for n in computed]
        return f"{text} :- {', '.join(goals)}." if goals else f"{text}."

    def _of_type(self, type_name: str, variable: str) -> str:
        """Text of the goal that a variable is a constant of its type."""
        return f"{_quoted(self._range(type_name))}({variable})"

    def _goal(self, literal: Formula, names: SpelledNames, texts: Collection[str]) -> str:
        """Text of a goal; ``texts``: variables of texts, for which order comparisons have other signs."""
        match literal:
            case Atom():
                return self._atom(literal, names)
            case Not(operand=operand):
                return f"\\+{self._goal(operand, names, texts)}"
            case Truth(value=value):
                return "true" if value else "fail"
            case Comparison(operator=operator, left=left, right=right):
                text = any(_is_text(x, texts) for x in (left, right))
                sign = f"@{_SIGNS[operator]}" if text and operator not in ("=", "!=") else _SIGNS[operator]
                return f"{_term(left, names)} {sign} {_term(right, names)}"
            case Computed(operator=operator, left=left, right=right):
                if operator == "=" and isinstance(right, Variable):
                    left, right = right, left
                sign = {"=": "is" if isinstance(left, Variable) else "=:=", "!=": "=\\="}.get(
                    operator, _SIGNS[operator]
                )
                return f"{_number(left, names)} {sign} {_number(right, names)}"
        raise UnsupportedError(f"a .pl file cannot say {show_formula(literal)}", span=literal.span)

    def _atom(self, atom: Atom, names: SpelledNames | None) -> str:
        name = self._spelled.get(atom.predicate, atom.predicate)
        if name in _TAKEN_NAMES or f"{name}/{len(atom.arguments)}" in _TAKEN:
            raise UnsupportedError(f"'{name}' has a meaning of its own in a .pl file", span=atom.span)
        arguments = ", ".join(_term(term, names) for term in atom.arguments)
        return f"{_quoted(name)}({arguments})" if arguments else _quoted(name)


def _chance(chance: Chance, names: SpelledNames) -> str:
    match chance:
        case Variable() as variable:
            return _term(variable, names)
        case Learned(by=by, start=start):
            first = "_" if start is None else shown_number(start)
            return f"t({', '.join([first, *(_term(variable, names) for variable in by)])})"
        case number:
            return shown_number(number)


def _term(term: Term, names: SpelledNames | None) -> str:
    if isinstance(term, Variable):
        return "_" if term.anonymous or names is None else names[term.name]
    return _constant(term.value)


def _constant(value: Value) -> str:
    return _quoted(value) if isinstance(value, str) else shown_constant(value)


def _not_negated(body: Iterable[BodyLiteral]) -> list[BodyLiteral]:
    return [part for part in body if not isinstance(part, Not)]


def _apart(body: Iterable[BodyLiteral], outside: Collection[str], taken: set[str]) -> Iterator[BodyLiteral]:
    """Yield the goals with other names for variables that several negated goals have, and nothing ``outside``
    of these: each of the goals means some value of its own, and Prolog reads one name as one value."""
    seen = set[str]()
    for part in body:
        if isinstance(part, Not):
            own = [name for name in variables_of(unnegated(part)) if name not in outside]
            renamed = {name: Variable(fresh_name(name, taken)) for name in own if name in seen}
            taken.update(variable.name for variable in renamed.values())
            seen.update(own)
            part = cast(BodyLiteral, with_terms(part, renamed))
        yield part


def _unbound(heads: Sequence[Atom], body: Sequence[BodyLiteral]) -> list[str]:
    """Variables outside ``not`` to which no goal gives a value."""
    outside = variables_of([*heads, *_not_negated(body)])
    known = valued(body)
    return [name for name, term in outside.items() if name not in known and not term.anonymous]


def _computed(heads: Sequence[Atom], body: Sequence[BodyLiteral], closed: Collection[str]) -> list[str]:
    """Variables of closed types in heads whose values are computed.

    One that not all heads have is refused: its value may lie outside the type, which excludes these heads
    alone, and no goal of the common body can express that.
    """
    values = variables_of([part for part in body if isinstance(part, Computed)])
    atoms = variables_of([part for part in body if isinstance(part, Atom)])
    names = [name for name in variables_of(heads) if name in values and name in closed and name not in atoms]
    for head in heads:
        if not variables_of(head).keys() >= {*names}:
            message = "a .pl file has no types, and a head of several may leave its type here"
            raise UnsupportedError(message, span=head.span)
    return names


def _is_text(term: Term, texts: Collection[str]) -> bool:
    return isinstance(term.value, str) if isinstance(term, Constant) else term.name in texts


def _number(value: Expression, names: SpelledNames) -> str:
    """Text of a number, a variable or arithmetic."""
    match value:
        case Arithmetic(sign="power", operands=[base, exponent]):
            return f"({_number(base, names)} ** {_number(exponent, names)})"
        case Arithmetic(sign=sign) if sign in OF_TEXTS:
            raise UnsupportedError(f"a .pl file has no {sign}", span=value.span)
        case Arithmetic(sign=sign, operands=[first, *rest]) if len(rest) > 1:  # of min and max
            return _number(replace(value, operands=(first, replace(value, operands=tuple(rest)))), names)
        case Arithmetic(sign=sign, operands=operands) if sign in FUNCTIONS:
            return f"{sign}({', '.join(_number(operand, names) for operand in operands)})"
        case Arithmetic(sign="negative", operands=[operand]):
            return f"-({_number(operand, names)})"
        case Arithmetic(sign=sign, operands=[left, right]):
            return f"({_number(left, names)} {'mod' if sign == '%' else sign} {_number(right, names)})"
        case Variable() | Constant():
            return _term(value, names)
    raise UnsupportedError("a .pl file has no aggregates", span=value.span)


def _quoted(text: str) -> str:
    """A name, in quotes unless it is plain."""
    if _PLAIN.fullmatch(text):
        return text
    return f"'{text.translate(_ESCAPED)}'"


def _with_named(head: Atom, taken: set[str]) -> Atom:
    """The head with a name for each ``_``, which means every constant, so that its type gives it values."""
    arguments = list(head.arguments)
    for place, term in enumerate(arguments):
        if isinstance(term, Variable) and term.anonymous:
            name = fresh_name("Any", taken)
            taken.add(name)
            arguments[place] = Variable(name, term.span)
    return replace(head, arguments=tuple(arguments))


def _spelled_variables(parts: Iterable[Formula], more: Iterable[Variable] = ()) -> SpelledNames:
    """Spellings of variables, which begin with a capital."""
    terms = variables_of([*more, *map(unnegated, parts)])
    return SpelledNames([name for name, term in terms.items() if not term.anonymous], _capitalised)


def _capitalised(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if plain == "_":  # a letter that ASCII lacks: '_' alone would be a new variable at each place
        return "V"
    return plain[0].upper() + plain[1:] if plain[0].isalpha() or plain[0] == "_" else f"V{plain}"


def _in_order(body: Sequence[BodyLiteral], known: set[str]) -> Iterator[BodyLiteral]:
    """Yield the goals in order, but postpone those whose variables have no values yet."""
    waiting, known = list(body), set(known)
    while waiting:
        first = next((goal for goal in waiting if _is_ready(goal, known)), waiting[0])
        waiting.remove(first)
        known |= variables_of(first).keys()
        yield first


def _is_ready(goal: BodyLiteral, known: set[str]) -> bool:
    """Whether Prolog can evaluate a goal; an equation may give one variable its value."""
    if isinstance(goal, Atom):
        return True
    if isinstance(goal, Comparison | Computed) and goal.operator == "=":
        free = [side for side in (goal.left, goal.right) if not variables_of(side).keys() <= known]
        return not free or (len(free) == 1 and isinstance(free[0], Variable))
    return variables_of(goal).keys() <= known
