"""The reader of ``.mln`` files: declarations and weighted formulas.

Takes a source and the folder that its includes may come from; gives a theory. Statements end with their line,
unless it ends in a connective or a comma or inside braces. As in Alchemy, a bare ``Friends(person, person)`` of
a predicate not met before declares it; later the same line is a formula whose weight is to be learned.

>>> theory = read_mln(Source("t.mln", "Smokes(person)\\n1.5 Smokes(x) => Smokes(y) : x != y\\nSmokes(Anna).\\n"))
>>> [type(statement).__name__ for statement in theory.statements]
['PredicateDeclaration', 'WeightedFormula', 'WeightedFormula']
>>> theory.formulas[0].where[0].operator, theory.formulas[1].weight
('!=', Hard())
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from herbrand.errors import LanguageError, Source, Span
from herbrand.language.dialects.alchemy.facts import read_db
from herbrand.language.dialects.alchemy.formulas import (
    EQUALITIES,
    NO_FUNCTIONS,
    FormulaReader,
    Names,
    likely_sign,
)
from herbrand.language.dialects.alchemy.includes import Includes
from herbrand.language.dialects.alchemy.lexicon import TOKENS, is_constant_name, text_of_string
from herbrand.language.dialects.collecting import MistakeList
from herbrand.language.dialects.scanner import END, NEWLINE, Cursor, Token
from herbrand.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Exists,
    Formula,
    Hard,
    Implies,
    And,
    Learned,
    PredicateDeclaration,
    Statement,
    Theory,
    TypeDeclaration,
    Variable,
    Weight,
    WeightedFormula,
)

MOST_STARS = 10
LONGEST_RANGE = 1_000_000


def read_mln(source: Source, folder: Path | None = None) -> Theory:
    """The theory of an Alchemy file; all mistakes in it and in what it includes are raised together."""
    mistakes = MistakeList()
    reader = MlnReader(mistakes, Includes(source.name, folder))
    reader.read(source)
    mistakes.raise_any()
    return Theory(tuple(reader.statements))
