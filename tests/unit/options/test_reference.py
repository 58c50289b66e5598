"""The reference has every option; declarations, flags and files say the same."""

from __future__ import annotations

import click

from sfs_cli import catalog
from sfs_cli.cli.app import app, commands_of
from sfs_cli.methods.l21.rounds import SELECT
from sfs_cli.options.fields import default_of
from sfs_cli.options.files import RANK_KEYS
from sfs_cli.options.graph import GRAPHS
from sfs_cli.options.source import KINDS, SOURCE_OPTIONS
from tests.places import ROOT

with click.Context(app) as _context:
    COMMANDS = dict(commands_of(app, _context))


def test_the_reference_has_every_option():
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    for command in COMMANDS.values():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.opts[-1] in page, parameter.name
    for name in (*(o.key for o in SOURCE_OPTIONS.values()), *KINDS, *GRAPHS, *catalog.METHODS):
        assert f"`{name}`" in page, name


def test_the_default_of_select_is_that_of_the_methods() -> None:
    of_methods = {
        m.name: m.options["select"] for m in catalog.METHODS.values() if "select" in m.options
    }
    assert of_methods.pop("mrsf-rounds") is of_methods.pop("greedy-ridge") is None
    (common,) = set(of_methods.values())
    text = default_of(RANK_KEYS["select"])
    assert text == f"{common}; mrsf-rounds, greedy-ridge: {SELECT}, of few features half of them"
