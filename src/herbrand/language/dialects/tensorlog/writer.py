"""Writer of TensorLog's files: ``.ppr`` for rules, ``.cfacts`` for facts.

Takes a theory and its signature; returns text that reads back to the same theory, up to the names of
variables, which must begin with a capital. Statements that the format cannot express are refused, each with
its place. Predicates without arguments or with more than two, which TensorLog itself does not accept, are
written in the form that our reader accepts.

>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('uncle(x, y) :- parent(x, z), brother(z, y), weighted("r1")')
>>> print(write_ppr(theory, check(theory)), end="")
uncle(X,Y) :- parent(X,Z), brother(Z,Y) {r1}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from herbrand.errors import UnsupportedError
from herbrand.language.dialects.collecting import as_text, has_no, refusal, written_lines
from herbrand.language.dialects.renaming import SpelledNames
from herbrand.language.dialects.tensorlog.facts import NUMBER
from herbrand.language.dialects.tensorlog.rules import WEIGHTED
from herbrand.language.formulas import Atom, Comparison, Constant, Term, Truth, Value, Variable, leaf_terms
from herbrand.language.names import shown_number
from herbrand.language.signature import Signature
from herbrand.language.syntax import (
    BodyLiteral,
    FactRows,
    PredicateDeclaration,
    Rule,
    Single,
    TypeDeclaration,
)
from herbrand.language.theory import Theory

_NAME = re.compile(r"[\w$]+")
_CELL = re.compile(r"[^\s]+(?: +[^\s]+)*")
Fact = tuple[str, tuple[Value, ...]]
"""A predicate and its arguments."""


def write_ppr(theory: Theory, signature: Signature) -> str:
    """Write a theory without its facts as ``.ppr`` text. Raises UnsupportedError for other statements."""
    return as_text(written_lines(theory.singly(), _statement))


def write_cfacts(theory: Theory, signature: Signature) -> str:
    """Write the facts as ``.cfacts`` text. Raises UnsupportedError for facts that are not weighted tuples.

    If a last constant looks like a weight, the predicates are declared, so that it is not read as one.
    """
    lines = written_lines(_each_once(theory.facts), _fact_lines)
    declarations = _arity_declarations(theory, signature) if any(map(_looks_weighted, theory.facts)) else []
    return as_text([*declarations, *lines])


def _statement(statement: Single) -> Iterator[str]:
    match statement:
        case Rule():
            yield from _rule(statement)
        case PredicateDeclaration():
            yield from _declaration(statement)
        case TypeDeclaration(values=None, bounds=None) | FactRows():
            return
        case TypeDeclaration():
            raise refusal(statement, "a .ppr file has no closed types")
        case _:
            raise has_no("a .ppr file", statement)


def _declaration(statement: PredicateDeclaration) -> Iterator[str]:
    if statement.values is not None:
        raise refusal(statement, "a .ppr file has no many-valued predicates")
    for name in (statement.name, *statement.types):
        if not _NAME.fullmatch(name):
            raise refusal(statement, f"'{name}' is no name of a .ppr file")
    yield f"# :- {statement.name}({','.join(statement.types)})"
    if statement.role == "learned":
        yield f"# :- trainable({statement.name},{len(statement.types)})"


def _rule(rule: Rule) -> Iterator[str]:
    if rule.weight is not None:
        raise refusal(
            rule,
            "a .ppr file has no weight behind a rule",
            'name it in the body: weighted("r1"), a weighted fact',
        )
    literals = [literal for literal in (rule.head, *rule.body) if literal != Truth(True)]
    variables = [t.name for part in literals for t in leaf_terms(part) if isinstance(t, Variable)]
    names = SpelledNames(dict.fromkeys(name for name in variables if name != "_"), _variable_spelling)
    head, *body = (_literal(literal, rule, names) for literal in literals)
    feature = _constant_feature(literals[-1]) if len(literals) > 2 else None
    if feature is not None:
        body[-1:] = []
    if rule.label is not None:
        yield f"# {' '.join(rule.label.replace(':-', ': -').split())}"  # a comment with ':-' would declare
    yield f"{head} :- {', '.join(body)}{f' {{{feature}}}' if feature else ''}."


def _constant_feature(literal: BodyLiteral) -> str | None:
    """The ``name`` for the feature ``{name}`` if a last literal is ``weighted("name")``, else ``None``."""
    match literal:
        case Atom(predicate=predicate, arguments=(Constant(value=str() as name),)):
            return name if predicate == WEIGHTED and _NAME.fullmatch(name) else None
    return None


def _literal(literal: BodyLiteral, rule: Rule, names: SpelledNames) -> str:
    match literal:
        case Atom(predicate=predicate, arguments=arguments):
            if not _NAME.fullmatch(predicate) or predicate == "assign":
                raise refusal(rule, f"'{predicate}' is no predicate of a .ppr file")
            terms = ",".join(_term(term, rule, names) for term in arguments)
            return f"{predicate}({terms})" if arguments else predicate
        case (
            Comparison(operator="=", left=Variable() as variable, right=Constant() as constant)
            | Comparison(operator="=", left=Constant() as constant, right=Variable() as variable)
        ):
            return f"assign({_term(variable, rule, names)},{_term(constant, rule, names)})"
        case Comparison():
            raise refusal(rule, "a .ppr file has no comparison but of a variable with a constant by '='")
    raise refusal(rule, "the body of a .ppr rule holds atoms only, none negated or many-valued")


def _term(term: Term, rule: Rule, names: SpelledNames) -> str:
    if isinstance(term, Variable):
        return names.fresh("Any") if term.anonymous else names[term.name]
    text = str(term.value)
    if _NAME.fullmatch(text) and not text[0].isupper() and text[0] != "_":
        return text
    if "\n" in text or "\r" in text:
        raise refusal(rule, "a constant of a .ppr file stands on one line")
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _variable_spelling(name: str) -> str:
    if _NAME.fullmatch(name) and (name[0].isupper() or name[0] == "_"):
        return name
    cleaned = re.sub(r"\W", "_", name)
    capital = cleaned[0].upper() + cleaned[1:]
    return capital if capital[0].isupper() else f"V{cleaned}"


def _each_once(facts: Sequence[FactRows]) -> Iterator[FactRows]:
    """Yield every fact once, with its weight if it has one, since the file format adds up repeated facts."""
    weights: dict[Fact, float] = {}
    for rows in facts:
        if rows.kind == "weighted":
            _take_weights(rows, weights)
    written: set[Fact] = set()
    for rows in facts:
        yield rows if rows.kind in ("false", "soft") else _chosen(rows, list(_new(rows, weights, written)))


def _take_weights(rows: FactRows, weights: dict[Fact, float]) -> None:
    for place, (fact, number) in enumerate(zip(_facts(rows), rows.numbers, strict=True)):
        if weights.setdefault(fact, number) != number:
            raise UnsupportedError("this fact has another weight above", span=rows.row_span(place))


def _new(rows: FactRows, weights: Mapping[Fact, float], written: set[Fact]) -> Iterator[int]:
    """Yield the rows of facts that are not yet written and have no weight in other rows."""
    for place, fact in enumerate(_facts(rows)):
        if fact not in written and (rows.kind == "weighted" or fact not in weights):
            written.add(fact)
            yield place


def _facts(rows: FactRows) -> Iterator[Fact]:
    return ((rows.predicate, rows.row(place)) for place in range(rows.row_count))


def _chosen(rows: FactRows, places: Sequence[int]) -> FactRows:
    if len(places) == rows.row_count:
        return rows
    return replace(
        rows,
        columns=tuple(tuple(column[place] for place in places) for column in rows.columns),
        row_count=len(places),
        numbers=tuple(rows.numbers[place] for place in places if rows.numbers),
        starts=[rows.starts[place] for place in places if len(rows.starts)],
    )


def _fact_lines(rows: FactRows) -> list[str]:
    if rows.kind == "false" or rows.kind == "soft" or rows.valued:
        kind = "many-valued" if rows.valued else {"false": "false", "soft": "soft"}[rows.kind]
        raise refusal(rows, f"a .cfacts file has no {kind} facts")
    if not _NAME.fullmatch(rows.predicate):
        raise refusal(rows, f"'{rows.predicate}' is no name of a .cfacts file")
    if not rows.columns and any(number != 1 for number in rows.numbers):
        raise refusal(rows, "a .cfacts file has no weight of a fact without arguments")
    for index, row in enumerate(zip(*rows.columns, strict=True)):
        for value in row:
            if not _CELL.fullmatch(str(value)):
                raise UnsupportedError(
                    f"{value!r} is no constant of a .cfacts file", span=rows.row_span(index)
                )
    columns = [map(str, column) for column in rows.columns]
    if not columns:
        return [rows.predicate] * rows.row_count
    if rows.kind == "weighted":
        columns.append(map(shown_number, rows.numbers))
    return ["\t".join((rows.predicate, *row)) for row in zip(*columns, strict=True)]


def _looks_weighted(rows: FactRows) -> bool:
    return bool(rows.columns) and any(map(_is_numeric, rows.columns[-1]))


def _is_numeric(value: Value) -> bool:
    return NUMBER.fullmatch(str(value)) is not None


def _arity_declarations(theory: Theory, signature: Signature) -> Iterator[str]:
    for name in dict.fromkeys(rows.predicate for rows in theory.facts if rows.columns):
        types = ",".join(re.sub(r"\W", "_", kind) for kind in signature.predicate(name).types)
        yield f"# :- {name}({types})"
