"""Side branches of a clause as predicates of their own: variable elimination rooted at the output.

A part of a body that hangs on the rest by one variable, and holds no argument of the head, only scales that
variable's rows: ``s(z, w), t(w, u)`` in ``p(x, y) :- q(x, z), r(z, y), s(z, w), t(w, u)`` becomes a unary
predicate of z, summed out once for each z instead of once for each row. A part that shares no variable
becomes one number. On tree-shaped bodies this is belief propagation towards the output.

>>> body = (Lookup("q", ("x", "y")), Lookup("s", ("y", "w")), Lookup("t", ("w", "u")))
>>> clause, made = split(Clause("p", ("x", "y"), body, dict.fromkeys("xywu", "thing")), ("x",), "p")
>>> print(clause, *made, sep="; ")
p(x, y) :- q(x, y), p`0(y); p`0(y) :- s(y, w), t(w, u)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from herbrand.graphs import linked
from herbrand.program.clauses import Absence, Clause, Literal, Lookup

PART_MARK = "`"
"""Stands in the name of every made predicate; no written name can hold it."""


def is_part(predicate: str) -> bool:
    """Whether a predicate is a part of a clause: asking it is no call, and takes no depth."""
    return PART_MARK in predicate


def split(clause: Clause, bound: Collection[str], name: str) -> tuple[Clause, list[Clause]]:
    """The clause over its branches, and a clause for each of them. ``bound``: variables known beforehand."""
    made: list[Clause] = []
    body = list(clause.body)
    anchors = {name for name in (*clause.head, *bound) if name not in clause.constants}
    while (found := _largest_branch(body, anchors, clause)) is not None:
        root, branch = found
        head = () if root is None else (root,)
        part = f"{name}{PART_MARK}{len(made)}"
        made.append(Clause(part, head, tuple(branch), clause.types, clause.constants))
        place = min(body.index(literal) for literal in branch)
        rest = [literal for i, literal in enumerate(body) if not _within(i, body, branch)]
        rest.insert(place, Lookup(part, head))
        body = rest
    return replace(clause, body=tuple(body)), made


def _within(place: int, body: Sequence[Literal], branch: Sequence[Literal]) -> bool:
    return any(body[place] is literal for literal in branch)


def _largest_branch(
    body: Sequence[Literal], anchors: Collection[str], clause: Clause
) -> tuple[str | None, list[Literal]] | None:
    """The variable that a branch hangs on (``None``: it hangs on nothing), and its literals."""
    roots = [None, *dict.fromkeys(name for part in body for name in links(part, body, clause))]
    found = [
        (root, part)
        for root in roots
        for part in components(body, root, clause)
        if len(part) < len(body) and _is_branch(part, root, body, anchors, clause)
    ]
    return max(found, key=lambda pair: len(pair[1]), default=None)


def _is_branch(
    part: Sequence[Literal],
    root: str | None,
    body: Sequence[Literal],
    anchors: Collection[str],
    clause: Clause,
) -> bool:
    names = {name for literal in part for name in links(literal, body, clause)}
    if (names & set(anchors)) - {root}:
        return False
    lookups = [literal for literal in part if isinstance(literal, Lookup)]
    if root is None:
        return not (len(part) == 1 and is_part(lookups[0].predicate)) if lookups else False
    # A root that only a test or `not` of the part mentions would have no values there: v != z binds no z.
    return len(lookups) >= 2 and any(root in literal.arguments for literal in lookups)


def components(body: Sequence[Literal], without: str | None, clause: Clause) -> list[list[Literal]]:
    """The parts of a body that share no variable but ``without`` (and constants)."""
    return linked(body, lambda literal: links(literal, body, clause) - {without})


def links(literal: Literal, body: Sequence[Literal], clause: Clause) -> set[str]:
    """The variables by which a literal is tied to others; those that only an absent atom has tie nothing."""
    names = {name for name in literal.arguments if name not in clause.constants}
    return names & positive(body, clause) if isinstance(literal, Absence) else names


def positive(body: Sequence[Literal], clause: Clause) -> set[str]:
    """The variables that something other than an absent atom mentions, or the head."""
    names = {name for part in body if not isinstance(part, Absence) for name in part.arguments}
    return names | set(clause.head)
