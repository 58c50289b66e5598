"""``--max-correlation``: features that repeat a better one are moved behind those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, Refusal, option

DEFAULT_KEEP = 1000
"""Features that pruning keeps before it ends: more than most lists are read to."""

_pruning = partial(option, section="Method", verbs=RANKING)


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
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
        "Number of features that --max-correlation keeps before it ends; those behind follow in "
        "their order.",
        metavar="N",
        least=1,
        default_text=str(DEFAULT_KEEP),
    )

    @property
    def kept_features(self) -> int:
        """Number of features that pruning keeps at most."""
        return DEFAULT_KEEP if self.keep is None else self.keep


def rules(config: PruningFields) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    if config.keep is not None and config.max_correlation is None:
        what = "--keep has no effect without --max-correlation"
        yield what, "leave it out, or give --max-correlation R", ("keep",)


FEATURE = Feature(
    "pruning",
    lambda config: config.max_correlation is not None,
    PruningFields,
    rules,
    orders=True,
    one_by_one=True,
)
