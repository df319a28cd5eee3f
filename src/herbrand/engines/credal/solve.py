"""The least or greatest value of a linear function over a program: by HiGHS, or, with products, by SCIP.

What counts is ``bound``: a value that no solution goes beyond, from the dual side, whether or not the search
came to its end. ``value`` is the best solution found. Interior points and local optima are not used.

>>> from herbrand.engines.credal.polynomial import Assembly
>>> made = Assembly()
>>> x = made.variables(2, 0.0, 1.0)
>>> made.row(x, np.ones(2), 0.5, 0.5)
>>> optimum(made.program(), x[:1], np.ones(1), least=False, seconds=9).bound
0.5
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import vstack

from herbrand.engines.credal.polynomial import Program
from herbrand.errors import UnsupportedError

TOLERANCE = 1e-6
HINT = "pip install 'herbrand[scip]'"
TIGHTENING = 2
"""At every second depth of the search the ranges of variables are tightened by linear programs: a tenth of
the nodes, half the time."""
Watch = Callable[[float], None]
"""Told the gap that is left, while a search goes on."""


class InfeasibleError(Exception):
    """Nothing satisfies the program."""


@dataclass(frozen=True)
class Optimum:
    """``bound`` is proved; ``value`` was reached (``None``: nothing found in time); ``nodes`` searched.

    ``more`` goes on for some seconds with a search that was stopped.
    """

    bound: float
    value: float | None
    nodes: int
    more: Callable[[float], Optimum] | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float:
        """How far the bound may be from the optimum."""
        return 1.0 if self.value is None else abs(self.bound - self.value)


def search_installed() -> bool:
    """Whether programs with products can be solved here."""
    return importlib.util.find_spec("pyscipopt") is not None


def require_search() -> None:
    if not search_installed():
        raise UnsupportedError(
            "the independences of this network make a program that is not linear, and its global optimum "
            "needs the package pyscipopt, which is not installed",
            hint=f"install it: {HINT}; or use --engine ariel, or --independence none",
        )


def optimum(
    program: Program,
    variables: np.ndarray,
    factors: np.ndarray,
    *,
    least: bool,
    seconds: float,
    tolerance: float = TOLERANCE,
    watch: Watch | None = None,
) -> Optimum:
    """The least or greatest value of factors times variables. Raises :class:`InfeasibleError`."""
    if program.linear:
        return _linear_optimum(program, variables, factors, least)
    return _global_optimum(program, variables, factors, least, seconds, tolerance, watch)


def _linear_optimum(program: Program, variables: np.ndarray, factors: np.ndarray, least: bool) -> Optimum:
    costs = np.zeros(program.size)
    np.add.at(costs, variables, factors if least else -factors)
    equal = program.row_lower == program.row_upper
    above, below = ~equal & np.isfinite(program.row_lower), ~equal & np.isfinite(program.row_upper)
    found = linprog(
        costs,
        A_ub=vstack([-program.rows[above], program.rows[below]], format="csr"),
        b_ub=np.concatenate([-program.row_lower[above], program.row_upper[below]]),
        A_eq=program.rows[equal],
        b_eq=program.row_lower[equal],
        bounds=np.stack([program.lower, program.upper], axis=1),
        method="highs",
    )
    if found.status == 2:
        raise InfeasibleError
    if found.status != 0:
        return Optimum(-math.inf if least else math.inf, None, 0)
    value = float(found.fun) if least else -float(found.fun)
    return Optimum(value, value, 0)


def _global_optimum(
    program: Program,
    variables: np.ndarray,
    factors: np.ndarray,
    least: bool,
    seconds: float,
    tolerance: float,
    watch: Watch | None,
) -> Optimum:
    require_search()
    for careful in (False, True):
        model = _scip_model(program, variables, factors, least)
        model.setParam("limits/absgap", tolerance / 2)
        model.setParam("limits/gap", 0.0)
        model.setParam("propagating/obbt/freq", TIGHTENING)
        model.setParam("limits/time", max(seconds, 0.01))
        if watch is not None:
            _report(model, watch)
        if careful:
            _be_careful(model)
        try:
            model.optimize()
        except Exception:  # numerical troubles; pyscipopt has no class for them
            continue
        return _so_far(model, least)
    return Optimum(-math.inf if least else math.inf, None, 0)


def _so_far(model: Any, least: bool) -> Optimum:
    """What a search has found, and how it goes on where its time was up."""
    found = _read(model, least)

    def more(seconds: float) -> Optimum:
        model.setParam("limits/time", model.getSolvingTime() + seconds)
        try:
            model.optimize()
        except Exception:  # numerical troubles: what was proved stays so
            return found
        return _so_far(model, least)

    return replace(found, more=more) if model.getStatus() == "timelimit" else found


def _read(model: Any, least: bool) -> Optimum:
    status = model.getStatus()
    if status == "userinterrupt":
        raise KeyboardInterrupt
    if status == "infeasible":
        raise InfeasibleError
    value = float(model.getObjVal()) if model.getNSols() else None
    bound = float(model.getDualbound())
    if abs(bound) >= model.infinity():
        bound = -math.inf if least else math.inf
    return Optimum(bound, value, int(model.getNNodes()))


def _scip_model(program: Program, variables: np.ndarray, factors: np.ndarray, least: bool) -> Any:
    """The program and what is asked of it in SCIP's terms."""
    total_of = _scip().quicksum
    model = _scip().Model()
    model.hideOutput()
    ends = zip(program.lower.tolist(), program.upper.tolist(), strict=True)
    made = [model.addVar(lb=low, ub=high if math.isfinite(high) else None) for low, high in ends]
    rows = program.rows
    for row, (low, high) in enumerate(
        zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    ):
        inside = slice(rows.indptr[row], rows.indptr[row + 1])
        terms = zip(rows.data[inside].tolist(), rows.indices[inside].tolist(), strict=True)
        total = total_of(factor * made[v] for factor, v in terms)
        if low == high:
            model.addCons(total == low)
            continue
        if math.isfinite(low):
            model.addCons(total >= low)
        if math.isfinite(high):
            model.addCons(total <= high)
    for result, left, right in program.products.tolist():
        model.addCons(made[result] == made[left] * made[right])
    terms = zip(factors.tolist(), variables.tolist(), strict=True)
    model.setObjective(total_of(factor * made[v] for factor, v in terms), "minimize" if least else "maximize")
    return model


def _be_careful(model: Any) -> None:
    """Have SCIP prefer numerical safety to speed."""
    model.setEmphasis(_scip().SCIP_PARAMEMPHASIS.NUMERICS)


def _scip() -> Any:
    """The package, which is optional, and slow to import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("pyscipopt")


def _report(model: Any, watch: Watch) -> None:
    """Have the gap told after every node."""
    scip = _scip()

    class Gap(scip.Eventhdlr):
        def eventinit(self) -> None:
            self.model.catchEvent(scip.SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(scip.SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexec(self, event: object) -> None:
            if self.model.getNSols():
                watch(abs(self.model.getPrimalbound() - self.model.getDualbound()))

    model.includeEventhdlr(Gap(), "gap", "tells the gap that is left")
