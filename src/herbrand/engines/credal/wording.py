"""Ground formulas as formulas of the language again, for messages and rows of answers.

>>> from herbrand.engines.credal.atoms import Atoms
>>> from herbrand.language.show import show_formula
>>> atoms = Atoms.of({"a": (), "b": ()})
>>> show_formula(formula_of(GroundFormula(("and", 0, ("not", 1)), (1, 0)), atoms))
'b and not a'
"""

from __future__ import annotations

from herbrand.engines.credal.atoms import Atoms
from herbrand.engines.credal.shape import TRUE, GroundFormula, Shape
from herbrand.language.syntax import And, Formula, Iff, Not, Or, Truth, Xor


def formula_of(ground: GroundFormula, atoms: Atoms) -> Formula:
    """The formula with the atoms' names."""

    def said(shape: Shape) -> Formula:
        if not isinstance(shape, tuple):
            return atoms.syntax(ground.atoms[shape])
        parts = tuple(map(said, shape[1:]))
        match shape[0]:
            case "not":
                return Not(parts[0])
            case "and":
                return And(parts)
            case "or":
                return Or(parts)
            case "xor":
                return Xor(parts)
            case "iff":
                return Iff(parts[0], parts[1])
        return Truth(shape == TRUE)

    return said(ground.shape)
