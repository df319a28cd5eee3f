"""The page that a notebook shows: escaped, cut, with bars where there are spans."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import herbrand as hb
from herbrand.answers.sheet import NOTEBOOK_ROWS, ROWS_SHOWN, Sheet


class Numbers(Sheet):
    """As many rows as wanted."""

    def __init__(self, count: int, drawn: bool = True) -> None:
        self.count, self.drawn = count, drawn

    @property
    def title(self) -> str:
        return "numbers < all"

    @property
    def heads(self) -> tuple[str, str]:
        return "<name>", "number"

    def cells(self) -> Iterator[tuple[str, str]]:
        return ((f"<{i}>", str(i)) for i in range(self.count))

    def spans(self) -> Iterator[tuple[float, float]] | None:
        return ((0.25, 0.75) for _ in range(self.count)) if self.drawn else None

    def __len__(self) -> int:
        return self.count


def test_text_is_cut_and_says_so() -> None:
    lines = repr(Numbers(ROWS_SHOWN + 5)).splitlines()
    assert len(lines) == ROWS_SHOWN + 3 and lines[-1] == "... 5 more rows"
    assert "more" not in repr(Numbers(ROWS_SHOWN))


def test_page_is_cut_and_says_so() -> None:
    page = Numbers(NOTEBOOK_ROWS + 5)._repr_html_()
    assert page.count("<tr>") == NOTEBOOK_ROWS + 1
    assert f"the first {NOTEBOOK_ROWS} of {NOTEBOOK_ROWS + 5} rows" in page


def test_nothing_of_the_answer_is_taken_for_markup() -> None:
    page = Numbers(2)._repr_html_()
    assert "&lt;name&gt;" in page and "&lt;1&gt;" in page and "numbers &lt; all" in page
    assert "<name>" not in page and "<1>" not in page


def test_bars_stand_where_spans_are() -> None:
    assert Numbers(3)._repr_html_().count("margin-left:25.0px;width:50.0px") == 3
    assert "margin-left" not in Numbers(3, drawn=False)._repr_html_()


def test_no_rows() -> None:
    assert repr(Numbers(0)) == "numbers < all\n<name>  number"
    assert Numbers(0)._repr_html_().count("<tr>") == 1


@pytest.mark.parametrize(
    "answer",
    [
        lambda model: model.infer(),
        lambda model: model.infer(map=True),
        lambda model: model.infer()["cancer"],
        lambda model: model.explain('cancer("b")'),
        lambda model: hb.compare(model, ("exact", "lifted")),
        lambda model: hb.size_report(model),
    ],
)
def test_every_answer_has_a_page(answer) -> None:
    model = hb.Model(hb.parse('0.5: smokes(x)\n1.0: smokes(x) <=> cancer(x)\nsmokes("a")\ncancer("b") ~ 0.3'))
    found = answer(model)
    page = found._repr_html_()
    assert page.startswith("<table>") and page.endswith("</table>")
    assert page.count("<tr>") == len(found) + 1
    assert len(found.to_pandas()) <= len(found)
