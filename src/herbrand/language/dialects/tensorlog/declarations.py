"""TensorLog's declarations, in comments: ``# :- hasWord(doc,word)`` and ``# :- trainable(posPair,2)``.

>>> declared = Declarations()
>>> for comment in ["# :- hasWord(doc,word)", "# :- trainable(hasWord,2)", "# no declaration"]:
...     declared.read(comment, None)
>>> declared.arity("hasWord"), declared.statements()[0].role
(2, 'learned')
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from herbrand.errors import LanguageError, Mistakes, Source, Span
from herbrand.language.syntax import PredicateDeclaration

_DECLARATION = re.compile(r"#.*?:-\s*(.*?)\s*\.?\s*$")
_SHAPE = re.compile(r"([\w$]+)\(\s*((?:[\w$]+(?:\s*,\s*[\w$]+)*)?)\s*\)")
_COUNT = re.compile(r"\d{1,9}")


class Declarations:
    """The predicates that comments have declared so far."""

    def __init__(self) -> None:
        self._types: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, Span | None] = {}
        self._trainable: dict[str, int] = {}

    @staticmethod
    def of_comments(source: Source, comments: Iterable[re.Match[str]], mistakes: Mistakes) -> Declarations:
        """The declarations in comments of a source, each the first group of its match."""
        declarations = Declarations()
        for comment in comments:
            with mistakes.collecting():
                declarations.read(comment[1], Span(source, *comment.span(1)))
        return declarations

    def read(self, comment: str, span: Span | None) -> None:
        """Read a comment; one without ``:-`` declares nothing."""
        declaration = _DECLARATION.match(comment)
        if declaration is None:
            return
        shape = _SHAPE.fullmatch(declaration[1])
        if shape is None:
            raise LanguageError(
                "this is no declaration", span=span, hint="declarations read '# :- predicate(type1,type2)'"
            )
        name, arguments = shape[1], tuple(re.split(r"\s*,\s*", shape[2])) if shape[2] else ()
        if name == "trainable" and len(arguments) == 2 and _COUNT.fullmatch(arguments[1]):
            self._trainable[arguments[0]] = int(arguments[1])
        elif self._types.setdefault(name, arguments) != arguments:
            related = [("first here", self._places[name])]
            raise LanguageError(f"'{name}' is declared in two ways", span=span, related=related)
        else:
            self._places.setdefault(name, span)

    def arity(self, predicate: str) -> int | None:
        """Declared number of arguments of a predicate; ``None`` if it is not declared."""
        if predicate in self._types:
            return len(self._types[predicate])
        return self._trainable.get(predicate)

    def covers(self, predicates: set[str]) -> bool:
        """Whether the types of all of these are declared."""
        return predicates <= self._types.keys()

    def statements(self) -> list[PredicateDeclaration]:
        return [
            PredicateDeclaration(
                name,
                types,
                role="learned" if name in self._trainable else None,
                span=self._places[name],
            )
            for name, types in self._types.items()
        ]
