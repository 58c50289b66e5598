"""Errors about options name them, so that the line of a configuration file can be found."""

from __future__ import annotations

import ast

import pytest

from sfs_cli import errors
from sfs_cli.errors import UsageError
from tests.cli.test_messages import MODULES, PACKAGE, raised

ABOUT_NO_OPTION = {
    "an argument is empty": "any word of the command line",
    "f'unknown command {args[0]!r}'": "the command itself",
}
"""The messages of the errors that are about no option, and what they are about."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_usage_error_names_its_option(path):
    for call in raised(path):
        if issubclass(vars(errors)[call.func.id], UsageError):
            what = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
            named = {k.arg for k in call.keywords}
            assert "option" in named or (what or ast.unparse(call.args[0])) in ABOUT_NO_OPTION, (
                f"{path}, line {call.lineno}: option= is missing"
            )
