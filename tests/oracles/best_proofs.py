"""The best proofs of atoms, by listing all of them: what each uses, and the worlds in which some hold.

Weights of :class:`tests.oracles.proofs.Proofs` may be anything that is multiplied and added. Here they are
lists of proofs, each the facts that it uses, as often as it does.

>>> a, b = Proved.of("a"), Proved.of("b")
>>> (a * a + b).proofs
(('a', 'a'), ('b',))
>>> chances = {"a": 0.5, "b": 0.4}
>>> largest((a * a + b).proofs, chances), either(likeliest((a * a + b).proofs, chances, 2), chances)
(0.4, 0.7)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

Proof = tuple[Hashable, ...]


@dataclass(frozen=True)
class Proved:
    proofs: tuple[Proof, ...]

    @classmethod
    def of(cls, fact: Hashable) -> Proved:
        return cls(((fact,),))

    def __bool__(self) -> bool:
        return bool(self.proofs)

    def __add__(self, other: Proved) -> Proved:
        return Proved(self.proofs + other.proofs)

    def __mul__(self, other: Proved | float) -> Proved:
        if isinstance(other, Proved):
            return Proved(tuple(one + two for one in self.proofs for two in other.proofs))
        assert other in (0, 1)
        return self if other else Proved(())

    __rmul__ = __mul__


def largest(proofs: Sequence[Proof], weights: Mapping[Hashable, float]) -> float:
    """The largest product; 0 without a proof."""
    return max((math.prod(weights[fact] for fact in proof) for proof in proofs), default=0.0)


def likeliest(
    proofs: Sequence[Proof], chances: Mapping[Hashable, float], count: int
) -> list[frozenset[Hashable]]:
    """The first sets of facts by the products of the proofs, without those that hold another such set."""
    ranked = sorted(proofs, key=lambda proof: -math.prod(chances[fact] for fact in proof))
    found: list[frozenset[Hashable]] = []
    for proof in ranked:
        if not any(less <= set(proof) for less in found):
            found.append(frozenset(proof))
    return found[:count]


def either(sets: Sequence[frozenset[Hashable]], chances: Mapping[Hashable, float]) -> float:
    """The probability that all of one set hold, world by world."""
    facts = sorted({fact for own in sets for fact in own}, key=repr)
    total = 0.0
    for kept in itertools.product((True, False), repeat=len(facts)):
        held = {fact for fact, holds in zip(facts, kept, strict=True) if holds}
        if any(own <= held for own in sets):
            total += math.prod(chances[fact] if fact in held else 1 - chances[fact] for fact in facts)
    return total
