"""``--given``: features that are already chosen, from which the ranking starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, option, option_fields
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

_ABLE = ", ".join(catalog.GOING_ON)


@option_fields
class GivenFields(Config):
    """The option of the features that are already chosen."""

    given_: str | None = option(
        f"List of features that are already chosen: the methods {_ABLE} and --max-correlation "
        "start from them.",
        section="Method",
        verbs=RANKING,
        metavar="FILE",
        path=READS,
    )


def can_start(config: RankConfig, *methods: str) -> bool:
    """Tell whether methods start from the given features, or pruning does, where there are some."""
    starting = config.max_correlation is not None or {*methods} <= {*catalog.GOING_ON}
    return config.given_ is None or starting


FEATURE = Feature(
    "given",
    lambda config: config.given_ is not None,
    GivenFields,
    orders=True,
)
