"""The reader of ``.mln`` files: declarations and weighted formulas.

Takes a source and the folder that its includes may come from; gives a theory. Statements end with their
line, unless it ends in a connective or a comma or inside braces. As in Alchemy, a bare ``Friends(person,
person)`` of a predicate not met before declares it; later the same line is a formula whose weight is to be
learned. As in Tuffy, ``*Friends(person, person)`` declares it and says that what is not listed is false.

>>> text = "Smokes(person)\\n1.5 Smokes(x) => Smokes(y) : x != y\\nSmokes(Anna).\\n"
>>> theory = read_mln(Source("t.mln", text))
>>> [type(statement).__name__ for statement in theory.statements]
['PredicateDeclaration', 'WeightedFormula', 'WeightedFormula']
>>> theory.formulas[0].where[0].operator, theory.formulas[1].weight
('!=', Hard())
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

from herbrand.errors import LanguageError, Mistake, Source, Span
from herbrand.language.dialects.alchemy.declarations import (
    Declared,
    at_function_declaration,
    constants_in_braces,
    declaration_shape,
    exactly_one,
)
from herbrand.language.dialects.alchemy.facts import read_db
from herbrand.language.dialects.alchemy.formulas import NO_FUNCTIONS, FormulaReader, Names, likely_sign
from herbrand.language.dialects.alchemy.includes import Includes
from herbrand.language.dialects.alchemy.lexicon import TOKENS, text_of_string
from herbrand.language.dialects.alchemy.weights import read_weight
from herbrand.language.dialects.bulk import no_collection
from herbrand.language.dialects.collecting import MistakeList
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor
from herbrand.language.dialects.sources import read_source
from herbrand.language.syntax import (
    Comparison,
    Constant,
    Hard,
    Learned,
    PredicateDeclaration,
    Role,
    Statement,
    Theory,
    TypeDeclaration,
    WeightedFormula,
)

MOST_STARS = 10
MOST_NESTED_INCLUDES = 50


def read_mln(source: Source, folder: Path | None = None) -> Theory:
    """The theory of an Alchemy file; all mistakes in it and in what it includes are raised together.

    ``folder`` is where its includes may come from.
    """
    mistakes = MistakeList()
    reader = MlnReader(Names(), mistakes, Includes(source.name, folder))
    with no_collection():
        reader.read(source)
    mistakes.raise_any()
    return Theory(tuple(reader.statements()))


class MlnReader:
    """Reads files one after the other; ``names`` holds what they have declared."""

    def __init__(self, names: Names, mistakes: MistakeList, includes: Includes | None = None) -> None:
        self.names = names
        self._said: list[Statement] = []
        self._mistakes = mistakes
        self._includes = includes or Includes("", None)
        self._include_depth = 0
        self._constants: dict[str, dict[Constant, None]] = {}

    def statements(self) -> list[Statement]:
        """All that was read; a type has the constants of all its declarations."""
        return [
            replace(said, values=tuple(self._constants[said.name]))
            if isinstance(said, TypeDeclaration)
            else said
            for said in self._said
        ]

    def read(self, source: Source) -> None:
        cursor = Cursor(source, TOKENS)
        cursor.skip(NEWLINE)
        while not cursor.at_end:
            cursor.surface()
            with self._mistakes.collecting():
                self._said += self._statement(cursor)
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
        if at_function_declaration(cursor):
            raise cursor.refusal(f"'{following.text}' is declared as a function", following, NO_FUNCTIONS)
        declared = declaration_shape(cursor)
        if declared is not None and self._declares(declared):
            return self._predicate_declaration(cursor, declared)
        return self._weighted_formulas(cursor)

    # Declarations

    def _type_declaration(self, cursor: Cursor) -> list[Statement]:
        name = cursor.take()
        cursor.take()
        values = constants_in_braces(cursor)
        self.names.constants.update(
            value.span.text for value in values if value.span and not self.names.is_constant(value.span.text)
        )
        known = name.text in self._constants
        self._constants.setdefault(name.text, {}).update(dict.fromkeys(values))
        return [] if known else [TypeDeclaration(name.text, span=cursor.span_from(name.start))]

    def _declares(self, declared: Declared) -> bool:
        """Whether a bare atom is a declaration, and no formula of unknown weight."""
        name = declared.predicate.text
        if declared.marks or name not in self.names.seen:
            return True
        return bool(declared.types) and self.names.declared.get(name) == declared.types

    def _predicate_declaration(self, cursor: Cursor, declared: Declared) -> list[Statement]:
        name, types, marks = declared.predicate.text, declared.types, declared.marks
        role: Role | None = "observed" if declared.observed else None
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
            return [PredicateDeclaration(name, types[:-1], types[-1], role, span=span)]
        declaration = PredicateDeclaration(name, types, role=role, span=span)
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
        weight = read_weight(cursor)
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


def _refuse_unclosed(cursor: Cursor) -> None:
    """A quote or a comment of this line that is never closed would be met as something stranger later."""
    for position in range(cursor.position, len(cursor.tokens)):
        token = cursor.tokens[position]
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
