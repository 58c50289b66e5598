"""Data flows one way: no room imports one that is further down the stream.

The rules are the tables. A room is a folder of the package, or a module beside them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import sfs_cli
from tests.places import ROOT

pytestmark = pytest.mark.any_python

PACKAGE = Path(sfs_cli.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

RUN = (
    *("errors", "display", "logs", "catalog", "options", "tables", "provenance", "io", "store"),
    *("graph", "methods", "ranking", "compute", "report.model", "knowledge"),
)
MAY_IMPORT = {
    "__init__": ("api", "errors", "options"),  # for type checkers alone
    "__main__": ("cli",),
    "errors": (),
    "display": (),
    "logs": ("errors", "display"),
    "tables": ("catalog",),
    "catalog": ("ranking.aggregations",),
    "options": ("errors", "logs", "catalog", "ranking.aggregations", "tables"),
    "provenance": ("display", "io.files"),
    "compute": ("errors", "logs"),
    "io": (
        "errors",
        "display",
        "tables",
        "ranking",
        "compute.limits",
        "compute.matrix",
    ),
    "store": (
        "errors",
        "io.matrix.base",
        "io.files.atomic",
        "io.files.names",
        "io.files.sniff",
        "io.files.text",
        "compute.engine",
        "compute.limits",
        "compute.matrix",
    ),
    "graph": ("errors", "logs", "options", "compute"),
    "methods": (
        "errors",
        "graph",
        "compute",
        "ranking",
    ),
    "ranking": ("errors",),
    "evaluation": ("errors", "ranking"),
    "knowledge": ("errors", "logs", "options", "graph", "compute", "store", "io"),
    "report": ("errors", "display"),
    "run": RUN,
    "parts": (*RUN, "evaluation", "run"),
    "workflow": (*RUN, "evaluation", "report", "run", "parts"),
    "cli": ("errors", "display", "logs", "options", "run", "workflow"),
    "sklearn": (
        "api",
        "arguments",
        "errors",
        "catalog",
        "options",
        "io.matrix.memory",
        "io.matrix.stored",
    ),
    "arguments": ("errors", "options", "io", "run.inputs"),
    "api": (
        "arguments",
        "errors",
        "logs",
        "provenance",
        "options",
        "io",
        "store.ids",
        "graph",
        "ranking",
        "evaluation.measures",
        "run",
        "workflow",
    ),
}
"""What of ours each room may import besides itself: rooms, or single modules of them."""

FILES_AND_SCREENS = ("os", "io", "pathlib", "shutil", "tempfile", "subprocess", "click", "rich")
TABLES_AND_FORMATS = ("pandas", "pyarrow", "anndata", "h5py", "zarr", "jinja2")
MAY_NOT_IMPORT = {
    "errors": (*FILES_AND_SCREENS, *TABLES_AND_FORMATS, "numpy", "scipy"),
    "graph": (*FILES_AND_SCREENS, *TABLES_AND_FORMATS),
    "methods": (*FILES_AND_SCREENS, *TABLES_AND_FORMATS),
    "ranking": (*FILES_AND_SCREENS, *TABLES_AND_FORMATS),
    "evaluation": (*FILES_AND_SCREENS, *TABLES_AND_FORMATS),
    "compute": ("click", "rich", *TABLES_AND_FORMATS),
    "io": ("click", "rich", "jinja2"),
    "store": ("click", "rich", "jinja2", "pandas", "anndata"),
    "knowledge": ("click", "rich", "jinja2", "pandas", "anndata"),
    "report": ("click", "rich", "scipy", "pandas", "pyarrow", "anndata", "h5py"),
    **dict.fromkeys(("run", "parts", "workflow"), ("click", "rich", "jinja2")),
    "cli": ("numpy", "scipy", "rich", *TABLES_AND_FORMATS),
    **dict.fromkeys(("api", "arguments"), ("click", "rich", "jinja2", "pyarrow", "h5py", "zarr")),
    "sklearn": (*FILES_AND_SCREENS, *TABLES_AND_FORMATS),
}
"""What of others each room may not import: arrays in, arrays out where the mathematics is."""

AT_START = (
    "click",
    "sfs_cli.cli",
    "sfs_cli.options",
    "sfs_cli.errors",
    "sfs_cli.display",
    "sfs_cli.options.graph",
    "sfs_cli.logs",
)
"""What the command line imports outside functions, besides the standard library."""
HEAVY = ("numpy", "scipy", "pandas", "anndata", "pyarrow", "sklearn", "rich", "jinja2")


class Import(NamedTuple):
    """An import of a module by another, anywhere in it."""

    source: str
    target: str
    line: int
    in_function: bool
    for_types: bool


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    inner = len(parts) > 2 and parts[-1] == "__init__"
    return ".".join(parts[:-1] if inner else parts)


MODULES = {module_of(path): path for path in FILES}


def targets_of(node: ast.AST) -> list[str]:
    """Return the modules an import names; a name that is no module of ours counts for its home."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert isinstance(node, ast.ImportFrom)
    assert node.level == 0, "imports are absolute"
    home = str(node.module)
    inside = [f"{home}.{alias.name}" for alias in node.names]
    return sorted({name if name in MODULES else home for name in inside})


def imports() -> Iterator[Import]:
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node, late, never in statements(tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for target in targets_of(node):
                    yield Import(module, target, node.lineno, late, never)


def statements(
    body: list[ast.stmt], late: bool = False, never: bool = False
) -> Iterator[tuple[ast.stmt, bool, bool]]:
    """Yield every statement: whether it is in a function, and in a branch for type checkers."""
    for node in body:
        yield node, late, never
        within = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, name, []), within, never or for_types)


IMPORTS = list(imports())


def room_of(module: str) -> str:
    """Return the folder or module of the package that a module of ours is in."""
    return module.split(".")[1] if "." in module else "__init__"


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "sfs_cli"


def may(found: Import) -> bool:
    room, target = room_of(found.source), found.target.removeprefix("sfs_cli.")
    allowed = (room, *MAY_IMPORT[room])
    return any(target == name or target.startswith(f"{name}.") for name in allowed)


def told(found: list[Import]) -> str:
    lines = [f"{i.source}:{i.line} imports {i.target}" for i in found]
    return "arrows that point upstream:\n" + "\n".join(lines)


def test_every_room_has_its_rule():
    rooms = {room_of(module) for module in MODULES}
    assert rooms <= set(MAY_IMPORT), f"say what {rooms - set(MAY_IMPORT)} may import"


def test_no_arrow_points_upstream():
    wrong = [i for i in IMPORTS if is_ours(i.target) and not may(i)]
    assert not wrong, told(wrong)


def test_rooms_import_no_library_that_belongs_elsewhere():
    wrong = [
        i for i in IMPORTS if i.target.split(".")[0] in MAY_NOT_IMPORT.get(room_of(i.source), ())
    ]
    assert not wrong, told(wrong)


def test_rooms_do_not_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for found in IMPORTS:
        if is_ours(found.target) and found.target != "sfs_cli":
            source, target = room_of(found.source), room_of(found.target)
            graph.setdefault(source, set()).update({target} - {source})
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


def test_files_do_not_import_each_other_in_a_circle():
    graph = {module: set() for module in MODULES}
    for found in IMPORTS:
        if is_ours(found.target) and not found.for_types:
            graph[found.source].add(found.target)
    list(TopologicalSorter(graph).static_order())


def test_the_command_line_imports_the_work_only_when_it_is_called():
    early = [i for i in IMPORTS if room_of(i.source) == "cli" and not i.in_function]
    wrong = [
        i
        for i in early
        if not any(i.target == name or i.target.startswith(f"{name}.") for name in AT_START)
        and i.target.split(".")[0] not in sys.stdlib_module_names
    ]
    assert not wrong, told(wrong)


@pytest.mark.parametrize("module", ["sfs_cli", "sfs_cli.cli.app", "sfs_cli.options"])
def test_importing_loads_nothing_heavy(module):
    script = f"import sys, {module}; print(*[m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_the_public_names_are_there():
    for name in sfs_cli.__all__:
        assert getattr(sfs_cli, name) is not None
    assert sfs_cli.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="no attribute 'rnak'"):
        sfs_cli.rnak  # noqa: B018


def test_no_generator_is_shared_by_tests():
    """What one test draws must not depend on which others drew before it."""
    found = [
        f"{path}:{node.lineno}"
        for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "tools").rglob("*.py")])
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith(("default_rng", "RandomState", "Random"))
    ]
    assert not found, "take the fixture `rng`, or a constant that is drawn at once"
