"""Text to theory: the reader of ``.hb`` files and of the fragments that commands take.

>>> theory = parse_theory("predicate smokes(person)\\n1.5: smokes(x) => smokes(y)\\n")
>>> theory.formulas[0].weight
1.5
>>> parse_theory("1.5: smokes(x) -> smokes(y)")
Traceback (most recent call last):
herbrand.errors.LanguageError: <text>:1:16: unexpected character '-'
  1.5: smokes(x) -> smokes(y)
                 ^
  write => for 'implies'
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, TextSlice, UnexpectedInput

from herbrand.errors import LanguageError, Mistake, Source, Span
from herbrand.language.build import Builder
from herbrand.language.expectations import mistake, unclosed_string
from herbrand.language.layout import Stretch, next_stretch, open_quote, skip_blank
from herbrand.language.rows import read_run
from herbrand.language.syntax import (
    DEEPEST_NESTING,
    Atom,
    Bound,
    Comparison,
    FactRows,
    Formula,
    Leaf,
    Not,
    Rule,
    Statement,
    Theory,
    ValueIs,
    Variable,
    WeightedFormula,
    children,
    merged,
    replace_leaves,
)

_GRAMMAR = Path(__file__).with_name("grammar.lark")
_STARTS = ["statement", "query_formula", "query_probability", "query_literal"]
_one_at_a_time = threading.Lock()


def parse_theory(text: str, name: str = "<text>") -> Theory:
    """The theory a text states; all its mistakes are raised together as one ``LanguageError``."""
    source = plain_source(text, name)
    mistakes: list[Mistake] = []
    statements = list(merged(_statements(source, mistakes)))
    if mistakes:
        raise LanguageError(mistakes)
    valued = frozenset(
        s.name for s in Theory(tuple(statements)).predicates if s.values is not None and not s.types
    )
    return Theory(tuple(_with_valued_names(s, valued) for s in statements) if valued else tuple(statements))


def parse_formula(text: str, name: str = "<query>", valued: Collection[str] = ()) -> Formula:
    """One formula. ``valued`` names the many-valued predicates without arguments, which look like variables."""
    return _resolved(_fragment(text, name, "query_formula"), valued)


def parse_probability(
    text: str, name: str = "<query>", valued: Collection[str] = ()
) -> tuple[Formula, Formula | None]:
    """What stands inside ``P( )``: an event and, after a bar, what is given."""
    event, given = _fragment(text, name, "query_probability")
    return _resolved(event, valued), None if given is None else _resolved(given, valued)


def parse_literal(text: str, name: str = "<given>") -> FactRows:
    """One ground fact, as ``--given`` takes it: true, false, valued or soft."""
    return _fragment(text, name, "query_literal")


def plain_source(text: str, name: str) -> Source:
    """The text with line ends made equal and a byte order mark removed; refused if it is not text."""
    source = Source(name, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    nul = source.text.find("\0")
    if nul >= 0:
        raise LanguageError("a NUL byte: this is not a text file", span=Span(source, nul, nul + 1))
    return source


def _statements(source: Source, mistakes: list[Mistake]) -> Iterator[Statement]:
    position = skip_blank(source.text, 0)
    while position < len(source.text):
        run = read_run(source, position)
        if run is not None:
            yield run.rows
            position = run.end
        else:
            stretch = next_stretch(source.text, position)
            statement = _statement(source, stretch, mistakes)
            if statement is not None:
                yield statement
            position = stretch.end
        position = skip_blank(source.text, position)


def _statement(source: Source, stretch: Stretch, mistakes: list[Mistake]) -> Statement | None:
    if stretch.unclosed is not None:
        mistakes.append(_never_closed(source, stretch))
        return None
    found, wrong = _parsed(source, stretch.start, stretch.end, "statement")
    mistakes.extend(wrong)
    return None if wrong else found


def _never_closed(source: Source, stretch: Stretch) -> Mistake:
    quote = open_quote(source.text, stretch.start, stretch.end)
    if quote is not None:
        return unclosed_string(source, quote)
    bracket = Span(source, stretch.unclosed or 0, (stretch.unclosed or 0) + 1)
    return Mistake(f"this '{bracket.text}' is never closed", bracket)


def _fragment(text: str, name: str, start: str) -> Any:
    source = plain_source(text, name)
    begin = skip_blank(source.text, 0)
    found, wrong = _parsed(source, begin, max(begin, len(source.text.rstrip())), start)
    if wrong:
        raise LanguageError(wrong)
    return found


def _parsed(source: Source, start: int, end: int, rule: str) -> tuple[Any, list[Mistake]]:
    """What the stretch says, or what is wrong with it."""
    with _one_at_a_time:
        parser, builder = _parser()
        builder.begin(source, start, end)
        try:
            found = parser.parse(TextSlice(source.text, start, end), start=rule)
        except UnexpectedInput as error:
            return None, [*builder.mistakes, mistake(error, source, start, end)]
        wrong = builder.mistakes
    return found, wrong or _nested_too_deep(found)


@cache
def _parser() -> tuple[Lark, Builder]:
    builder = Builder()
    grammar = _GRAMMAR.read_text(encoding="utf-8")
    parser = Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=_STARTS,
        transformer=builder,
        maybe_placeholders=True,
    )
    return parser, builder


def _nested_too_deep(found: Any) -> list[Mistake]:
    for formula in _formulas_of(found):
        level: list[Formula] = [formula]
        for _ in range(DEEPEST_NESTING):
            level = [child for part in level for child in children(part)]
            if not level:
                break
        else:
            return [
                Mistake(
                    f"the formula is nested more than {DEEPEST_NESTING} levels deep",
                    formula.span,
                    "name its parts by predicates of their own",
                )
            ]
    return []


def _formulas_of(found: Any) -> tuple[Formula, ...]:
    match found:
        case WeightedFormula(formula=formula):
            return (formula,)
        case Bound(event=event, given=given):
            return (event,) if given is None else (event, given)
        case Rule(body=body):
            return body
        case tuple():
            return tuple(part for part in found if part is not None)
    return (found,) if isinstance(found, Formula) else ()


def _with_valued_names(statement: Statement, valued: Collection[str]) -> Statement:
    match statement:
        case WeightedFormula(formula=formula):
            return replace(statement, formula=_resolved(formula, valued))
        case Bound(event=event, given=given):
            resolved = None if given is None else _resolved(given, valued)
            return replace(statement, event=_resolved(event, valued), given=resolved)
        case Rule(body=body):
            return replace(statement, body=tuple(_resolved(literal, valued) for literal in body))
    return statement


def _resolved(formula: Formula, valued: Collection[str]) -> Formula:
    """``season = "winter"`` read as an atom where ``season`` is a many-valued predicate."""
    if not valued:
        return formula

    def resolve(leaf: Leaf) -> Formula:
        match leaf:
            case Comparison(operator=("=" | "!=") as operator, left=Variable(name=name), right=right):
                if name in valued:
                    known = ValueIs(Atom(name, (), leaf.left.span), right, leaf.span)
                    return known if operator == "=" else Not(known, leaf.span)
        return leaf

    return replace_leaves(formula, resolve)
