"""``--max-correlation``: features that repeat a better one are moved behind those that do not."""

from __future__ import annotations

from functools import partial

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, option, option_fields

DEFAULT_KEEP = 1000
"""Features at which pruning stops: more than most readers look at."""

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
    keep: int | None = _pruning(
        "Number of features at which --max-correlation stops; the others follow in their order.",
        metavar="N",
        least=1,
        default_text=str(DEFAULT_KEEP),
        needs=("max_correlation",),
    )

    @property
    def kept_features(self) -> int:
        """Number of features that pruning keeps at most."""
        return DEFAULT_KEEP if self.keep is None else self.keep


FEATURE = Feature(
    "pruning",
    lambda config: config.max_correlation is not None,
    PruningFields,
    orders=True,
    one_by_one=True,
)
