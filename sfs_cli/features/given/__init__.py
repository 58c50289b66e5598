"""``--given``: features that are already chosen, from which the ranking starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, option, option_fields
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


@option_fields
class GivenFields(Config):
    """The option of the features that are already chosen."""

    given_: str | None = option(
        "List of features that are already chosen, from which the ranking starts; "
        "--max-correlation starts from them with every method.",
        section="Method",
        verbs=RANKING,
        metavar="FILE",
        path=READS,
        takers=lambda _: catalog.GOING_ON,  # `can_start` says when it has no effect
    )


def can_start(config: RankConfig, method: str) -> bool:
    """Tell whether a method starts from the given features, or pruning does, if there are some."""
    pruning = config.max_correlation is not None
    return config.given_ is None or pruning or method in catalog.GOING_ON


FEATURE = Feature(
    "given",
    lambda config: config.given_ is not None,
    GivenFields,
    orders=True,
)
