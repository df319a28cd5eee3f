"""Processes that go on step by step, each with chances or values made of where it stands, against their
distributions by plain loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

import herbrand as hb
from herbrand.language.dialects import read_theory_text

State = tuple[int, ...]
Move = Callable[[State], Iterator[tuple[float, State]]]


def distribution(start: State, steps: int, move: Move) -> dict[State, float]:
    found = {start: 1.0}
    for _ in range(steps):
        after = defaultdict[State, float](float)
        for state, chance in found.items():
            for share, other in move(state):
                after[other] += chance * share
        found = dict(after)
    return found


def urn(state: State) -> Iterator[tuple[float, State]]:
    white, black = state
    yield white / (white + black), (white + 1, black)
    yield black / (white + black), (white, black + 1)


def people(state: State) -> Iterator[tuple[float, State]]:
    (count,) = state
    yield count / 20, (count + 2,)
    yield 1 - count / 20, (count - 2,)


def stock(state: State) -> Iterator[tuple[float, State]]:
    (count,) = state
    for share, demand in ((0.2, 0), (0.5, 1), (0.3, 2)):
        if count >= demand:
            left = count - demand
            yield share, (left if left > 1 else 3,)


def tables(state: State) -> Iterator[tuple[float, State]]:
    guests, used = state
    yield guests / (guests + 1), (guests + 1, used)
    yield 1 / (guests + 1), (guests + 1, used + 1)


PROCESSES: dict[str, tuple[State, Move]] = {
    """state(0, 1, 1).
    P::draw(N, white); Q::draw(N, black) :- state(N, W, B), P is W / (W + B), Q is B / (W + B).
    state(M, V, B) :- state(N, W, B), draw(N, white), N < 4, M is N + 1, V is W + 1.
    state(M, W, C) :- state(N, W, B), draw(N, black), N < 4, M is N + 1, C is B + 1.""": ((1, 1), urn),
    """state(0, 1, 1).
    P::white(N, W, B) :- state(N, W, B), P is W / (W + B).
    state(M, V, B) :- M > 0, N is M - 1, state(N, W, B), white(N, W, B), V is W + 1.
    state(M, W, C) :- M > 0, N is M - 1, state(N, W, B), \\+white(N, W, B), C is B + 1.""": ((1, 1), urn),
    """state(0, 10).
    P::more(T) :- state(T, N), P is N / 20.
    state(U, M) :- state(T, N), more(T), T < 4, U is T + 1, M is N + 2.
    state(U, M) :- state(T, N), \\+more(T), T < 4, U is T + 1, M is N - 2.""": ((10,), people),
    """state(0, 3).
    0.2::asked(T, 0); 0.5::asked(T, 1); 0.3::asked(T, 2) :- between(1, 4, T).
    state(T, S) :- between(1, 4, T), U is T - 1, state(U, R), asked(T, D), R >= D, L is R - D, filled(L, S).
    filled(S, S) :- S > 1.
    filled(S, 3) :- S =< 1.""": ((3,), stock),
    """state(0, 1, 1).
    P::joins(T) :- state(T, N, _), P is 1 - 1 / (N + 1).
    state(U, M, K) :- state(T, N, K), T < 4, joins(T), U is T + 1, M is N + 1.
    state(U, M, L) :- state(T, N, K), T < 4, \\+joins(T), U is T + 1, M is N + 1, L is K + 1.""": (
        (1, 1),
        tables,
    ),
}


@pytest.mark.parametrize("text", PROCESSES, ids=["urn", "urn below", "people", "stock", "tables"])
def test_a_process_whose_chances_or_values_rest_on_its_state(text: str) -> None:
    start, move = PROCESSES[text]
    asked = ", ".join(["4", *(f"X{place}" for place in range(len(start)))])
    found = hb.Model(read_theory_text(f"{text}\nquery(state({asked})).", "pl")).infer()
    held = {row.arguments[1:]: row.probability for row in found.rows() if row.probability}
    assert held == pytest.approx(distribution(start, 4, move), abs=1e-12)
