"""The table of dialects: which file is read how, and what a file that is none says."""

from __future__ import annotations

from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, LanguageError, UnsupportedError
from herbrand.language.check import check
from herbrand.language.dialects import (
    DIALECTS,
    Dialect,
    dialect_of,
    read_facts_file,
    read_theory_file,
    read_theory_text,
    register,
    write,
    write_facts,
)
from herbrand.language.theory import Theory

TEXTS = {
    "mln": "1 P(x)",
    "db": "P(Anna)",
    "ppr": "p(X) :- q(X).",
    "tlog": "p(X) <= q(X)",
    "pl": "0.3::a.",
    "cfacts": "p\ta",
    "lcn": "s1: 0 <= P(a) <= 0.5",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_is_known_by_its_ending_or_by_name(tmp_path: Path, name: str) -> None:
    expected = read_theory_text(TEXTS[name], name)
    assert len(expected.statements) == 1
    for ending, dialect in ((name, None), (name.upper(), None), ("txt", name)):
        path = tmp_path / f"file.{ending}"
        path.write_text(TEXTS[name])
        assert read_theory_file(path, dialect) == expected
        assert read_theory_file(str(path), dialect) == expected


@pytest.mark.parametrize("name", TEXTS)
def test_line_ends_and_byte_order_marks(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"file.{name}"
    path.write_bytes(b"\xef\xbb\xbf" + TEXTS[name].encode() + b"\r\n\r\n")
    assert read_theory_file(path) == read_theory_text(TEXTS[name], name)


@pytest.mark.parametrize("name", TEXTS)
def test_files_that_are_no_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"file.{name}"
    for data, message in (
        (TEXTS[name].encode() + b"\n\xff", f"'{path}' is not UTF-8 text: byte 0xff on line 2"),
        (b"\0" + TEXTS[name].encode(), "a NUL byte: this is not a text file"),
        ("\ufeff".encode("utf-16-le") + b"a\0", f"'{path}' is not UTF-8 text: byte 0xff on line 1"),
    ):
        path.write_bytes(data)
        with pytest.raises(LanguageError) as raised:
            read_theory_file(path)
        assert raised.value.mistakes[0].message == message


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "folder.mln").mkdir()
    for path, message in (
        (tmp_path / "gone.mln", f"there is no file '{tmp_path}/gone.mln'"),
        (tmp_path / "gone.xyz", f"it is not known which dialect '{tmp_path}/gone.xyz' is in"),
        (tmp_path / "nul\0.mln", f"'{tmp_path}/nul\0.mln' cannot be read: embedded null byte"),
    ):
        with pytest.raises(LanguageError) as raised:
            read_theory_file(path)
        assert raised.value.mistakes[0].message == message
    with pytest.raises(LanguageError, match="is a folder; expected a file"):
        read_theory_file(tmp_path / "folder.mln", "mln")


def test_facts_files(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("Area(P1, AI)")
    (rows,) = read_facts_file(tmp_path / "a.db", many_valued={"Area"})
    assert rows.valued
    (tmp_path / "a.txt").write_text("p\ta\t2")
    (rows,) = read_facts_file(tmp_path / "a.txt", "cfacts")
    assert rows.numbers == (2.0,)


@pytest.mark.parametrize("is_table", [True, False])
def test_the_theory_has_the_numbers_of_arguments_of_a_cfacts_file(tmp_path: Path, is_table: bool) -> None:
    """All rows end in a number: without the theory, it would be their weight."""
    theory, facts = tmp_path / "theory.hb", tmp_path / "world.cfacts"
    declared = "type n = number\npredicate less(n, n): observed\npredicate long(p): observed\n"
    theory.write_text(f"{declared}predicate both(n)\nboth(x) :- less(x, y), long(p)")
    facts.write_text("less\t1\t2\nless\t2\t3.5\nlong\tann\t3\n")
    model = hb.Model(theory, facts) if is_table else hb.Model([theory, facts])
    assert [answer.bindings for answer in model.query("less(x, y)")] == [{"x": 1, "y": 2}, {"x": 2, "y": 3.5}]
    assert [answer.weight for answer in model.query("long(p)")] == [3.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: read_theory_text("", "mnl"), "'mnl' for this\n  did you mean 'mln'?"),
        (lambda: read_facts_file("x", "mln"), "'mln' for this\n  one of db, cfacts, evid, benchmark"),
        (
            lambda: write(Theory(), check(Theory()), "tlog"),
            "'tlog' for this\n  one of mln, ppr, lcn, pl, bif",
        ),
        (lambda: write_facts(Theory(), check(Theory()), "lcn"), "'lcn' for this\n  one of db, cfacts"),
    ],
)
def test_names_that_are_no_dialect(call: object, message: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        call()  # type: ignore[operator]
    assert str(raised.value) == f"there is no dialect {message}"


def test_one_more_dialect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("herbrand.language.dialects.DIALECTS", dict(DIALECTS))
    register(Dialect("silent", (".sil",), read=lambda source, folder: Theory()))
    (tmp_path / "a.sil").write_text("anything")
    assert dialect_of(tmp_path / "a.sil", None).name == "silent"
    assert read_theory_file(tmp_path / "a.sil") == Theory()


def test_all_dialects_say_what_they_can() -> None:
    for dialect in DIALECTS.values():
        assert dialect.reads_theories and (dialect.facts is None or DIALECTS[dialect.facts].write_facts)
    assert issubclass(UnsupportedError, HerbrandError)
