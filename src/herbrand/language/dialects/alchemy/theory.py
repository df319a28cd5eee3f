"""Reader of ``.mln`` files: declarations and weighted formulas.

Takes a source and the folder of its includes; returns a theory. Statements end with their line, unless it
ends in a connective or a comma or inside braces, or the next one begins with a connective. As in Alchemy, a
bare ``Friends(person, person)`` of a predicate that was not used before declares it; later the same line is a
formula whose weight is to be learned. As in Tuffy, ``*Friends(person, person)`` declares it in a closed
world. A function becomes a predicate with one more argument, its value, of which exactly one holds;
:mod:`.formulas` replaces function terms by variables.

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
from math import isinf, prod
from pathlib import Path

from herbrand.errors import LanguageError, Mistakes, Source, Span, counted
from herbrand.language.dialects.alchemy.declarations import (
    Declared,
    at_most_one,
    constants_in_braces,
    declaration_shape,
    exactly_one,
    function_shape,
)
from herbrand.language.dialects.alchemy.definite import DefiniteClause, completion
from herbrand.language.dialects.alchemy.directives import (
    Directives,
    open_predicates,
    refuse_unread,
    rest_of_line,
)
from herbrand.language.dialects.alchemy.facts import read_db
from herbrand.language.dialects.alchemy.formulas import FormulaReader, Names, likely_sign
from herbrand.language.dialects.alchemy.includes import Includes
from herbrand.language.dialects.alchemy.lexicon import TOKENS, text_of_string
from herbrand.language.dialects.alchemy.numbers import statements_of
from herbrand.language.dialects.alchemy.numeric_types import NumericTypes
from herbrand.language.dialects.alchemy.weights import read_weight
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token
from herbrand.language.formulas import Comparison, Constant, Variable
from herbrand.language.parse import read_source
from herbrand.language.syntax import (
    Hard,
    Learned,
    PredicateDeclaration,
    Role,
    Statement,
    TypeDeclaration,
    WeightedFormula,
)
from herbrand.language.theory import Theory

MOST_VARIANTS = 1024
MOST_NESTED_INCLUDES = 50


def read_mln(source: Source, folder: Path | None = None) -> Theory:
    """Read the theory of an Alchemy file; all mistakes in it and its includes are raised together.

    ``folder``: folder of the files that it may include.
    """
    mistakes = Mistakes()
    reader = MlnReader(Names(), mistakes, Includes(source.name, folder))
    reader.read(source)
    statements = reader.with_worlds(reader.statements())
    mistakes.raise_any()
    return Theory(tuple(statements))


class MlnReader:
    """Reader of files one after the other; ``names`` holds the names that they have declared or used."""

    def __init__(self, names: Names, mistakes: Mistakes, includes: Includes | None = None) -> None:
        self.names = names
        self._statements: list[Statement] = []
        self._mistakes = mistakes
        self._includes = includes or Includes("", None)
        self._include_depth = 0
        self._constants: dict[str, dict[Constant, None]] = {}
        self._directives = Directives()
        self._open: set[str] = set()
        self._clauses: dict[str, list[DefiniteClause]] = {}

    def statements(self) -> list[Statement]:
        """All statements read so far, with the constants of all its declarations in each type.

        Formulas for functions, completions of definite clauses and tables of numbers are added.
        """
        whole = [
            replace(statement, values=tuple(self._constants[statement.name]))
            if isinstance(statement, TypeDeclaration)
            else statement
            for statement in self._statements
        ]
        functions = [
            formula
            for name, arity in self.names.functions.items()
            for formula in exactly_one(name, arity + 1, (arity,), self.names.seen[name])
        ]
        completed = [
            WeightedFormula(Hard(), completion(clauses), span=clauses[0].head.span)
            for clauses in self._clauses.values()
        ]
        return [*self._with_numbers([*whole, *functions, *completed]), *self._listed_numbers()]

    def with_worlds(self, statements: list[Statement]) -> list[Statement]:
        """The statements with ``tells_world`` set on declarations, False if facts decide open or closed.

        Facts do not decide in a file with Tuffy's stars, in a file of pracmln's, where predicates are open,
        for predicates that a comment lists as open, and for many-valued ones, which have a value even if none
        is listed. They always decide for functions.
        """
        declared = [
            statement for statement in self._statements if isinstance(statement, PredicateDeclaration)
        ]
        declares_worlds = self._directives.pracmln or any(one.role == "observed" for one in declared)
        known_open = self._open | self.names.many_valued
        return [
            replace(
                statement,
                tells_world=not statement.function and (declares_worlds or statement.name in known_open),
            )
            if isinstance(statement, PredicateDeclaration) and statement.role is None
            else statement
            for statement in statements
        ]

    def _with_numbers(self, statements: list[Statement]) -> Iterator[Statement]:
        """The statements with numbers in place of text, for types with arithmetic that are never listed."""
        types = NumericTypes(frozenset(), {}, {})
        with self._mistakes.collecting():
            types = NumericTypes.of(self.names, self._constants.keys(), statements)
        yield from types.declarations()
        for statement in statements:
            with self._mistakes.collecting():
                yield types.statement(statement)

    def _listed_numbers(self) -> Iterator[Statement]:
        """Yield the tables for ``t++``, ``t > 2`` and so on, for types whose numbers the file lists."""
        for relation, span in self.names.numbers.items():
            if relation.type in self._constants:
                with self._mistakes.collecting():
                    yield from statements_of(relation, self._constants[relation.type], span)

    def read(self, source: Source) -> None:
        cursor = Cursor(source, TOKENS)
        cursor.join_lines(_goes_on)
        outer = self.names.question_marks
        self.names.question_marks = any(token.kind == "marked" for token in cursor.tokens)
        self._directives.pracmln |= self.names.question_marks
        self._open |= open_predicates(source.text)
        self._read_statements(cursor)
        self.names.question_marks = outer

    def _read_statements(self, cursor: Cursor) -> None:
        cursor.skip(NEWLINE)
        while not cursor.at_end:
            cursor.surface()
            with self._mistakes.collecting():
                self._statements += self._statement(cursor)
                _expect_end_of_line(cursor)
                cursor.skip(NEWLINE)
                continue
            cursor.skip_past("\n")
            cursor.skip(NEWLINE)

    def _statement(self, cursor: Cursor) -> list[Statement]:
        token, following = cursor.here, cursor.after
        _refuse_unclosed(cursor)
        if token.text == "#include":
            return self._include(cursor)
        if token.kind == "directive" or (token.kind == "setting" and following.text == "="):
            self._directives.read(cursor)
            return []
        if token.kind == "name" and following.text in ("=", ":=") and cursor.token_ahead(2).text == "{":
            return self._type_declaration(cursor)
        function = function_shape(cursor)
        if function is not None:
            return self._function_declaration(cursor, function[0].text, function[1])
        refuse_unread(cursor)
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
        """Whether a bare atom is a declaration and not a formula of unknown weight.

        A file that declares some predicates declares all, but some of them after their first use.
        """
        name, known = declared.predicate.text, self.names.declared
        if declared.marks or declared.soft_marks or name not in self.names.seen:
            return True
        if known and name not in known and name not in self.names.functions:
            return True
        return bool(declared.types) and known.get(name) == declared.types

    def _predicate_declaration(self, cursor: Cursor, declared: Declared) -> list[Statement]:
        name, types, marks = declared.predicate.text, declared.types, declared.marks
        role: Role | None = "observed" if declared.observed else None
        if marks and declared.soft_marks:
            raise cursor.refusal(f"'{name}' has arguments with a '!' and with a '?'", declared.predicate)
        span = self._declared(cursor, declared)
        self._directives.pracmln |= bool(declared.soft_marks)
        if marks == (len(types) - 1,):
            self.names.many_valued.add(name)
            return [PredicateDeclaration(name, types[:-1], types[-1], role, span=span)]
        declaration = PredicateDeclaration(name, types, role=role, span=span)
        if declared.soft_marks:
            return [declaration, at_most_one(name, len(types), declared.soft_marks, span)]
        return [declaration, *exactly_one(name, len(types), marks, span)] if marks else [declaration]

    def _function_declaration(self, cursor: Cursor, value_type: str, declared: Declared) -> list[Statement]:
        span = self._declared(cursor, declared, is_function=True)
        name = declared.predicate.text
        self.names.functions[name] = len(declared.types)
        return [PredicateDeclaration(name, (*declared.types, value_type), span=span, function=True)]

    def _declared(self, cursor: Cursor, declared: Declared, is_function: bool = False) -> Span:
        """Note a declaration and move past it; raise LanguageError if the name is already declared."""
        name = declared.predicate.text
        span = Span(cursor.source, declared.predicate.start, declared.end)
        changes_reading = declared.marks or declared.soft_marks or declared.observed or is_function
        late = name in self.names.seen and name not in self.names.declared
        if name in self.names.seen and (not late or changes_reading):
            word = "used before it is declared" if late else "declared twice"
            related = [("first here", self.names.seen[name])]
            raise LanguageError(f"'{name}' is {word}", span=span, related=related)
        cursor.position = declared.next_position
        self.names.seen[name] = span
        self.names.declared[name] = declared.types
        return span

    def _include(self, cursor: Cursor) -> list[Statement]:
        cursor.take()
        if cursor.at("<"):
            raise cursor.refusal(
                "files of a .pracmln project cannot be included",
                hint='write the name in double quotes: "more.mln"',
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
            return [*self._facts(source)]
        with self._inside(path.parent):
            self.read(source)
        return []

    def _facts(self, source: Source) -> Iterator[Statement]:
        """Yield the statements of a database; constants of a type are added to those already known."""
        for statement in read_db(source, self.names.many_valued):
            if isinstance(statement, TypeDeclaration):
                if statement.name not in self._constants:
                    yield statement
                self._constants.setdefault(statement.name, {}).update(dict.fromkeys(statement.values or ()))
            else:
                yield statement

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
        cursor.accept("@")  # Tuffy does not learn this weight; here given weights are never learned
        written = cursor.here
        times = _variable_as_weight(cursor)
        weight = read_weight(cursor, self._directives.settings) if times is None else 1.0
        self._directives.weighed(cursor, written, weight)
        begin = cursor.position
        first = FormulaReader(cursor, self.names)
        if any(token.text == ":-" for token in rest_of_line(cursor)):
            return [self._definite_clause(cursor, first, weight, start)]
        formulas = [first.statement(weight)]
        if prod(first.options) > MOST_VARIANTS:
            raise cursor.refusal(f"a formula with '*' and '|' stands for more than {MOST_VARIANTS} formulas")
        for choices in list(product(*map(range, first.options)))[1:]:
            cursor.position = begin
            formulas.append(FormulaReader(cursor, self.names, choices).statement(weight))
        where = self._where(cursor)
        final = self._final_weight(cursor, first, weight)
        span = cursor.span_from(start)
        if times is not None:
            first.weighs(times)
        return [WeightedFormula(final, formula, where, span=span, times=times) for formula in formulas]

    def _definite_clause(
        self, cursor: Cursor, reader: FormulaReader, weight: float | None, start: int
    ) -> WeightedFormula:
        formula, clause = reader.definite_clause(weight)
        final = self._final_weight(cursor, reader, weight)
        clauses = self._clauses.setdefault(clause.head.predicate, [])
        if clauses and len(clauses[0].head.arguments) != len(clause.head.arguments):
            arity = counted(len(clauses[0].head.arguments), "argument")
            raise LanguageError(
                f"'{clause.head.predicate}' has {arity} in the head of another clause", span=clause.head.span
            )
        clauses.append(clause)
        return WeightedFormula(final, formula, span=cursor.span_from(start))

    def _final_weight(
        self, cursor: Cursor, reader: FormulaReader, weight: float | None
    ) -> float | Hard | Learned:
        """Read an optional full stop; return the final weight, hard with a full stop or if infinite."""
        stop = cursor.accept(".")
        if stop is not None and weight is not None:
            raise cursor.refusal("a formula with a full stop is hard and takes no weight", stop)
        if stop or (weight is not None and isinf(weight)):
            return Hard()
        return Learned(tuple(reader.marked)) if weight is None else weight

    def _where(self, cursor: Cursor) -> tuple[Comparison, ...]:
        if not cursor.accept(":"):
            return ()
        reader = FormulaReader(cursor, self.names)
        comparisons = [reader.comparison()]
        while cursor.accept(",") or cursor.accept("and"):
            cursor.skip(NEWLINE)
            comparisons.append(reader.comparison())
        return tuple(comparisons)


def _variable_as_weight(cursor: Cursor) -> Variable | None:
    """Read ``s:`` in Tuffy's ``s: Similar(x, y, s) => Same(x, y)``, a variable whose number is the weight."""
    if cursor.here.kind != "name" or cursor.after.text != ":":
        return None
    token = cursor.take()
    cursor.take()
    return Variable(token.text, cursor.span_of(token))


def _refuse_unclosed(cursor: Cursor) -> None:
    """Refuse a quote or comment on this line that is never closed, before it causes a stranger message."""
    for token in rest_of_line(cursor):
        if token.text == '"':
            raise cursor.refusal("this string is never closed", token)
        if token.kind == "unclosed":
            raise LanguageError(
                "this comment is never closed", span=Span(cursor.source, token.start, token.start + 2)
            )


def _goes_on(token: Token, after: Token) -> bool:
    """Whether a line that begins with this token continues the line before."""
    named = after.start == token.end and after.kind != NEWLINE
    return token.text in ("=>", "<=>", "^") or (token.text == "v" and not named)


def _expect_end_of_line(cursor: Cursor) -> None:
    if cursor.here.kind not in (NEWLINE, END):
        raise cursor.expected("the end of the line", likely_sign(cursor.here))
