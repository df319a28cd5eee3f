"""The magics of notebooks, run in a real IPython shell; pictures and estimators beside them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

import herbrand as hb
from herbrand.answers.bindings import Bindings
from herbrand.answers.marginals import Marginals
from herbrand.errors import UnsupportedError

pytest.importorskip("IPython")

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from herbrand import notebook

THEORY = "1.5: smokes(x) and friends(x, y) => smokes(y)\nclose(x, y) :- friends(x, y)\n"


@pytest.fixture
def shell() -> Iterator[Any]:
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "herbrand")
    made.user_ns["friends"] = [("anna", "bob"), ("bob", "carl")]
    made.user_ns["tables"] = {"friends": [("anna", "bob")]}
    yield made
    made.run_line_magic("unload_ext", "herbrand")
    InteractiveShell.clear_instance()


def cell(shell: Any, line: str, text: str = THEORY) -> Any:
    return shell.run_cell_magic("herbrand", line, text)


def test_a_cell_holds_a_theory_and_a_line_asks_it_again(shell: Any) -> None:
    found = cell(shell, "infer --facts friends --query smokes --given 'smokes(\"anna\")'")
    model = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob"), ("bob", "carl")]})
    expected = model.infer("smokes", given='smokes("anna")')
    assert isinstance(found, Marginals)
    assert [row.to_dict() for row in found] == [row.to_dict() for row in expected]
    again = shell.run_line_magic("herbrand", "query 'close(\"anna\", y)' --ignore weights --into answers")
    assert isinstance(again, Bindings) and "bob" in again and shell.user_ns["answers"] is again
    why = shell.run_line_magic("herbrand", "explain 'smokes(\"bob\")' --given 'smokes(\"anna\")'")
    assert why.to_dict()["subject"] == 'smokes("bob")'


def test_facts_are_variables_of_several_kinds(shell: Any, tmp_path: Any) -> None:
    whole = cell(shell, "infer --facts tables")
    named = cell(shell, "infer --facts friends=friends")
    (tmp_path / "friends.csv").write_text("anna,bob\n")
    path = cell(shell, f"infer --facts {tmp_path / 'friends.csv'} --header no")
    assert (len(whole), len(named), len(path)) == (2, 3, 2)


@pytest.mark.parametrize("given", ["freinds", "friends=freinds"])
def test_a_misspelt_variable_is_not_taken_for_a_file_alone(shell: Any, given: str) -> None:
    expected = "there is no variable and no file 'freinds'\n  did you mean 'friends'?"
    with pytest.raises(UsageError) as refused:
        cell(shell, f"infer --facts {given}")
    assert str(refused.value).strip() == expected


def test_engines_are_compared(shell: Any) -> None:
    found = cell(shell, "compare --facts friends --engine exact --engine bp --query smokes")
    assert list(found.answers) == ["exact", "bp"]
    with pytest.raises(hb.HerbrandError, match="no option 'engine'"):
        hb.compare(hb.Model(hb.parse(THEORY)), engine=["exact"])  # type: ignore[call-arg]


def test_without_a_command_a_cell_is_checked(shell: Any) -> None:
    assert "formula" in repr(cell(shell, "--facts friends")) or "smokes" in repr(cell(shell, ""))


def test_a_cell_is_checked_for_what_is_likely_wrong(shell: Any) -> None:
    """The words of ``check --lint``, in the table of options as any other."""
    found = cell(shell, "check --lint --memory 1GB", "predicate rain\npredicate wet\n1: rain")
    assert [one.code for one in found.warnings] == ["unused-predicate"]
    assert "wet" in repr(found)


@pytest.mark.parametrize(
    ("line", "text", "says"),
    [
        ("check --lint --query a", "1: a", "--lint does not use --query"),
        ("infer --lint", "1: a", "--lint"),
        ("infer", "1.5: smokes(x) -> a", "write =>"),
        ("infer --tolerence 1", "1: a", "--tolerence"),
        ("infer --damping 0.5 --engine exact", "1: a", "damping"),
        ("infer --top many", "1: a", "invalid int"),
        ("query", "p(1)", "one text in quotes"),
        ("infer rain", "1: rain", "unrecognized"),
        ("infr", "1: rain", "no command 'infr'; there are check, infer"),
        ("infer 'open", "1: a", "closed on the same line"),
        ("infer --into x-y", "1: a", "--into: 'x-y' is no name of a variable"),
        ("infer --into class", "1: a", "--into: 'class' is no name of a variable"),
    ],
)
def test_what_is_wrong_is_a_message_and_no_traceback(shell: Any, line: str, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        cell(shell, line, text)


def test_a_line_tells_its_options(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_line_magic("herbrand", "infer --help") is None
    out = " ".join(capsys.readouterr().out.split())
    assert "--given LITERAL Evidence for this call: one more fact. Repeatable." in out
    assert "--memory AMOUNT At most this much, such as 4GB. Default: 70 %." in out


def test_remarks_stand_below_the_cell(shell: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """As on the command line: a header that was read as data would else go unseen."""
    (tmp_path / "friends.csv").write_text("from,to\nanna,bob\n")
    cell(shell, f"query 'close(x, y)' --ignore weights --facts {tmp_path}")
    assert "the first row of friends.csv was taken as data" in capsys.readouterr().out
    cell(shell, "infer --facts friends")
    assert "exact at once" in capsys.readouterr().out


def test_a_line_needs_a_theory_first(shell: Any) -> None:
    with pytest.raises(UsageError, match="no theory yet"):
        shell.run_line_magic("herbrand", "infer")


def test_progress_is_a_bar_that_disappears(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bundle: Any, raw: bool) -> None:
            shown.append(bundle["text/html"])

    def display(bundle: Any, raw: bool, display_id: bool) -> Handle:
        shown.append(bundle["text/html"])
        return Handle()

    monkeypatch.setattr(notebook, "display", display)
    clock = iter([0.0, 0.5, 1.5, 1.5, 1.6, 2.0, 2.0])
    monkeypatch.setattr(notebook, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with notebook.Progress() as progress:
        progress("loading", 0.1)
        progress("step <1>", 0.5)
        progress("soon", 0.6)
        progress("step 2", 0.7)
    assert [text.rpartition("> ")[2] for text in shown] == ["step &lt;1&gt;", "step 2", ""]


def test_a_bar_prints_nothing_in_a_terminal(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebook, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(notebook, "SHOWN_EVERY", 0.0)
    with notebook.Progress() as progress:
        progress("loading", 0.1)
        progress("loading", 0.5)
    assert progress._shown is not None and capsys.readouterr().out == ""


def test_every_answer_has_a_picture() -> None:
    model = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]})
    rules = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]}, ignore="weights")
    bounds = hb.Model(hb.parse("P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]"))
    learned = hb.Model(hb.parse('predicate a(t)\n?: a(x)\na("c")\nnot a("d")')).learn()
    answers = [
        (model.infer(), 2),
        (model.infer()["smokes"], 2),
        (bounds.bound(), 2),
        (rules.query("close(x, y)"), 1),
        (model.explain('smokes("bob")'), 1),
        (learned, 1),
        (hb.compare(model, engines=["exact", "bp"]), 4),
        (hb.Model(hb.parse("0.999999 :: rain")).sample(3), 1),
    ]
    for answer, bars in answers:
        picture = answer.plot().svg
        assert picture.startswith("<svg") and picture.count("<rect") == bars, type(answer)
        assert "role='img'" in picture
    both = bounds.explain("P(b)").plot().svg
    assert both.count("<svg") == 3
    assert model.infer().plot(rows=1).svg.count("<rect") == 1
    with pytest.raises(UnsupportedError, match="no picture"):
        hb.size_report(model).plot()


def test_a_picture_is_short_where_no_notebook_shows_it() -> None:
    assert len(repr(hb.Model(hb.parse("1: rain")).infer().plot())) < 100


def test_a_picture_holds_any_text() -> None:
    odd = 'a<b>&"\x00'
    found = hb.Model(hb.parse("q(x) :- r(x)"), {"r": [(odd,)]}).query("q(x)")
    assert ElementTree.fromstring(found.plot().svg) is not None


def test_answers_iterate_count_and_contain() -> None:
    model = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]})
    rules = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]}, ignore="weights")
    marginals, answers = model.infer(), rules.query("close(x, y)")
    assert [row.atom for row in marginals] == ['smokes("anna")', 'smokes("bob")'] and len(marginals) == 2
    assert 'smokes("bob")' in marginals and "smokes" in marginals and 'smokes("eve")' not in marginals
    assert ("anna", "bob") in answers and ("bob", "anna") not in answers and len(answers) == 1
    worlds = hb.Model(hb.parse("1.0 :: rain")).sample(2)
    assert "rain" in worlds and "snow" not in worlds and len(list(worlds)) == 2
