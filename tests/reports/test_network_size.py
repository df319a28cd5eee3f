"""``check`` on theories of bounds: the size of the network and what each engine of ``bound`` would cost."""

from __future__ import annotations

from typing import Any

import pytest

import herbrand as hb
from benchmarks import credal_networks
from herbrand.engines.credal import exact
from herbrand.language.dialects import read_theory_text

RAIN = "P(rain) in [0.2, 0.3]\nP(wet | rain) >= 0.9\nP(wet | not rain) <= 0.2"


def told(text: str, **options: Any) -> dict[str, Any]:
    return hb.size_report(hb.Model(hb.parse(text), **options)).to_dict()


def engines(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["engine"]: row for row in found["bound_engines"]}


def test_sizes_of_a_network() -> None:
    found = told(RAIN)
    assert found["network"] == {
        "atoms": 2, "sentences": 3, "factors": 2, "widest_factor": 2, "cyclic_atoms": 0, "refused": None,
    }  # fmt: skip
    proved, ariel = (engines(found)[name] for name in ("exact", "ariel"))
    assert proved["possible"] and proved["guarantee"] == "exact" and "closed form" in proved["detail"]
    assert ariel["possible"] and ariel["guarantee"] == "bound" and ariel["operations"] > 0
    assert not any(row["possible"] for row in found["engines"])
    assert "--ignore bounds" in found["engines"][0]["reason"]


def test_what_bounds_upwards_takes_tables() -> None:
    assert "tables of up to 2" in engines(told(f"{RAIN}\nP(wet) >= 0.3"))["exact"]["detail"]


def test_without_bounds_there_is_no_network() -> None:
    for found in (told("1.0: rain => wet"), told(RAIN, ignore="bounds")):
        assert found["network"] is None and found["bound_engines"] == []
        assert any(row["possible"] for row in found["engines"])


def test_ground_instances_count() -> None:
    theory = "predicate f(p, p): observed\npredicate s(p)\nP(s(x) | s(y) and f(x, y)) >= 0.2"
    model = hb.Model(hb.parse(theory), {"f": [("a", "b"), ("b", "c"), ("c", "a")]})
    found = hb.size_report(model).to_dict()["network"]
    assert (found["atoms"], found["sentences"], found["cyclic_atoms"]) == (3, 3, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("predicate a\nP(a) <= 0.5\na ~ 0.3", "soft evidence on a"),
        ('predicate m in {"u", "v"}\npredicate a\nP(a | m = "u") <= 0.5', "m is many-valued"),
    ],
)
def test_what_bound_would_refuse_is_told(text: str, message: str) -> None:
    found = told(text)
    assert message in found["network"]["refused"]
    assert all(message in row["reason"] for row in found["bound_engines"])
    assert message in repr(hb.size_report(hb.Model(hb.parse(text))))


@pytest.mark.parametrize("n", [2_000, 20_000])
def test_large_networks_are_left_to_messages_at_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By arrays alone: nobody waits for an estimate that can only be no."""
    monkeypatch.setattr(exact, "MOST_SECONDS", 100.0)
    text = credal_networks.cyclic(n, 0) if n < 10_000 else "".join(
        f"s{i}: 0.2 <= P(x{i} or x{i + 1}) <= 0.4\n" for i in range(n)
    )  # fmt: skip
    found = hb.size_report(hb.Model(read_theory_text(text, "lcn"))).to_dict()
    refused = engines(found)["exact"]
    assert not refused["possible"] and ("cycles" in refused["reason"] or "seconds" in refused["reason"])
    assert engines(found)["ariel"]["possible"]
