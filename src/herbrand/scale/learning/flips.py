"""Numbers of groundings of each template that hold if one atom has a given value, counted by joins.

As :mod:`herbrand.learning.flips`, with the contraction executed as SQL: for a literal of a target the others
of its conjunction are joined and summed over the variables that its atom does not name. The counts give, for
each target, a table of what other values of labelled atoms would add to each statement's count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from herbrand.budget import refuse_beyond_disk
from herbrand.contraction.expression import Contraction, Sizes
from herbrand.contraction.over_relations import VALUE, Contracted, contracted, planned
from herbrand.learning.contradiction import broken, refuse_contradiction
from herbrand.learning.parameters import Parameters
from herbrand.program.ground import choices_of
from herbrand.program.program import Argument, Template, unequal
from herbrand.relations.expression import Kind, choose, column, literal
from herbrand.relations.fold import least, total
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch, Stored
from herbrand.row_keys import fit
from herbrand.scale.evidence import among, keys_of_mixed, mixed
from herbrand.scale.learning.lesson import StoredExample
from herbrand.scale.operands import Rows, query_of

BYTES_A_ROW = 48
"""Disk for one atom's count."""
FIXED = -1
"""The column of everything that does not depend on learned weights."""

Report = Callable[[str, float], None]


@dataclass(frozen=True)
class StoredFlips:
    """Counts for one literal of a template. ``table``: for an atom ``code`` and a ``weight_row``, the number
    ``v`` of groundings that hold if it has an ``allowed`` value."""

    template: Template
    predicate: str
    allowed: tuple[int, ...]
    table: str


def stored_flips(example: StoredExample, room: int | None, report: Report) -> Iterator[StoredFlips]:
    """Yield the counts of all templates, a table for each literal of a target.

    Raise ContradictionError if facts of predicates that are not targets violate a hard statement.
    """
    templates = example.program.templates
    for template in templates:
        _refuse_false(example, template)
    pairs = [(template, place) for template in templates for place in _counted_places(template, example)]
    for number, (template, place) in enumerate(pairs):
        report(f"counting groundings, {number + 1} of {len(pairs)}", number / len(pairs))
        literal = template.conjunction.literals[place]
        table = f"flip_{number}"
        example.stored.database.make(table, _counted(template, place, example, room))
        flips = StoredFlips(template, literal.predicate, literal.allowed, table)
        if literal.predicate in example.targets:
            yield flips
        else:
            _refuse_broken(example, flips)
            example.stored.database.drop(table)


def _refuse_false(example: StoredExample, template: Template) -> None:
    """Raise an error for a hard statement that no atom can make true."""
    conjunction = template.conjunction
    if template.weight is None and not conjunction.literals and choices_of(conjunction, example.program):
        raise broken(example, template)


def _counted_places(template: Template, example: StoredExample) -> Sequence[int]:
    """Places of the literals of targets; for a hard statement without any the first literal, to test whether
    it holds."""
    literals = template.conjunction.literals
    places = [place for place, literal in enumerate(literals) if literal.predicate in example.targets]
    return places or range(min(1, len(literals)) if template.weight is None else 0)


def _counted(template: Template, place: int, example: StoredExample, room: int | None) -> str:
    """Query for code, weight row and count of every atom of one literal that has groundings."""
    conjunction, queries = template.conjunction, example.evidence.queries
    literal = conjunction.literals[place]
    sizes = Sizes({name: len(example.program.domain(type_name)) for name, type_name in conjunction.variables})
    named = (*literal.arguments, *template.weight_arguments)
    output = tuple(dict.fromkeys(argument for argument in named if isinstance(argument, str)))
    others = [one for number, one in enumerate(conjunction.literals) if number != place]
    operands = [example.indicator(other) for other in others]
    pairs, constants = unequal(conjunction)
    operands += [((name,), _all_but(constant, sizes[name], queries)) for name, constant in constants]
    tables = [table for _, table in operands]
    contraction = Contraction(tuple(axes for axes, _ in operands), output, sizes, pairs)
    counts = contracted(planned(contraction, [one.statistics for one in tables]), tables, queries.numbers)
    places = dict(zip(output, counts.columns, strict=True))
    rows = query_of(_everywhere(counts, [sizes[name] for name in output], queries, room))
    code = example.codes(literal.predicate, [_place(argument, places) for argument in literal.arguments])
    own = () if template.weight is None else example.program.weights[template.weight].by
    radices = [len(example.program.domain(name)) for name in own]
    weight_row = mixed([_place(argument, places) for argument in template.weight_arguments], radices)
    rounded = f"SELECT {code} AS code, {weight_row} AS weight_row, ROUND(v) AS v FROM ({rows}) r"
    return f"SELECT * FROM ({rounded}) c WHERE v <> 0"


def _place(argument: Argument, places: dict[str, str]) -> str:
    return places[argument] if isinstance(argument, str) else str(argument)


def _all_but(constant: int, size: int, queries: Scratch) -> Rows:
    """All constants but one."""
    return Rows(queries.numbers("a0", size).where(column("a0") != constant), ("a0",), None, size)


def _everywhere(counts: Contracted, sizes: Sequence[int], queries: Scratch, room: int | None) -> Relation:
    """Rows of a contraction; one row for every entry if the entries without rows have a value too."""
    if counts.everywhere is None:
        nothing = queries.numbers(VALUE, 0).select(**dict.fromkeys(counts.columns, 0), **{VALUE: 0.0})
        return counts.rows or nothing
    needed = int(np.prod(np.array(sizes, float))) * BYTES_A_ROW
    hint = "train on fewer predicates (--target PRED), or use another disk"
    refuse_beyond_disk(needed, room, "counting groundings takes", hint)
    every = counts.everywhere
    for name, size in zip(counts.columns, sizes, strict=True):
        every = every.join(queries.numbers(name, size))
    if counts.rows is not None:
        every = every.stack(counts.rows).group(counts.columns, **{VALUE: total(column(VALUE))})
    return every


def changes(
    example: StoredExample,
    target: str,
    flips: Sequence[StoredFlips],
    parameters: Parameters,
    scratch: Scratch,
) -> Relation | None:
    """Changes from other values of labelled atoms: columns ``code``, ``alternative``, ``place``, ``d``.

    ``place`` is the column of a weight, ``FIXED`` for all parts without one. ``None`` if no statement depends
    on the target. New constants get new columns in ``parameters``. Raise an error if facts contradict a hard
    statement.
    """
    own = [flip for flip in flips if flip.predicate == target]
    parts = [_change(example, flip, parameters, scratch) for flip in own]
    if not parts:
        return None
    summed = parts[0].stack(*parts[1:]).group(["code", "alternative", "place"], d=total(column("d")))
    return summed.where(column("d") != 0.0)


def _change(example: StoredExample, flip: StoredFlips, parameters: Parameters, scratch: Scratch) -> Relation:
    number, label, alternative = flip.template.weight, column("label"), column("alternative")
    others = scratch.numbers("alternative", example.program.value_count(flip.predicate) - 1)
    rows = _labelled(example, flip).join(others)
    now = among(label, flip.allowed)
    then = among(alternative + choose(alternative >= label, 1, 0), flip.allowed)
    if number is None:
        _refuse_broken(example, flip)
        place, d = literal(FIXED), literal(-math.inf)
        rows = rows.where(then)
    else:
        place, d = column("place"), (choose(then, 1.0, 0.0) - choose(now, 1.0, 0.0)) * column("v")
        weight = example.program.weights[number]
        if weight.learned:
            rows = rows.join(scratch.put(_placed(example, flip, parameters)), ["weight_row"])
        else:
            place, d = literal(FIXED), d * weight.value
        d = d * flip.template.sign
    return rows.select(code=column("code"), alternative=alternative, place=place, d=d)


def _counts(example: StoredExample, flip: StoredFlips) -> Stored:
    kinds: dict[str, Kind] = {"code": _kind_of_codes(example, flip), "weight_row": "int", "v": "float"}
    return example.evidence.queries.table(flip.table, **kinds)


def _kind_of_codes(example: StoredExample, flip: StoredFlips) -> Kind:
    return "int" if fit(example.evidence.sizes(flip.predicate)) else "text"


def _labelled(example: StoredExample, flip: StoredFlips) -> Relation:
    """The counted atoms that have labels, each with its ``label``."""
    evidence, predicate = example.evidence, flip.predicate
    code = mixed(evidence.columns(predicate), evidence.sizes(predicate))
    query = f"SELECT {code} AS code, value AS label FROM ({query_of(evidence.settled(predicate))}) k"
    labels = evidence.queries.query(query, {"code": _kind_of_codes(example, flip), "label": "int"})
    counts: Relation = _counts(example, flip)
    if example.lists_all_labels(predicate):
        return counts.join(labels, ["code"])
    return counts.left_join(labels, ["code"], label=0)


def _refuse_broken(example: StoredExample, flip: StoredFlips) -> None:
    """Raise an error if the facts violate a hard statement as they are."""
    code = _labelled(example, flip).where(among(column("label"), flip.allowed)).scalar(least(column("code")))
    codes = keys_of_mixed([] if code is None else [code], example.evidence.sizes(flip.predicate))
    refuse_contradiction(example, flip.template, flip.predicate, codes)


def _placed(example: StoredExample, flip: StoredFlips, parameters: Parameters) -> Memory:
    """Column of each row of a weight."""
    number = flip.template.weight
    assert number is not None
    if not example.program.weights[number].by:
        return Memory.of(weight_row=[0], place=[parameters.column(number)])
    rows = np.sort(_counts(example, flip).only("weight_row").distinct().arrays()["weight_row"])
    return Memory.of(weight_row=rows, place=parameters.columns(number, rows, example.program))
