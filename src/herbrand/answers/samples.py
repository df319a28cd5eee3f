"""Sampled worlds: the true atoms of each, and the values of many-valued atoms.

>>> atoms = {"rain": DrawnAtom("rain", ()), "sky": DrawnAtom("sky", (), ("blue", "grey"))}
>>> drawn = Samples(
...     "circuit", Guarantee.EXACT, Status(True, 1), (World(("rain",), {"sky": "grey"}, -0.5),), atoms
... )
>>> drawn.share("rain"), drawn.to_dict()["worlds"]
(1.0, [{'true': ['rain'], 'values': {'sky': 'grey'}, 'log_weight': -0.5}])
>>> drawn
circuit worlds (exact)
world  true
    1  rain, sky = "grey"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import pyarrow as pa

from herbrand.answers.argument_columns import argument_columns, argument_kinds, constant_array, kind_of
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.lookup import missing, text_among
from herbrand.answers.sheet import PROBABILITIES, Bar, Sheet
from herbrand.language.names import shown_constant
from herbrand.language.syntax import Value


@dataclass(frozen=True)
class World:
    """A sampled world. ``true``: the latent atoms that hold; ``values``: of many-valued atoms;
    ``log_weight``: the logarithm of the world's weight, which is its probability times the partition
    function."""

    true: tuple[str, ...]
    values: Mapping[str, Value]
    log_weight: float

    def to_dict(self) -> dict[str, Any]:
        return {"true": [*self.true], "values": {**self.values}, "log_weight": self.log_weight}

    @property
    def atoms(self) -> tuple[str, ...]:
        """Texts of the true atoms and of ``atom = value`` for the many-valued ones."""
        return (*self.true, *(f"{atom} = {shown_constant(value)}" for atom, value in self.values.items()))

    @property
    def holding(self) -> Iterator[tuple[str, Value | None]]:
        """Text of each atom that holds, with the value of a many-valued one."""
        return chain(((atom, None) for atom in self.true), self.values.items())


@dataclass(frozen=True)
class DrawnAtom:
    """A ground atom that was sampled; ``values``: the possible values of a many-valued one."""

    predicate: str
    arguments: tuple[Value, ...]
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Sheet):
    """Independent samples, in the order of drawing. ``atoms``: all sampled atoms, by text."""

    engine: str
    guarantee: Guarantee
    status: Status
    worlds: tuple[World, ...]
    atoms: Mapping[str, DrawnAtom]

    words: ClassVar[Sequence[int]] = (1,)

    def __len__(self) -> int:
        return len(self.worlds)

    def rows(self) -> Iterator[World]:
        return iter(self.worlds)

    def share(self, atom: str) -> float:
        """Share of the worlds in which an atom, or ``atom = "value"``, is true.

        Raises ``KeyError`` for an atom that was not sampled, as facts or rules settle it.
        """
        text = self._text_of(atom)
        if text is None:
            raise missing(atom, self._drawn, "the atoms that were drawn")
        return sum(text in world.atoms for world in self.worlds) / len(self.worlds)

    def _text_of(self, atom: object) -> str | None:
        """Printed text of an atom that was sampled, with its value if it is many-valued."""
        return text_among(atom, self._drawn)

    @cached_property
    def _drawn(self) -> frozenset[str]:
        """Texts of all atoms, with their values, that may hold in a world."""
        return frozenset(
            f"{text} = {shown_constant(value)}" if value is not None else text
            for text, atom in self.atoms.items()
            for value in atom.values or (None,)
        )

    ticks: ClassVar[Sequence[str]] = PROBABILITIES

    def __contains__(self, atom: object) -> bool:
        """Whether an atom is true in at least one of the worlds."""
        text = self._text_of(atom)
        return any(text in world.atoms for world in self.worlds)

    def bars(self) -> Iterator[Bar]:
        """A bar for each atom: the share of worlds in which it holds, largest first."""
        counts = Counter(atom for world in self.worlds for atom in world.atoms)
        for atom, count in counts.most_common():
            yield Bar(atom, 0.0, count / len(self.worlds), f"{count / len(self.worlds):.4f}")

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of the command line."""
        return {
            "engine": self.engine,
            "guarantee": self.guarantee.value,
            "seconds": self.status.seconds,
            "worlds": [world.to_dict() for world in self.worlds],
        }

    def to_arrow(self) -> pa.Table:
        """Columns world, atom, predicate, argument_1 and so on, value: a row for each atom that holds in a
        world, or one without an atom; worlds are numbered from 1.

        Without that row, worlds in which nothing holds would be missing from counts. The types of the columns
        depend on all sampled atoms, so that a model has the same columns whatever was drawn.
        """
        nothing: tuple[tuple[str | None, Value | None], ...] = ((None, None),)
        rows = [
            (place, atom, value)
            for place, world in enumerate(self.worlds, 1)
            for atom, value in tuple(world.holding) or nothing
        ]
        places, texts, values = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
        known = [None if text is None else self.atoms[text] for text in texts]
        return pa.table(
            {
                "world": pa.array(places, pa.int64()),
                "atom": pa.array(texts, pa.string()),
                "predicate": pa.array([atom and atom.predicate for atom in known], pa.string()),
                **argument_columns([atom.arguments if atom else () for atom in known], self._kinds),
                "value": constant_array(values, self._value_kind),
            }
        )

    @property
    def _kinds(self) -> list[pa.DataType]:
        """The types of arguments."""
        alike: dict[str, list[tuple[Value, ...]]] = {}
        for atom in self.atoms.values():
            alike.setdefault(atom.predicate, []).append(atom.arguments)
        return argument_kinds([list(zip(*rows, strict=True)) for rows in alike.values()])

    @property
    def _value_kind(self) -> pa.DataType:
        return kind_of(chain.from_iterable(atom.values for atom in self.atoms.values()))

    @property
    def title(self) -> str:
        return self.guarantee.of("worlds", self.engine)

    @property
    def heads(self) -> tuple[str, ...]:
        return ("world", "true")

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Texts for a table."""
        for place, world in enumerate(self.worlds):
            yield str(place + 1), ", ".join(world.atoms)
