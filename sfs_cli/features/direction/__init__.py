"""``--signed``: the sign of the metric of ``--format rnk``, between two classes."""

from __future__ import annotations

from dataclasses import dataclass

from sfs_cli import catalog
from sfs_cli.options.fields import Config, option


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class DirectionFields(Config):
    """The option of the sign."""

    signed: bool = option(
        f"With --format rnk, two classes and {', '.join(catalog.SIGNED)}: give the metric the sign "
        "of the difference between the means of the classes.",
        section="Output",
        verbs=("rank", "shard init"),
        default=True,
    )
