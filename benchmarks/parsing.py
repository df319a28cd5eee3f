"""Reading theories: rules beside lark's bare lexing of the same text, facts beside one ``re.findall`` of it.

python -m benchmarks.parsing
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from lark import Lark

import herbrand.language
from benchmarks.measurement import Measurement, race
from herbrand.language.check import check
from herbrand.language.parse import parse_theory
from herbrand.language.theory import show

RULE_BYTES = 1_000_000
FACT_COUNT = 1_000_000
FORMS = (
    "1.5: smokes{0}(x) and friends{0}(x, y) => smokes{0}(y)",
    "uncle{0}(x, y) :- parent{0}(x, z), brother{0}(z, y) @ 0.9",
    'P(cancer{0}(x) | smokes{0}(x) and not friends{0}(x, "bob")) >= 0.6',
    "hard: exists y: friends{0}(x, y) and x != y",
)
FACT = re.compile(r'^(\w+)\("([^"]*)", "([^"]*)"\)$', re.MULTILINE)


def measure() -> list[Measurement]:
    """Reading, checking and printing; garbage collection and the grammar's tables are warm."""
    rules, facts, mixed = rules_text(), facts_text(), mixed_text()
    lexer = Lark(
        Path(herbrand.language.__file__).with_name("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        start=["statement", "query_formula", "query_probability", "query_literal"],
    )
    theory = parse_theory(facts)
    megabyte, million = "1 MB of rules", "10^6 facts"
    return [
        race(
            "read", megabyte, lambda: parse_theory(rules), "lark, lexing only", lambda: lex(lexer, rules), 3
        ),
        race("read", million, lambda: parse_theory(facts), "re.findall", lambda: FACT.findall(facts), 3),
        race(
            "read",
            f"{million}, predicates mixed",
            lambda: parse_theory(mixed),
            "re.findall",
            lambda: FACT.findall(mixed),
            3,
        ),
        race("check", million, lambda: check(theory), "re.findall", lambda: FACT.findall(facts), 3),
        race("print", million, lambda: show(theory), "re.findall", lambda: FACT.findall(facts), 3),
    ]


def rules_text() -> str:
    chance = random.Random(0)
    lines: list[str] = []
    size = 0
    while size < RULE_BYTES:
        lines.append(chance.choice(FORMS).format(chance.randrange(50)))
        size += len(lines[-1]) + 1
    return "\n".join(lines)


def facts_text() -> str:
    return "".join(f'friends("p{i}", "p{i * 7 % 99_991}")\n' for i in range(FACT_COUNT))


def mixed_text() -> str:
    return "".join(
        f'friends("p{i}", "p{i * 7 % 99_991}")\nknows("p{i}", "p{i * 3 % 99_991}")\n'
        for i in range(FACT_COUNT // 2)
    )


def lex(lexer: Lark, text: str) -> int:
    return sum(1 for _ in lexer.lex(text))


if __name__ == "__main__":
    for m in measure():
        print(
            f"{m.what:6} {m.size:28} {m.ours:7.2f} s   {m.limit_name:18} {m.limit:7.2f} s   x {m.ratio:.1f}"
        )
