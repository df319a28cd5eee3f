"""What is next or allowed in games that are described by states: as general game players must learn it."""

# pyright: reportRedeclaration=false
from __future__ import annotations

import numpy as np

from benchmarks.rule_problems.problem import Facts, Labelled, Problem, labelled

MARKS = ("x", "o", "b")


def _board(rng: np.random.Generator, cols: int, rows: int) -> dict[tuple[int, int], str]:
    return {(c, r): MARKS[int(rng.integers(3))] for c in range(1, cols + 1) for r in range(1, rows + 1)}


def _tictactoe(target: str) -> Problem:
    """The next cells, the next player or the legal moves, whichever has arguments of these types."""
    types = {
        "cell": "game number number mark",
        "control": "game role",
        "mark_of": "role mark",
        "blank": "mark",
        "does": "game role number number",
        "succ": "number number",
        "t": target,
    }

    def draw(rng: np.random.Generator, count: int) -> Labelled:
        facts: Facts = {name: set() for name in types if name != "t"}
        facts["mark_of"] = {("white", "x"), ("black", "o")}
        facts["blank"] = {("b",)}
        facts["succ"] = {(1, 2), (2, 3)}
        states = {}
        for g in range(count):
            board = _board(rng, 3, 3)
            free = [place for place, mark in board.items() if mark == "b"]
            turn = ("white", "black")[int(rng.integers(2))]
            move = free[int(rng.integers(len(free)))] if free else None
            facts["cell"] |= {(f"g{g}", c, r, mark) for (c, r), mark in board.items()}
            facts["control"].add((f"g{g}", turn))
            if move:
                facts["does"].add((f"g{g}", turn, *move))
            states[f"g{g}"] = board, turn, move
        if target == "game number number mark":

            def holds(g, c, r, mark):
                board, turn, move = states[g]
                return mark == ("x" if turn == "white" else "o") if (c, r) == move else board[c, r] == mark

            rows = [(g, c, r, mark) for g in states for c in (1, 2, 3) for r in (1, 2, 3) for mark in MARKS]
        elif target == "game role":

            def holds(g, role):
                return states[g][1] != role

            rows = [(g, role) for g in states for role in ("white", "black")]
        else:

            def holds(g, role, c, r):
                return states[g][1] == role and states[g][0][c, r] == "b"

            rows = [
                (g, role, c, r)
                for g in states
                for role in ("white", "black")
                for c in (1, 2, 3)
                for r in (1, 2, 3)
            ]
        return labelled(facts, rows, holds)

    return Problem(types, draw, 25 if "number" in target else 40)


def _line(rng: np.random.Generator, count: int) -> Labelled:
    """Who has a row, a column or a diagonal of a board: target of two arguments."""
    facts: Facts = {"cell": set(), "mark_of": {("white", "x"), ("black", "o")}, "succ": {(1, 2), (2, 3)}}
    won = set()
    for g in range(count):
        board = _board(rng, 3, 3)
        line = int(rng.integers(4))
        if line < 2:
            mark = ("x", "o")[int(rng.integers(2))]
            at = int(rng.integers(1, 4))
            board |= {((k, at) if line else (at, k)): mark for k in (1, 2, 3)}
        facts["cell"] |= {(f"g{g}", c, r, mark) for (c, r), mark in board.items()}
        for role, mark in (("white", "x"), ("black", "o")):
            if any(all(board[k, at] == mark for k in (1, 2, 3)) for at in (1, 2, 3)) or any(
                all(board[at, k] == mark for k in (1, 2, 3)) for at in (1, 2, 3)
            ):
                won.add((f"g{g}", role))
    return labelled(
        facts, [(f"g{g}", role) for g in range(count) for role in ("white", "black")], lambda *row: row in won
    )


def _drop(rng: np.random.Generator, count: int) -> Labelled:
    """Four in a row: the piece falls onto the lowest free place of its column."""
    facts: Facts = {
        "cell": set(),
        "empty": set(),
        "does": set(),
        "mark_of": {("white", "x"), ("black", "o")},
        "succ": {(k, k + 1) for k in range(1, 5)},
        "bottom": {(1,)},
    }
    truth = {}
    for g in range(count):
        turn = ("white", "black")[int(rng.integers(2))]
        heights = {c: int(rng.integers(0, 5)) for c in range(1, 5)}
        free = [c for c, h in heights.items() if h < 5]
        at = free[int(rng.integers(len(free)))]
        facts["does"].add((f"g{g}", turn, at))
        for c in range(1, 5):
            for r in range(1, 6):
                mark = None
                if r <= heights[c]:
                    mark = MARKS[int(rng.integers(2))]
                    facts["cell"].add((f"g{g}", c, r, mark))
                else:
                    facts["empty"].add((f"g{g}", c, r))
                after = mark or (
                    ("x" if turn == "white" else "o") if c == at and r == heights[c] + 1 else None
                )
                for m in ("x", "o"):
                    truth[f"g{g}", c, r, m] = after == m
    return labelled(facts, truth, lambda *row: truth[row])


def _lights(rng: np.random.Generator, count: int) -> Labelled:
    """A light that is pressed turns over, and so do those beside it."""
    facts: Facts = {
        "on": set(),
        "off": set(),
        "pressed": set(),
        "beside": {(f"l{k}", f"l{k + 1}") for k in range(4)} | {(f"l{k + 1}", f"l{k}") for k in range(4)},
    }
    truth = {}
    for g in range(count):
        on = rng.random(5) < 0.5
        at = int(rng.integers(5))
        facts["pressed"].add((f"g{g}", f"l{at}"))
        for k in range(5):
            facts["on" if on[k] else "off"].add((f"g{g}", f"l{k}"))
            truth[f"g{g}", f"l{k}"] = bool(on[k]) != (abs(k - at) <= 1)
    return labelled(facts, truth, lambda *row: truth[row])


def _buttons(rng: np.random.Generator, count: int) -> Labelled:
    """Three lamps: a turns p over, b swaps p and q, c swaps q and r."""
    facts: Facts = {"holds": set(), "fails": set(), "does": set()} | {f"is_{k}": {(k,)} for k in "abcpqr"}
    truth = {}
    for g in range(count):
        p, q, r = (bool(v) for v in rng.random(3) < 0.5)
        button = "abc"[int(rng.integers(3))]
        facts["does"].add((f"g{g}", button))
        for name, v in zip("pqr", (p, q, r), strict=True):
            facts["holds" if v else "fails"].add((f"g{g}", name))
        after = {"a": (not p, q, r), "b": (q, p, r), "c": (p, r, q)}[button]
        for name, v in zip("pqr", after, strict=True):
            truth[f"g{g}", name] = v
    return labelled(facts, truth, lambda *row: truth[row])


def _decay(rng: np.random.Generator, count: int) -> Labelled:
    """A value counts down from five, and begins again when somebody presses."""
    facts: Facts = {"value": set(), "does": set(), "succ": {(k, k + 1) for k in range(10)}, "top": {(7,)}}
    truth = {}
    for g in range(count):
        value = int(rng.integers(1, 8))
        press = rng.random() < 0.4
        facts["value"].add((f"g{g}", value))
        facts["does"].add((f"g{g}", "player", "press" if press else "wait"))
        for v in range(10):
            truth[f"g{g}", v] = v == (7 if press else value - 1)
    return labelled(facts, truth, lambda *row: truth[row])


def _duel(rng: np.random.Generator, count: int) -> Labelled:
    """Scores of two players of stone, paper and scissors; a draw leaves both as they were."""
    beats = {("paper", "stone"), ("stone", "scissors"), ("scissors", "paper")}
    facts: Facts = {
        "beats": beats,
        "does": set(),
        "score": set(),
        "succ": {(k, k + 1) for k in range(6)},
        "player": {("p1",), ("p2",)},
    }
    truth = {}
    for g in range(count):
        moves = {p: ("paper", "stone", "scissors")[int(rng.integers(3))] for p in ("p1", "p2")}
        scores = {p: int(rng.integers(0, 5)) for p in ("p1", "p2")}
        for p, other in (("p1", "p2"), ("p2", "p1")):
            facts["does"].add((f"g{g}", p, moves[p]))
            facts["score"].add((f"g{g}", p, scores[p]))
            after = scores[p] + ((moves[p], moves[other]) in beats)
            for v in range(6):
                truth[f"g{g}", p, v] = v == after
    return labelled(facts, truth, lambda *row: truth[row])


def _pieces_of_chess(rng: np.random.Generator, count: int) -> Labelled:
    """White king and rook against a king, black to move: is the black king in check?"""
    facts: Facts = {name: set() for name in ("white_king", "rook", "black_king")} | {"near": set()}
    facts["near"] = {(a, b) for a in range(1, 9) for b in range(1, 9) if abs(a - b) <= 1}
    truth = {}
    for g in range(count):
        k, r, b = ((int(rng.integers(1, 9)), int(rng.integers(1, 9))) for _ in range(3))
        if rng.random() < 0.3:
            r = (b[0], r[1])
        for name, place in (("white_king", k), ("rook", r), ("black_king", b)):
            facts[name].add((f"g{g}", *place))
        truth[(f"g{g}",)] = r[0] == b[0] or r[1] == b[1] or (abs(k[0] - b[0]) <= 1 and abs(k[1] - b[1]) <= 1)
    return labelled(facts, truth, lambda *row: truth[row])


PROBLEMS = {
    "game: next cell": _tictactoe("game number number mark"),
    "game: next control": _tictactoe("game role"),
    "game: legal move": _tictactoe("game role number number"),
    "game: row or column": Problem(
        {
            "cell": "game number number mark",
            "mark_of": "role mark",
            "succ": "number number",
            "t": "game role",
        },
        _line,
        150,
    ),
    "game: drop": Problem(
        {
            "cell": "game number number mark",
            "empty": "game number number",
            "does": "game role number",
            "mark_of": "role mark",
            "succ": "number number",
            "bottom": "number",
            "t": "game number number mark",
        },
        _drop,
        25,
    ),
    "game: lights": Problem(
        {
            "on": "game light",
            "off": "game light",
            "pressed": "game light",
            "beside": "light light",
            "t": "game light",
        },
        _lights,
        40,
    ),
    "game: buttons": Problem(
        {"holds": "game lamp", "fails": "game lamp", "does": "game button"}
        | {f"is_{k}": "button" for k in "abc"}
        | {f"is_{k}": "lamp" for k in "pqr"}
        | {"t": "game lamp"},
        _buttons,
        60,
    ),
    "game: decay": Problem(
        {
            "value": "game number",
            "does": "game role action",
            "succ": "number number",
            "top": "number",
            "t": "game number",
        },
        _decay,
        40,
    ),
    "game: duel": Problem(
        {
            "beats": "action action",
            "does": "game role action",
            "score": "game role number",
            "succ": "number number",
            "player": "role",
            "t": "game role number",
        },
        _duel,
        50,
    ),
    "game: king in check": Problem(
        {
            "white_king": "game number number",
            "rook": "game number number",
            "black_king": "game number number",
            "near": "number number",
            "t": "game",
        },
        _pieces_of_chess,
        300,
    ),
}
