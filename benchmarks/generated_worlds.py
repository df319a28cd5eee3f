"""Worlds of the shapes of published data, made here: friends who smoke, families, departments, citations.

Each is a theory with facts, its weights all 1, and labelled atoms that nothing told, as
:class:`~herbrand.language.dialects.benchmark.Benchmark` has them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

import herbrand as hb
from herbrand.language.dialects.benchmark import Benchmark
from herbrand.language.syntax import FactRows
from herbrand.language.theory import Theory

Rows = Iterable[tuple[str, ...]]

FRIENDS = """\
predicate friend(person, person)
predicate smoke(person)
predicate cancer(person)
1: friend(x, y) => friend(y, x)
1: smoke(x) and friend(x, y) => smoke(y)
1: smoke(x) <=> cancer(x)
1: not friend(x, x)
"""

FAMILY = """\
predicate father(p, p)
predicate mother(p, p)
predicate son(p, p)
predicate husband(p, p)
predicate male(p)
predicate female(p)
1: father(x, z) and mother(y, z) => husband(x, y)
1: father(x, y) => male(x)
1: mother(x, y) => female(x)
1: son(x, y) => male(x)
1: male(x) => not female(x)
1: husband(x, y) => male(x)
1: husband(x, y) => female(y)
"""

DEPARTMENT = """\
predicate student(person)
predicate professor(person)
predicate publication(title, person)
predicate taught(course, person)
predicate assists(course, person)
predicate advised(person, person)
1: advised(s, p) => student(s)
1: advised(s, p) => professor(p)
1: professor(x) => not student(x)
1: publication(t, s) and publication(t, p) and student(s) and not student(p) => advised(s, p)
1: taught(c, p) and assists(c, s) => advised(s, p)
1: advised(s, p) and advised(s, q) => p = q
1: not (advised(x, y) and advised(y, x))
"""

CITATIONS = """\
predicate title(record, title)
predicate venue(record, venue)
predicate title_word(title, word)
predicate venue_word(venue, word)
predicate same(record, record)
predicate same_title(title, title)
predicate same_venue(venue, venue)
1: title_word(t, w) and title_word(u, w) => same_title(t, u)
1: venue_word(t, w) and venue_word(u, w) => same_venue(t, u)
1: title(b, t) and title(c, u) and same_title(t, u) => same(b, c)
1: title(b, t) and title(c, u) and same(b, c) => same_title(t, u)
1: venue(b, t) and venue(c, u) and same(b, c) => same_venue(t, u)
1: same(b, c) and same(c, d) => same(b, d)
1: same_title(t, u) and same_title(u, v) => same_title(t, v)
"""


def friends(people: int, seed: int = 0) -> Benchmark:
    """Smokers mostly have friends who smoke; half of the friendships, and who has cancer, are asked."""
    rng = random.Random(seed)
    names = [f"person {i:04}" for i in range(people)]
    smoke = {name: i < people * 0.4 for i, name in enumerate(names)}
    links = {
        (a, b)
        for a in names
        for b in rng.sample(names, 3)
        if a != b and (smoke[a] == smoke[b] or rng.random() < 0.2)
    }
    links |= {(b, a) for a, b in links}
    told = {pair for pair in sorted(links) if rng.random() < 0.5}
    others = {tuple(rng.sample(names, 2)) for _ in links}
    facts = {"friend": told, "smoke": [(name,) for name in names if smoke[name]]}
    asked = {
        "friend": (links - told, others - links),
        "cancer": ([(n,) for n in names if smoke[n]], [(n,) for n in names if not smoke[n]]),
    }
    return _benchmark(FRIENDS, facts, asked)


def family(people: int, seed: int = 0) -> Benchmark:
    """Couples and their sons, generation after generation; who is male is asked."""
    rng = random.Random(seed)
    names = [f"p{i:03}" for i in range(people)]
    father, mother, son = [], [], []
    for child in range(4, people):
        pair = 2 * rng.randrange(0, child // 2)
        father.append((names[pair], names[child]))
        mother.append((names[pair + 1], names[child]))
        if child % 2 == 0:
            son.append((names[child], names[pair]))
    asked = {"male": ([(name,) for name in names[::2]], [(name,) for name in names[1::2]])}
    return _benchmark(FAMILY, {"father": father, "mother": mother, "son": son}, asked)


def department(students: int, seed: int = 0) -> Benchmark:
    """Students mostly publish with, and assist, who advises them; who advises whom is asked."""
    rng = random.Random(seed)
    professors = [f"professor {i:02}" for i in range(max(2, students // 4))]
    names = [f"student {i:03}" for i in range(students)]
    adviser = {name: rng.choice(professors) for name in names}
    publication, assists = set(), set()
    for name in names:
        for paper in range(rng.randint(0, 3)):
            other = rng.choice(professors) if rng.random() < 0.3 else adviser[name]
            publication |= {(f"{name}, paper {paper}", name), (f"{name}, paper {paper}", other)}
        other = rng.choice(professors) if rng.random() < 0.4 else adviser[name]
        assists.add((f"course of {other}", name))
    facts = {
        "student": [(name,) for name in names],
        "professor": [(name,) for name in professors],
        "publication": publication,
        "taught": [(f"course of {name}", name) for name in professors],
        "assists": assists,
    }
    pairs = [(s, p) for s in names for p in professors]
    asked = {"advised": _parted(pairs, lambda pair: adviser[pair[0]] == pair[1])}
    return _benchmark(DEPARTMENT, facts, asked)


def citations(works: int, seed: int = 0) -> Benchmark:
    """Records of works whose titles and venues are written in several ways; which are the same is asked."""
    rng = random.Random(seed)
    words = [f"word {i:03}" for i in range(6 * works)]
    facts: dict[str, set[tuple[str, ...]]] = {
        name: set() for name in ("title", "venue", "title_word", "venue_word", "same")
    }
    of: dict[str, int] = {}
    venues = [rng.sample(words, 4) for _ in range(max(2, works // 3))]
    for work in range(works):
        own, place = rng.sample(words, 5), rng.randrange(len(venues))
        for copy in range(3):
            record, title = f"record {work}.{copy}", f"title {work}.{copy}"
            of[title] = work
            facts["title"].add((record, title))
            facts["venue"].add((record, f"venue {place}.{copy}"))
            facts["title_word"] |= {(title, word) for word in rng.sample(own, 3)}
            facts["venue_word"] |= {(f"venue {place}.{copy}", word) for word in rng.sample(venues[place], 3)}
        facts["same"].add((f"record {work}.0", f"record {work}.1"))
    pairs = [(t, u) for t in sorted(of) for u in rng.sample(sorted(of), 6) if t != u]
    pairs += [(f"title {work}.0", f"title {work}.2") for work in range(works)]
    return _benchmark(
        CITATIONS, facts, {"same_title": _parted(sorted(set(pairs)), lambda pair: of[pair[0]] == of[pair[1]])}
    )


def _parted(pairs: Sequence[tuple[str, str]], holds) -> tuple[Rows, Rows]:
    return [pair for pair in pairs if holds(pair)], [pair for pair in pairs if not holds(pair)]


def _benchmark(rules: str, facts: Mapping[str, Rows], asked: Mapping[str, tuple[Rows, Rows]]) -> Benchmark:
    told = [_rows(name, rows, "true") for name, rows in facts.items()]
    queries = [
        _rows(name, rows, kind)
        for name, parts in asked.items()
        for rows, kind in zip(parts, ("true", "false"), strict=True)
    ]
    return Benchmark(hb.parse(rules) + Theory(tuple(told)), tuple(queries))


def _rows(predicate: str, rows: Rows, kind: str) -> FactRows:
    columns = tuple(zip(*sorted(rows), strict=True))
    return FactRows(predicate, columns, len(columns[0]), kind)  # type: ignore[arg-type]
