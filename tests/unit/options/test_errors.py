"""Errors about options name them, so that the line of a configuration file can be found."""

from __future__ import annotations

import ast
from pathlib import Path

import sfs_cli
from sfs_cli import errors
from sfs_cli.errors import UsageError

ABOUT_NO_OPTION = {
    "an argument is empty": "any word of the command line",
    "f'unknown command {args[0]!r}'": "the command itself",
}
"""The messages of the errors that are about no option, and what they are about."""


def test_every_usage_error_names_its_option():
    found = 0
    for path in sorted(Path(sfs_cli.__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(text if "Error(" in text else "")):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            kind = vars(errors).get(call.func.id)
            if not isinstance(kind, type) or not issubclass(kind, UsageError):
                continue
            found += 1
            what = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
            named = {k.arg for k in call.keywords}
            assert "option" in named or (what or ast.unparse(call.args[0])) in ABOUT_NO_OPTION, (
                f"{path}, line {call.lineno}: option= is missing"
            )
    assert found > 50
