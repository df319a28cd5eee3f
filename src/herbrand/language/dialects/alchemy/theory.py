"""The reader of ``.mln`` files: declarations and weighted formulas.

Takes a source and the folder that its includes may come from; gives a theory. Statements end with their
line, unless it ends in a connective or a comma or inside braces. As in Alchemy, a bare ``Friends(person,
person)`` of a predicate not met before declares it; later the same line is a formula whose weight is to be
learned.

>>> text = "Smokes(person)\\n1.5 Smokes(x) => Smokes(y) : x != y\\nSmokes(Anna).\\n"
>>> theory = read_mln(Source("t.mln", text))
>>> [type(statement).__name__ for statement in theory.statements]
['PredicateDeclaration', 'WeightedFormula', 'WeightedFormula']
>>> theory.formulas[0].where[0].operator, theory.formulas[1].weight
('!=', Hard())
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from herbrand.errors import LanguageError, Mistake, Source, Span
from herbrand.language.dialects.alchemy.facts import read_db
from herbrand.language.dialects.alchemy.formulas import (
    EQUALITIES,
    NO_FUNCTIONS,
    FormulaReader,
    Names,
    likely_sign,
)
from herbrand.language.dialects.alchemy.includes import Includes
from herbrand.language.dialects.alchemy.lexicon import (
    QUANTIFIERS,
    TOKENS,
    is_constant_name,
    text_of_string,
)
from herbrand.language.dialects.collecting import MistakeList
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token
from herbrand.language.dialects.sources import read_source
from herbrand.language.syntax import (
    And,
    Atom,
    Comparison,
    Constant,
    Exists,
    Formula,
    Hard,
    Implies,
    Learned,
    PredicateDeclaration,
    Statement,
    Theory,
    TypeDeclaration,
    Variable,
    WeightedFormula,
)

MOST_STARS = 10
MOST_NESTED_INCLUDES = 50
LONGEST_RANGE = 1_000_000
_LOGARITHMS = ("log", "logx")


def read_mln(
    source: Source, folder: Path | None = None, is_constant: Callable[[str], bool] | None = None
) -> Theory:
    """The theory of an Alchemy file; all mistakes in it and in what it includes are raised together.

    ``folder`` is where its includes may come from; ``is_constant`` tells the names of constants, by default
    those that begin with a capital.
    """
    mistakes = MistakeList()
    names = Names(is_constant or is_constant_name)
    reader = MlnReader(names, mistakes, Includes(source.name, folder))
    reader.read(source)
    mistakes.raise_any()
    return Theory(tuple(reader.statements))


class MlnReader:
    """Reads files one after the other into ``statements``; ``names`` holds what they have declared."""

    def __init__(self, names: Names, mistakes: MistakeList, includes: Includes | None = None) -> None:
        self.names = names
        self.statements: list[Statement] = []
        self._mistakes = mistakes
        self._includes = includes or Includes("", None)
        self._include_depth = 0
        self._type_positions: dict[str, int] = {}

    def read(self, source: Source) -> None:
        cursor = Cursor(source, TOKENS)
        cursor.skip(NEWLINE)
        while not cursor.at_end:
            cursor.surface()
            with self._mistakes.collecting():
                self.statements += self._statement(cursor)
                _expect_end_of_line(cursor)
                cursor.skip(NEWLINE)
                continue
            cursor.skip_past("\n")
            cursor.skip(NEWLINE)

    def _statement(self, cursor: Cursor) -> list[Statement]:
        token, following = cursor.here, cursor.after
        _refuse_unclosed(cursor)
        if token.kind == "directive":
            return self._include(cursor)
        if token.text == "@":
            raise cursor.refusal("'@' belongs to Alchemy's inner workings", hint="leave the line out")
        if token.kind == "name" and following.text in ("=", ":=") and cursor.token_ahead(2).text == "{":
            return self._type_declaration(cursor)
        if _at_function_declaration(cursor):
            raise cursor.refusal(f"'{following.text}' is declared as a function", following, NO_FUNCTIONS)
        declared = _declaration(cursor)
        if declared is not None and self._declares(declared):
            return self._predicate_declaration(cursor, declared)
        return self._weighted_formulas(cursor)

    # Declarations

    def _type_declaration(self, cursor: Cursor) -> list[Statement]:
        name = cursor.take()
        cursor.take()
        values = _constants_in_braces(cursor)
        self.names.constants.update(
            value.span.text for value in values if value.span and not self.names.is_constant(value.span.text)
        )
        declaration = TypeDeclaration(name.text, values, span=cursor.span_from(name.start))
        position = self._type_positions.setdefault(name.text, len(self.statements))
        if position == len(self.statements):
            return [declaration]
        earlier = self.statements[position]
        assert isinstance(earlier, TypeDeclaration)
        self.statements[position] = replace(earlier, values=_unique((*(earlier.values or ()), *values)))
        return []

    def _declares(self, declared: _Declared) -> bool:
        """Whether a bare atom is a declaration, and no formula of unknown weight."""
        name = declared.predicate.text
        if declared.marks or name not in self.names.seen:
            return True
        return bool(declared.types) and self.names.declared.get(name) == declared.types

    def _predicate_declaration(self, cursor: Cursor, declared: _Declared) -> list[Statement]:
        name, types, marks = declared.predicate.text, declared.types, declared.marks
        span = Span(cursor.source, declared.predicate.start, declared.end)
        if name in self.names.seen:
            word = "declared twice" if name in self.names.declared else "used before it is declared"
            raise LanguageError(
                [Mistake(f"'{name}' is {word}", span, related=(("first here", self.names.seen[name]),))]
            )
        cursor.position = declared.next_position
        self.names.seen[name] = span
        self.names.declared[name] = types
        if marks == (len(types) - 1,):
            self.names.many_valued.add(name)
            return [PredicateDeclaration(name, types[:-1], types[-1], span=span)]
        declaration = PredicateDeclaration(name, types, span=span)
        return [declaration, *exactly_one(name, len(types), marks, span)] if marks else [declaration]

    def _include(self, cursor: Cursor) -> list[Statement]:
        directive = cursor.take()
        if directive.text != "#include":
            raise cursor.refusal(
                f"there is no directive '{directive.text}'", directive, "a comment begins with '//' or '# '"
            )
        file = cursor.expect_kind("string", "a file name in double quotes")
        written = text_of_string(file.text)
        try:
            if written.endswith(".cpp"):
                raise LanguageError("linked-in functions and predicates are not supported")
            if self._include_depth == MOST_NESTED_INCLUDES:
                raise LanguageError(f"includes are nested more than {MOST_NESTED_INCLUDES} deep")
            path = self._includes.path_of(written)
            source = read_source(path)
        except LanguageError as error:
            raise cursor.refusal(error.mistakes[0].message, file, error.mistakes[0].hint) from None
        if written.endswith(".db"):
            return [*read_db(source, self.names.many_valued)]
        with self._inside(path.parent):
            self.read(source)
        return []

    @contextmanager
    def _inside(self, folder: Path) -> Iterator[None]:
        outer, self._includes.folder = self._includes.folder, folder
        self._include_depth += 1
        yield
        self._include_depth -= 1
        self._includes.folder = outer

    # Formulas

    def _weighted_formulas(self, cursor: Cursor) -> list[Statement]:
        start = cursor.here.start
        weight = _weight(cursor)
        begin = cursor.position
        first = FormulaReader(cursor, self.names)
        formulas = [first.read()]
        if first.starred > MOST_STARS:
            raise cursor.refusal(f"more than {MOST_STARS} predicates of a formula have a '*'")
        for signs in list(product([True, False], repeat=first.starred))[1:]:
            cursor.position = begin
            formulas.append(FormulaReader(cursor, self.names, signs).read())
        where = self._where(cursor)
        stop = cursor.accept(".")
        if stop is not None and weight is not None:
            raise cursor.refusal("a formula with a full stop is hard and takes no weight", stop)
        said = Hard() if stop else Learned(tuple(first.marked)) if weight is None else weight
        span = cursor.span_from(start)
        return [WeightedFormula(said, formula, where, span=span) for formula in formulas]

    def _where(self, cursor: Cursor) -> tuple[Comparison, ...]:
        if not cursor.accept(":"):
            return ()
        reader = FormulaReader(cursor, self.names)
        comparisons = [reader.comparison()]
        while cursor.accept(",") or cursor.accept("and"):
            cursor.skip(NEWLINE)
            comparisons.append(reader.comparison())
        return tuple(comparisons)


def exactly_one(
    name: str, arity: int, marks: tuple[int, ...], span: Span | None = None
) -> Iterator[Statement]:
    """What ``!`` on these arguments says, as hard formulas: one choice of them holds for each other."""
    ours = tuple(Variable(f"a{i + 1}") for i in range(arity))
    others = tuple(Variable(f"b{i + 1}") if i in marks else ours[i] for i in range(arity))
    here, there = Atom(name, ours, span), Atom(name, others, span)
    yield WeightedFormula(Hard(), Exists(tuple(ours[i] for i in marks), here, span), span=span)
    same: tuple[Formula, ...] = tuple(Comparison("=", ours[i], others[i], span) for i in marks)
    conclusion = same[0] if len(same) == 1 else And(same, span)
    yield WeightedFormula(Hard(), Implies(And((here, there), span), conclusion, span), span=span)


# The shapes of lines


@dataclass(frozen=True)
class _Declared:
    """A line that has the shape of a predicate declaration; ``marks`` are the arguments with a ``!``."""

    predicate: Token
    types: tuple[str, ...]
    marks: tuple[int, ...]
    end: int
    next_position: int


def _declaration(cursor: Cursor) -> _Declared | None:
    """The declaration that the line at the cursor could be; the cursor stays."""
    begin = cursor.position
    shape = _declaration_shape(cursor)
    cursor.position = begin
    return shape


def _declaration_shape(cursor: Cursor) -> _Declared | None:
    predicate = cursor.take()
    if predicate.kind != "name":
        return None
    types: list[str] = []
    marks: list[int] = []
    if cursor.accept("("):
        while not types or cursor.accept(","):
            if cursor.here.kind != "name":
                return None
            types.append(cursor.take().text)
            if cursor.accept("!"):
                marks.append(len(types) - 1)
        if not cursor.accept(")"):
            return None
    end = cursor.tokens[cursor.position - 1].end
    if cursor.here.kind not in (NEWLINE, END):
        return None
    return _Declared(predicate, tuple(types), tuple(marks), end, cursor.position)


def _at_function_declaration(cursor: Cursor) -> bool:
    """``person MotherOf(person)``"""
    first, second, third = cursor.here, cursor.after, cursor.token_ahead(2)
    return (
        first.kind == second.kind == "name"
        and third.text == "("
        and second.text != "v"
        and first.text.lower() not in QUANTIFIERS
        and not likely_sign(first)
        and not likely_sign(second)
    )


def _constants_in_braces(cursor: Cursor) -> tuple[Constant, ...]:
    opening = cursor.expect("{")
    cursor.skip(NEWLINE)
    values: list[Constant] = []
    while not cursor.accept("}"):
        if cursor.here.kind == "dots":
            values += _range(cursor, values)
        else:
            values.append(_constant(cursor, opening))
        cursor.skip(NEWLINE)
        cursor.accept(",")
        cursor.skip(NEWLINE)
    if not values:
        raise cursor.refusal("a type needs at least one constant", opening)
    return _unique(values)


def _constant(cursor: Cursor, opening: Token) -> Constant:
    if cursor.at_end:
        raise cursor.refusal("this '{' is never closed", opening)
    token = cursor.here
    if token.kind not in ("name", "string", "number"):
        raise cursor.expected("a constant or '}'")
    cursor.take()
    text = text_of_string(token.text) if token.kind == "string" else token.text
    return Constant(text, cursor.span_of(token))


def _range(cursor: Cursor, before: list[Constant]) -> list[Constant]:
    """The constants that ``..., 10`` adds behind a first number."""
    dots = cursor.take()
    cursor.accept(",")
    last = cursor.expect_kind("number", "the last number of the range")
    if len(before) != 1 or not _is_integer(str(before[0].value)) or not _is_integer(last.text):
        raise cursor.refusal("a range is written {first, ..., last} with two whole numbers", dots)
    low, high = int(before[0].value), int(last.text)
    if low > high or high - low >= LONGEST_RANGE:
        said = "is empty" if low > high else f"has more than {LONGEST_RANGE} numbers"
        raise cursor.refusal(f"the range from {low} to {high} {said}", last)
    return [Constant(str(number), cursor.span_of(last)) for number in range(low + 1, high + 1)]


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _unique(values: Iterable[Constant]) -> tuple[Constant, ...]:
    return tuple(dict.fromkeys(values))


def _weight(cursor: Cursor) -> float | None:
    if (
        cursor.here.text in _LOGARITHMS
        and cursor.after.text == "("
        and cursor.token_ahead(2).kind == "number"
    ):
        return _logarithm(cursor)
    if cursor.here.kind != "number" or cursor.after.text in EQUALITIES:
        return None
    token = cursor.take()
    if cursor.at(".", ":"):
        said = "a full stop" if cursor.at(".") else "a colon"
        raise cursor.refusal(
            f"{said} behind a weight", hint="a weight is followed by its formula: 1.5 Smokes(x)"
        )
    return _finite(cursor, token)


def _logarithm(cursor: Cursor) -> float:
    """``log(0.7/0.3)`` or ``logx(0.7)``, as pracmln writes weights."""
    start = cursor.take().start
    cursor.take()
    token = cursor.expect_kind("number", "a number")
    quotient = _finite(cursor, token)
    if cursor.accept("/"):
        token = cursor.expect_kind("number", "a number")
        divisor = _finite(cursor, token)
        quotient = quotient / divisor if divisor else math.inf
    cursor.expect(")")
    if not 0 < quotient < math.inf:
        raise LanguageError("this logarithm is no finite number", span=cursor.span_from(start))
    return math.log(quotient)


def _finite(cursor: Cursor, token: Token) -> float:
    number = float(token.text)
    if math.isinf(number):
        raise cursor.refusal(f"the number {token.text[:40]} is too large", token)
    return number


def _refuse_unclosed(cursor: Cursor) -> None:
    """A quote or a comment of this line that is never closed would be met as something stranger later."""
    for token in cursor.tokens[cursor.position :]:
        if token.kind in (NEWLINE, END):
            return
        if token.text == '"':
            raise cursor.refusal("this string is never closed", token)
        if token.kind == "unclosed":
            raise LanguageError(
                "this comment is never closed", span=Span(cursor.source, token.start, token.start + 2)
            )


def _expect_end_of_line(cursor: Cursor) -> None:
    if cursor.here.kind not in (NEWLINE, END):
        raise cursor.expected("the end of the line", likely_sign(cursor.here))
