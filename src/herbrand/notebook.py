"""``%load_ext herbrand``: the magics ``%%herbrand`` and ``%herbrand`` of notebooks, with progress there.

A cell ``%%herbrand [COMMAND] [options]`` holds a theory; a line ``%herbrand COMMAND [options]`` asks the last
one again. Commands and options are those of the command line; ``--facts`` also takes names of variables,
``--into NAME`` keeps the answer in one. Needs IPython, which every notebook brings.
"""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from keyword import iskeyword
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import Pretty, display

from herbrand.errors import FactsError, HerbrandError, nearest
from herbrand.facts.source import FactSource, fact_sources
from herbrand.language.parse import parse_theory
from herbrand.language.theory import Theory
from herbrand.model import Model
from herbrand.options.kinds import Flag, Kind, Name, Number, Texts, Whole
from herbrand.options.table import Option, options_of
from herbrand.reports.compare import compare
from herbrand.reports.lint import lint, refuse_asked
from herbrand.reports.sizes import size_report
from herbrand.visible import visible_lines

COMMANDS = ("check", "infer", "bound", "query", "explain", "sample", "learn", "compare")
WITH_SUBJECT = {"query": "goal", "explain": "query"}
"""Commands whose last argument is no option, with the argument's keyword in Python."""
HEARD = ("infer", "bound", "explain", "learn")
"""Commands whose methods take ``note``."""
OF_MODEL = ("open", "closed", "header", "ignore", "on")
HELP = {"--help", "-h"}
SHOWN_AFTER, SHOWN_EVERY = 1.0, 0.2


def load(shell: Any) -> None:
    """Register the magics with an IPython shell."""
    shell.register_magics(HerbrandMagics(shell))


@magics_class
class HerbrandMagics(Magics):
    """The magics, with the theory and the facts of the last cell."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._last: tuple[Theory, tuple[FactSource, ...], dict[str, Any]] | None = None

    @line_cell_magic
    def herbrand(self, line: str, cell: str | None = None) -> Any:
        """Run a command on the theory of this cell, or of the last one."""
        try:
            return self._run(line, cell)
        except HerbrandError as error:
            raise UsageError(f"\n{error}") from None

    def _run(self, line: str, cell: str | None) -> Any:
        words = _words(line)
        command = _command(words)
        if HELP & set(words):
            display(Pretty(_parser(command).format_help()))
            return None
        parsed = _parser(command).parse_args(words)
        given = {name: value for name, value in vars(parsed).items() if value not in (None, False)}
        into, subject = given.pop("into", None), given.pop("subject", None)
        facts = self._facts(given.pop("facts", ()))
        of_model = {name: given.pop(name) for name in OF_MODEL if name in given}
        if "header" in of_model:
            of_model["header"] = of_model["header"] == "yes"
        theory, facts, of_model = self._asked(cell, facts, of_model)
        if command in WITH_SUBJECT:
            given[WITH_SUBJECT[command]] = _one(subject or (), command)
        elif subject:
            raise UsageError(f"{command} takes options only, not '{subject[0]}'")
        with Progress() as progress:
            model = Model(theory, facts or None, progress=progress, note=_note, **of_model)
            answer = _answer(model, command, given)
        if into is not None:
            self._namespace[into] = answer
        return answer

    def _asked(
        self, cell: str | None, facts: tuple[FactSource, ...], of_model: dict[str, Any]
    ) -> tuple[Theory, tuple[FactSource, ...], dict[str, Any]]:
        """The theory and facts of a cell, which are kept; for a line those of the last cell, with the line's
        facts if it names some."""
        if cell is not None:
            self._last = (parse_theory(cell, "cell"), facts, of_model)
            return self._last
        if self._last is None:
            raise UsageError("there is no theory yet: write one in a cell that begins with %%herbrand")
        theory, before, options = self._last
        return theory, facts or before, options | of_model

    @property
    def _namespace(self) -> dict[str, Any]:
        assert self.shell is not None
        return self.shell.user_ns

    def _facts(self, given: Sequence[str]) -> tuple[FactSource, ...]:
        return tuple(source for each in given for source in fact_sources(self._fact(each)))

    def _fact(self, text: str) -> Any:
        """A variable, PREDICATE=VARIABLE, or what the command line takes."""
        name, equals, place = text.partition("=")
        if equals and place in self._namespace:
            return {name: self._namespace[place]}
        if not equals and name in self._namespace:
            value = self._namespace[name]
            whole = isinstance(value, Mapping | str | FactSource) or type(value).__name__.endswith(
                "Connection"
            )
            return value if whole else {name: value}
        self._refuse_unknown(place if equals else name)
        return {name: place} if equals else text

    def _refuse_unknown(self, name: str) -> None:
        """Raise an error for a word that names neither a variable nor a file."""
        if name.isidentifier() and not os.path.exists(name):
            visible = [known for known in self._namespace if not known.startswith("_")]
            raise FactsError(f"there is no variable and no file '{name}'", hint=nearest(name, visible))


def _answer(model: Model, command: str, given: dict[str, Any]) -> Any:
    if given.pop("lint", False):
        refuse_asked(given)
        return lint(model, **given)
    if command == "check":
        return size_report(model, **given)
    if command == "compare":
        return compare(model, given.pop("engine", ()), **given)
    heard = {"note": _note} if command in HEARD else {}
    return getattr(model, command)(**heard, **given)


def _note(text: str) -> None:
    """Show a note below the cell."""
    display(Pretty(visible_lines(text)))


def _command(words: list[str]) -> str:
    """Remove the command from the words of a line and return it; ``check`` if the line names none."""
    if not words or words[0].startswith("-"):
        return "check"
    if words[0] not in COMMANDS:
        raise UsageError(f"there is no command {words[0]!r}; there are {', '.join(COMMANDS)}")
    return words.pop(0)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{error}: a quotation that is opened is closed on the same line") from None


def _one(words: Sequence[str], command: str) -> str:
    if len(words) != 1:
        raise UsageError(f"{command} takes one text in quotes, such as '%herbrand {command} \"smokes(x)\"'")
    return words[0]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def _parser(command: str) -> argparse.ArgumentParser:
    """Parser of a command's options (those of the table) and of ``--into``."""
    parser = _Parser(f"%herbrand {command}", add_help=False, allow_abbrev=False)
    if command in (*WITH_SUBJECT, "check"):
        parser.add_argument("subject", nargs="*")
    parser.add_argument("--into", metavar="NAME", type=_variable, help="Keep the answer in a variable.")
    for option in options_of(command).values():
        taken = option.taken_by == "call" or option.name in (*OF_MODEL, "facts", "lint")
        if taken and option.name != WITH_SUBJECT.get(command):
            parser.add_argument(option.flag, dest=option.name, **_argument(option, option.kind))
    return parser


def _variable(name: str) -> str:
    if not name.isidentifier() or iskeyword(name):
        raise argparse.ArgumentTypeError(f"'{name}' is no name of a variable")
    return name


def _argument(option: Option, kind: Kind) -> dict[str, Any]:
    shown: dict[str, Any] = {"help": option.described.replace("%", "%%")}
    match kind:
        case Flag():
            return {**shown, "action": "store_true"}
        case Name(names, usage=True):
            return {**shown, "choices": names}
        case Texts():
            shown["action"] = "append"
        case Whole():
            shown["type"] = int
        case Number():
            shown["type"] = float
    return {**shown, "metavar": option.metavar or None}


@dataclass
class Progress:
    """A bar below the cell, from a second on; it disappears when the work ends.

    >>> with Progress() as progress:
    ...     progress("loading", 0.5)  # too soon for a bar
    """

    _shown: Any = None
    _next: float = 0.0

    def __enter__(self) -> Progress:
        self._next = time.monotonic() + SHOWN_AFTER
        return self

    def __call__(self, text: str, share: float) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SHOWN_EVERY
        bar = _markup(f"<progress value='{share:.3f}' max='1'></progress> {escape(text)}")
        if self._shown is None:
            self._shown = display(bar, raw=True, display_id=True)
        else:
            self._shown.update(bar, raw=True)

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.update(_markup(""), raw=True)


def _markup(html: str) -> dict[str, str]:
    """Display data for a page; a terminal, which shows plain text only, shows nothing."""
    return {"text/html": html}
