"""Some damaged cases in every run; ``make fuzz`` tries as many as it is asked for."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

import pytest

from tests.fuzz.families import FAMILIES, TABLES, drawn
from tests.fuzz.trial import Case, case, run, write, wrong
from tests.laws import long

CASES = 150


@pytest.mark.parametrize("share", long(range(6), 2))
def test_damaged_cases(share: int, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(share, CASES, 6):
        found = wrong(case(number, tmp_path), folder)
        assert found is None, f"case {number}: {found}"


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_not_damaged_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a fuzzer would only see refusals."""
    monkeypatch.chdir(tmp_path)
    family = FAMILIES[name]
    for number, command in enumerate(family.commands):
        for files in family.theories.values():
            given, tables = drawn(family, random.Random(number), tmp_path)
            written = {name: data for name, data in given.items() if name.split(".")[0] != "theory"}
            write({**written, **{name: text.encode() for name, text in files.items()}}, tmp_path)
            words = [
                part
                for word in shlex.split(command)
                for part in (
                    [next(iter(files))] if word == "THEORY" else tables if word == "FACTS" else [word]
                )
            ]
            ended = run(tuple(words))
            assert ended.status in (0, 3) or words[0] == "convert", (words, ended)


def test_tables_hold_the_same_in_every_form(tmp_path: Path) -> None:
    outs = set()
    for ending, written in TABLES.items():
        files = {"theory.hb": FAMILIES["weights"].theories["hb"]["theory.hb"].encode()}
        files[f"friends.{ending}"] = written(FAMILIES["weights"].tables["friends"])
        tried = Case("", files, ("infer", "theory.hb", "--header", "yes", "--facts", f"friends.{ending}"))
        folder = tmp_path / ending
        folder.mkdir()
        write(tried.files, folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            ended = run((*tried.arguments, "--format", "csv"))
        assert ended.status == 0, ended
        outs.add(ended.out)
    assert len(outs) == 1
