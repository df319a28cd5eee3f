"""Writes the table of options into ``commands.md``, from the table that the program itself uses.

python docs/option_table.py
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from herbrand.options.kinds import Flag, Texts
from herbrand.options.table import COMMANDS, TABLE, Option

PAGE = Path(__file__).with_name("commands.md")
BEGIN, END = "<!-- options: written by docs/option_table.py -->", "<!-- end of options -->"
HEAD = "| option | commands | says | used by |\n| --- | --- | --- | --- |\n"


def with_table(page: str) -> str:
    """The page with the present options in place of those it had."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}{END}{after}"


def table() -> str:
    """A line for each name."""
    named = {option.name: [other for other in TABLE if other.name == option.name] for option in TABLE}
    return HEAD + "".join(map(_line, named.values()))


def _line(options: list[Option]) -> str:
    written = _written(options[0])

    def says(option: Option) -> str:
        """Its meaning, behind the name of its value where that is another; an example is no name."""
        other = _written(option) != written and " " not in option.metavar
        return f"`{_written(option)}`, {_says(option)}" if other else _says(option)

    commands = " ".join(name for name in COMMANDS if any(name in option.commands for option in options))
    pages = "".join(f" ([more]({option.page}))" for option in options if option.page)
    said, used_by = (_apart((option, text(option)) for option in options) for text in (says, _used_by))
    return f"| `{written}` | {commands} | {said}{pages} | {used_by} |\n"


def _apart(texts_of: Iterable[tuple[Option, str]]) -> str:
    """Describe the options of one name: the first, then others with their commands."""
    texts: dict[str, list[str]] = {}
    for option, text in texts_of:
        texts.setdefault(text, []).extend(option.commands)
    (first, _), *others = texts.items()
    with_commands = [f"{', '.join(commands)}: {text}" for text, commands in others if text]
    return "; ".join([first, *with_commands] if first else with_commands)


def _written(option: Option) -> str:
    """The option with what follows it, such as ``--resume FILE``."""
    return option.flag if isinstance(option.kind, Flag) else f"{option.flag} {_metavar(option)}"


def _metavar(option: Option) -> str:
    return option.metavar.replace("|", "/") or "NAME"


def _says(option: Option) -> str:
    text = option.described_values.rstrip(".")
    repeated = "; repeatable" if isinstance(option.kind, Texts) else ""
    default = f" (default: {option.default})" if option.default else ""
    return f"{text[0].lower()}{text[1:]}{repeated}{default}".replace("|", "\\|")


def _used_by(option: Option) -> str:
    return ", ".join(f"`{user}`" for user in option.used_by)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
