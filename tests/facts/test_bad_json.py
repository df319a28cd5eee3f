"""JSON lines that cannot be taken, and what is said of them."""

from __future__ import annotations

import gzip

import pytest

from tests.facts.vocabulary import constants, load, message

ONE_A_LINE = "\n  JSON lines hold one object or array a line, for one row"
CONSTANT = "\n  a constant is text or a number"

BAD = [
    (
        "friends.jsonl",
        '{"a": "x", "b": "y"}\n{"a": "x"}\n{"a": "x", "b": "y", "c": 1}\n{"a": "x", "c": "y"}\n',
        "friends.jsonl, row 2: the keys 'a' where the first row has the keys 'a', 'b'\n"
        "friends.jsonl, row 3: the keys 'a', 'b', 'c' where the first row has the keys 'a', 'b'\n"
        "friends.jsonl, row 4: the keys 'a', 'c' where the first row has the keys 'a', 'b'",
    ),
    (
        "friends.jsonl",
        '["x", "y"]\n["x"]\n\n{"a": 1}\n',
        "friends.jsonl, row 2: an array of 1 where the first row has an array of 2\n"
        "friends.jsonl, row 4: the keys 'a' where the first row has an array of 2",
    ),
    (
        "friends.jsonl",
        '{"a": "x", "b": null}\n',
        "friends.jsonl, row 1: column 2 is empty; expected a constant of type 'person'",
    ),
    (
        "friends.jsonl",
        '["x", "y"]\n["x",\n',
        f"friends.jsonl, row 2: not JSON from column 6 on: Expecting value{ONE_A_LINE}",
    ),
    ("friends.jsonl", '["x", NaN]\n', "friends.jsonl, row 1: not JSON: NaN is no JSON number"),
    ("friends.jsonl", "3\n", f"friends.jsonl, row 1: neither a JSON object nor an array{ONE_A_LINE}"),
    (
        "friends.json",
        '[{"a": "x", "b": "y"}, {"a": "y", "b": "z"}]\n',
        f"friends.json, row 1: an array of several rows{ONE_A_LINE}",
    ),
    (
        "friends.json",
        '[\n  ["x", "y"]\n]\n',
        f"friends.json, row 1: not JSON from column 2 on: Expecting value{ONE_A_LINE}",
    ),
    (
        "friends.jsonl",
        '["x", "y"]\n["x", true]\n["x", ["z"]]\n',
        f'friends.jsonl, row 2: column 2 holds "True" (bool), which is no constant{CONSTANT}\n'
        f"friends.jsonl, row 3: column 2 holds \"['z']\" (list), which is no constant{CONSTANT}",
    ),
    (
        "friends.jsonl",
        '["x", "y"]\n["x", 3]\n',
        'friends.jsonl, row 2: 3 is a number, but "y" (friends.jsonl, row 1) is text; '
        "the constants of type 'person' must be all text or all numbers\n"
        "  if they are numbers, declare `type person = number`",
    ),
    (
        "born.jsonl",
        '["x", "1990"]\n',
        "born.jsonl, row 1: \"1990\" in column 2 is text; type 'year' holds numbers\n"
        "  numbers are written without quotes",
    ),
    (
        "smokes.jsonl",
        '{"a": "x", "probability": 0.5}\n{"a": "y", "probability": "0.5"}\n{"a": "z", "probability": 2}\n',
        "smokes.jsonl, row 2: '\"0.5\"' is not a probability; expected a number from 0 to 1\n"
        "smokes.jsonl, row 3: '2' is not a probability; expected a number from 0 to 1",
    ),
    (
        "friends.jsonl",
        b'["x", "y"]\n["\xff", "y"]\n',
        "friends.jsonl, row 1: byte 0xff is not UTF-8 text\n  save the file as UTF-8",
    ),
]


@pytest.mark.parametrize(("name", "content", "expected"), BAD)
def test_message(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message(path) == expected


FINE = [
    ("", []),
    ('\ufeff["a", "b"]\n', [("a", "b")]),
    ('["2020-01-01", "1"]\n', [("2020-01-01", "1")]),
    ('["\\u0061", "\\n\\"/~"]\n["a", "b"]\n', [("a", '\n"/~'), ("a", "b")]),
    ('{"/~a": "x", "": "y"}\n{"": "z", "/~a": "x"}\n', [("x", "y"), ("x", "z")]),
]


@pytest.mark.parametrize(("text", "rows"), FINE)
def test_oddities_that_are_no_mistake(tmp_path, text, rows):
    path = tmp_path / "friends.ndjson"
    path.write_text(text)
    assert constants(load(path), "friends") == rows


def test_compressed(tmp_path):
    path = tmp_path / "born.jsonl.gz"
    path.write_bytes(gzip.compress(b'["anna", 1990]\n["bob", 1990.0]\n["carl", 0.5]'))
    assert constants(load(path), "born") == [("anna", 1990), ("bob", 1990), ("carl", 0.5)]
