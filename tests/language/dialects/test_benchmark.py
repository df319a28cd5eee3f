"""The benchmark layout: four files, closed types, labelled queries beside the theory."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language.check import check
from herbrand.language.dialects import read_benchmark, read_facts_file, read_theory_file
from herbrand.language.parse import parse_theory
from herbrand.language.theory import show

FILES = {
    "predicates": "smoke(person)\n\nlikes(person, word)\n",
    "rules": "1.0 !smoke(a) v likes(a, +w) v likes(X, Word_1)\n\n1.0 !smoke(a) v !smoke(a)\n",
    "facts": "smoke(a)\nlikes(a, 7)\n!smoke(b)\n",
    "queries": "smoke(c)\n!likes(b, x)\n",
}


def folder(at: Path, **changed: str) -> Path:
    for name, text in {**FILES, **changed}.items():
        (at / name).write_text(text)
    return at


def test_a_folder(tmp_path: Path) -> None:
    benchmark = read_benchmark(folder(tmp_path))
    assert show(benchmark.theory) == (
        'type person = {"a", "b", "c"}\n'
        'type word = {"7", "Word_1", "x"}\n'
        "predicate smoke(person)\n"
        "predicate likes(person, word)\n"
        'smoke("a")\n'
        'likes("a", "7")\n'
        'not smoke("b")\n'
        '1.0: not smoke(a) or likes(a, w) or likes(X, "Word_1")\n'
        "1.0: not smoke(a) or not smoke(a)\n"
    )
    assert [(rows.predicate, rows.kind, rows.row(0)) for rows in benchmark.queries] == [
        ("smoke", "true", ("c",)),
        ("likes", "false", ("b", "x")),
    ]
    assert read_theory_file(tmp_path) == benchmark.theory == parse_theory(show(benchmark.theory))
    assert read_theory_file(tmp_path, "benchmark") == benchmark.theory
    assert read_facts_file(tmp_path / "facts") == benchmark.theory.facts
    check(benchmark.theory)


def test_a_type_without_constants_stays_open(tmp_path: Path) -> None:
    theory = read_benchmark(folder(tmp_path, predicates=FILES["predicates"] + "taught(course)\n")).theory
    assert theory.types[2].name == "course" and theory.types[2].values is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("predicates", "smoke(person", "predicates:1:13: expected ',' or ')', found the end of the text"),
        ("predicates", "1 smoke(x)", "predicates:1:1: expected a predicate such as friend(person, person)"),
        ("rules", "smoke(a) -> smoke(b)", "rules:1:10: expected the end of the line, found '-'"),
        ("rules", "1.0 smok(a)", "rules:1:5: predicate 'smok' is not declared"),
        ("rules", "1.0 smoke(a, b)", "rules:1:5: 'smoke' takes 1 argument, not 2"),
        ("rules", "1.0 smoke(7)", "rules:1:11: '7' would be a variable in a rule of this format"),
        ("rules", "smoke = {A}", "rules:1:1: expected a rule such as 1.0 !friend(a, b) v friend(b, a)"),
        ("facts", "smoke(a", "facts:1:8: expected ',' or ')', found the end of the text"),
        ("facts", "smok(a)", "facts:1:1: predicate 'smok' is not declared"),
        ("queries", "smoke(a, b)", "queries:1:1: 'smoke' takes 1 argument, not 2"),
    ],
)
def test_mistakes(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(LanguageError) as raised:
        read_benchmark(folder(tmp_path, **{name: text}))
    assert str(raised.value.mistakes[0]).split("\n")[0] == f"{tmp_path}/{message}"


def test_missing_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "facts").write_text("")
    with pytest.raises(LanguageError) as raised:
        read_benchmark(tmp_path)
    assert [m.message for m in raised.value.mistakes] == [
        f"there is no file '{tmp_path}/{name}'" for name in ("predicates", "rules", "queries")
    ]


@pytest.mark.parametrize("held", [[], ["smokers.hb", "friends.csv"]], ids=str)
def test_a_folder_that_is_no_benchmark(tmp_path: Path, held: list[str]) -> None:
    """Who names a folder of another kind is told how folders are read, and of a theory file that it has."""
    for name in held:
        (tmp_path / name).write_text("")
    with pytest.raises(LanguageError) as raised:
        hb.read(tmp_path)
    theory = tmp_path / "smokers.hb" if held else "smokers.hb"
    assert str(raised.value) == (
        f"'{tmp_path}' is a folder, and no theory file\n  name a theory file, such as {theory}; a folder of "
        "tables is named by --facts, and a published benchmark's holds predicates, rules, facts, queries"
    )
