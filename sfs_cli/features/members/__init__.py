"""``members=``: the rankings of several methods, aggregated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfs_cli import catalog
from sfs_cli.catalog import METHODS
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import Refusal

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


def member_configs(config: RankConfig, names: Sequence[str], **without: Any) -> list[RankConfig]:
    """Return the configuration of each of several methods: with the options that it takes.

    `without` are options that none of them has, with their defaults.
    """
    configs = []
    for name in names:
        others = {*catalog.OPTIONS} - {*METHODS[name].options}
        changes: dict[str, Any] = dict.fromkeys(others)
        changes |= {"members": (), "also": (), "source": ()}  # and what has no effect without them
        changes |= without  # members are ranked by their scores
        configs.append(replace(config, method=name, **changes))
    return configs


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield nothing: each member checks the options that it takes."""
    member_configs(config, config.members)
    yield from ()


FEATURE = Feature(
    "members",
    lambda config: bool(config.members),
    rules=rules,
    orders=True,
)
