"""Help of commands: few options first, all of them on demand, and those of a method."""

from __future__ import annotations

import re
from collections import Counter

import click
import pytest
from click.shell_completion import ShellComplete

from sfs_cli.catalog import METHODS
from sfs_cli.cli.app import app, commands_of
from sfs_cli.options.fields import QUESTIONS, options_of
from sfs_cli.options.rank import RankConfig
from tests.running import run_here

MOST = 20
with click.Context(app, **app.context_settings) as _context:
    COMMANDS = dict(commands_of(app, _context))
SHORTENED = [
    verb
    for verb, made in COMMANDS.items()
    if sum(isinstance(each, click.Option) for each in made.params) > MOST + 1  # --help-all
]
SHOWN = {o.name: f"{o.parameter}=" if o.of else o.flag for o in options_of(RankConfig)}


def flags(made: click.Command) -> list[str]:
    """Return the long name of each option of a command, help included."""
    with click.Context(made, **app.context_settings) as ctx:
        options = [each for each in made.get_params(ctx) if isinstance(each, click.Option)]
    return [max(each.opts, key=len) for each in options]


def listed(text: str) -> Counter[str]:
    """Return the long names of the options that a help lists, and how often."""
    sections = re.findall(r"^[A-Z][\w -]*:\n((?:  .*\n?)+)", text, re.MULTILINE)
    return Counter(
        re.findall(r"^  (?:-[a-z], )?(--[a-z][a-z0-9-]*)", "".join(sections), re.MULTILINE)
    )


def helped(verb: str, capfd, *more: str) -> str:
    done = run_here([*verb.split(), *more], capfd)
    assert done.code == 0
    assert done.err == ""
    return done.out


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_lists_few_options_and_says_how_many_more(verb, capfd):
    text = helped(verb, capfd, "--help")
    shown = listed(text)
    assert shown.total() <= MOST + 2  # --help and --help-all
    assert set(shown) <= set(flags(COMMANDS[verb]))
    left = len(flags(COMMANDS[verb])) - shown.total()
    assert (verb in SHORTENED) == (left > 0)
    flat = " ".join(text.split())
    assert (f"{left} more options: sfs {verb} --help-all" in flat) == (left > 0)
    assert helped(verb, capfd, "-h") == text


@pytest.mark.parametrize("verb", SHORTENED)
def test_all_options_are_listed_once_and_completed(verb, capfd):
    everything = flags(COMMANDS[verb])
    assert listed(helped(verb, capfd, "--help-all")) == Counter(everything)
    found = ShellComplete(app, {}, "sfs", "_SFS_COMPLETE").get_completions(verb.split(), "--")
    completed = {item.value for item in found}
    assert {name for name in everything if name.startswith("--")} <= completed
    assert {"--help", "--help-all"} <= completed


@pytest.mark.parametrize(
    ("verb", "option", "begun", "words"),
    [
        ("rank", "--method", "spe", {"spec", "spearman"}),
        ("rank", "--method", "spec,ranking=phi", set()),
        ("compare", "--method", "mrsf", {"mrsf", "mrsf-rounds"}),
        ("rank", "--missing", "", {"error", "drop", "mean"}),
    ],
)
def test_names_are_completed_and_parameters_are_not(verb, option, begun, words):
    found = ShellComplete(app, {}, "sfs", "_SFS_COMPLETE").get_completions(
        [verb, "x.csv", "--seed", "1", "--seed", "2", option], begun
    )
    assert {item.value for item in found} == words


def test_the_first_options_are_by_questions_and_answer_what_users_ask(capfd):
    text = helped("rank", capfd, "--help")
    headings = re.findall(r"^([A-Z][\w ]+):$", text, re.MULTILINE)
    assert headings == [*QUESTIONS, "Help"]
    wanted = "labels method transform similarity source pvalues sets top out config help-all"
    assert {f"--{name}" for name in wanted.split()} <= set(listed(text))


def parameters(text: str) -> set[str]:
    """Return the parameters that a help lists, each with its sign."""
    return set(re.findall(r"^  ([a-z][a-z-]*=)", text, re.MULTILINE))


@pytest.mark.parametrize("method", METHODS)
def test_options_of_a_method_are_described_with_it(method, capfd):
    own = {SHOWN[name] for name in METHODS[method].options}
    described, _, options = helped("methods", capfd, method).partition("options that it takes:\n")
    assert own <= parameters(described) | set(listed("Options:\n" + options))
