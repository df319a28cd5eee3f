"""SCIP in a process of its own: it suggests points, and its death costs nothing else."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import herbrand as hb
from benchmarks import credal_networks
from herbrand.engines.credal import scip_search, solve
from herbrand.engines.credal.polynomial import Assembly, PolynomialProgram, tightened
from herbrand.engines.credal.scip_search import Request, SearchProcess
from herbrand.language.dialects import read_theory_text


def product(low: float, high: float) -> PolynomialProgram:
    """w = x y with both in [low, high]."""
    made = Assembly()
    x = made.variables(3, np.array([low, low, 0.0]), np.array([high, high, 1.0]))
    made.products(x[2:], x[:1], x[1:2])
    found = tightened(made.program())
    assert found is not None
    return found


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_it_finds_the_best_point_and_is_reused(scale: float) -> None:
    pytest.importorskip("pyscipopt")
    process = SearchProcess()
    try:
        for sign, end in ((1.0, 0.2), (-1.0, 0.4)):
            request = Request(product(0.2 * scale, 0.4 * scale), np.array([0, 0, sign]), 5.0)
            point = process.best_point(request)
            assert point is not None
            assert point[:2] == pytest.approx([end * scale] * 2, rel=1e-5)
        assert process.deaths == 0
    finally:
        process.close()


def test_a_process_that_dies_or_hangs_gives_no_point(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request(product(0.2, 0.4), np.ones(3), 0.1)
    monkeypatch.setattr(scip_search, "GRACE", 0.2)
    monkeypatch.setattr(scip_search, "STARTING", 1.0)
    for ending in ("import os; os.abort()", "import time; time.sleep(60)"):
        process = SearchProcess()
        monkeypatch.setattr(process, "command", [sys.executable, "-c", ending])
        assert process.best_point(request) is None
        assert process.deaths == 1
        assert process.best_point(request) is None


def test_answers_are_proved_though_every_search_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    theory = read_theory_text(credal_networks.cyclic(5, 1), "lcn")
    before = hb.Model(theory).bound(engine="exact", tolerance=1e-4)
    process = SearchProcess()
    monkeypatch.setattr(process, "command", [sys.executable, "-c", "import os; os.abort()"])
    monkeypatch.setattr(solve, "SCIP", process)
    monkeypatch.setattr(solve, "SOON", 0.0)
    monkeypatch.setattr(solve, "search_installed", lambda: True)
    after = hb.Model(theory).bound(engine="exact", tolerance=1e-4)
    assert process.deaths > 0
    assert after.certified.all() and after.lower == pytest.approx(before.lower, abs=2e-4)
    assert after.upper == pytest.approx(before.upper, abs=2e-4)
