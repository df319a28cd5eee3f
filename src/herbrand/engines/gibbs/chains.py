"""Chains of worlds over a ground factor graph: their start and their state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.budget import Budget
from herbrand.engines.contradiction import contradiction, proved_contradiction
from herbrand.engines.gibbs.blocks import MOST_STATES, ImpossibleError, TooLargeError, blocks_of, freed
from herbrand.engines.gibbs.kernels import Network, begin, network, operations
from herbrand.errors import Mistake, UnsupportedError
from herbrand.factors.compiled import Compiled
from herbrand.factors.graph import Array
from herbrand.factors.possible_values import possible_values
from herbrand.language.names import is_made
from herbrand.language.show import statement_text
from herbrand.loops import chosen
from herbrand.program.program import Program


@dataclass(frozen=True, eq=False)
class Chains:
    """State of all chains: ``values`` [chain, axis], and ``holding`` [chain, factor], the number of
    members that hold."""

    network: Network
    values: Array
    holding: Array


def begun(
    compiled: Compiled, count: int, random: Callable[[int], np.random.Generator], budget: Budget
) -> tuple[Compiled, Chains]:
    """Graph over which worlds are drawn, and ``count`` chains at random worlds; ``random`` [chain].

    Raises if no world is possible, or if hard statements tie so many atoms that no chain could get from one
    world to another.
    """
    if possible_values(compiled.graph) is None:
        raise proved_contradiction(compiled.program, budget)
    graph = freed(compiled.graph)
    compiled = replace(compiled, graph=graph)
    try:
        blocks = blocks_of(graph, compiled.atom_count, _made(compiled))
    except TooLargeError as error:
        raise _cannot_mix(compiled, error) from None
    except ImpossibleError:
        raise contradiction(compiled.program, budget, "gibbs") from None
    blocked = network(graph, blocks)
    values = np.zeros((count, graph.axis_count), np.int64)
    holding = np.zeros((count, graph.factor_count), np.int64)
    start = chosen(begin, count * operations(blocked))
    for chain in range(count):
        start(blocked, values[chain], holding[chain], random(chain).random(len(blocks)))
    return compiled, Chains(blocked, values, holding)


def _made(compiled: Compiled) -> list[int]:
    """Atoms of parts of formulas; no evidence names them."""
    axes: list[int] = []
    for name in filter(is_made, compiled.evidence.latent_predicates):
        codes = np.arange(compiled.evidence.known(name).latent_count())
        axes += compiled.axes_of(name, codes).tolist()
    return axes


def _cannot_mix(compiled: Compiled, error: TooLargeError) -> UnsupportedError:
    """Error that names the hard statements which tie too many atoms together."""
    program = compiled.program
    tied: list[int] = []
    for origins, places in ((compiled.built.in_tables, error.factors), (compiled.built.on_axes, error.axes)):
        for origin in origins:
            template = program.templates[origin.template]
            if template.weight is None and np.isin(origin.places, places).any():
                tied.append(template.statement)
    return UnsupportedError(_mistakes(program, tuple(dict.fromkeys(tied)), error.atoms))


def _mistakes(program: Program, statements: Sequence[int], atoms: int) -> list[Mistake]:
    mistakes = []
    for number in statements:
        statement = program.statements[number]
        text = "" if statement.span else f": {statement_text(statement)}"
        mistakes.append(
            Mistake(
                f"gibbs cannot mix over this hard statement, which ties {atoms:,} atoms together (at most "
                f"{MOST_STATES:,} joint states are sampled at once){text}",
                statement.span,
                "use --engine exact, lifted or bp, or give it a large weight instead",
            )
        )
    return mistakes or [Mistake(f"gibbs cannot mix over hard statements that tie {atoms:,} atoms together")]
