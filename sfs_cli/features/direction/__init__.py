"""``--signed``: the sign of the metric of ``--format rnk``, by two classes or along labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import Config, Refusal, option, option_fields

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


@option_fields
class DirectionFields(Config):
    """The option of the sign."""

    signed: bool = option(
        f"With --format rnk and {', '.join(catalog.SIGNED)}: give the metric the sign of the "
        "difference between two classes, or of the slope along numeric labels.",
        section="Output",
        verbs=("rank", "shard init"),
        default=True,
    )


def asked(config: RankConfig) -> bool:
    """Tell whether the metric has a sign, where there are two classes."""
    return config.format == "rnk" and config.signed and config.method in catalog.SIGNED


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    if not config.signed and not (config.format == "rnk" and config.method in catalog.SIGNED):
        what = f"--no-signed has no effect with --method {config.ranker} --format {config.format}"
        hint = f"leave it out; it is for --format rnk and --method {', '.join(catalog.SIGNED)}"
        yield what, hint, ("signed", "format", "method")


FEATURE = Feature("direction", asked, DirectionFields, rules)
