"""Recursion that ends at a number, or at an argument that it hands on, because goals say so."""

from __future__ import annotations

import pytest

from herbrand.errors import HerbrandError
from tests.language.dialects.test_problog_calls import answers


def held(text: str) -> dict[str, float]:
    return {atom: p for atom, p in answers(text).items() if p}


DOWN = {
    "one": "p(0). p(N) :- END, M is N - 1, c(M), p(M). query(p(3)). query(p(0)).",
    "sum": "p(0, 0). p(N, S) :- END, M is N - 1, c(M), p(M, T), S is T + N. "
    "p(N, S) :- END, M is N - 1, \\+c(M), p(M, S). query(p(3, _)).",
    "factorial": "f(0, 1). f(N, F) :- END, M is N - 1, f(M, G), F is N * G. query(p(_)).",
    "equal": "f(N, 1) :- N = 0. f(N, F) :- END, M is N - 1, f(M, G), F is N * G. query(p(_)).",
    "fibonacci": "f(0, 0). f(1, 1). f(N, F) :- END, N =\\= 1, K is N - 1, L is N - 2, f(K, A), f(L, B), "
    "F is A + B. query(p(_)).",
    "two steps": "p(0). p(N) :- END, M is N - 2, c(M), p(M). query(p(3)). query(p(4)).",
    "text beside": "p(a, 0). 0.5::p(b, 0). p(X, N) :- END, M is N - 1, p(X, M). query(p(a, 2)). "
    "query(p(b, 3)).",
    "each other": "e(0). e(N) :- END, M is N - 1, c(M), o(M). o(N) :- END, M is N - 1, e(M). query(e(4)).",
    "choice": "p(0). 0.7::p(N) :- END, M is N - 1, p(M). query(p(3)).",
    "states": "0.5::s(0, a); 0.5::s(0, b). 0.7::s(T, a); 0.3::s(T, b) :- END, S is T - 1, s(S, a). "
    "0.4::s(T, a); 0.6::s(T, b) :- END, S is T - 1, s(S, b). query(s(4, _)).",
}


@pytest.mark.parametrize("program", DOWN)
@pytest.mark.parametrize("end", ["N =\\= 0", "N \\= 0", "N \\== 0", "\\+ N = 0", "0 =\\= N"])
def test_a_count_down_ends_where_it_says(program: str, end: str) -> None:
    """``N > 0`` says the same of what holds."""
    end = end.replace("N", "T") if program == "states" else end
    text = "0.4::c(_). 0.5::n(3). 0.2::n(4). " + DOWN[program]
    text += " p(F) :- n(N), f(N, F)." if " f(N, F) " in text else ""
    wanted = held(text.replace("END", "T > 0" if program == "states" else "N > 0"))
    assert held(text.replace("END", end)) == pytest.approx(wanted, abs=1e-12)
    assert wanted


@pytest.mark.parametrize("end", ["I < N", "I =\\= N", "I \\== N"])
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("p(N, N). p(I, N) :- END, J is I + 1, c(J), p(J, N). query(p(2, 5)). query(p(0, 1)).",
         {"p(2, 5)": 0.4**3, "p(0, 1)": 0.4}),
        ("p(N, N, 0). p(I, N, S) :- END, J is I + 1, c(J), p(J, N, T), S is T + J. "
         "p(I, N, S) :- END, J is I + 1, \\+c(J), p(J, N, S). query(p(1, 3, S)).",
         {"p(1, 3, 0)": 0.36, "p(1, 3, 2)": 0.24, "p(1, 3, 3)": 0.24, "p(1, 3, 5)": 0.16}),
        ("p(N, N). p(I, N) :- END, J is I + 1, c(J), p(J, N). r(N) :- n(N), p(2, N). query(r(_)).",
         {"r(3)": 0.2, "r(4)": 0.032}),
    ],
)  # fmt: skip
def test_a_count_up_to_an_argument(end: str, program: str, expected: dict[str, float]) -> None:
    text = "0.4::c(_). 0.5::n(3). 0.2::n(4). " + program.replace("END", end)
    assert held(text) == pytest.approx(expected, abs=1e-12)


def test_a_limit_that_a_fact_gives() -> None:
    text = "0.5::c(_). 0.4::most(2). 0.3::most(3). p(N) :- most(N). "
    text += "p(I) :- most(N), I < N, J is I + 1, c(J), p(J). "
    c, two, three = 0.5, 0.4, 0.3
    either = 1 - (1 - two) * (1 - three * c)  # 2 is reached, or 3 is, from 2
    assert held(text + "query(p(2)). query(p(1)).") == pytest.approx({"p(2)": either, "p(1)": c * either})


def test_a_count_away_from_its_end_has_no_proof() -> None:
    assert answers("p(0). p(N) :- N =\\= 0, M is N + 1, p(M). query(p(2)). query(p(-2)).") == {
        "p(2)": 0,
        "p(-2)": 1,
    }


@pytest.mark.parametrize(
    "program",
    [
        "p(0). p(-3). p(N) :- N =\\= 0, M is N - 1, p(M). query(p(2)).",
        "p(0). 0.3::q. p(N) :- q, N < 2. p(N) :- N =\\= 0, M is N - 1, p(M). query(p(3)).",
        "p(0). p(N) :- N =\\= 0, M is N - 1, \\+p(M). query(p(3)).",
        "p(N, N). p(5, 1). p(I, N) :- I =\\= N, J is I + 1, p(J, N). query(p(2, 4)).",
        "p(0). p(N) :- N =\\= 3, M is N - 1, p(M). query(p(2)).",
    ],
)
def test_a_count_that_may_go_on_beyond_its_end_is_refused(program: str) -> None:
    """What lies beyond may hold, or nothing ends the count."""
    with pytest.raises(HerbrandError, match=r"without end|its own negation"):
        answers(program)
