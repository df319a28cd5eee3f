"""Answers that come late, and clicks while others are under way: the page shows what was asked for last."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.studio.conftest import SECONDS, Studio
from tests.studio.screen import SMOKERS, Screen

Start = Callable[..., Studio]
SETTLED = "new Promise(done => setTimeout(done, 300))"
"""Time in which a page does what it should not, where it would do it."""
AT_ONCE = """async ([name, value]) => {
    const chosen = document.querySelector(`select[aria-label="${name}"]`)
        ?? [...document.querySelectorAll("label")].find(each => each.innerText.startsWith(name)).control;
    chosen.value = value;
    chosen.dispatchEvent(new Event("change", { bubbles: true }));
    for (let turn = 0; turn < 20; turn++) await null;
    return document.querySelector(".cm-content").innerText;
}"""
"""Choose from a list; then the text of the editor before any other event, such as a key, can come."""


class Held:
    """The first call of a page to an address: it goes on when it is let go, all others at once."""

    def __init__(self, page: Any, address: str, method: str = "") -> None:
        self._page, self._address, self._method = page, address, method
        self._route: Any = None
        page.route(address, self._take)

    def _take(self, route: Any) -> None:
        if self._route is None and self._method in ("", route.request.method):
            self._route = route
        else:
            route.continue_()

    def wait(self) -> None:
        """Until there is such a call."""
        until = time.monotonic() + SECONDS
        while self._route is None:
            assert time.monotonic() < until, f"no call of {self._address}"
            self._page.wait_for_timeout(10)

    def let_go(self) -> None:
        """And wait until it is answered, and the page has had time to hear it."""
        held = self._route.request
        with self._page.expect_response(lambda response: response.request == held):
            self._route.continue_()
        self._page.evaluate(SETTLED)


def test_of_two_examples_the_last_one_is_open(page: Any, studio: Start) -> None:
    screen = Screen(page, studio(None).address)
    first = Held(page, "**/api/examples/family")
    gallery = page.get_by_role("combobox", name="Gallery")
    gallery.select_option("family")
    first.wait()
    gallery.select_option("smokers")
    page.evaluate(SETTLED)
    first.let_go()
    page.get_by_role("combobox", name="File").locator("option", has_text="smokers.hb").wait_for(
        state="attached"
    )
    page.evaluate(SETTLED)
    assert "Friends influence" in screen.text()


def test_what_is_typed_while_an_example_comes_is_not_lost_unasked(page: Any, studio: Start) -> None:
    running = studio(None)
    (running.folder / "theory.hb").write_text("1: a\n")
    screen = Screen(page, running.address)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    example = Held(page, "**/api/examples/family")
    page.get_by_role("combobox", name="Gallery").select_option("family")
    example.wait()
    screen.write("1: b\n")
    example.let_go()
    assert asked == ["theory.hb is not saved. Open the example?"]
    assert screen.text().strip() == "1: b"


def test_what_is_typed_while_a_file_is_removed_stays(page: Any, studio: Start) -> None:
    running = studio(None)
    (running.folder / "a.hb").write_text("1: a\n")
    (running.folder / "b.hb").write_text("1: b\n")
    screen = Screen(page, running.address)
    page.on("dialog", lambda dialog: dialog.accept())
    files = page.get_by_role("combobox", name="File")
    files.select_option("b.hb")
    removing = Held(page, "**/api/files/b.hb")
    screen.button("Remove").click()
    removing.wait()
    files.select_option("a.hb")
    screen.write("1: typed\n")
    removing.let_go()
    screen.says("Removed b.hb")
    screen.button("Save (1)").click()
    screen.says("Saved a.hb")
    assert (running.folder / "a.hb").read_text() == "1: typed\n"


def test_where_no_theory_is_left_an_empty_one_is_shown(page: Any, studio: Start) -> None:
    running = studio(None)
    (running.folder / "theory.hb").write_text("1: a\n")
    (running.folder / "known.parquet").write_bytes(b"PAR1 no text")
    screen = Screen(page, running.address)
    page.on("dialog", lambda dialog: dialog.accept())
    screen.button("Remove").click()
    screen.says("Removed theory.hb")
    assert screen.text().strip() == ""
    screen.write("1: b\n")
    screen.button("Save (1)").click()
    screen.says("Saved theory.hb")
    assert (running.folder / "known.parquet").read_bytes() == b"PAR1 no text"


def test_a_key_saves_once(page: Any, studio: Start) -> None:
    running = studio(None)
    (running.folder / "theory.hb").write_text("1: a\n")
    screen = Screen(page, running.address)
    puts: list[str] = []
    page.on("request", lambda request: puts.append(request.url) if request.method == "PUT" else None)
    screen.write("1: b\n")
    screen.theory.press("Control+s")
    screen.says("Saved theory.hb")
    page.evaluate(SETTLED)
    assert len(puts) == 1
    assert (running.folder / "theory.hb").read_text() == "1: b\n"


def test_what_is_saved_while_a_file_is_saved_is_saved_after_it(page: Any, studio: Start) -> None:
    running = studio(None)
    (running.folder / "theory.hb").write_text("1: a\n")
    screen = Screen(page, running.address)
    first = Held(page, "**/api/files/theory.hb")
    screen.write("1: b\n")
    screen.button("Save (1)").click()
    first.wait()
    screen.write("1: c\n")
    screen.button("Save (1)").click()
    page.evaluate(SETTLED)
    first.let_go()
    screen.button("Save").wait_for()
    screen.says("Saved theory.hb")
    assert (running.folder / "theory.hb").read_text() == "1: c\n"


def test_all_files_that_are_chosen_together_are_uploaded(page: Any, studio: Start, tmp_path: Path) -> None:
    running = studio(None)
    screen = Screen(page, running.address)
    tables = [tmp_path / "likes.csv", tmp_path / "knows.csv"]
    for table in tables:
        table.write_text("anna,bob\n")
    screen.tab("Facts").click()
    page.get_by_label("Add tables").set_input_files(tables)
    screen.says("Added likes.csv, knows.csv")
    assert {path.name for path in running.folder.iterdir()} == {"likes.csv", "knows.csv"}


def test_a_run_of_the_project_before_does_not_end_in_this_one(page: Any, smokers: Studio) -> None:
    screen = Screen(page, smokers.address)
    answer = Held(page, "**/api/runs/*/events*")
    screen.button("Run").click()
    answer.wait()
    page.get_by_role("combobox", name="Gallery").select_option("family")
    screen.says("Opened the example")
    assert screen.button("Run").is_enabled()
    answer.let_go()
    assert "Opened the example" in screen.status.inner_text()
    page.get_by_text("Press Run, and the answers stand here.").wait_for()


def test_a_check_that_is_overtaken_is_told_of_by_the_next(page: Any, studio: Start) -> None:
    screen = Screen(page, studio(None).address)
    screen.write("1: a\n")
    screen.mistakes.get_by_text("No mistakes.").wait_for()
    first = Held(page, "**/api/check")
    screen.button("Check").click()
    first.wait()
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/check")):
        screen.write("1: a =>\n")
    screen.says("1 mistake.")


def test_a_file_is_shown_before_a_key_or_a_mark_can_come(page: Any, studio: Start) -> None:
    running = studio(None)
    (running.folder / "a.hb").write_text("1: a\n")
    (running.folder / "b.hb").write_text("1: b\n")
    Screen(page, running.address)
    assert page.evaluate(AT_ONCE, ["File", "b.hb"]).strip() == "1: b"


def test_advice_is_taken_where_the_mistake_is_by_now(page: Any, studio: Start) -> None:
    screen = Screen(page, studio(None).address)
    screen.write("predicate smokes(person)\n1.5: smoks(x)\n")
    advice = page.get_by_role("button", name="Take the advice, line 2")
    advice.wait_for()
    check = Held(page, "**/api/check")
    screen.theory.press("Control+Home")
    page.keyboard.type("0.5: rain\n")
    check.wait()
    advice.click()
    assert screen.text().split("\n")[:3] == ["0.5: rain", "predicate smokes(person)", "1.5: smokes(x)"]


def test_advice_for_what_was_typed_over_is_not_taken(page: Any, studio: Start) -> None:
    screen = Screen(page, studio(None).address)
    screen.write("predicate smokes(person)\n1.5: smoks(x)\n")
    advice = page.get_by_role("button", name="Take the advice, line 2")
    advice.wait_for()
    check = Held(page, "**/api/check")
    screen.write("predicate smokes(person)\n2.5: lives(x)\n")
    check.wait()
    advice.click()
    assert screen.text().split("\n")[1] == "2.5: lives(x)"


def test_the_boxes_of_a_table_stay_open_while_it_is_read_again(page: Any, studio: Start) -> None:
    running = studio(None)
    (running.folder / "friends.csv").write_text("anna,bob\nbob,carl\n")
    (running.folder / "theory.hb").write_text(SMOKERS.split('friends("anna"')[0])
    screen = Screen(page, running.address)
    screen.tab("Facts").click()
    page.get_by_role("table", name="Predicates").get_by_role("button", name="friends").click()
    page.get_by_text("Edit the rows of friends.csv").click()
    cell = page.get_by_label("Row 2, column 2")
    cell.fill("dora")
    with page.expect_response("**/api/table") as answer:
        cell.press("Tab")
    answer.value.finished()
    page.get_by_role("button", name='friends("bob", "dora")').wait_for()
    assert cell.is_visible()


def test_a_score_that_comes_late_does_not_stand_over_a_newer_one(page: Any, studio: Start) -> None:
    running = studio("smokers", "smokers.hb", "--facts", "facts")
    (running.folder / "labels.csv").write_text("person,truth\nbob,false\nfrank,true\n")
    screen = Screen(page, running.address)
    screen.run()
    screen.tab("Compare").click()
    page.get_by_role("combobox", name="Labels").select_option("labels.csv")
    page.get_by_role("combobox", name="Predicate").select_option("smokes")
    first = Held(page, "**/api/score")
    page.get_by_role("button", name="Score").click()
    first.wait()
    page.get_by_label("what is not listed is false").check()
    page.get_by_role("button", name="Score").click()
    newer = page.get_by_role("img", name="Calibration of 3 rows")
    newer.wait_for()
    first.let_go()
    assert newer.is_visible()


def test_an_explanation_that_nobody_waits_for_is_ended(page: Any, smokers: Studio) -> None:
    screen = Screen(page, smokers.address)
    screen.run()
    first = Held(page, "**/api/runs", "POST")
    screen.choose('smokes("frank")')
    screen.button("Explain").click()
    first.wait()
    page.get_by_label("Explain").fill('smokes("bob")')
    with page.expect_request(lambda request: request.method == "DELETE"):
        page.get_by_role("button", name="Explain").last.click()
        first.let_go()
    page.get_by_role("tree", name='Why smokes("bob"): log-odds').wait_for()
