"""Writer of ``.bif`` files, for theories that are Bayesian networks.

>>> from herbrand.language.check import check
>>> from herbrand.language.parse import parse_theory
>>> theory = parse_theory('predicate rain in {"yes", "no"}\\n0.2 :: rain = "yes"; 0.8 :: rain = "no"')
>>> print(write_bif(theory, check(theory)), end="")
network theory {
}
variable rain {
  type discrete [ 2 ] { yes, no };
}
probability ( rain ) {
  table 0.2, 0.8;
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from herbrand.errors import UnsupportedError
from herbrand.language.dialects.collecting import as_text, written_lines
from herbrand.language.formulas import Value
from herbrand.language.names import shown_number
from herbrand.language.network_choices import argumentless, network_tables, refuse_cycle
from herbrand.language.network_tables import NetworkTable
from herbrand.language.show import statement_text
from herbrand.language.signature import Signature
from herbrand.language.syntax import Choice, PredicateDeclaration, Statement, TypeDeclaration
from herbrand.language.theory import Theory

_PLAIN = re.compile(r"(?!(?:table|default|property)\b)(?:[^\s{}()\[\],;|\"/]|/(?![/*]))+")


def write_bif(theory: Theory, signature: Signature) -> str:
    """Write a network as ``.bif`` text. Raises UnsupportedError for statements that are not part of one."""
    written_lines(theory.statements, _refuse_others)
    labels = argumentless(signature)
    tables = (*theory.tables, *network_tables(theory.choices, labels))
    refuse_cycle(tables)
    by_child = {table.scope[-1]: table for table in tables}
    if len(by_child) < len(tables):
        raise UnsupportedError("a variable of a .bif file has one table of probabilities; one here has two")
    for name in signature.predicates:
        if name not in by_child:
            known = "" if name in labels else " and is not many-valued without arguments"
            raise UnsupportedError(
                f"'{name}' has no probabilities{known}; a .bif file gives each variable some"
            )
    lines = ["network theory {", "}"]
    for name, values in labels.items():
        lines += _variable_lines(name, values)
    for name in labels:
        lines += _table_lines(by_child[name])
    return as_text(lines)


def _refuse_others(statement: Statement) -> list[str]:
    if isinstance(statement, NetworkTable) and statement.conditional:
        return []
    if isinstance(statement, NetworkTable):
        raise UnsupportedError("a .bif file has no tables of potentials", span=statement.span)
    if not isinstance(statement, TypeDeclaration | PredicateDeclaration | Choice):
        message = f"a .bif file cannot say this: {statement_text(statement)}"
        raise UnsupportedError(message, span=statement.span)
    return []


def _variable_lines(name: str, values: tuple[Value, ...]) -> Iterator[str]:
    yield f"variable {_name(name)} {{"
    yield f"  type discrete [ {len(values)} ] {{ {', '.join(map(_name, values))} }};"
    yield "}"


def _table_lines(table: NetworkTable) -> Iterator[str]:
    *parents, child = table.scope
    given = f" | {', '.join(map(_name, parents))}" if parents else ""
    yield f"probability ( {_name(child)}{given} ) {{"
    for place in np.ndindex(table.values.shape[:-1]):
        case = ", ".join(_name(labels[i]) for labels, i in zip(table.labels[:-1], place, strict=True))
        row = ", ".join(map(shown_number, table.values[place].tolist()))
        yield f"  ({case}) {row};" if parents else f"  table {row};"
    yield "}"


def _name(name: Value) -> str:
    """A name as the format writes it: quoted if it holds a sign or begins like a keyword."""
    text = str(name)
    if _PLAIN.fullmatch(text):
        return text
    if not text or '"' in text or "\n" in text:
        raise UnsupportedError(f"a .bif file cannot hold the name {text!r}")
    return f'"{text}"'
