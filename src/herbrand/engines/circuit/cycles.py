"""Least models of atoms that depend on each other, as definitions without cycles.

A strongly connected set of atoms is solved as a system of equations is, by elimination (Bekic's lemma): an
atom's bodies take its place in the bodies of the others, and a body that needs its own head is dropped, since
it supports nothing. What is left of the last atom names no other; going back, each atom is defined by those
that were eliminated after it. Along a good order this makes few gates: bodies over the same atoms are joined
into one.

>>> net = Constraints()
>>> e, f = 2 * net.variable(), 2 * net.variable()
>>> bodies = {"a": [(frozenset("b"), TRUE), (frozenset(), e)], "b": [(frozenset("a"), f)]}
>>> acyclic(net, bodies) == {"a": e, "b": net.every([e, f])}
True
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints
from herbrand.graphs import strong_components

Atom = TypeVar("Atom", bound=Hashable)
Body = tuple[frozenset[Atom], int]
"""Atoms of the same component that must hold, and the literal of the rest of the body."""
Users = dict[Atom, dict[Atom, None]]
"""The atoms whose bodies need each atom, in an order that is the same in every process.

Gates are made in this order, and their numbers affect the order of decisions: ordered by hashes, a run took
three times as long.
"""


def least_model(
    net: Constraints,
    below: Mapping[Atom, Sequence[Atom]],
    bodies: Callable[[Atom, frozenset[Atom]], Sequence[Body[Atom]]],
    literals: dict[Atom, int],
    budget: Budget = UNLIMITED,
) -> None:
    """Add the literal of each atom to ``literals``, after those of all atoms that it depends on (``below``).

    ``bodies``: gives the bodies of an atom, for the atoms that are solved together with it; the literals of
    all other atoms that it depends on are there by then.
    """
    for component in strong_components(below):
        budget.check()
        if component[0] in literals:
            continue
        (first, *others), members = component, frozenset(component)
        system = {atom: bodies(atom, members) for atom in component}
        if not others and first not in below[first]:
            literals[first] = net.either([literal for _, literal in system[first]])
        else:
            literals.update(acyclic(net, system, budget))


def acyclic(
    net: Constraints, bodies: Mapping[Atom, Sequence[Body[Atom]]], budget: Budget = UNLIMITED
) -> dict[Atom, int]:
    """The literal of each atom in the least model."""
    system = {
        atom: _joined(net, [body for body in own if atom not in body[0]]) for atom, own in bodies.items()
    }
    users: Users[Atom] = {atom: {} for atom in system}
    for atom, own in system.items():
        for needed in own:
            for other in needed:
                users[other][atom] = None
    place = {atom: number for number, atom in enumerate(system)}
    heap = [(_cost(system, users, atom), place[atom], atom) for atom in system]
    heapq.heapify(heap)
    order: list[Atom] = []
    done: set[Atom] = set()
    while heap:
        cost, _, atom = heapq.heappop(heap)
        if atom in done:
            continue
        now = _cost(system, users, atom)
        if now > cost:
            heapq.heappush(heap, (now, place[atom], atom))
            continue
        budget.check()
        done.add(atom)
        order.append(atom)
        _eliminate(net, system, users, atom)
    literals: dict[Atom, int] = {}
    for atom in reversed(order):
        literals[atom] = net.either(
            net.every([literal, *(literals[other] for other in needed)])
            for needed, literal in system[atom].items()
        )
    return literals


def _cost(system: Mapping[Atom, Mapping[frozenset[Atom], int]], users: Users[Atom], atom: Atom) -> int:
    """Number of bodies that eliminating the atom makes."""
    return len(system[atom]) * len(users[atom])


def _joined(net: Constraints, bodies: Sequence[Body[Atom]]) -> dict[frozenset[Atom], int]:
    """Join all bodies that need the same atoms into one literal."""
    together: dict[frozenset[Atom], list[int]] = {}
    for needed, literal in bodies:
        together.setdefault(needed, []).append(literal)
    joined = {needed: net.either(literals) for needed, literals in together.items()}
    return {needed: literal for needed, literal in joined.items() if literal != FALSE}


def _eliminate(
    net: Constraints,
    system: dict[Atom, dict[frozenset[Atom], int]],
    users: Users[Atom],
    atom: Atom,
) -> None:
    """Replace the atom by its bodies in all others; its own definition stays for the way back."""
    own = system[atom]
    for user in users.pop(atom):
        bodies = system[user]
        combined: list[Body[Atom]] = []
        for needed in [needed for needed in bodies if atom in needed]:
            literal = bodies.pop(needed)
            for under, below in own.items():
                if user not in under:
                    combined.append(((needed - {atom}) | under, net.every([literal, below])))
        for needed, literal in _joined(net, combined).items():
            bodies[needed] = net.either([bodies[needed], literal]) if needed in bodies else literal
        if bodies.get(frozenset()) == TRUE:
            system[user] = {frozenset(): TRUE}
        for needed in system[user]:
            for other in needed:
                users[other][user] = None
    for needed in own:
        for other in needed:
            if other in users:
                users[other].pop(atom, None)
