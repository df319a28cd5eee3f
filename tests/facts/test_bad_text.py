"""CSV and TSV files that cannot be taken, and what is said of them; oddities that are no mistake."""

from __future__ import annotations

import gzip

import pytest

from tests.facts.vocabulary import constants, load, message

DATA = "\n  the first row was taken as data; if it is a header, say header=True (--header yes)"
HEADER = "\n  the first row was taken as a header; if it is data, say header=False (--header no)"
AT_MOST = "and after them at most one named truth, probability or weight"

BAD = [
    (
        "friends.csv",
        "anna,bob\nbob\ncarl,dora,emil\n",
        "friends.csv, row 2: 1 cell where the first row has 2 cells\n"
        "friends.csv, row 3: 3 cells where the first row has 2 cells\n"
        "  a cell that holds the delimiter must stand in quotes",
    ),
    (
        "friends.csv",
        "anna\nbob\n",
        f"friends.csv: 1 column, but 'friends' takes 2 columns (person, person) {AT_MOST}",
    ),
    (
        "friends.csv",
        "anna;bob\nbob;carl\n",
        f"friends.csv: 1 column, but 'friends' takes 2 columns (person, person) {AT_MOST}"
        "\n  cells of such a file stand between commas, and its first row has semicolons",
    ),
    (
        "friends.tsv",
        "anna,bob\n",
        f"friends.tsv: 1 column, but 'friends' takes 2 columns (person, person) {AT_MOST}"
        "\n  cells of such a file stand between tabs, and its first row has commas",
    ),
    (
        "friends.csv",
        "anna,bob,3\n",
        f"friends.csv: 3 columns, but 'friends' takes 2 columns (person, person) {AT_MOST}"
        "\n  a first row must name the columns, such as: person, person, truth",
    ),
    (
        "smokes.csv",
        "person, Probability\nanna,0.5\n",
        f"smokes.csv: 2 columns, but 'smokes' takes 1 column (person) {AT_MOST}"
        "\n  name the last column 'probability', not \" Probability\"",
    ),
    (
        "friends.csv",
        "person,weight\nanna,bob\n",
        "friends.csv: 2 columns ('person', 'weight'), but 'friends' takes 2 columns (person, person) "
        f"{AT_MOST}{HEADER}",
    ),
    (
        "friends.csv",
        "person,person,weight,truth\nanna,bob,1,true\n",
        "friends.csv: 4 columns ('person', 'person', 'weight', 'truth'), "
        f"but 'friends' takes 2 columns (person, person) {AT_MOST}"
        "\n  leave out all of truth, probability and weight but one",
    ),
    (
        "friends.csv",
        'anna,\n,"bob"\n"",bob\n',
        "friends.csv, row 2: column 1 is empty; expected a constant of type 'person'\n"
        "friends.csv, row 3: column 1 is empty; expected a constant of type 'person'\n"
        f"friends.csv, row 1: column 2 is empty; expected a constant of type 'person'{DATA}",
    ),
    ("frends.csv", "anna,bob\n", "frends.csv: there is no predicate 'frends'\n  did you mean 'friends'?"),
    (
        "born.csv",
        "person,jahr\nanna,1990\nbob,nan\ncarl,1e999\n",
        f"born.csv, row 1: \"jahr\" in column 2 is not a number; type 'year' holds numbers{DATA}\n"
        "born.csv, row 3: \"nan\" in column 2 is not a number; type 'year' holds numbers\n"
        "born.csv, row 4: column 2 holds inf; a constant is text or a finite number",
    ),
    (
        "born.csv",
        "a,1\nb," + "9" * 5000 + "\n",
        f'born.csv, row 2: "{"9" * 56}... in column 2 cannot be kept exactly: whole numbers have 64 '
        "bits, and 53 where fractions stand in the column too",
    ),
    (
        "born.csv",
        "anna,1990\nbob,12345678901234567891\n",
        'born.csv, row 2: "12345678901234567891" in column 2 cannot be kept exactly: whole numbers have 64 '
        "bits, and 53 where fractions stand in the column too",
    ),
    (
        "rank.csv",
        "anna,junior\nbob,senor\n",
        'rank.csv, row 2: "senor" in column 2 is not in type \'level\' ("junior", "senior"); '
        "did you mean 'senior'?",
    ),
    (
        "active.csv",
        "anna,1990\nbob,1989\n",
        "active.csv, row 2: 1989 in column 2 is not in type 'decade' (1990..2030)",
    ),
    (
        "smokes.csv",
        "person,probability\nanna,1.5\nbob,x\ncarl,\ndora,nan\n",
        "smokes.csv, row 2: '1.5' is not a probability; expected a number from 0 to 1\n"
        "smokes.csv, row 3: 'x' is not a probability; expected a number from 0 to 1\n"
        "smokes.csv, row 4: an empty cell is not a probability; expected a number from 0 to 1\n"
        "smokes.csv, row 5: 'nan' is not a probability; expected a number from 0 to 1",
    ),
    (
        "smokes.csv",
        "person,weight\nanna,inf\n",
        "smokes.csv, row 2: 'inf' is not a weight; expected a finite number",
    ),
    (
        "smokes.csv",
        "person,truth\nanna,maybe\n",
        "smokes.csv, row 2: 'maybe' is not a truth value; expected true or false",
    ),
    (
        "smokes.csv",
        "person,truth\nanna,true\nbob,true\nanna,false\n",
        'smokes.csv, row 4: smokes("anna") is false, but smokes.csv, row 2 says that it is true',
    ),
    (
        "smokes.csv",
        "person,weight\nanna,1\nanna,2\n",
        'smokes.csv, row 3: smokes("anna") has the weight 2, '
        "but smokes.csv, row 2 says that it has the weight 1",
    ),
    (
        "area.csv",
        "p1,ai\np2,db\np1,db\n",
        'area.csv, row 3: area("p1") is "db", but area.csv, row 1 says that it is "ai"',
    ),
    (
        "area.csv",
        "paper,area,truth\np1,ai,true\np1,ai,false\n",
        'area.csv, row 3: area("p1") is not "ai", but area.csv, row 2 says that it is "ai"',
    ),
    (
        "area.csv",
        "paper,area,probability\np1,ai,0\np1,db,0\np1,theory,0\n",
        'area.csv, row 3: every value of area("p1") is excluded; it must have one',
    ),
    (
        "knows.csv",
        "person,person,probability\nanna,bob,0.5\n",
        "knows.csv, row 2: 'knows' is closed (what is not listed is false), so it takes no soft evidence\n"
        "  declare `predicate knows(person, person)` without `: observed`",
    ),
    (
        "friends.csv",
        'anna,"bob\ncarl,dora\n',
        "friends.csv, row 1: a quoted cell is not well formed: unexpected end of data\n"
        '  a cell in quotes ends at the next quote; a quote inside it is written ""',
    ),
    (
        "friends.tsv",
        'anna\tbob\nanna\t"bo"b\n',
        "friends.tsv, row 2: a quoted cell is not well formed: '\t' expected after '\"'\n"
        '  a cell in quotes ends at the next quote; a quote inside it is written ""',
    ),
    (
        "friends.csv",
        b"anna,bob\nanna,\xe9t\xe9\n",
        "friends.csv, row 1: byte 0xe9 is not UTF-8 text\n  save the file as UTF-8",
    ),
    (
        "friends.csv",
        "anna,bob\n".encode("utf-16"),
        "friends.csv, row 1: byte 0xff is not UTF-8 text\n  save the file as UTF-8",
    ),
    ("friends.csv.gz", b"anna,bob\n", "friends.csv.gz cannot be read: Not a gzipped file (b'an')"),
    (
        "friends.csv",
        "anna,bob\n" * 3 + "\n" + "x\n" * 7,
        "\n".join(f"friends.csv, row {row}: 1 cell where the first row has 2 cells" for row in range(5, 10))
        + "\nfriends.csv: 2 more rows like this",
    ),
]


@pytest.mark.parametrize(("name", "content", "expected"), BAD)
def test_message(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message(path) == expected


FINE = [
    ("", []),
    ("\n\r\n", []),
    ("person,person\n", []),
    ("person,person,weight", []),
    ("anna,bob", [("anna", "bob")]),
    ("anna,bob\r\ncarl,dora\nemil,fred\r", [("anna", "bob"), ("carl", "dora"), ("emil", "fred")]),
    ("\ufeffperson,person\nanna,bob\n", [("anna", "bob")]),
    ("\n\nperson,person\nanna,bob\n", [("anna", "bob")]),
    ('"an,na","b ""o"" b\n"\n', [("an,na", 'b "o" b\n')]),
    (" anna , bob\n", [(" anna ", " bob")]),
    ("日本,Ωμέγα\n", [("日本", "Ωμέγα")]),
    ("anna," + "b" * 3_000_000 + "\n", [("anna", "b" * 3_000_000)]),
    ("anna,bob\n\n\nanna,bob\n", [("anna", "bob")]),
]


@pytest.mark.parametrize(("text", "rows"), FINE)
def test_oddities_that_are_no_mistake(tmp_path, text, rows):
    path = tmp_path / "friends.csv"
    path.write_bytes(text.encode())
    assert constants(load(path), "friends") == rows


def test_a_byte_order_mark_before_quotes_with_a_delimiter(tmp_path):
    """DuckDB had taken all rows for the second cell of the header."""
    path = tmp_path / "friends.csv"
    path.write_bytes('\ufeff"who,", \n",",1.\n" é","a\n"\n'.encode())
    assert constants(load(path, header=True), "friends") == [(" é", "a\n"), (",", "1.")]


def test_compressed(tmp_path):
    path = tmp_path / "friends.csv.gz"
    path.write_bytes(gzip.compress(b"anna,bob\n"))
    assert constants(load(path), "friends") == [("anna", "bob")]


def test_a_blank_line_of_a_single_column_is_no_row_and_a_quoted_nothing_is_one(tmp_path):
    path = tmp_path / "smokes.csv"
    path.write_text("anna\n\nbob\n\n")
    assert constants(load(path), "smokes") == [("anna",), ("bob",)]
    path.write_text('anna\n\n""\n')
    assert message(path) == "smokes.csv, row 3: column 1 is empty; expected a constant of type 'person'"


def test_a_file_whose_name_duckdb_would_expand(tmp_path):
    path = tmp_path / "friends [1].csv"
    path.write_text("anna,bob\n")
    assert constants(load({"friends": path}), "friends") == [("anna", "bob")]
