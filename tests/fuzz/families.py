"""Small theories in every readable format, their tables, and the commands that answer from them."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

Files = Mapping[str, bytes]
WEIGHTS = """\
type person
predicate friends(person, person): observed
predicate smokes(person)
predicate mood(person) in {"good", "bad"}
predicate rich(person)
hard: smokes(x) <=> rich(x)
1.1: smokes(x) and friends(x, y) => smokes(y)
-0.7: not (exists y: friends(x, y)) or mood(x) = "good"
0.3: smokes(x) or smokes(y) where x != y
smokes("anna")
not smokes("gary")
mood("bob") = "bad"
smokes("carl") ~ 0.6
"""
STORED = WEIGHTS.replace('-0.7: not (exists y: friends(x, y)) or mood(x) = "good"\n', "").replace(
    "hard", "2.5"
)
ALCHEMY = """\
person = {Anna, Bob, Carl}
friends(person, person)
smokes(person)
mood(person, level!)
// a comment
1.5 smokes(x) ^ friends(x, y) => smokes(y)
-0.5 !smokes(x) v mood(x, Good)
friends(x, y) => friends(y, x).
"""
ALCHEMY_FACTS = """\
friends(Anna, Bob)
friends(Bob, Anna)
smokes(Anna)
!smokes(Carl)
mood(Anna, Good)
mood(Bob, Bad)
mood(Carl, Good)
"""
LEARNED = """\
predicate friends(person, person)
predicate smokes(person)
predicate cancer(person)
?: smokes(x) => cancer(x)
?[x]: cancer(x)
0.5: smokes(x) and friends(x, y) => smokes(y)
smokes("anna")
cancer("bob")
"""
BOUNDS = """\
[one] P(a) in [0.2, 0.4]
[two] P(b | a and not c) in [0.5, 0.6]
P(c) = 0.3
P(b or c) <= 0.9
P(d xor a | b) >= 0.2 independent
"""
PEOPLE_BOUNDS = """\
predicate friends(person, person): observed
predicate s(person)
predicate c(person)
P(s(x)) in [0.3, 0.4]
P(c(x) | s(x)) >= 0.6
P(s(x) and s(y) | friends(x, y)) in [0.05, 0.3]
"""
LCN = """\
# an example
s1: 0.2 <= P(a) <= 0.4
s2: 0.5 <= P(b | a and !c) <= 0.6
s3: 0.3 <= P(c) <= 0.3
s4: 0.1 <= P(b or c) <= 0.9
"""
RULES = """\
reach(x, y) :- link(x, y) @ 0.5
reach(x, y) :- link(x, z), reach(z, y), x != y
alone(x) :- node(x), not link(x, x)
near(x, y) :- link(x, z), link(z, y), not node(z)
node("a")
node("b")
link("a", "b") @ 0.5
"""
PPR = """\
reach(X,Y) :- link(X,Y) {one}.
reach(X,Y) :- link(X,Z), reach(Z,Y).
pair(X,Y) :- link(X,Z), link(Y,Z), assign(Z,b).
"""
CFACTS = "link\ta\tb\t0.5\nlink\tb\tc\nnode\ta\n"
HOUSES = """\
predicate next(house, house): observed
predicate dog(house): observed
predicate warned(house)
"""
RESULT = """\
{"engine": "exact", "guarantee": "exact", "converged": true, "marginals": [
{"atom": "smokes(\\"anna\\")", "predicate": "smokes", "arguments": ["anna"],
"probability": 0.7, "value": null},
{"atom": "smokes(\\"bob\\")", "predicate": "smokes", "arguments": ["bob"],
"probability": 0.2, "value": null}]}
"""
FRIENDS = (("person1", "person2"), (("anna", "bob"), ("bob", "carl"), ("carl", "anna")))
LINKS = (("from", "to"), (("a", "b"), ("b", "c"), ("c", "a")))
SMOKERS = (("person", "truth"), (("anna", "true"), ("bob", "false")))
CANCER = (("person",), (("anna",), ("bob",), ("carl",)))
Columns = tuple[Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Family:
    """A theory by format (its files, the theory first), tables by predicate, and commands."""

    theories: Mapping[str, Mapping[str, str]]
    commands: Sequence[str]
    tables: Mapping[str, Columns] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)


TOWNS = {f"towns/{town}/next.csv": "a,b\nb,c\nc,d\n" for town in "pqr"}
TOWNS |= {f"towns/{town}/{name}.csv": "c\n" for town in "pqr" for name in ("dog", "warned")}
INFER = "infer THEORY FACTS --time-limit 5"
FAMILIES: Mapping[str, Family] = {
    "weights": Family(
        {"hb": {"theory.hb": WEIGHTS}},
        [
            "check THEORY FACTS",
            INFER,
            *(f"{INFER} --engine {name}" for name in ("exact", "lifted")),
            *(f"{INFER} --iterations 15 --engine {name}" for name in ("regions", "bp", "mean-field")),
            f"{INFER} --engine gibbs --samples 60",
            f"{INFER} --map --engine mean-field --iterations 20",
            f"{INFER} --map",
            f"{INFER} --query smokes --log-partition --top 2",
            f"{INFER} --query 'smokes(\"anna\") and rich(x)'",
            "explain THEORY FACTS 'smokes(\"bob\")'",
            "compare THEORY FACTS --engine exact --engine bp",
            *(f"convert THEORY --to {name}" for name in ("hb", "mln", "lcn", "ppr")),
        ],
        {"friends": FRIENDS},
    ),
    "stored": Family(
        {"hb": {"theory.hb": STORED}},
        [
            "infer THEORY FACTS --on duckdb:world.duckdb --iterations 3",
            "infer THEORY FACTS --on duckdb:world.duckdb --engine bp --iterations 3",
        ],
        {"friends": FRIENDS},
    ),
    "alchemy": Family(
        {"mln": {"theory.mln": ALCHEMY, "facts.db": ALCHEMY_FACTS}},
        ["check THEORY", f"{INFER} --facts facts.db", "convert THEORY", "convert THEORY --to mln"],
    ),
    "learned": Family(
        {"hb": {"theory.hb": LEARNED}},
        [
            *(
                f"learn THEORY FACTS --iterations 5 --method {name}"
                for name in (
                    "pseudo-likelihood",
                    "likelihood",
                    "likelihood --latent cancer",
                    "layers --latent cancer",
                )
            ),
            "learn THEORY FACTS --iterations 5 -o learned.hb",
            "check THEORY FACTS",
        ],
        {"cancer": CANCER, "smokes": SMOKERS},
    ),
    "distilled": Family(
        {"hb": {"theory.hb": WEIGHTS}},
        [
            "learn THEORY FACTS --method distillation --iterations 60 "
            "--latent smokes --latent mood --latent rich"
        ],
        {"friends": FRIENDS},
    ),
    "bounds": Family(
        {"hb": {"theory.hb": BOUNDS}, "lcn": {"theory.lcn": LCN}},
        [
            "bound THEORY --time-limit 5",
            "bound THEORY --engine ariel",
            "bound THEORY --engine ariel --mode paper",
            "bound THEORY --independence none --time-limit 5",
            "bound THEORY --query 'P(b | c)' --query 'P(a and b)' --time-limit 5",
            "explain THEORY b",
            "convert THEORY --to lcn",
            "check THEORY",
        ],
    ),
    "people": Family(
        {"hb": {"theory.hb": PEOPLE_BOUNDS}},
        [
            "bound THEORY FACTS --engine ariel",
            "bound THEORY FACTS --time-limit 5",
            "bound THEORY FACTS --engine ariel --on duckdb:world.duckdb",
        ],
        {"friends": FRIENDS},
    ),
    "rules": Family(
        {"hb": {"theory.hb": RULES}},
        [
            *(
                f"query THEORY FACTS 'reach(\"a\", y)' --algebra {name}"
                for name in ("count", "boolean", "max", "probability")
            ),
            "query THEORY FACTS 'alone(x)'",
            "query THEORY FACTS 'near(x, \"c\")' --depth 3",
            "query THEORY FACTS 'reach(x, y)' --normalize softmax --top 3",
            "query THEORY FACTS 'reach(\"a\", y)' --on duckdb:world.duckdb",
            'explain THEORY FACTS \'reach("a", "b")\'',
            "convert THEORY --to ppr",
        ],
        {"link": LINKS},
    ),
    "derived": Family(
        {"hb": {"theory.hb": RULES.replace(" @ 0.5", "")}},
        ['infer THEORY FACTS --query \'reach("a", "b")\'', "infer THEORY FACTS --query reach"],
        {"link": LINKS},
    ),
    "tensorlog": Family(
        {"ppr": {"theory.ppr": PPR, "facts.cfacts": CFACTS}},
        [
            "query THEORY --facts facts.cfacts 'reach(\"a\", y)'",
            "check THEORY --facts facts.cfacts",
            "convert THEORY",
        ],
    ),
    "result": Family({"json": {"result.json": RESULT}}, ["score THEORY FACTS"], {"smokes": SMOKERS}),
    "houses": Family(
        {"hb": {"theory.hb": HOUSES}},
        ["induce THEORY --target warned --worlds towns --budget 0.002"],
        more=TOWNS,
    ),
}


def csv(columns: Columns) -> bytes:
    return "".join(",".join(row) + "\n" for row in (columns[0], *columns[1])).encode()


def tsv(columns: Columns) -> bytes:
    return csv(columns).replace(b",", b"\t")


def jsonl(columns: Columns) -> bytes:
    rows = (dict(zip(columns[0], row, strict=True)) for row in columns[1])
    marked = (row | ({"truth": row["truth"] == "true"} if "truth" in row else {}) for row in rows)
    return "".join(f"{json.dumps(row)}\n" for row in marked).encode()


def arrow(columns: Columns) -> pa.Table:
    cells = [list(column) for column in zip(*columns[1], strict=True)]
    return pa.table(
        {n: [c == "true" for c in v] if n == "truth" else v for n, v in zip(columns[0], cells, strict=True)}
    )


def parquet(columns: Columns) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(arrow(columns), sink)
    return sink.getvalue()


def feather(columns: Columns) -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(arrow(columns), sink, compression="uncompressed")
    return sink.getvalue()


TABLES: Mapping[str, Callable[[Columns], bytes]] = {
    "csv": csv,
    "tsv": tsv,
    "jsonl": jsonl,
    "parquet": parquet,
    "arrow": feather,
}


def database(tables: Mapping[str, Columns], path: Path) -> bytes:
    """The bytes of a DuckDB file that holds these tables."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for name, columns in tables.items():
            given = arrow(columns)
            connection.register("given", given)
            connection.execute(f'CREATE TABLE "{name}" AS FROM given')
    return path.read_bytes()


def drawn(family: Family, rng: random.Random, scratch: Path) -> tuple[dict[str, bytes], list[str]]:
    """Files of one theory and its tables in random formats; the arguments that name the tables."""
    files = {name: text.encode() for name, text in rng.choice(list(family.theories.values())).items()}
    if family.tables and rng.random() < 0.1:
        files["world-of-facts.duckdb"] = database(family.tables, scratch / "made.duckdb")
        return files, ["--facts", "world-of-facts.duckdb"]
    arguments: list[str] = []
    for name, columns in family.tables.items():
        ending = rng.choice(list(TABLES))
        files[f"{name}.{ending}"] = TABLES[ending](columns)
        arguments += ["--facts", f"{name}.{ending}"]
    return files | {name: text.encode() for name, text in family.more.items()}, arguments
