"""``--max-correlation``: features that repeat a better one are moved behind those that do not."""

from __future__ import annotations

from functools import partial

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, option, option_fields

_pruning = partial(option, section="Method", verbs=RANKING)


@option_fields
class PruningFields(Config):
    """The options of pruning."""

    max_correlation: float | None = _pruning(
        "Prune the ranking: a feature whose absolute Pearson correlation with a better one is "
        "above R moves behind those that are kept.",
        metavar="R",
        above=0,
        below=1,
    )


FEATURE = Feature(
    "pruning",
    lambda config: config.max_correlation is not None,
    PruningFields,
    orders=True,
    one_by_one=True,
)
