"""The house as drawn in docs/architecture.md: imports point one way, nothing prints but the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "herbrand"

FLOORS = [
    "visible loops graphs quick_values deep_calls background",
    "errors compiler",
    "extras",
    "files row_keys",
    "options",
    "budget",
    "arrays relations",
    "language contraction tensor_files",
    "facts adam",
    "program",
    "factors",
    "answers",
    "engines",
    "induction",
    "nn tasks",
    "learning",
    "scale",
    "model",
    "reports",
    "editing estimator notebook",
    "__init__",
    "serving",
    "cli",
    "__main__",
]
"""From the ground up; a room imports from its own floor's room or from floors below."""

FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}

LAZY = {
    *("polars", "pandas", "pyarrow.compute", "pyarrow.csv", "pyarrow.parquet", "scipy.sparse", "gymnasium"),
    *("sklearn.utils", "numba", "pyspark.sql", "pyspark.sql.pandas.types"),
    *("rich.console", "rich.markup", "rich.progress", "rich.table"),
}
"""Heavy or optional packages that a function may import for itself."""


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


Import = ast.Import | ast.ImportFrom


@cache
def import_statements(path: Path) -> list[tuple[Import, bool]]:
    """Those that run, and whether each stands inside a function. Only statements are walked, and once:
    nothing else can hold an import."""
    found: list[tuple[Import, bool]] = []

    def walk(parts: Iterable[ast.AST], inside: bool) -> None:
        for part in parts:
            if isinstance(part, Import):
                found.append((part, inside))
            elif isinstance(part, ast.If) and getattr(part.test, "id", "") == "TYPE_CHECKING":
                walk(part.orelse, inside)
            elif isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case):
                function = isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
                walk(ast.iter_child_nodes(part), inside or function)

    walk(parsed(path).body, False)
    return found


def imports(path: Path, inside_functions: bool | None = None) -> set[str]:
    """Modules that a file imports when it runs; those for type checking only do not count."""
    names: set[str] = set()
    for node, inside in import_statements(path):
        if inside_functions is not None and inside != inside_functions:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.module:
            names |= {
                f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in MODULES else node.module
                for alias in node.names
            }
    return names


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def points_down(module: str, imported: str) -> bool:
    here, there = room(module), room(imported)
    return here == there or FLOOR_OF[there] < FLOOR_OF[here]


def test_imports_point_down() -> None:
    own = [
        (module, imported)
        for module, path in MODULES.items()
        for imported in imports(path)
        if imported.startswith("herbrand")
    ]
    assert not [pair for pair in own if not points_down(*pair)], "pairs: the first imports the second"


def test_no_circles() -> None:
    graph = {m: {i for i in imports(path) if i in MODULES and i != m} for m, path in MODULES.items()}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " -> ".join((*above[above.index(module) :], module))
        if module in done:
            return
        for imported in sorted(graph[module]):
            visit(imported, (*above, module))
        done.add(module)

    for module in graph:
        visit(module, ())


def test_no_hidden_imports() -> None:
    hidden = {module: imports(path, inside_functions=True) - set(LAZY) for module, path in MODULES.items()}
    assert not {module: names for module, names in hidden.items() if names}


def test_loops_alone_are_compiled() -> None:
    """What numba compiles elsewhere would not be kept under its sources, nor run without it where small."""
    found = {module: {"numba", "herbrand.compiler"} & imports(path) for module, path in MODULES.items()}
    assert {module for module, names in found.items() if names} == {"herbrand.compiler"}


def prints(path: Path) -> bool:
    calls = (node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == "print" for called in calls)


def test_only_the_command_line_prints() -> None:
    assert not [module for module, path in MODULES.items() if room(module) != "cli" and prints(path)]


def test_modules_are_named_for_what_they_own() -> None:
    assert not [m for m in MODULES if {"utils", "helpers", "common", "misc"} & set(m.split("."))]


def test_modules_say_what_they_own() -> None:
    assert not [module for module, path in MODULES.items() if not ast.get_docstring(parsed(path))]


def test_every_room_has_a_floor() -> None:
    assert {room(module) for module in MODULES} <= set(FLOOR_OF)
