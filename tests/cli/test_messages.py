"""What every error of the source must hold, whether or not a test provokes it."""

from __future__ import annotations

import ast
from pathlib import Path

import sfs_cli
from sfs_cli import errors

PACKAGE = Path(sfs_cli.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
KINDS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.SfsError)
}


def raised(path: Path) -> list[ast.Call]:
    """Return every place that makes an error for the user."""
    return [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS
    ]


def test_every_error_says_what_to_do():
    found = [(path, call) for path in MODULES for call in raised(path)]
    assert len(found) > 50
    silent = [
        f"{path}:{call.lineno}"
        for path, call in found
        if "hint" not in {keyword.arg for keyword in call.keywords}
    ]
    assert not silent
