"""``--given``: features that are already chosen, from which the ranking starts."""

from __future__ import annotations

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, option, option_fields
from sfs_cli.options.paths import READS

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


FEATURE = Feature(
    "given",
    lambda config: config.given_ is not None,
    GivenFields,
    orders=True,
    suits=lambda config, method: (
        not (
            config.given_ and config.max_correlation is None and method.name not in catalog.GOING_ON
        )
    ),
)
