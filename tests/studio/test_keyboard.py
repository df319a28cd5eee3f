"""The studio without a mouse, and as assistive technology sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.studio.conftest import AXE, Studio
from tests.studio.screen import SMOKERS, Screen, herbrand

MOST_TABS = 80
FOCUSED = (
    "document.activeElement.ariaLabel || document.activeElement.innerText || document.activeElement.id || ''"
)


def tab_to(page: Any, name: str, key: str = "Tab") -> None:
    """Press Tab until the part of this name has the focus."""
    for _ in range(MOST_TABS):
        if page.evaluate(FOCUSED).strip() == name:
            return
        page.keyboard.press(key)
    pytest.fail(f"no way by {key} to {name}")


def tab_onto(page: Any, part: Any, key: str = "Tab") -> None:
    """Press Tab until this part has the focus."""
    for _ in range(MOST_TABS):
        if part.evaluate("part => part === document.activeElement"):
            return
        page.keyboard.press(key)
    pytest.fail(f"no way by {key} to {part}")


def test_everything_by_keyboard(page: Any, studio: Any, tmp_path: Path) -> None:
    running: Studio = studio(None)
    screen = Screen(page, running.address)
    keys = page.keyboard
    # Write: the editor has the focus; a mistake is mended by its advice.
    assert page.evaluate(FOCUSED) == "Theory"
    keys.type(SMOKERS.replace("1.5: smokes(x) =>", "1.5: smoks(x) =>"))
    screen.mistakes.get_by_text("'smoks' is not declared").wait_for()
    keys.press("Control+Home")
    keys.press("Control+.")
    screen.mistakes.get_by_text("No mistakes.").wait_for()
    # Ask, from the editor; then with a question, which Enter asks.
    keys.press("Control+Enter")
    screen.says("Done:")
    (running.folder / "typed.hb").write_text(SMOKERS)
    assert screen.cells() == herbrand(running.folder, "infer", "typed.hb")
    keys.press("Escape")
    tab_to(page, "Question")
    keys.type("smokes")
    keys.press("Enter")
    screen.says("Done:", "3 rows")
    before = screen.cells()
    # Evidence: choose a row, give it as false.
    tab_to(page, 'smokes("carl")')
    keys.press("Enter")
    tab_to(page, "False")
    keys.press("Enter")
    screen.says("Evidence:")
    keys.press("Control+Enter")
    screen.says("Done:", "2 rows")
    given = ("--query", "smokes", "--given", 'not smokes("carl")')
    assert screen.cells() == herbrand(running.folder, "infer", "typed.hb", *given) != before
    # Why: the first answer, and its tree by arrow keys.
    tab_to(page, "Answers", "Shift+Tab")
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    assert page.evaluate(FOCUSED) == "Why"
    page.get_by_role("tree").wait_for()
    screen.says("Explained")
    items = page.get_by_role("treeitem")
    for _ in range(MOST_TABS):
        keys.press("Tab")
        if page.evaluate("document.activeElement.role") == "treeitem":
            break
    keys.press("End")
    assert items.last.evaluate("item => item === document.activeElement")
    # Another command, from a list; then cancel a run by Escape.
    tab_to(page, "Command", "Shift+Tab")
    keys.type("comp")
    assert screen.command.input_value() == "compare"
    tab_onto(page, page.get_by_label("gibbs", exact=True))
    keys.press("Space")
    tab_to(page, "option-samples")
    keys.type("2000000000")  # else it may be done before it is cancelled
    keys.press("Control+Enter")
    screen.says("Running compare")
    keys.press("Escape")
    screen.says("Cancelled.")
    tab_to(page, "Command", "Shift+Tab")
    keys.type("inf")
    keys.press("Control+Enter")
    screen.says("Done:", "2 rows")
    # Keep: export and save.
    with page.expect_download() as caught:
        tab_to(page, "Export", "Shift+Tab")
        keys.press("Enter")
    caught.value.save_as(tmp_path / "result.html")
    assert 'smokes("bob")' in (tmp_path / "result.html").read_text().replace("&quot;", '"')
    keys.press("Control+s")
    screen.says("Saved theory.hb")
    assert (running.folder / "theory.hb").read_text() == SMOKERS


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Any, smokers: Studio, colours: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm ci in studio/")
    page.emulate_media(color_scheme=colours)
    screen = Screen(page, smokers.address)
    screen.run()
    screen.choose('smokes("frank")')
    if colours == "dark":
        screen.picture("dark")
    page.evaluate(AXE.read_text())
    page.get_by_text("Options", exact=True).click()
    found = []
    for name in ("Facts", "Answers", "Graph", "Why", "Trace", "Compare"):
        screen.tab(name).click()
        page.wait_for_timeout(800)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{name}: {each['id']} ({each['impact']}): {each['nodes'][0]['html'][:160]}"
            for each in result["violations"]
            if each["impact"] in ("serious", "critical")
        ]
    assert found == []
