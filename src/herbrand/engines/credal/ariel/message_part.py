"""A part of a network's factors whose messages are computed separately, in any process.

It has the sentences of some factors, their atoms numbered within the part, and the independences within their
scopes. So it needs nothing else of the network, and is sent to another process as bytes.

>>> import herbrand as hb
>>> from herbrand.engines.credal.ariel.independence import Links
>>> from herbrand.engines.credal.ariel.scopes import scopes_of
>>> from herbrand.engines.credal.lowering import credal_network
>>> theory = hb.parse("P(b | a) in [0.6, 0.7]\\nP(b | not a) in [0.1, 0.2]")
>>> network = credal_network(hb.Model(theory).program)
>>> scopes = scopes_of(network)
>>> (known,) = independences_of([scopes], Links.of(network))
>>> part = MessagePart.from_bytes(MessagePart.of(scopes, known).to_bytes())
>>> lower, upper = part.swept(np.array([0.0, 0.0]), np.array([1.0, 0.2]))
>>> part.atoms.tolist(), lower.round(3).tolist(), upper.round(3).tolist()
([0, 1], [0.1, 0.0], [0.3, 0.2])
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from herbrand.engines.credal.ariel.factors import WIDEST, factors_of
from herbrand.engines.credal.ariel.independence import Links, Separations, coded_separations
from herbrand.engines.credal.ariel.messages import Messages
from herbrand.engines.credal.ariel.scopes import Pattern, Scope
from herbrand.engines.loop import Limits, settle

PASSES = 10
"""Most passes over a part before its intervals are sent to other parts."""
AT_REST = 1e-7
"""Movement of intervals in a pass up to which a part has converged."""


@dataclass(frozen=True, eq=False)
class KnownIndependences:
    """Cached independences within the scopes of a part; ``codes`` by the number of a scope's atoms."""

    codes: dict[int, np.ndarray]
    acyclic: bool

    def separations(self, scopes: np.ndarray) -> Iterator[tuple[np.ndarray, Separations]]:
        k = scopes.shape[1]
        yield from coded_separations(self.codes[k], k, self.acyclic)


@dataclass(frozen=True, eq=False)
class MessagePart:
    """Factors of a network: ``atoms`` are the network's numbers, ascending; scopes have indices into them.

    ``independences`` is None where none are used.
    """

    atoms: np.ndarray
    scopes: tuple[Scope, ...]
    independences: KnownIndependences | None

    @classmethod
    def of(cls, scopes: Sequence[Scope], independences: KnownIndependences | None) -> MessagePart:
        """Build a part from factors over the network's atoms."""
        atoms = np.unique(
            np.concatenate([np.empty(0, np.int64), *(scope.atoms.reshape(-1) for scope in scopes)])
        )
        local = tuple(replace(scope, atoms=np.searchsorted(atoms, scope.atoms)) for scope in scopes)
        return cls(atoms, local, independences)

    def swept(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The intervals of its atoms after messages within the part have converged, or after ``PASSES``.

        Raises ``FoundContradictionError``, with the part's own atom numbers, where no distribution is left.
        """
        messages = Messages()
        # built anew for each sweep, since factors remember the intervals they have seen
        factors = tuple(factors_of(self.scopes, self.independences))
        state = messages.resumed(factors, lower.copy(), upper.copy())
        return settle(messages, lambda: state, Limits(AT_REST, PASSES))[0].intervals

    def to_bytes(self) -> bytes:
        """Serialise the part as an archive of arrays."""
        known = self.independences
        arrays: dict[str, np.ndarray] = {"atoms": self.atoms}
        if known is not None:
            arrays["acyclic"] = np.array(known.acyclic)
            arrays |= {f"codes {k}": codes for k, codes in known.codes.items()}
        for number, scope in enumerate(self.scopes):
            arrays |= {f"scope {number} {name}": getattr(scope, name) for name in _COLUMNS}
            for side in ("event", "given"):
                tables = [getattr(pattern, side) for pattern in scope.patterns]
                arrays[f"scope {number} {side}"] = np.array(tables, bool)
        written = io.BytesIO()
        np.savez(written, allow_pickle=False, **arrays)
        return written.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> MessagePart:
        """Read a part that :meth:`to_bytes` has written."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            scopes = []
            while f"scope {len(scopes)} atoms" in arrays:
                own = f"scope {len(scopes)}"
                tables = zip(arrays[f"{own} event"], arrays[f"{own} given"], strict=True)
                columns = [arrays[f"{own} {name}"] for name in _COLUMNS]
                scopes.append(Scope(*columns, patterns=tuple(Pattern(*pair) for pair in tables)))
            known = None
            if "acyclic" in arrays:
                codes = {int(name.split()[1]): arrays[name] for name in arrays if name.startswith("codes ")}
                known = KnownIndependences(codes, bool(arrays["acyclic"]))
            return cls(arrays["atoms"], tuple(scopes), known)


def independences_of(several: Sequence[Sequence[Scope]], links: Links) -> list[KnownIndependences]:
    """The independences within the scopes of several parts.

    They are computed together, since each call allocates marks for all atoms of the network.
    """
    by_size: list[dict[int, np.ndarray]] = [{} for _ in several]
    for k in sorted({scope.arity for scopes in several for scope in scopes if 2 <= scope.arity <= WIDEST}):
        own = [(place, scope) for place, scopes in enumerate(several) for scope in scopes if scope.arity == k]
        codes = links.codes(np.concatenate([scope.atoms for _, scope in own]))
        ends = np.cumsum([len(scope) for _, scope in own])[:-1]
        for (place, _), part in zip(own, np.split(codes, ends), strict=True):
            by_size[place][k] = part
    return [KnownIndependences(codes, links.acyclic) for codes in by_size]


_COLUMNS = tuple(field.name for field in fields(Scope) if field.name != "patterns")
