"""Theories on disk: which reader takes a file, several files as one theory, and files that cannot be read."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language import collection
from herbrand.language.collection import collector_paused
from herbrand.language.files import read, written, written_facts
from herbrand.language.parse import parse_theory
from herbrand.language.theory import Theory

OWN = '1.5: smokes(x) => cancer(x)\nsmokes("Anna")\n'
MLN = "1.5 smokes(x) => cancer(x)\n"


def file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


class TestWhichReader:
    @pytest.mark.parametrize("name", ["a.hb", "a.HB", "a", "a.Hb", ".hb"])
    def test_the_language_itself(self, tmp_path: Path, name: str) -> None:
        assert read(file(tmp_path, name, OWN)) == parse_theory(OWN)

    @pytest.mark.parametrize("name", ["a.mln", "a.MLN"])
    def test_a_dialect_by_its_ending(self, tmp_path: Path, name: str) -> None:
        assert read(file(tmp_path, name, MLN)).formulas == parse_theory(OWN).formulas

    def test_a_dialect_by_its_name_whatever_the_ending(self, tmp_path: Path) -> None:
        assert read(file(tmp_path, "a.hb", MLN), "mln").formulas == parse_theory(OWN).formulas
        assert read(file(tmp_path, "a.mln", OWN), "hb") == parse_theory(OWN)
        assert read(file(tmp_path, "a.txt", OWN), dialect="hb") == parse_theory(OWN)

    def test_an_ending_that_no_reader_knows(self, tmp_path: Path) -> None:
        with pytest.raises((LanguageError, UnsupportedError)) as error:
            read(file(tmp_path, "a.txt", OWN))
        assert "a.txt" in str(error.value)

    def test_a_dialect_that_there_is_not(self, tmp_path: Path) -> None:
        with pytest.raises((LanguageError, UnsupportedError), match="mlm"):
            read(file(tmp_path, "a.mln", MLN), "mlm")


class TestSeveral:
    def test_they_are_one_theory_in_the_order_given(self, tmp_path: Path) -> None:
        one, two = file(tmp_path, "one.hb", "1: a\n"), file(tmp_path, "two.hb", "2: b\n")
        assert read([one, two]) == parse_theory("1: a\n2: b")
        assert read([two, one]) == parse_theory("2: b\n1: a")
        assert read(str(path) for path in (one, two)) == parse_theory("1: a\n2: b")
        assert read([]) == Theory()

    def test_of_several_formats(self, tmp_path: Path) -> None:
        found = read([file(tmp_path, "a.hb", "2: cancer(x)"), file(tmp_path, "b.mln", MLN)])
        assert [formula.weight for formula in found.formulas] == [2.0, 1.5]

    def test_a_name_declared_in_one_is_known_in_the_other(self, tmp_path: Path) -> None:
        one = file(tmp_path, "one.hb", '1: season = "winter"')
        two = file(tmp_path, "two.hb", 'predicate season in {"winter", "summer"}')
        assert read([one, two]).formulas == parse_theory(f"{two.read_text()}\n{one.read_text()}").formulas

    @pytest.mark.parametrize("facts_first", [False, True])
    def test_facts_of_a_format_are_of_what_the_others_declare(
        self, tmp_path: Path, facts_first: bool
    ) -> None:
        said = "type size = number\npredicate weighs(thing, size)\npredicate kind(thing) in {1, 2}\n"
        theory = file(tmp_path, "a.hb", said)
        facts = file(tmp_path, "b.db", "weighs(A, 2.50)\nkind(A, 2)\n!kind(B, 1)\n")
        expected = parse_theory('weighs("A", 2.5)\nkind("A") = 2\nnot kind("B") = 1\n')
        both = read([facts, theory] if facts_first else [theory, facts])
        assert both.facts == expected.facts
        assert parse_theory(written(both)) == both

    def test_a_constant_of_facts_that_is_no_number(self, tmp_path: Path) -> None:
        theory = file(tmp_path, "a.hb", "type size = number\npredicate weighs(thing, size)\n")
        with pytest.raises(LanguageError, match='"much" is not a number'):
            hb.Model([theory, file(tmp_path, "b.db", "weighs(A, much)\n")])

    def test_all_that_is_wrong_with_any_is_told_at_once(self, tmp_path: Path) -> None:
        paths = [
            file(tmp_path, "one.hb", "1: a\n2: b ->\n"),
            file(tmp_path, "two.hb", "3: c\n"),
            tmp_path / "three.hb",
            file(tmp_path, "four.hb", "p(x)\n"),
        ]
        with pytest.raises(LanguageError) as error:
            read(paths)
        told = str(error.value)
        assert f"{paths[0]}:2:6: unexpected '->'" in told
        assert f"there is no file '{paths[2]}'" in told
        assert f"{paths[3]}:1:3: a fact holds constants only" in told
        assert "two.hb" not in told

    def test_what_does_not_fit_together_is_told_beside_what_cannot_be_read(self, tmp_path: Path) -> None:
        """A broken statement may declare what others use, so only what is surely wrong is told."""
        paths = [
            file(tmp_path, "one.hb", "predicate p(t)\npredicate q(t\n1: q(x) and p(x, y)"),
            file(tmp_path, "two.hb", "1: r(x)"),
        ]
        with pytest.raises(LanguageError) as error:
            read(paths)
        assert [mistake.message for mistake in error.value.mistakes] == [
            "this '(' is never closed",
            "p takes 1 argument, not 2",
            "predicate 'r' is not declared",
        ]


class TestUnreadable:
    def test_a_file_that_there_is_not(self, tmp_path: Path) -> None:
        with pytest.raises(LanguageError) as error:
            read(tmp_path / "none.hb")
        assert str(error.value) == f"there is no file '{tmp_path / 'none.hb'}'"

    def test_a_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "theory.hb"
        folder.mkdir()
        with pytest.raises((LanguageError, UnsupportedError), match=r"theory\.hb"):
            read(folder)

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            (b"1: a\n\xff\xfe: b", "is not UTF-8 text: byte 0xff on line 2"),
            ("1: größe".encode("latin-1"), "is not UTF-8 text: byte 0xf6 on line 1"),
            ("1: a\n".encode("utf-16"), "is not UTF-8 text: byte 0xff on line 1"),
        ],
    )
    def test_bytes_that_are_no_text(self, tmp_path: Path, data: bytes, told: str) -> None:
        path = file(tmp_path, "a.hb", data)
        with pytest.raises(LanguageError) as error:
            read(path)
        assert str(error.value) == f"'{path}' {told}\n  save the file as UTF-8"

    def test_bytes_that_are_odd_text(self, tmp_path: Path) -> None:
        assert read(file(tmp_path, "bom.hb", b"\xef\xbb\xbf1: a\r\n2: b")) == parse_theory("1: a\n2: b")
        assert read(file(tmp_path, "empty.hb", b"")) == Theory()
        with pytest.raises(LanguageError, match=r"nul\.hb:1:3: a NUL byte"):
            read(file(tmp_path, "nul.hb", b"1:\0"))

    @pytest.mark.parametrize("name", ["a\0b.hb", "x" * 5000 + ".hb"])
    def test_names_that_no_file_can_have(self, name: str) -> None:
        with pytest.raises(LanguageError, match="cannot be read"):
            read(name)


class TestWriting:
    def test_in_the_language_itself(self) -> None:
        theory = parse_theory(OWN)
        assert parse_theory(written(theory)) == theory
        assert hb.parse(written(theory, "hb")) == theory

    def test_in_a_dialect_that_keeps_its_facts_apart(self, tmp_path: Path) -> None:
        theory = parse_theory(OWN)
        facts = written_facts(theory, "mln")
        assert facts is not None
        ending, text = facts
        paths = [
            file(tmp_path, "out.mln", written(theory, "mln")),
            file(tmp_path, f"out{ending}", text),
        ]
        again = read(paths)
        assert ending == ".db"
        assert again.formulas == theory.formulas and again.facts == theory.facts

    @pytest.mark.parametrize(("text", "dialect"), [("1: a", "mln"), (OWN, "lcn"), (OWN, "hb"), (OWN, "none")])
    def test_where_there_is_no_second_file(self, text: str, dialect: str) -> None:
        assert written_facts(parse_theory(text), dialect) is None


class Circle:
    """What only the collector takes away."""

    def __init__(self) -> None:
        self.itself = self


class TestTheCollector:
    """Reading pauses the garbage collector, and leaves it as it was."""

    @pytest.fixture(autouse=True)
    def restored(self) -> object:
        before = gc.isenabled()
        yield
        (gc.enable if before else gc.disable)()

    @pytest.mark.parametrize("enabled", [True, False])
    def test_it_is_left_as_it_was(self, enabled: bool) -> None:
        (gc.enable if enabled else gc.disable)()
        with collector_paused():
            assert not gc.isenabled()
            with collector_paused():
                assert not gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled() == enabled

    def test_also_after_a_mistake(self) -> None:
        gc.enable()
        with pytest.raises(LanguageError):
            parse_theory("p(")
        assert gc.isenabled()

    def test_what_others_froze_stays_frozen(self) -> None:
        gc.enable()
        gc.freeze()  # as the tests' own collection did: they stay frozen
        count = gc.get_freeze_count()
        with collector_paused():
            pass
        assert gc.get_freeze_count() >= count > 0

    def test_what_others_froze_is_counted_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Counting goes through all of it, which took longer than reading."""
        gc.enable()
        gc.freeze()
        with collector_paused():
            pass
        monkeypatch.delattr(gc, "get_freeze_count")
        with collector_paused():
            pass

    def test_what_is_of_no_use_goes_in_the_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each pause counts all as old, and nothing else would ever look at it again."""
        gc.enable()
        gc.unfreeze()
        monkeypatch.setattr(collection, "_aged", collection._Aged())
        monkeypatch.setattr(collection, "OBJECTS", 10)
        circle = Circle()
        seen = weakref.ref(circle)
        del circle
        for _ in range(collection.PAUSES):
            with collector_paused():
                made = [[] for _ in range(100)]
            assert len(made) == 100
        gc.freeze()  # as the tests' own collection did
        assert seen() is None


def test_a_path_is_no_text() -> None:
    with pytest.raises(UnsupportedError, match=r"not its path 'people/theory\.hb'\n  hb\.read\(path\)"):
        hb.parse("people/theory.hb")
    assert len(hb.parse('0.5: made("theory.hb")  # theory.hb').formulas) == 1
