"""Linear and integer programs by HiGHS, in floating point: callers that need a proof have to
check the result.

A linear program can be scaled to the ranges of its variables.

>>> from scipy.sparse import csr_array
>>> one = np.ones(1)
>>> program = LinearProgram(csr_array(np.array([[1.0, 1.0]])), one, one, np.zeros(2), np.ones(2))
>>> found = optimum(np.array([1.0, 2.0]), program)
>>> found.bound, found.point.tolist(), found.multipliers.tolist()
(1.0, [1.0, 0.0], [1.0])
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from highspy import Highs, HighsLp, HighsModelStatus, HighsVarType, MatrixFormat
from scipy.sparse import csr_array, vstack

from herbrand.background import Background


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Linear program: ``row_lower`` <= ``rows @ x`` <= ``row_upper`` and ``lower`` <= x <= ``upper``."""

    rows: csr_array
    row_lower: np.ndarray
    row_upper: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def is_bounded(self) -> bool:
        """Whether every variable has a finite range."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    def with_row(self, variables: np.ndarray, factors: np.ndarray, lower: float, upper: float) -> Self:
        """The program with one more row, in which no variable is repeated."""
        zeros = np.zeros(len(variables), int)
        row = csr_array((factors, (zeros, variables)), shape=(1, len(self.lower)))
        return self.with_rows(row, np.array([lower]), np.array([upper]))

    def with_rows(self, rows: csr_array, lower: np.ndarray, upper: np.ndarray) -> Self:
        """The program with more rows."""
        return replace(
            self,
            rows=vstack([self.rows, rows], format="csr"),
            row_lower=np.append(self.row_lower, lower),
            row_upper=np.append(self.row_upper, upper),
        )

    @cached_property
    def scaled(self) -> tuple[LinearProgram, np.ndarray]:
        """The program with variables and rows scaled by powers of two to magnitudes near 1, and the unit
        of each variable."""
        largest_value = np.maximum(np.abs(self.lower), np.abs(self.upper))
        unit = power(np.where(np.isfinite(largest_value), largest_value, 1.0))
        rows = self.rows.copy()
        rows.data = rows.data * unit[rows.indices]
        at = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        largest = np.zeros(rows.shape[0])
        np.maximum.at(largest, at, np.abs(rows.data))
        weight = 1 / power(largest)
        rows.data = rows.data * weight[at]
        ends = self.row_lower * weight, self.row_upper * weight
        return LinearProgram(rows, *ends, self.lower / unit, self.upper / unit), unit


def power(sizes: np.ndarray | float) -> np.ndarray:
    """Powers of two that are not below positive numbers, within 2^±1000; 1 for 0."""
    safe = np.where(np.asarray(sizes) > 0, sizes, 1.0)
    return 2.0 ** np.clip(np.ceil(np.log2(safe)), -1000, 1000)


SMALLEST_ENTRY = 1e-12
"""Size below which entries of rows are dropped: the least limit that HiGHS takes. Its default of 1e-9 is as
large as queried probabilities."""
_own = threading.local()


def _nothing() -> None:
    """A reference to no program."""


class _Silent(Highs):
    """Solver without callbacks: when they are enabled, HiGHS prints its name and licence on standard output,
    among our answers."""

    def enableCallbacks(self) -> None:  # noqa: N802 - its name there
        pass


@dataclass(frozen=True, eq=False)
class Optimum:
    """Result of a minimisation: the best point, if there is one, and a lower ``bound`` of the cost.

    ``multipliers``: dual prices of the rows, if no variable had to be whole.
    """

    infeasible: bool
    point: np.ndarray | None = None
    multipliers: np.ndarray | None = None
    bound: float = -np.inf


def optimum(
    cost: np.ndarray,
    program: LinearProgram,
    *,
    whole: np.ndarray | None = None,
    seconds: float | None = None,
    exactness: float | None = None,
) -> Optimum:
    """Minimise ``cost @ x`` over a program, as far as HiGHS gets in ``seconds``.

    ``whole`` [variable]: whether it takes whole numbers only; ``exactness``: tolerance of rows and prices.
    """
    until = math.inf if seconds is None else time.monotonic() + seconds
    result = _run(cost, program, whole, until, exactness, prepared=whole is not None)
    if whole is None and not result.infeasible and result.point is None and time.monotonic() < until:
        result = _run(cost, program, whole, until, exactness, prepared=True)
    return result


def _run(
    cost: np.ndarray,
    program: LinearProgram,
    whole: np.ndarray | None,
    until: float,
    exactness: float | None,
    *,
    prepared: bool,
) -> Optimum:
    """Run the solver once. ``prepared``: with presolve, which takes longer than small programs themselves."""
    solver = _solver()
    # The clock of a solver that is kept runs on from its earlier programs.
    solver.setOptionValue("presolve", "choose" if prepared else "off")
    left = max(until - time.monotonic(), 0.0)
    solver.setOptionValue("time_limit", solver.getRunTime() + left)
    solver.setOptionValue("mip_rel_gap", 0.0)
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        solver.setOptionValue(option, exactness or 1e-7)
    if not prepared and _own.program() is program:  # it begins with the last basis, which is still feasible
        solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
    else:
        solver.passModel(_model(cost, program, whole))
    _own.program = _nothing if prepared else weakref.ref(program)
    solver.run() if whole is None else _search(solver)
    status, solution = solver.getModelStatus(), solver.getSolution()
    if status == HighsModelStatus.kInfeasible or (
        status == HighsModelStatus.kUnboundedOrInfeasible and program.is_bounded
    ):
        return Optimum(infeasible=True)
    solved = status == HighsModelStatus.kOptimal
    if whole is not None and whole.any():  # else HiGHS does not search, and has no dual bound
        point = np.array(solution.col_value) if solution.value_valid else None
        return Optimum(False, point, None, solver.getInfo().mip_dual_bound)
    if not solved:
        return Optimum(False)
    bound = solver.getInfo().objective_function_value
    return Optimum(False, np.array(solution.col_value), np.array(solution.row_dual), bound)


def _search(solver: Highs) -> None:
    """Run the solver in a thread of its own, which an interrupt leaves behind: Python handles a signal only
    between two steps of its main thread, and a search is one step of minutes."""
    search = Background(solver.run)
    search.start()
    try:
        while search.is_alive():
            search.join(0.1)
    except BaseException:
        del _own.solver  # it is still at work
        raise
    search.result()


def _solver() -> Highs:
    """Solver of this thread, made once, as making one takes as long as a small program."""
    if not hasattr(_own, "solver"):
        _own.solver = _Silent()
        _own.solver.setOptionValue("output_flag", False)
        _own.solver.setOptionValue("parallel", "off")
        _own.solver.setOptionValue("small_matrix_value", SMALLEST_ENTRY)
        _own.program = _nothing
    return _own.solver


def _model(cost: np.ndarray, program: LinearProgram, whole: np.ndarray | None) -> HighsLp:
    model, rows = HighsLp(), program.rows
    model.num_col_, model.num_row_ = len(cost), len(program.row_lower)
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    matrix = model.a_matrix_
    matrix.format_ = MatrixFormat.kRowwise
    matrix.start_, matrix.index_ = np.asarray(rows.indptr, np.int32), np.asarray(rows.indices, np.int32)
    matrix.value_ = np.asarray(rows.data, float)
    if whole is not None:
        kinds = {False: HighsVarType.kContinuous, True: HighsVarType.kInteger}
        model.integrality_ = [kinds[each] for each in whole.tolist()]
    return model
