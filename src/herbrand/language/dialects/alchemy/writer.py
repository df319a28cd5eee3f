"""Writer of Alchemy's files: ``.mln`` for declarations and formulas, ``.db`` for ground facts.

Takes a theory and its signature; returns text that reads back to the same theory, except that variables must
begin with a lower-case letter, inferred declarations are written out, ``xor`` and ``in`` become other
connectives, and labels become comments. Statements that the format cannot express are refused, each with its
place.

>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('1.5: smokes(X) and X != "Bob" => smokes("anna")')
>>> print(write_mln(theory, check(theory)), end="")
smokes(thing)
<BLANKLINE>
1.5 smokes(x) ^ x != Bob => smokes("anna")
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import cast

from herbrand.language.comparisons import body_computes, variables_of
from herbrand.language.dialects.alchemy.lexicon import is_constant_name, is_plain_name, written_constant
from herbrand.language.dialects.collecting import as_text, has_no, refusal, written_lines
from herbrand.language.dialects.infix import Sign, rewritten, write_formula
from herbrand.language.dialects.renaming import SpelledNames
from herbrand.language.formulas import (
    And,
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
    Leaf,
    Not,
    Or,
    Term,
    Truth,
    ValueIn,
    ValueIs,
    Variable,
    Xor,
    leaf_terms,
    walk,
    with_changed_terms,
)
from herbrand.language.names import shown_number
from herbrand.language.scope import variable_types
from herbrand.language.signature import Predicate, Signature, Type
from herbrand.language.syntax import (
    FactRows,
    Hard,
    Learned,
    PredicateDeclaration,
    Rule,
    Single,
    TypeDeclaration,
    WeightedFormula,
    learned_by,
)
from herbrand.language.theory import Theory

_COMPUTED = "mln is not written with computed values, but for t + 1, t > 2 and the like"
SIGNS = {
    Exists: Sign(0, "EXIST "),
    Forall: Sign(0, "FORALL "),
    Iff: Sign(1, " <=> "),
    Implies: Sign(2, " => "),
    Or: Sign(3, " v "),
    And: Sign(4, " ^ "),
    Not: Sign(5, "!"),
}


def write_mln(theory: Theory, signature: Signature) -> str:
    """Write a theory without its facts as ``.mln`` text. Raises UnsupportedError for other statements."""
    return _MlnWriter(signature).write(theory)


def write_db(theory: Theory, signature: Signature) -> str:
    """Write the facts as ``.db`` text. Raises UnsupportedError for facts that are soft or weighted."""
    return as_text(written_lines(theory.facts, _fact_lines))


class _MlnWriter:
    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._predicates = signature.named
        self._closed = {name: kind for name, kind in signature.types.items() if kind.values is not None}
        named = [name for p in self._predicates.values() for name in p.column_types]
        self._types = SpelledNames(dict.fromkeys([*self._closed, *named]), _type_spelling)

    def write(self, theory: Theory) -> str:
        lines = written_lines(theory.singly(), self._statement)
        head = [*self._type_lines(), *self._predicate_lines()]
        return as_text([*head, *([""] if head and lines else []), *lines])

    def _type_lines(self) -> Iterator[str]:
        for name, kind in self._closed.items():
            yield f"{self._types[name]} = {{{_values(kind)}}}"

    def _predicate_lines(self) -> Iterator[str]:
        observed = [p.name for p in self._predicates.values() if p.role == "observed"]
        if observed:
            yield f"// '*' marks a closed world; Alchemy takes no '*' here, but: -cw {','.join(observed)}"
        elif known_open := [p.name for p in self._predicates.values() if _is_open(p)]:
            yield f"// -ow {','.join(known_open)}"
        yield from (self._declaration(p) for p in self._predicates.values() if is_plain_name(p.name))

    def _declaration(self, predicate: Predicate) -> str:
        types = [self._types[name] for name in predicate.types]
        if predicate.value_type is not None:
            types.append(f"{self._types[predicate.value_type]}!")
        star = "*" if predicate.role == "observed" else ""
        return f"{star}{predicate.name}({', '.join(types)})" if types else f"{star}{predicate.name}"

    def _statement(self, statement: Single) -> list[str]:
        match statement:
            case PredicateDeclaration(name=name, role=role):
                if not is_plain_name(name):
                    raise refusal(statement, f"'{name}' is no name of an .mln file")
                if role == "learned":
                    raise refusal(statement, "an .mln file has no predicates with learned tuples")
                return []
            case WeightedFormula(label=label):
                _refuse_unsayable(statement, self._signature)
                lines = [_written_formula(statement)]
                return lines if label is None else [f"// {_one_line(label)}", *lines]
            case Rule(body=body) if body_computes(body):
                raise refusal(statement, _COMPUTED)
            case Rule():
                raise refusal(statement, "an .mln file has no rules that derive predicates")
            case FactRows() | TypeDeclaration():
                return []
        raise has_no("an .mln file", statement)


def _is_open(predicate: Predicate) -> bool:
    """Whether a predicate is declared open, and so must be listed: otherwise the facts would decide.

    A function is written in the form in which it was read: as an open predicate, with formulas that allow
    exactly one value.
    """
    has_world = predicate.function or (predicate.declared and predicate.tells_world)
    return (
        has_world
        and predicate.value_type is None
        and predicate.role is None
        and is_plain_name(predicate.name)
    )


def _written_formula(statement: WeightedFormula) -> str:
    names = _variable_names(statement)
    marked = {names[variable.name] for variable in learned_by(statement.weight)}
    renamed = rewritten(statement.formula, lambda part: _renamed(part, names))
    formula = rewritten(renamed, _in_their_connectives)
    text = write_formula(formula, SIGNS, lambda leaf: _leaf(leaf, marked))
    if statement.where:
        text += " : " + ", ".join(_leaf(_renamed(comparison, names)) for comparison in statement.where)
    match statement.weight:
        case Hard():
            return f"{text}."
        case Learned():
            return f"({text})" if isinstance(formula, Atom | ValueIs) and not statement.where else text
        case weight:
            weighs = (
                f"{shown_number(weight)} " if statement.times is None else f"{names[statement.times.name]}: "
            )
            return weighs + text


def _refuse_unsayable(statement: WeightedFormula, signature: Signature) -> None:
    if statement.times is not None and statement.weight != 1:
        raise refusal(statement, _COMPUTED)
    for part in walk(statement.formula):
        match part:
            case Truth():
                raise refusal(statement, "an .mln file has no 'true' and 'false'")
            case Comparison(operator=operator, left=left, right=right) if operator not in ("=", "!="):
                if not _of_numbers((left, right), statement.formula, signature):
                    raise refusal(statement, f"an .mln file has no comparison '{operator}' but of numbers")
            case Computed(left=left, right=right):
                if not (_is_step(left) and _is_step(right)):
                    raise refusal(statement, _COMPUTED)
            case Atom(predicate=name) if not is_plain_name(name):
                raise refusal(statement, f"'{name}' is no name of an .mln file")


def _of_numbers(terms: Sequence[Term], formula: Formula, signature: Signature) -> bool:
    """Whether the terms are numbers and variables of numbers, and at least one is a variable."""
    types = variable_types([formula], signature)
    variables = [types.get(term.name, "") for term in terms if isinstance(term, Variable)]
    texts = [term for term in terms if isinstance(term, Constant) and isinstance(term.value, str)]
    numeric = all(name in signature.types and signature.types[name].kind == "number" for name in variables)
    return bool(variables) and numeric and not texts


def _is_step(value: Expression) -> bool:
    """Whether a side of a comparison can be written as ``t``, ``t + 1`` or ``t - 2``."""
    match value:
        case Arithmetic(sign="+" | "-", operands=(Variable(), Constant(value=int(by)))):
            return by >= 0
    return isinstance(value, Variable)


def _variable_names(statement: WeightedFormula) -> SpelledNames:
    parts = [*walk(statement.formula), *statement.where]
    quantified = [v.name for part in parts if isinstance(part, Exists | Forall) for v in part.variables]
    used = [v.name for v in variables_of(parts).values() if not v.anonymous]
    return SpelledNames(dict.fromkeys([*used, *quantified]), _variable_spelling)


def _in_their_connectives(formula: Formula) -> Formula:
    """The formula with ``xor`` and ``in`` expressed by connectives that Alchemy has."""
    match formula:
        case Xor(operands=operands):
            return _odd(operands)
        case ValueIn(atom=atom, values=values):
            choices = tuple(ValueIs(atom, value) for value in values)
            return choices[0] if len(choices) == 1 else Or(choices)
    return formula


def _odd(operands: Sequence[Formula]) -> Formula:
    """Formula that an odd number of operands is true; split in halves, so that many do not nest deep."""
    if len(operands) == 1:
        return operands[0]
    middle = len(operands) // 2
    return Not(Iff(_odd(operands[:middle]), _odd(operands[middle:])))


def _renamed(formula: Formula, names: SpelledNames) -> Formula:
    def term(old: Term) -> Term:
        if not isinstance(old, Variable):
            return old
        return Variable(names.fresh("any") if old.anonymous else names[old.name])

    if isinstance(formula, Leaf):
        return with_changed_terms(formula, term, lambda inner: inner)
    match formula:
        case Exists(variables=variables, body=body) | Forall(variables=variables, body=body):
            return type(formula)(tuple(Variable(names[v.name]) for v in variables), body)
    return formula


def _leaf(leaf: Formula, marked: Collection[str] = ()) -> str:
    match leaf:
        case Atom(predicate=predicate) | ValueIs(atom=Atom(predicate=predicate)):
            terms = ", ".join(_term(term, marked) for term in leaf_terms(leaf))
            return f"{predicate}({terms})" if terms else predicate
        case Comparison(operator=operator, left=left, right=right):
            return f"{_term(left, marked)} {operator} {_term(right, marked)}"
        case Computed(operator=operator, left=left, right=right):
            return f"{_step(left)} {operator} {_step(right)}"
    raise AssertionError(f"{leaf} should have been rewritten")


def _step(value: Expression) -> str:
    if isinstance(value, Arithmetic):
        return f" {value.sign} ".join(map(_step, value.operands))
    return str(value.value) if isinstance(value, Constant) else cast(Variable, value).name


def _term(term: Term, marked: Collection[str]) -> str:
    if isinstance(term, Constant):
        return written_constant(term.value)
    return f"+{term.name}" if term.name in marked else term.name


def _fact_lines(rows: FactRows) -> list[str]:
    if rows.kind not in ("true", "false"):
        kind = "soft evidence" if rows.kind == "soft" else "weights of facts"
        raise refusal(rows, f"a .db file has no {kind}")
    if not is_plain_name(rows.predicate):
        raise refusal(rows, f"'{rows.predicate}' is no name of a .db file")
    sign = "!" if rows.kind == "false" else ""
    if not rows.columns:
        return [f"{sign}{rows.predicate}"] * rows.row_count
    columns = [map(written_constant, column) for column in rows.columns]
    return [f"{sign}{rows.predicate}({','.join(row)})" for row in zip(*columns, strict=True)]


def _variable_spelling(name: str) -> str:
    if is_plain_name(name) and not is_constant_name(name):
        return name
    cleaned = re.sub(r"\W", "_", name)
    return f"{cleaned[0].lower()}{cleaned[1:]}" if is_plain_name(cleaned) else f"x_{cleaned}"


def _type_spelling(name: str) -> str:
    cleaned = re.sub(r"\W", "_", name)
    return name if is_plain_name(name) else cleaned if is_plain_name(cleaned) else f"t_{cleaned}"


def _values(kind: Type) -> str:
    values = kind.values or ()
    if isinstance(values, range) and len(values) > 2:
        return f"{values[0]}, ..., {values[-1]}"
    return ", ".join(map(written_constant, values))


def _one_line(text: str) -> str:
    return " ".join(text.split())
