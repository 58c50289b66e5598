"""The reference has every option; declarations, flags and files say the same."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from sfs_cli import catalog
from sfs_cli.cli.app import VERBS, app, commands_of
from sfs_cli.methods.l21.rounds import SELECT
from sfs_cli.options import RankConfig
from sfs_cli.options.aggregate import AggregateConfig
from sfs_cli.options.compare import CompareConfig
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.options.fields import SECTIONS, default_of, matches, options_of
from sfs_cli.options.files import RANK_KEYS
from sfs_cli.options.graph import GRAPH_FIELDS, GRAPHS
from sfs_cli.options.report import ReportConfig
from sfs_cli.options.select import SelectConfig
from sfs_cli.options.source import KINDS, OPTIONS, SOURCE_OPTIONS
from sfs_cli.options.weightings import WEIGHTINGS, own_name
from sfs_cli.tables import FILES

with click.Context(app) as _context:
    COMMANDS = dict(commands_of(app, _context))


def test_the_reference_has_every_option():
    page = CliRunner().invoke(app, ["config", "reference"]).output
    for command in COMMANDS.values():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.opts[-1] in page, parameter.name
    for name in (*(o.key for o in SOURCE_OPTIONS.values()), *KINDS, *GRAPHS, *catalog.METHODS):
        assert f"`{name}`" in page, name


CONFIGS = (
    RankConfig,
    AggregateConfig,
    EvaluateConfig,
    CompareConfig,
    SelectConfig,
    ReportConfig,
)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_option_is_of_a_section_and_of_commands_that_exist(config):
    for option in options_of(config):
        assert option.section in SECTIONS
        assert set(option.verbs) <= set(COMMANDS), option.name
        assert option.help.endswith("."), option.name


def test_commands_have_the_options_that_are_declared_for_them():
    assert {name.split()[0] for name in COMMANDS} == set(VERBS)
    for config in CONFIGS:
        for option in options_of(config):
            for verb in option.verbs:
                known = [parameter.name for parameter in COMMANDS[verb].params]
                assert option.name in known, (verb, option.name)


def test_help_of_a_command_names_its_own_files_and_options():
    """What commands share is described for each: none is sent to what it has not."""
    for verb, command in COMMANDS.items():
        texts = {str(p.name): str(getattr(p, "help", None) or "") for p in command.params}
        flags = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)}
        if "report" in texts.get("out", ""):
            assert verb in FILES["report.html"].verbs
        if verb in ("select", "report", "evaluate", "compare", "fuse"):
            assert "--executor" not in texts["threads"]
            assert "--executor" not in flags


def test_defaults_are_values_that_the_options_take():
    own = [o for config in CONFIGS[1:] for o in options_of(config)]
    for option in own:
        assert option.problem(option.default, option.flag) is None
    for method in catalog.METHODS.values():
        for name, words in method.choices.items():
            assert matches(str(method.options[name]), words), (method.name, name)


def test_tables_name_options_that_are_declared():
    declared = {option.name for option in options_of(RankConfig)}
    assert set(catalog.OPTIONS) <= declared
    assert {name for graph in GRAPHS.values() for name in graph.takes} == set(GRAPH_FIELDS)
    assert {name for kind in KINDS.values() for name in kind.takes} == set(OPTIONS)
    own = {own_name(name) for name in declared if name.startswith("fusion_")}
    assert own <= {name for entry in WEIGHTINGS.values() for name in entry.options}


def test_the_default_of_select_is_that_of_the_methods() -> None:
    of_methods = {
        m.name: m.options["select"] for m in catalog.METHODS.values() if "select" in m.options
    }
    assert of_methods.pop("mrsf-rounds") is None
    (common,) = set(of_methods.values())
    text = default_of(RANK_KEYS["select"])
    assert text == f"{common}; mrsf-rounds: {SELECT}, of few features half of them"
