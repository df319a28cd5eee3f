"""Wrong words of a new user: each is named in the answer, nothing is written, and no fault is ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome

WEIGHTS = """\
predicate friends(person, person): observed
predicate smokes(person)
1.5: smokes(x) and friends(x, y) => smokes(y)
friends("a", "b")
smokes("a")
"""
FILES: dict[str, str | bytes] = {
    "s.hb": WEIGHTS,
    "l.hb": WEIGHTS.replace("1.5:", "?:"),
    "b.hb": "P(a) in [0.2, 0.4]\nP(b | a) in [0.5, 0.6]\n",
    "r.hb": 'uncle(x, y) :- parent(x, z), brother(z, y)\nparent("a", "b")\nbrother("b", "c")\n',
    "contra.hb": "P(a) >= 0.6\nP(a) <= 0.4\n",
    "hard.hb": "hard: p\nhard: not p\n",
    "twice.hb": 'p("a")\nnot p("a")\n1.0: p(x)\n',
    "syntax.hb": "predicate smokes(person\n1.0 smokes(x) => \n",
    "binary.hb": b"\x00\xff\x00",
    "result.json": "{}",
    "garbage.csv": "one\n" + "x," * 5000,
    "cut.parquet": "PAR1",
    "text.duckdb": "no database",
    "smokes.csv": "a\nb\n",
    "ragged.csv": "a,b\nc\n",
    "chance.csv": "person,probability\nb,1.2\n",
    "no.csv.gz": "no gzip",
    "folder/x.txt": "x",
    "tables/deep.csv": "a\n",
    "tables/w.db": "Smokes(A)\n",
    "w.mln": "Smokes(person)\n1 Smokes(x)\n",
    "c.hb": "0.3 :: rain(1)\n? :: rain(2)\n",
}
WRONG = [
    ("infer gone.hb", 1, "'gone.hb'"),
    ("infer sh.hb", 1, "there is no file 'sh.hb'\n  did you mean 's.hb'?"),
    (
        "infer s.hb smokes(x)",
        1,
        "there is no file 'smokes(x)'\n  files stand here; what is asked stands behind --query",
    ),
    ("infer project", 1, "name a theory file, such as smokers.hb"),
    ("infer s.hb smokes.csv", 1, "theories end in .hb, .mln"),
    ("infer s.hb --facts smokes.csv tables/deep.csv", 1, "tables of facts are named by --facts"),
    ("fmt smokes.csv", 1, "only .hb files are formatted, and 'smokes.csv' is another\n"),
    ("infer binary.hb", 1, "byte 0xff on line 1"),
    ("infer syntax.hb", 1, "syntax.hb:1:17: this '(' is never closed"),
    ("infer hard.hb", 1, "no world satisfies these 2 statements together"),
    ("infer twice.hb", 1, 'twice.hb:2:1: p("a") is false, but twice.hb:1:1'),
    ("infer s.hb ./s.hb", 1, "'s.hb' is named twice\n  its statements would count twice"),
    ("infer s.hb --engine exat", 1, "did you mean 'exact'?"),
    ("infer s.hb --query smoke", 1, "did you mean 'smokes'?"),
    ("infer s.hb --query smokes(", 1, "ends too early"),
    ("infer s.hb --query ", 1, "no formula"),
    ("infer s.hb --given smokes(x)", 1, "x is a variable"),
    ("infer s.hb --given friends", 1, "friends"),
    ("infer s.hb --facts gone", 1, "'gone'"),
    ("infer s.hb --facts folder", 1, "'folder/x.txt' has no ending that says how to read it"),
    ("infer s.hb --facts s.hb", 1, "no ending that says how to read it"),
    ("infer s.hb --facts smokes=folder", 1, "'folder' is a folder, not a table"),
    ("infer s.hb --facts smoke=smokes.csv", 1, "did you mean 'smokes'?"),
    ("infer s.hb --facts smokes=cut.parquet", 1, "cut.parquet cannot be read"),
    ("infer s.hb --facts text.duckdb", 1, "text.duckdb cannot be read"),
    ("infer s.hb --facts no.csv.gz", 1, "no.csv.gz cannot be read"),
    ("infer s.hb --facts friends=ragged.csv", 1, "ragged.csv, row 2: 1 cell"),
    ("infer s.hb --facts smokes=chance.csv", 1, "chance.csv, row 2: '1.2' is not a probability"),
    ("infer s.hb --facts ", 1, "an empty name"),
    ("infer s.hb --open nope", 1, "there is no predicate 'nope'"),
    ("infer s.hb --ignore nothing", 1, "one of weights, bounds, rules"),
    ("infer s.hb --dialect nope", 1, "there is no dialect 'nope'"),
    ("infer s.hb -o found.tsv", 1, "results are not written as .tsv"),
    ("infer s.hb -o found.csv.gz", 1, "results are not written as .gz"),
    ("infer s.hb -o found.sqlite3", 1, "results are not written as .sqlite3"),
    ("infer s.hb -o found.xlsx", 1, "results are not written as .xlsx"),
    ("infer s.hb -o found.html", 1, "results are not written as .html"),
    ("infer s.hb -o found.svg", 1, "results are not written as .svg"),
    ("infer s.hb -o found.hb", 1, "results are not written as .hb"),
    ("infer s.hb -o found.mln", 1, "results are not written as .mln"),
    (
        "infer s.hb --format csv -o s.hb",
        1,
        "'s.hb' is read by this command, and its result would overwrite it",
    ),
    ("infer s.hb --facts smokes=chance.csv -o ./chance.csv", 1, "'./chance.csv' is read by this command"),
    ("infer s.hb --facts . -o smokes.csv", 1, "'smokes.csv' is read by this command"),
    ("score result.json --facts smokes.csv -o result.json", 1, "'result.json' is read by this command"),
    ("infer s.hb --facts tables -o tables/deep.csv", 1, "'tables/deep.csv' is read by this command"),
    ("learn l.hb -o ./l.hb", 1, "'./l.hb' is read by this command"),
    ("learn l.hb --save l.hb", 1, "'l.hb' is no file that herbrand saved"),
    ("learn l.hb --save kept -o ./kept", 1, "'./kept' would be written twice"),
    ("induce l.hb --worlds . --target smokes --resume l.hb", 1, "'l.hb' is read by this command"),
    ("induce --worlds . --target smokes --save smokes.csv", 1, "'smokes.csv' is no file that herbrand saved"),
    ("convert s.hb -o s.hb", 1, "'s.hb' is read by this command"),
    ("convert w.mln tables/w.db -o tables/w.mln", 1, "'tables/w.db' is read by this command"),
    ("infer s.hb --into sqlite:new.db.sqlite_found", 1, "cannot be written into 'new.db'"),
    ("check s.hb -o found.PDF", 1, "results are not written as .pdf"),
    ("learn s.hb -o weights.json", 1, "a theory is not written as .json"),
    ("learn s.hb -o weights.CSV", 1, "a theory is not written as .csv"),
    ("learn s.hb -o weights.mln", 1, "herbrand convert learned.hb -o weights.mln"),
    ("learn s.hb -o weights.uai", 1, "a theory is not written as .uai"),
    ("convert s.hb -o s.uai", 1, "endings that can be: .hb, .bif, .lcn, .mln, .pl, .ppr"),
    ("convert s.hb -o s.db", 1, "a theory is not written as .db"),
    ("induce --facts folder -o rules.parquet", 1, "a theory is not written as .parquet"),
    ("induce --facts folder --format csv", 2, "'csv' is not one of"),
    ("infer s.hb --resume", 1, "only a run on a database"),
    ("infer s.hb --on world", 1, "'world' is no place to run on"),
    ("infer s.hb --memory lots", 1, "'lots' is not an amount of memory"),
    ("infer s.hb --engine regions --structure nope", 1, "no structure 'nope'"),
    ("infer s.hb --engine mean-field --schedule nope", 1, "no schedule 'nope'"),
    ("infer s.hb --engine gibbs --samples 2", 1, "at least 20 --samples"),
    ("infer b.hb", 1, "leave such statements out by --ignore bounds"),
    ("infer s.hb --format xml", 2, "'xml' is not one of"),
    ("infer s.hb --top -1", 2, "-1 is not in the range"),
    ("infer s.hb --min 2", 2, "2.0 is not in the range"),
    ("infer c.hb --engine circut", 1, "there is no engine 'circut' for infer\n  did you mean 'circuit'?"),
    ("query c.hb rain(x) --engine circut", 1, "there is no engine 'circut' for infer"),
    ("infer c.hb --engine lifted", 1, "lifted cannot use this statement"),
    ("learn c.hb --method nope", 1, "there is no method 'nope'"),
    ("learn c.hb --method layers", 1, "probabilities are learned by --method likelihood"),
    ("infer s.hb --seed x", 2, "'x' is not a valid whole number"),
    ("infer s.hb --time-limit 1_0", 2, "'1_0' is not a valid number"),
    ("infer s.hb --top ١", 2, "'١' is not a valid whole number"),
    ("sample s.hb --worlds 1_0", 2, "'1_0' is not a valid whole number"),
    ("infer s.hb --header maybe", 2, "'maybe' is not one of"),
    ("infer s.hb --quer smokes", 2, "--query"),
    ("infer", 2, "THEORY"),
    ("infr s.hb", 2, "Did you mean 'infer'?"),
    ("check s.hb --memory lots", 1, "'lots' is not an amount of memory"),
    ("query r.hb", 2, "name the goal after the theory files"),
    ("query uncle(x,y) r.hb", 2, "name the goal after the theory files"),
    ("infer s --given smokes(b)", 1, "did you mean 's.hb'?"),
    ("infer s.hb --closed smoke", 1, "--closed: there is no predicate 'smoke'"),
    ('query r.hb uncle("a"', 1, "ends too early"),
    ('query r.hb uncle("a")', 1, "ask uncle(x, y)"),
    ('query r.hb uncle("z",y)', 1, '"z" is no constant'),
    ("query r.hb uncle(x,y) --depth -1", 1, "'-1' is no depth"),
    ("query r.hb uncle(x,y) --algebra nope", 1, "there is no algebra 'nope'"),
    ("query r.hb uncle(x,y) --normalize nope", 2, "'nope' is not one of"),
    ("query s.hb smokes(x)", 1, "leave such statements out by --ignore weights"),
    ("bound contra.hb", 1, "no distribution satisfies these 2 statements together"),
    ("bound b.hb --query P(a", 1, "ends too early"),
    ("bound b.hb --query P(c)", 1, "there is no predicate 'c'"),
    ("bound b.hb --query P(a|false)", 1, "what is given in 'P(a|false)' is false"),
    ("bound b.hb --engine nope", 1, "engines: auto, exact, ariel"),
    ("bound b.hb --independence nope", 2, "'nope' is not one of"),
    ("explain s.hb", 2, "name what to explain"),
    ("explain s.hb smokes(x)", 1, "name one atom, with constants for its variables"),
    ("learn s.hb", 1, "write ? in place of a weight"),
    ("learn l.hb --method nope", 1, "there is no method 'nope'"),
    ("learn l.hb --target nope", 1, "--target: there is no predicate 'nope'"),
    ("learn l.hb --worlds gone", 1, "there is no folder 'gone'"),
    ("learn l.hb --worlds folder", 1, "the folder 'folder' holds no world"),
    ("learn l.hb --resume gone", 1, "there is no file 'gone'"),
    ("learn l.hb --resume s.hb", 1, "'s.hb' is not a file of ours"),
    ("learn l.hb --l2 x", 2, "'x' is not a valid number"),
    ("induce s.hb", 1, "no rule is right of three triples"),
    ("induce s.hb --target smokes --worlds gone", 1, "there is no folder 'gone'"),
    ("induce s.hb --target smokes --worlds folder", 1, "'folder/x.txt' has no ending"),
    ("score gone.json --facts smokes.csv", 1, "there is no file 'gone.json'"),
    ("score result.json --facts smokes.csv", 1, "'result.json' has no list of 'marginals'"),
    ("score result.json", 2, "--facts"),
    ("compare s.hb --engine nope", 1, "there is no engine 'nope'"),
    ("convert s.hb --to nope", 1, "one of hb, mln, ppr, lcn"),
    ("infer ", 1, "an empty name is no theory file"),
    ("query s.hb smokes(x)", 1, "or ask infer, which uses them"),
    ("infer .", 1, "name a theory file, such as b.hb"),
    ("init ", 1, "an empty name is no new folder"),
    ("score garbage.csv --facts smokes.csv", 1, "'garbage.csv' is no table"),
    (f"infer s.hb --facts {'a' * 300}", 1, "aaa...' cannot be a file: File name too long"),
    (f"score {'a' * 300}.json --facts smokes.csv", 1, "cannot be a file: File name too long"),
    ("convert b.hb --to mln", 1, "b.hb:1:1: an .mln file has no probability bounds"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("words")
    for name, content in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (place / "project" / "facts").mkdir(parents=True)  # as init makes it
    return place


@pytest.mark.parametrize(("command", "status", "said"), WRONG, ids=[command for command, _, _ in WRONG])
def test_wrong_words(
    herbrand: Callable[..., Outcome],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    status: int,
    said: str,
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    outcome = herbrand(*command.split(" "))
    assert (outcome.status, outcome.out) == (status, ""), outcome.err
    assert said in outcome.err
    assert max(map(len, outcome.err.splitlines())) < 400, "nobody reads a whole line of a file"
    assert "Traceback" not in outcome.err and "internal error" not in outcome.err
    assert sorted(folder.rglob("*")) == before, "nothing is written"
