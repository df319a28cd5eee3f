"""Twice as many statements take about twice the work: nothing goes through all of them once for each.

Statements here have nothing to do with each other or follow in a chain: the sums themselves grow no faster.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import herbrand as hb
from herbrand.language.dialects import read_theory_text
from tests.work import calls

FEW = 100
MOST = 2.5
"""Times the calls for twice the statements; a loop within a loop makes four."""


def weighted(count: int) -> str:
    return "\n".join(f"0.{n % 9 + 1}: a{n} => a{n + 1}" for n in range(count))


def choices(count: int) -> str:
    drawn = (f"0.{n % 9 + 1} :: e{n}; 0.05 :: g{n}" for n in range(count))
    return "\n".join([*drawn, *(f"p{n} :- e{n}, not g{n}" for n in range(count))])


def chain_of_rules(count: int) -> str:
    return 'f("c")\np0(x) :- f(x)\n' + "\n".join(f"p{n}(x) :- p{n - 1}(x)" for n in range(1, count))


def chain_backwards(count: int) -> str:
    return "\n".join(reversed(chain_of_rules(count).splitlines()))


def bounds(count: int) -> str:
    links = (f"P(a{n + 1} | a{n}) in [0.2, 0.6]\nP(a{n + 1} | not a{n}) in [0.1, 0.3]" for n in range(count))
    return "\n".join(["P(a0) = 0.3", *links])


def types(count: int) -> str:
    return "\n".join(
        f'type t{n} = {{"c{n}", "d{n}"}}\npredicate a{n}(t{n})\n0.4: a{n}(x)' for n in range(count)
    )


def values(count: int) -> str:
    return "\n".join(
        f'type t{n} = {{"u{n}", "v{n}"}}\npredicate a{n} in t{n}\n0.4: a{n} = "u{n}"' for n in range(count)
    )


def neighbours(count: int) -> str:
    """Choices of which each meets the next by a computed argument."""
    drawn = "\n".join(f'0.2 :: c({n}) = "r"; 0.8 :: c({n}) = "g"' for n in range(count))
    return (
        f'predicate c(b) in {{"r", "g"}}\npredicate m(b)\n{drawn}\nm(x) :- c(x) = "r", c(y) = "g", y = x + 1'
    )


def apart(count: int) -> str:
    """Formulas that name all constants."""
    return "\n".join(f'0.{n % 9 + 1}: s("c{n}") => s("c{n + 1}")' for n in range(count))


def observed(count: int) -> str:
    """A tree of friends; of some it is known whether they smoke."""
    friends = "\n".join(f'f("p{n}", "p{n // 2}")' for n in range(1, count))
    known = "\n".join(f's("p{n}")' for n in range(0, count, 3))
    declared = "predicate f(p, p): observed\npredicate s(p)"
    return f"{declared}\n0.9: s(x) and f(x, y) => s(y)\n{friends}\n{known}"


def predicates(count: int) -> str:
    """Each with a formula and a fact of its own."""
    return "\n".join(
        f'predicate p{n}(t): observed\npredicate q{n}(t)\n0.3: p{n}(x) => q{n}(x)\np{n}("c")'
        for n in range(count)
    )


def equations(count: int) -> str:
    """A choice that hands one value on and on; what gives it stands last."""
    return f"0.3 :: p(x{count}) :- q(x0), " + ", ".join(f"x{n + 1} = x{n}" for n in reversed(range(count)))


def computed(count: int) -> str:
    return f"p(x{count}) :- q(x0), " + ", ".join(f"x{n + 1} = x{n} + 1" for n in range(count))


def checked(text: str) -> None:
    hb.Model(hb.parse(text))


def infer(text: str) -> None:
    hb.Model(hb.parse(text)).infer()


def lifted(text: str) -> None:
    hb.Model(hb.parse(text)).infer(engine="lifted")


def circuit(text: str) -> None:
    hb.Model(hb.parse(text)).infer(engine="circuit")


def sized(text: str) -> None:
    hb.size_report(hb.Model(hb.parse(text)))


def bound(text: str) -> None:
    hb.Model(hb.parse(text)).bound()


def bound_each(text: str) -> None:
    hb.Model(hb.parse(text)).bound(query=[f"a{n}" for n in range(text.count(" | a"))])


def query(text: str) -> None:
    hb.Model(hb.parse(text)).query(f"p{text.count(':-') - 1}(x)")


def formatted(text: str) -> None:
    hb.formatted(text)


def prolog(count: int) -> str:
    drawn = (f"0.{n % 9 + 1}::e{n}." for n in range(count))
    rules = (f"a{n} :- e{n}, \\+ e{(n + 1) % count}. query(a{n})." for n in range(count))
    return "\n".join([*drawn, *rules])


def prolog_infer(text: str) -> None:
    hb.Model(read_theory_text(text, "pl")).infer()


@pytest.mark.parametrize(
    ("made", "work"),
    [
        *((made, infer) for made in (weighted, choices, chain_of_rules, chain_backwards, types, values)),
        *((made, circuit) for made in (choices, values, neighbours)),
        *((made, lifted) for made in (apart, observed, predicates)),
        *((made, query) for made in (chain_of_rules, chain_backwards)),
        *((made, formatted) for made in (weighted, choices, bounds)),
        *((made, checked) for made in (equations, computed)),
        (predicates, sized),
        (bounds, bound),
        (bounds, bound_each),
        (prolog, prolog_infer),
    ],
)
def test_twice_the_statements_take_about_twice_the_work(
    made: Callable[[int], str], work: Callable[[str], None]
) -> None:
    work(made(2))  # what a process does once
    few, many = calls(work, made(FEW)), calls(work, made(2 * FEW))
    assert many < MOST * few, f"{few:,} calls for {FEW} statements, {many:,} for twice as many"
