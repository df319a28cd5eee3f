"""Random hostile theories and files: each family is small to state and large to parse, load, plan or run.

A family writes its files into a folder and gives the arguments of one command, without limits. Sizes are
drawn evenly in their logarithm, so that some cases are easy: a limit that is far away must change nothing.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random

Family = Callable[[Random, Path], list[str]]


def size(random: Random, least: float, most: float) -> int:
    """A whole number between these, even in its logarithm."""
    return round(least * (most / least) ** random.random())


def written(folder: Path, text: str, name: str = "theory.hb") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def long_conjunction(random: Random, folder: Path) -> list[str]:
    atoms = [f"a{number}" for number in range(size(random, 10, 200_000))]
    word = random.choice(["and", "or", "<=>"]) if len(atoms) < 50_000 else random.choice(["and", "or"])
    theory = written(folder, f"1.5: {f' {word} '.join(atoms)}\n")
    return [random.choice(["check", "infer"]), theory]


def nested(random: Random, folder: Path) -> list[str]:
    depth = size(random, 5, 20_000)
    text = "p" + "".join(f" => (q{number % 7}" for number in range(depth)) + ")" * depth
    return [random.choice(["check", "infer"]), written(folder, f"0.5: {text}\n")]


def grid(random: Random, folder: Path) -> list[str]:
    side = size(random, 4, 400)
    rows = ["a,b"]
    for number in range(side * side):
        rows += [f"{number},{number + 1}"] if (number + 1) % side else []
        rows += [f"{number},{number + side}"] if number + side < side * side else []
    (folder / "edge.csv").write_text("\n".join(rows) + "\n")
    declared = "predicate edge(n, n): observed\npredicate up(n)\n"
    theory = written(folder, declared + "0.4: edge(x, y) => (up(x) <=> up(y))\n0.1: up(x)\n")
    engine = random.choice(["auto", "auto", "exact", "bp", "mean-field", "gibbs"])
    command = random.choice(["infer", "infer", "check"])
    asked = ["--engine", engine] if command == "infer" else []
    return [command, theory, "--facts", str(folder / "edge.csv"), *asked]


def people(random: Random, folder: Path) -> list[str]:
    count = size(random, 5, 2_000)
    known = "\n".join(f"smokes({one})" for one in range(1, count + 1, random.choice([2, 20, 100])))
    theory = (
        f"type person = 1..{count}\npredicate friends(person, person)\n"
        "predicate smokes(person)\npredicate cancer(person)\n"
        "1.4: smokes(x) and friends(x, y) => smokes(y)\n1.1: smokes(x) => cancer(x)\n"
    )
    path = written(folder, theory + known + "\n")
    command = random.choice(["infer", "infer", "check", "explain", "compare"])
    if command == "explain":
        return [command, path, "cancer(1)"]
    return [command, path, *(["--query", "cancer"] if command == "infer" else [])]


def parents(random: Random, folder: Path) -> list[str]:
    count = size(random, 2, 60)
    lines = [
        f"P(c{number}) in [0.{random.randint(1, 4)}, 0.{random.randint(5, 9)}]" for number in range(count)
    ]
    joined = " and ".join(f"c{number}" for number in range(count))
    lines += [f"P(e | {joined}) in [0.6, 0.9]", f"P(e | not ({joined})) <= 0.2"]
    asked = ["--independence", "none"] if random.random() < 0.3 else []
    engine = random.choice(["auto", "exact", "ariel"])
    return ["bound", written(folder, "\n".join(lines) + "\n"), "--query", "P(e)", "--engine", engine, *asked]


def chains(random: Random, folder: Path) -> list[str]:
    count, names = size(random, 5, 3_000), []
    lines = ["P(x0) in [0.2, 0.7]"]
    for number in range(1, count):
        names = random.sample(range(number), min(number, random.randint(1, 3)))
        given = " and ".join(f"{random.choice(['', 'not '])}x{one}" for one in names)
        low = random.random() * 0.8
        lines.append(f"P(x{number} | {given}) in [{low:.2f}, {low + 0.2:.2f}]")
    path = written(folder, "\n".join(lines) + "\n")
    asked = ["--query", f"P(x{count - 1})"] if random.random() < 0.7 else []
    return ["bound", path, *asked, "--engine", random.choice(["auto", "exact", "ariel"])]


def paths(random: Random, folder: Path) -> list[str]:
    count = size(random, 5, 3_000)
    rows = ["a,b", *(f"{random.randrange(count)},{random.randrange(count)}" for _ in range(3 * count))]
    (folder / "edge.csv").write_text("\n".join(rows) + "\n")
    theory = written(folder, "path(x, y) :- edge(x, y)\npath(x, z) :- path(x, y), path(y, z)\n")
    algebra = random.choice(["count", "boolean", "max", "probability"])
    depth = random.choice(["fixpoint", "4", "40"])
    return [
        *("query", theory, "path(x, y)", "--facts", str(folder / "edge.csv")),
        *("--algebra", algebra, "--depth", depth),
    ]


def many_rows(random: Random, folder: Path) -> list[str]:
    count = size(random, 100, 3_000_000)
    with (folder / "knows.csv").open("w") as file:
        file.write("a,b\n")
        for number in range(count):
            file.write(f"person{number},person{number * 7919 % count}\n")
    theory = written(
        folder, "predicate knows(p, p): observed\npredicate s(p)\n0.7: knows(x, y) and s(x) => s(y)\n"
    )
    return [random.choice(["check", "infer"]), theory, "--facts", str(folder / "knows.csv")]


def long_string(random: Random, folder: Path) -> list[str]:
    with gzip.open(folder / "knows.jsonl.gz", "wt", compresslevel=1) as file:
        file.write('{"a": "x", "b": "y"}\n{"a": "')
        for _ in range(size(random, 1, 600)):
            file.write("y" * 2**20)
        file.write('", "b": "z"}\n')
    theory = written(
        folder, "predicate knows(p, p): observed\npredicate s(p)\n0.7: knows(x, y) and s(x) => s(y)\n"
    )
    return ["check", theory, "--facts", str(folder / "knows.jsonl.gz")]


def worlds(random: Random, folder: Path) -> list[str]:
    count = size(random, 5, 400)
    rows = ["a,b", *(f"{random.randrange(count)},{random.randrange(count)}" for _ in range(2 * count))]
    (folder / "f.csv").write_text("\n".join(rows) + "\n")
    (folder / "s.csv").write_text("a\n" + "\n".join(str(one) for one in range(0, count, 2)) + "\n")
    theory = written(folder, "?: s(x) and f(x, y) => s(y)\n?: f(x, y) and f(y, z) => f(x, z)\n?: s(x)\n")
    return ["learn", theory, "--facts", str(folder / "f.csv"), "--facts", str(folder / "s.csv")]


def choices(random: Random, folder: Path) -> list[str]:
    count = size(random, 4, 2_000)
    edges = [(random.randrange(count), random.randrange(count)) for _ in range(2 * count)]
    rules = "path(X, Y) :- edge(X, Y).\npath(X, Y) :- edge(X, Z), path(Z, Y).\n"
    asked = f"query(path(0, {count - 1})).\n" if random.random() < 0.7 else "query(path(X, Y)).\n"
    text = "".join(f"0.{random.randint(1, 9)}::edge({one}, {other}).\n" for one, other in edges)
    theory = written(folder, text + rules + asked, "theory.pl")
    command = random.choice(["infer", "infer", "query", "sample", "explain", "check"])
    goal = {"query": [f"path(0, {count - 1})"], "explain": [f"path({edges[0][0]}, {edges[0][1]})"]}
    return [command, theory, *goal.get(command, []), *(["--worlds", "100"] if command == "sample" else [])]


def computed(random: Random, folder: Path) -> list[str]:
    most = size(random, 10, 30_000_000)
    rules = [
        f"at(n + {random.randint(1, 3)}) :- at(n), n < {most}",
        "pair(x, y) :- at(x), at(y), y = x * x",
        "many(k) :- k = count(n: at(n))",
        "share(x, s) :- at(x), s = sum(n: at(n), n <= x)",
    ]
    chosen = [rules[0], *random.sample(rules[1:], random.randint(0, 2))]
    theory = written(folder, "at(0)\n" + "\n".join(chosen) + "\n0.5: at(x) => up(x)\n")
    command = random.choice(["infer", "query", "check"])
    return [command, theory, *(["at(n)", "--ignore", "weights"] if command == "query" else [])]


def constraints(random: Random, folder: Path) -> list[str]:
    atoms = [f"a{number}" for number in range(size(random, 2, 40))]
    lines = [f"P({one}) in [0.1, 0.{random.randint(3, 9)}]" for one in random.sample(atoms, len(atoms) // 2)]
    for _ in range(size(random, 1, 30)):
        few = random.sample(atoms, min(len(atoms), random.randint(2, 4)))
        event = f" {random.choice(['and', 'or', 'xor', '=>'])} ".join(few)
        low = random.choice([0.1, 0.3, 0.5])
        lines.append(f"P({event}) {random.choice([f'= {low}', f'>= {low}', f'in [{low}, 0.9]'])}")
    path = written(folder, "\n".join(lines) + "\n")
    asked = ["--independence", "none"] if random.random() < 0.4 else []
    return ["bound", path, "--query", f"P({atoms[0]} and {atoms[-1]})", *asked]


def networks(random: Random, folder: Path) -> list[str]:
    count, values, widest = size(random, 3, 1_000), random.randint(2, 6), random.randint(1, 8)
    sizes, tables = [random.randint(2, values) for _ in range(count)], list[str]()
    scopes = list[str]()
    for number in range(count):
        parents, cells = list[int](), sizes[number]
        for one in random.sample(range(number), min(number, random.randint(0, widest))):
            if cells * sizes[one] <= 50_000:
                parents, cells = [*parents, one], cells * sizes[one]
        scopes.append(" ".join(map(str, [len(parents) + 1, *parents, number])))
        share = [1.0] if sizes[number] == 1 else [0.5] + [0.5 / (sizes[number] - 1)] * (sizes[number] - 1)
        tables.append(f"{cells}\n" + " ".join(f"{one:.9f}" for one in share * (cells // sizes[number])))
    head = f"BAYES\n{count}\n{' '.join(map(str, sizes))}\n{count}\n"
    text = head + "\n".join(scopes) + "\n\n" + "\n\n".join(tables) + "\n"
    theory = written(folder, text, "theory.uai")
    return [random.choice(["infer", "infer", "check", "sample", "compare"]), theory]


def many_lines(random: Random, folder: Path) -> list[str]:
    lines, count = list[str](), size(random, 10, 400_000)
    for _ in range(count):
        one, other = random.randrange(count), random.randrange(count)
        lines.append(random.choice([f"f({one}, {other})", f"s({one})", f"0.5: t({one}) => t({other})"]))
    rules = "p(x, y) :- f(x, z), f(z, y)\n" if random.random() < 0.5 else ""
    theory = written(folder, rules + "\n".join(lines) + "\n")
    command = random.choice(["check", "infer", "explain"])
    return [command, theory, *(["t(1)"] if command == "explain" else [])]


def unknown_choices(random: Random, folder: Path) -> list[str]:
    count = size(random, 4, 600)
    rows = ["a,b", *(f"{random.randrange(count)},{random.randrange(count)}" for _ in range(2 * count))]
    (folder / "link.csv").write_text("\n".join(rows) + "\n")
    seen = "\n".join(f"path({row.replace(',', ', ')})" for row in rows[1 : 2 + count // 10])
    rules = "? :: edge(x, y) :- link(x, y)\npath(x, y) :- edge(x, y)\npath(x, y) :- edge(x, z), path(z, y)\n"
    theory = written(folder, f"{rules}{seen}\n")
    return ["learn", theory, "--facts", str(folder / "link.csv"), "--header", "yes"]


FAMILIES: dict[str, Family] = {
    family.__name__.replace("_", " "): family
    for family in (
        *(long_conjunction, nested, grid, people, parents, chains),
        *(paths, many_rows, long_string, worlds),
        *(choices, computed, constraints, networks, many_lines, unknown_choices),
    )
}
