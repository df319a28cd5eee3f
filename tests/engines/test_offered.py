"""Engines that other distributions offer by entry points: run by name, never unasked, told when broken."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.engines.registry import INFERENCE, offered_engines
from herbrand.errors import UnsupportedError
from tests.conftest import ROOT, Outcome

THEORY = "1.5: rain => wet\n-0.5: rain\nhard: wet => slippery\n"
POINTS = """\
[herbrand.engines]
far = far_engine:Worlds
gone = far_engine:Worldz
missing = no_such_module_anywhere:Engine
broken = broken_engine:Engine
number = broken_engine_free:NUMBER
exact = far_engine:Worlds
[other.group]
elsewhere = far_engine:Worlds
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution with the example of docs/extending as its engine, and with engines that are none."""
    page = (ROOT / "docs" / "extending" / "engine.md").read_text(encoding="utf-8")
    site = tmp_path / "site"
    about = site / "far_engines-0.3.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: far-engines\nVersion: 0.3\n")
    (about / "entry_points.txt").write_text(POINTS)
    (site / "far_engine.py").write_text(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0])
    (site / "broken_engine.py").write_text("raise RuntimeError('no licence')\n")
    (site / "broken_engine_free.py").write_text("NUMBER = 7\n")
    monkeypatch.syspath_prepend(str(site))
    yield site
    for name in ("far_engine", "broken_engine", "broken_engine_free"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("installed")
def test_one_that_is_named_answers_as_ours_do() -> None:
    model = hb.Model(hb.parse(THEORY))
    ours, theirs = model.infer(engine="exact"), model.infer(engine="far")
    assert theirs.log_partition == pytest.approx(ours.log_partition, abs=1e-12)
    assert [row.probability for row in theirs.rows()] == pytest.approx([r.probability for r in ours.rows()])
    assert hb.compare(model, ["exact", "far"]).failures == {}


def test_its_name_is_unknown_where_it_is_not_installed() -> None:
    with pytest.raises(UnsupportedError, match="there is no engine 'far' for infer"):
        hb.Model(hb.parse(THEORY)).infer(engine="far")


@pytest.mark.usefixtures("installed")
def test_nobody_asks_one_that_is_not_named(herbrand: Callable[..., Outcome], tmp_path: Path) -> None:
    theory = tmp_path / "rain.hb"
    theory.write_text(THEORY)
    soft = hb.Model(hb.parse(THEORY.replace("hard", "2.0")))
    assert list(hb.compare(soft).answers) == list(INFERENCE)
    for command in (("infer", theory), ("check", theory), ("compare", theory)):
        assert herbrand(*command).status == 0
    assert not {"far_engine", "broken_engine"} & set(sys.modules)
    assert herbrand("infer", theory, "--engine", "far").out.startswith("worlds marginals (exact)\n")


@pytest.mark.usefixtures("installed")
def test_a_name_of_ours_stays_ours() -> None:
    assert set(offered_engines()) == {"far", "gone", "missing", "broken", "number"}
    assert hb.Model(hb.parse(THEORY)).infer(engine="exact").engine == "exact"
    assert "far_engine" not in sys.modules


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "gone",
            "the engine 'gone' of far-engines 0.3 cannot be loaded: AttributeError: module 'far_engine' has "
            "no attribute 'Worldz'\n  its entry point says far_engine:Worldz",
        ),
        (
            "missing",
            "the engine 'missing' of far-engines 0.3 cannot be loaded: ModuleNotFoundError: No module named "
            "'no_such_module_anywhere'\n  its entry point says no_such_module_anywhere:Engine",
        ),
        (
            "broken",
            "the engine 'broken' of far-engines 0.3 cannot be loaded: RuntimeError: no licence\n"
            "  its entry point says broken_engine:Engine",
        ),
        (
            "number",
            "the engine 'number' of far-engines 0.3 is none: broken_engine_free:NUMBER has no with_settings\n"
            "  docs/extending/engine.md lists what an engine has",
        ),
        ("fare", "there is no engine 'fare' for infer\n  did you mean 'far'?"),
        (
            "zzz",
            "there is no engine 'zzz' for infer\n  engines: auto, exact, lifted, circuit, regions, bp, "
            "mean-field, gibbs, integer, far, gone, missing, broken, number",
        ),
    ],
)
def test_what_cannot_be_run_says_whose_it_is_and_why(
    name: str, message: str, herbrand: Callable[..., Outcome], tmp_path: Path
) -> None:
    with pytest.raises(UnsupportedError) as caught:
        hb.Model(hb.parse(THEORY)).infer(engine=name)
    assert str(caught.value) == message
    (tmp_path / "rain.hb").write_text(THEORY)
    outcome = herbrand("infer", tmp_path / "rain.hb", "--engine", name)
    assert (outcome.status, outcome.out, outcome.err) == (1, "", message + "\n")
