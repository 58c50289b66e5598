"""``--pvalues`` and ``--split``: p-values of scores, and a sample graph of other data for them.

The p-values of methods that compare classes are checked in the same way.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import (
    RANKING,
    SURE,
    Config,
    option,
    option_fields,
)

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 10, 1_000_000
DEFAULT_PERMUTATIONS = 1000
ABLE = catalog.WITH_PVALUES
"""Methods that ``--pvalues`` is for."""

_method = partial(option, section="Tests", verbs=RANKING)


@option_fields
class SignificanceFields(Config):
    """The options of p-values."""

    pvalues: str | None = _method(
        "Add p-values, q-values and effects. The null distribution is that of the moments of all "
        "permutations of the samples, or some of these permutations.",
        words=("moments", "permutation"),
        takers=lambda _: ABLE,
        taken_by="method",
        first=SURE,
        by_verb={"evaluate": {"first": ""}},  # lists are judged there
    )
    permutation_draws: int | None = _method(
        "Number of permutations.",
        of="pvalues",
        word="draws",
        metavar="B",
        least=FEWEST_PERMUTATIONS,
        most=MOST_PERMUTATIONS,
        default_text=str(DEFAULT_PERMUTATIONS),
        needs=("pvalues=permutation",),
    )
    split: str | None = _method(
        "Test on a graph built from other data: the other half of the features, or one of two "
        "random parts of every count (count thinning).",
        words=("features", "counts"),
        takers=lambda _: catalog.SPLIT,
        taken_by="method",
        needs=("pvalues",),
        excludes={
            "stability": "subsets are ranked by scores, not by p-values",
            "source": "the sources make the sample graph",
        },
    )

    @property
    def permutations(self) -> int:
        """Number of permutations that are asked for; 0 without ``--pvalues permutation``."""
        if self.pvalues != "permutation":
            return 0
        return self.permutation_draws or DEFAULT_PERMUTATIONS


def tests(config: RankConfig) -> bool:
    """Tell whether the features are tested: by ``--pvalues``, or by the method itself."""
    return config.pvalues is not None or config.scorer in catalog.TESTING


def _asked(config: RankConfig) -> bool:
    return tests(config) or config.how == "rra"  # which has p-values, too


FEATURE = Feature("significance", _asked, SignificanceFields)
