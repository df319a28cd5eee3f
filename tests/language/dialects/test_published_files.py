"""Files of the systems themselves, where they lie beside this checkout: each reads, shows and reads again."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from herbrand.errors import LanguageError
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_file, read_theory_text
from herbrand.language.parse import parse_theory
from herbrand.language.syntax import FactRows, WeightedFormula, walk
from herbrand.language.theory import Theory, show

SHARED = Path(__file__).resolve().parents[4] / "shared"
pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no folder of published files beside the checkout"
)


FAMILY = ("cases/alchemy", "cases/counting")
"""Folders of other dialects of ``.mln`` and ``.db``: some of their constructs are refused by name."""


def found(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in SHARED.glob(pattern))


def of_family(path: Path) -> bool:
    return path.relative_to(SHARED).as_posix().startswith(FAMILY)


ALCHEMY = found("**/*.mln", "**/*.db")


def assert_reads_again(theory: Theory) -> None:
    assert theory.statements
    assert parse_theory(show(theory)) == theory
    check(theory)


@pytest.mark.parametrize(
    "path",
    [
        *found("cases/**/*.lcn", "data/**/*.ppr", "data/**/*.tlog", "**/*.cfacts"),
        *(path for path in ALCHEMY if not of_family(path)),
    ],
    ids=str,
)
def test_a_file(path: Path) -> None:
    assert_reads_again(read_theory_file(path))


@pytest.mark.parametrize("path", [*filter(of_family, ALCHEMY)], ids=str)
def test_a_file_of_the_wider_family(path: Path) -> None:
    """It reads, shows and reads again, or the refusal names the place and what was found there."""
    try:
        theory = read_theory_file(path)
    except LanguageError as error:
        assert re.search(rf"{re.escape(path.name)}:\d+:\d+: .+", str(error)), error
        return
    assert parse_theory(show(theory)) == theory


@pytest.mark.parametrize("path", found("data/**/predicates"), ids=str)
def test_a_benchmark(path: Path) -> None:
    assert_reads_again(read_theory_file(path.parent))


@pytest.mark.parametrize("path", found("cases/lifted/*.json"), ids=lambda path: path.stem)
def test_a_markov_logic_case(path: Path) -> None:
    case = json.loads(path.read_text())
    theory = read_theory_text(case["mln"], "mln")
    assert_reads_again(theory)
    assert [f.weight for f in theory.formulas] == [f["weight"] for f in case["formulas"]]
    assert {t.name: [c.value for c in t.values or ()] for t in theory.types} == case["domains"]
    evidence = read_theory_text("\n".join(case["evidence"]), "db")
    check(theory + evidence)
    assert sum(rows.row_count for rows in evidence.facts) == len(case["evidence"])


@cache
def _facts(name: str) -> Theory:
    return read_theory_file(SHARED / "cases/tensorlog" / name)


@pytest.mark.parametrize("path", found("cases/tensorlog/*.json"), ids=lambda path: path.stem)
def test_a_tensorlog_case(path: Path) -> None:
    case = json.loads(path.read_text())
    theory = read_theory_text("\n".join(case["program"]), "ppr")
    assert len(theory.rules) == len(case["program"])
    assert_reads_again(theory)
    if "facts" in case:
        inline = "".join("\t".join(map(str, row)) + "\n" for row in case["facts"])
        check(theory + read_theory_text(inline, "cfacts"))
    if "facts_file" in case:
        names = [part for part in case["facts_file"].split() if part.endswith(".cfacts")]
        check(theory + Theory(tuple(s for name in names for s in _facts(name).statements)))


def test_sizes_of_a_benchmark() -> None:
    path = SHARED / "data/uw_cse/ai"
    if not path.is_dir():
        pytest.skip("this benchmark is not at hand")
    theory = read_theory_file(path)
    sizes = {declared.name: len(declared.values or ()) for declared in theory.types}
    assert sizes == {
        "course": 30, "person": 68, "quarter": 12, "level": 3, "position": 5,
        "project": 45, "phase": 3, "integer": 9, "title": 128,
    }  # fmt: skip
    assert sum(s.row_count for s in theory.statements if isinstance(s, FactRows)) == 731
    assert len(theory.formulas) == 66
    assert all(isinstance(f, WeightedFormula) and any(walk(f.formula)) for f in theory.formulas)


@pytest.mark.parametrize("ending", [".mln", ".db"])
def test_nine_in_ten_files_of_the_alchemy_family_read(ending: str) -> None:
    paths = found(f"cases/alchemy/**/*{ending}")
    refused = []
    for path in paths:
        try:
            read_theory_file(path)
        except LanguageError as error:
            refused.append(error)
    if not paths:
        pytest.skip("no such files are at hand")
    assert len(refused) <= len(paths) / 10
    assert all(mistake.hint for error in refused for mistake in error.mistakes)
