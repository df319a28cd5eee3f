"""Reader of ``.cfacts`` files: ground facts in columns, with weights.

Takes a source; returns facts as columns. The last column is a weight where a predicate's rows have one column
more than it has arguments. The number of arguments is the one that a comment declares; else that of the
theory, if the rows fit it; else the width of the narrowest rows of which not all end in a number; else the
least width if there are several; else one less than the width, so that the number at the end is a weight, but
at least 1. Weights of repeated facts are added, and a fact without a weight has weight 1.

>>> text = "likes\\tann\\tbob\\nedge\\ta\\tb\\t0.5\\nedge\\ta\\tb\\t2\\n"
>>> likes, edge = read_cfacts(Source("t.cfacts", text))
>>> likes.kind, edge.kind, edge.columns, edge.numbers
('true', 'weighted', (('a',), ('b',)), (2.5,))
"""

from __future__ import annotations

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from herbrand.errors import LanguageError, Mistakes, Source, Span, counted
from herbrand.language.dialects.rows import LineGroup, PredicateRows, grouped_lines
from herbrand.language.dialects.tensorlog.declarations import Declarations
from herbrand.language.syntax import FactKind, FactRows

NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_COMMENT = re.compile(r"^[^\S\n]*(#[^\n]*)", re.MULTILINE)
# Possessive, so that one cell that is not a number causes no backtracking through all cells before it.
_NUMBERS = re.compile(rf"(?:{NUMBER.pattern}\n)*+")


@dataclass
class _Rows:
    """Rows of one width: the cells after the functor, column by column, and the offset of each row."""

    columns: list[list[str]]
    starts: Sequence[int]

    @property
    def width(self) -> int:
        return len(self.columns)

    def all_end_in_numbers(self) -> bool:
        """Whether the last column could hold weights."""
        if not self.columns or not NUMBER.fullmatch(self.columns[-1][0]):
            return False
        return _NUMBERS.fullmatch("\n".join(self.columns[-1]) + "\n") is not None

    def fit(self, arity: int) -> bool:
        """Whether these can be rows of a predicate with so many arguments, with or without weights."""
        return self.width == arity or (self.width == arity + 1 and self.all_end_in_numbers())


def read_cfacts(source: Source, widths: Mapping[str, int] | None = None) -> tuple[FactRows, ...]:
    """Read the facts of a file, in order of each predicate's first one; mistakes are raised together.

    ``widths``: numbers of arguments of the theory's predicates.
    """
    mistakes, known = Mistakes(), widths or {}
    tables: list[PredicateRows] = []
    groups = grouped_lines(source.text, "\t" if "\t" in source.text else " ")
    comments = _COMMENT.finditer(source.text) if "#" in source.text else ()
    declarations = Declarations.of_comments(source, comments, mistakes)
    for functor, rows in _rows_by_functor(source, groups, mistakes).items():
        with mistakes.collecting():
            arity = declarations.arity(functor)
            if arity is None:
                arity = _arity(rows, known.get(functor))
            tables += _tables(source, functor, rows, arity)
    mistakes.raise_any()
    return tuple(table.fact_rows(source) for table in sorted(tables, key=lambda table: table.starts[0]))


def _is_comment(head: str) -> bool:
    return head.lstrip().startswith("#")


# From lines to rows


def _rows_by_functor(
    source: Source, groups: dict[str, LineGroup], mistakes: Mistakes
) -> dict[str, dict[int, _Rows]]:
    """Rows of each functor, by their width."""
    tails: dict[str, list[str]] = defaultdict(list)
    starts: dict[str, array[int]] = defaultdict(lambda: array("q"))
    for head, group in groups.items():
        if _is_comment(head):
            continue
        for functor, its_tails, its_starts in _by_functor(source, group):
            tails[functor] += its_tails
            starts[functor].extend(its_starts)
    by_functor: dict[str, dict[int, _Rows]] = {}
    for functor, its_tails in tails.items():
        with mistakes.collecting():
            _check_functor(functor, source.rest_of_line(starts[functor][0]))
            by_functor[functor] = _by_width(source, its_tails, starts[functor])
    return by_functor


def _by_functor(source: Source, group: LineGroup) -> Iterator[tuple[str, list[str], Sequence[int]]]:
    """Yield functor, cells between tabs and offsets of lines; in lines with tabs, blanks belong to names."""
    head = group.head
    if head and not any(map(str.isspace, head)):
        tabbed = "\t" in source.text
        yield head, group.tails if tabbed else ["\t".join(tail.split()) for tail in group.tails], group.starts
        return
    for start in group.starts:
        line = source.rest_of_line(start).text.strip()
        if not line or _is_comment(line):
            continue
        functor, tab, tail = line.partition("\t")
        if not tab:
            functor, *cells = line.split()
            tail = "\t".join(cells)
        yield functor, [tail], [start]


def _check_functor(functor: str, place: Span) -> None:
    if any(sign in functor for sign in "()`,"):
        raise LanguageError(
            f"'{functor}' is no name of a predicate", span=place, hint="facts are columns: edge<TAB>a<TAB>b"
        )


def _by_width(source: Source, tails: list[str], starts: array[int]) -> dict[int, _Rows]:
    rows = [tail.rstrip() for tail in tails]
    widths = [row.count("\t") + 1 if row else 0 for row in rows]
    if min(widths) == max(widths):
        return {widths[0]: _in_columns(source, rows, starts, widths[0])}
    chosen = {width: [i for i, other in enumerate(widths) if other == width] for width in sorted(set(widths))}
    return {
        width: _in_columns(source, [rows[i] for i in at], array("q", (starts[i] for i in at)), width)
        for width, at in chosen.items()
    }


def _in_columns(source: Source, rows: list[str], starts: Sequence[int], width: int) -> _Rows:
    if not width:
        return _Rows([], starts)
    cells = "\t".join(rows).split("\t")
    if " " in "".join(rows):
        cells = [cell.strip() for cell in cells]
    if "" in cells:
        raise LanguageError("a cell is empty", span=source.rest_of_line(starts[cells.index("") // width]))
    return _Rows([cells[column::width] for column in range(width)], starts)


# From rows to facts


def _tables(source: Source, functor: str, by_width: dict[int, _Rows], arity: int) -> list[PredicateRows]:
    for rows in by_width.values():
        if not rows.fit(arity):
            raise _misfit(source, functor, rows, arity, by_width)
    return _added_up(source, functor, by_width.get(arity), by_width.get(arity + 1))


def _arity(by_width: dict[int, _Rows], known: int | None) -> int:
    """Number of arguments of a predicate without a comment, as the module's first paragraph states.

    ``known``: that of the theory. If rows do not fit it, the error comes later, with the declaration."""
    if known is not None and all(rows.fit(known) for rows in by_width.values()):
        return known
    without_weight = [width for width, rows in by_width.items() if not rows.all_end_in_numbers()]
    if without_weight:
        return min(without_weight)
    narrowest = min(by_width)
    return narrowest if len(by_width) > 1 else max(1, narrowest - 1)


def _misfit(
    source: Source, functor: str, rows: _Rows, arity: int, by_width: dict[int, _Rows]
) -> LanguageError:
    place = source.rest_of_line(_first_without_number(rows) if rows.width == arity + 1 else rows.starts[0])
    others = by_width.get(arity)
    return LanguageError(
        f"'{functor}' has {counted(arity, 'argument')}, and {counted(rows.width, 'column')} follow it here",
        span=place,
        hint="one column more than arguments must be a number, the fact's weight",
        related=[("as many as here", source.rest_of_line(others.starts[0]))] if others else (),
    )


def _first_without_number(rows: _Rows) -> int:
    return next(
        (
            start
            for cell, start in zip(rows.columns[-1], rows.starts, strict=True)
            if not NUMBER.fullmatch(cell)
        ),
        rows.starts[0],
    )


def _added_up(
    source: Source, functor: str, plain: _Rows | None, weighted: _Rows | None
) -> list[PredicateRows]:
    """Add up the weights of equal rows; return the rows of weight 1, and those of other weights."""
    columns: list[list[str]] = []
    starts: list[int] = []
    weights: list[float] = []
    if plain is not None:
        columns, starts, weights = plain.columns, [*plain.starts], [1.0] * len(plain.starts)
    if weighted is not None:
        more = weighted.columns[:-1]
        columns = [a + b for a, b in zip(columns, more, strict=True)] if starts else more
        starts += weighted.starts
        weights += _weights(source, weighted)
    if not _all_differ(columns, starts):
        columns, starts, weights = _summed(columns, starts, weights)
    return _by_weight(functor, columns, starts, weights)


def _summed(
    columns: list[list[str]], starts: list[int], weights: list[float]
) -> tuple[list[list[str]], list[int], list[float]]:
    """Every distinct row, with the sum of its weights and the offset of its first occurrence."""
    totals: dict[tuple[str, ...], float] = {}
    places: dict[tuple[str, ...], int] = {}
    for row, start, weight in zip(_records(columns), starts, weights, strict=False):
        totals[row] = totals.get(row, 0.0) + weight
        places.setdefault(row, start)
    return list(map(list, zip(*totals, strict=True))), list(places.values()), list(totals.values())


def _by_weight(
    functor: str, columns: list[list[str]], starts: list[int], weights: list[float]
) -> list[PredicateRows]:
    ones = weights.count(1.0)
    if ones == len(weights):
        return [_table(functor, columns, starts)]
    if not ones:
        return [_table(functor, columns, starts, weights)]
    once = [i for i, weight in enumerate(weights) if weight == 1]
    rest = [i for i, weight in enumerate(weights) if weight != 1]
    return [
        _table(functor, _chosen(columns, once), [starts[i] for i in once]),
        _table(functor, _chosen(columns, rest), [starts[i] for i in rest], [weights[i] for i in rest]),
    ]


def _chosen(columns: Sequence[Sequence[str]], at: list[int]) -> list[list[str]]:
    return [[column[i] for i in at] for column in columns]


def _weights(source: Source, rows: _Rows) -> list[float]:
    weights = list(map(float, rows.columns[-1]))
    for infinite in (math.inf, -math.inf):
        if infinite in weights:
            place = source.rest_of_line(rows.starts[weights.index(infinite)])
            raise LanguageError("this weight is too large", span=place)
    return weights


def _all_differ(columns: Sequence[Sequence[str]], starts: Sequence[int]) -> bool:
    if not columns:
        return len(starts) == 1
    return len(set(_records(columns))) == len(starts)


def _records(columns: Sequence[Sequence[str]]) -> Iterable[tuple[str, ...]]:
    return zip(*columns, strict=True) if columns else repeat(())


def _table(
    functor: str, columns: list[list[str]], starts: Sequence[int], weights: list[float] | None = None
) -> PredicateRows:
    kind: FactKind = "true" if weights is None else "weighted"
    return PredicateRows(functor, kind, columns, array("q", starts), weights or [])
