"""``members=``: the rankings of several methods, aggregated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfs_cli import catalog
from sfs_cli.catalog import METHODS
from sfs_cli.errors import UsageError
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import Refusal
from sfs_cli.options.grammar import names_of, read

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


def member_configs(config: RankConfig, methods: Sequence[str], **without: Any) -> list[RankConfig]:
    """Return the configuration of each of several methods: with the options that it takes.

    A method is a text with its own parameters. `without` are options that none of them has, with
    their defaults.
    """
    configs = []
    for method in methods:
        name, own = read(type(config), "method", method)
        others = {*catalog.OPTIONS} - {*METHODS[name].options}
        changes: dict[str, Any] = dict.fromkeys(others)
        changes |= {"members": (), "also": (), "source": ()}  # and what has no effect without them
        changes |= without | own  # members are ranked by their scores
        try:
            configs.append(replace(config, method=name, **changes))
        except UsageError as error:
            error.options += ("members",) if own else ()  # where a file has them
            raise
    return configs


def member_names(members: Sequence[str]) -> list[str]:
    """Return what members are called: their methods, with parameters where others have the same."""
    names = names_of(members)
    return [name if names.count(name) == 1 else text for name, text in zip(names, members)]


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the members; each checks the options that it takes."""
    made = [(each.ranker, each.method_options()) for each in member_configs(config, config.members)]
    if twice := [text for text, each in zip(config.members, made) if made.count(each) > 1]:
        what = f"members= of --method kogs rank twice in the same way: {', '.join(twice)}"
        hint = "leave one out, or give it other parameters: members: [{name: spec, ranking: phi1}]"
        yield what, f"{hint} in a file of options", ("members", "method")


FEATURE = Feature(
    "members",
    lambda config: bool(config.members),
    rules=rules,
    orders=True,
)
