"""Reader of ``.ppr`` and ``.tlog`` files: Horn clauses.

Takes a source; returns a theory of rules. Features become further goals of the body: ``{r1}`` becomes
``weighted("r1")``, ``{f(W): g(X,W)}`` becomes ``g(X,W), f(W)``. ``assign(Y,c)`` becomes the comparison
``Y = "c"``. TensorLog's ``_`` is one variable of its clause, so it gets a name where it occurs twice; where
it would close a cycle, which TensorLog refuses, it is a new variable at each place.

>>> from herbrand.language.theory import show
>>> print(show(read_ppr(Source("t.ppr", "p(X,Y) :- q(X,_), assign(Y,yes) {r1}."))), end="")
p(X, Y) :- q(X, _), Y = "yes", weighted("r1")
>>> print(show(read_tlog(Source("t.tlog", "p(X,Y) <= q(X,Z) & r(Z,Y) // f(W) | has(X,W)"))), end="")
p(X, Y) :- q(X, Z), r(Z, Y), has(X, W), f(W)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from herbrand.errors import LanguageError, Mistakes, Source, Span, counted
from herbrand.graphs import linked
from herbrand.language.dialects.renaming import fresh_name
from herbrand.language.dialects.scanner import Cursor, Token
from herbrand.language.dialects.tensorlog.declarations import Declarations
from herbrand.language.formulas import (
    Atom,
    Comparison,
    Constant,
    Term,
    Truth,
    Variable,
    leaf_terms,
    with_changed_terms,
)
from herbrand.language.syntax import BodyLiteral, PredicateDeclaration, Rule, Statement
from herbrand.language.theory import Theory

WEIGHTED = "weighted"
"""The predicate that holds the weights of named rules."""

UNQUOTED = "a constant that is no plain word stands in single quotes: 'two words', '0.5'"

_TOKENS = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<blank>\s+)
    |(?P<string>'(?:[^'\\\n]|\\.)*')
    |(?P<number>-?\d+\.\d+|-\d+)
    |(?P<name>[\w$]+)
    |(?P<sign>:-|<=|//|[(),.{}:&|])
    |(?P<unknown>.)""",
    re.VERBOSE,
)
_STRING_OR_COMMENT = re.compile(r"'(?:[^'\\\n]|\\.)*'|(#[^\n]*)")


@dataclass(frozen=True)
class _Signs:
    """Signs in which the two syntaxes differ; ``end``: sign that ends a clause, empty if there is none."""

    implied_by: str
    joined: str
    opens_feature: str
    before_generator: str
    closes_feature: str
    end: str


_PPR = _Signs(":-", ",", "{", ":", "}", ".")
_TLOG = _Signs("<=", "&", "//", "|", "", "")


def read_ppr(source: Source) -> Theory:
    """Read rules such as ``p(X,Y) :- q(X,Z), r(Z,Y) {feature}.``; all mistakes are raised together."""
    return _read(source, _PPR)


def read_tlog(source: Source) -> Theory:
    """Read rules such as ``p(X,Y) <= q(X,Z) & r(Z,Y) // feature``; all mistakes are raised together."""
    return _read(source, _TLOG)


def _read(source: Source, signs: _Signs) -> Theory:
    mistakes = Mistakes()
    comments = (match for match in _STRING_OR_COMMENT.finditer(source.text) if match[1])
    declarations = Declarations.of_comments(source, comments, mistakes)
    rules = list(_clauses(source, signs, mistakes))
    used = _predicates(rules)
    for name, (arity, span) in used.items():
        declared = declarations.arity(name)
        if declared is not None and declared != arity:
            mistakes.note(
                f"'{name}' has {counted(arity, 'argument')} here and is declared with {declared}", span
            )
    mistakes.raise_any()
    return Theory((*_kept(declarations, used), *rules))


def _kept(declarations: Declarations, used: Mapping[str, tuple[int, Span | None]]) -> list[Statement]:
    """The declarations if every predicate with arguments has one, else none: a theory that declares only some
    predicates would refuse the others."""
    without_arguments = {name for name, (arity, _) in used.items() if arity == 0}
    if not declarations.covers(set(used) - without_arguments):
        return []
    declared = declarations.statements()
    others = without_arguments.difference(one.name for one in declared)
    return [*declared, *map(PredicateDeclaration, sorted(others))] if declared else []


def _predicates(rules: list[Rule]) -> dict[str, tuple[int, Span | None]]:
    """Number of arguments and first span of each predicate."""
    predicates: dict[str, tuple[int, Span | None]] = {}
    for rule in rules:
        for literal in (rule.head, *rule.body):
            if isinstance(literal, Atom):
                predicates.setdefault(literal.predicate, (len(literal.arguments), literal.span))
    return predicates


def _clauses(source: Source, signs: _Signs, mistakes: Mistakes) -> Iterator[Rule]:
    cursor = Cursor(source, _TOKENS)
    while not cursor.at_end:
        with mistakes.collecting():
            yield _clause(cursor, signs)
            continue
        _recover(cursor, signs)


def _recover(cursor: Cursor, signs: _Signs) -> None:
    """Move past a broken clause: past the next full stop, or to the next line if clauses have none."""
    if signs.end:
        cursor.skip_past(signs.end)
        return
    newline = cursor.source.text.find("\n", cursor.here.start)
    while not cursor.at_end and (newline < 0 or cursor.here.start < newline):
        cursor.take()


def _clause(cursor: Cursor, signs: _Signs) -> Rule:
    start = cursor.here.start
    head = _goal(cursor)
    if cursor.at("."):
        raise cursor.refusal("a clause needs a body", hint="facts belong in a .cfacts file")
    cursor.expect(signs.implied_by)
    body = _body(cursor, signs)
    feature = cursor.accept(signs.opens_feature) if signs.opens_feature else None
    if feature:
        body += _feature(cursor, signs)
    if signs.end:
        cursor.expect(signs.end)
    elif not _at_line_start(cursor):
        raise cursor.expected(f"'{signs.joined}' or a new line")
    return _rule(head, body, cursor.span_from(start))


def _at_line_start(cursor: Cursor) -> bool:
    behind = cursor.tokens[cursor.position - 1].end
    return cursor.at_end or "\n" in cursor.source.text[behind : cursor.here.start]


def _body(cursor: Cursor, signs: _Signs) -> list[BodyLiteral]:
    if cursor.at(signs.end, signs.opens_feature) or cursor.at_end:
        return []
    return _literals(cursor, signs)


def _literals(cursor: Cursor, signs: _Signs) -> list[BodyLiteral]:
    literals = [_literal(_goal(cursor))]
    while cursor.accept(signs.joined):
        literals.append(_literal(_goal(cursor)))
    return literals


def _feature(cursor: Cursor, signs: _Signs) -> list[BodyLiteral]:
    """Read a feature; return it as goals of the body."""
    feature = _goal(cursor)
    if cursor.at(signs.joined):
        raise cursor.refusal("a clause has at most one feature", hint="put the other goals into the body")
    generators = _literals(cursor, signs) if cursor.accept(signs.before_generator) else []
    if signs.closes_feature:
        cursor.expect(signs.closes_feature)
    if not feature.arguments:
        feature = Atom(WEIGHTED, (Constant(feature.predicate, feature.span),), feature.span)
    return [*generators, feature]


def _goal(cursor: Cursor) -> Atom:
    name = cursor.expect_kind("name", "a goal such as p(X,Y)", _likely(cursor.here))
    if not cursor.accept("("):
        return Atom(name.text, (), cursor.span_of(name))
    arguments = [_term(cursor)]
    while not cursor.accept(")"):
        if not cursor.accept(","):
            raise cursor.expected("',' or ')'")
        arguments.append(_term(cursor))
    return Atom(name.text, tuple(arguments), cursor.span_from(name.start))


def _term(cursor: Cursor) -> Term:
    token = cursor.here
    if token.kind not in ("name", "string"):
        hint = UNQUOTED if token.kind in ("number", "unknown") else ""
        raise cursor.expected("a variable or a constant", hint)
    cursor.take()
    span = cursor.span_of(token)
    if token.kind == "string":
        return Constant(re.sub(r"\\(.)", r"\1", token.text[1:-1]), span)
    is_variable = token.text[0].isupper() or token.text[0] == "_"
    return Variable(token.text, span) if is_variable else Constant(token.text, span)


def _likely(token: Token) -> str:
    return "TensorLog has no negation" if token.text in ("\\", "!", "~") else ""


def _literal(goal: Atom) -> BodyLiteral:
    """The goal itself, or the comparison that an ``assign`` means."""
    if goal.predicate != "assign":
        return goal
    match goal.arguments:
        case (Variable() as variable, Constant() as constant):
            return Comparison("=", variable, constant, goal.span)
        case (Variable() as variable, Constant() as constant, Constant()):
            return Comparison("=", variable, constant, goal.span)
    raise LanguageError(
        "assign takes a variable and a constant", span=goal.span, hint="for example assign(Y,yes)"
    )


def _rule(head: Atom, body: list[BodyLiteral], span: Span) -> Rule:
    uses = _uses([head, *body])
    kept = [literal for literal in body if not _assigns_in_vain(literal, uses)]
    blanks = [literal for literal in (head, *kept) if _blanks(literal)]
    distinct = any(isinstance(literal, Comparison) or literal is head for literal in blanks)
    if distinct or (uses["_"] > 1 and not _closes_cycle(kept)):
        name = fresh_name("_1", uses)
        head, *kept = (_named(literal, name) for literal in (head, *kept))
    return Rule(head, tuple(kept) or (Truth(True, span),), span=span)


def _uses(literals: list[BodyLiteral]) -> Counter[str]:
    return Counter(
        term.name for literal in literals for term in leaf_terms(literal) if isinstance(term, Variable)
    )


def _assigns_in_vain(literal: BodyLiteral, uses: Counter[str]) -> bool:
    """Whether an ``assign`` has no effect: its variable stands nowhere else, so it takes one value, changes
    no count of proofs and could not be typed."""
    return isinstance(literal, Comparison) and all(
        uses[term.name] == 1 for term in leaf_terms(literal) if isinstance(term, Variable)
    )


def _closes_cycle(body: list[BodyLiteral]) -> bool:
    """Whether ``_``, read as one variable, would close a cycle: it stands twice in one literal, or in two
    literals that other variables connect."""
    groups = linked(body, _names)
    return any(_blanks(one) > 1 for one in body) or any(
        sum(1 for one in group if _blanks(one)) > 1 for group in groups
    )


def _names(literal: BodyLiteral) -> set[str]:
    """Names of the variables of a literal, without ``_``."""
    return {term.name for term in leaf_terms(literal) if isinstance(term, Variable) and not term.anonymous}


def _blanks(literal: BodyLiteral) -> int:
    """Number of occurrences of ``_`` in a literal."""
    return sum(map(_is_blank, leaf_terms(literal)))


def _is_blank(term: Term) -> bool:
    return isinstance(term, Variable) and term.anonymous


def _named(literal: Any, name: str) -> Any:
    """The literal with ``_`` renamed to ``name``."""

    def named(term: Term) -> Term:
        return Variable(name, term.span) if _is_blank(term) else term

    return with_changed_terms(literal, named, lambda part: part)
