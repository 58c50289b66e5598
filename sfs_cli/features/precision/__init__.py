"""``--voom``: precision weights of counts, for the F-test and the t-test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.features.moderation import METHODS
from sfs_cli.options.fields import RANKING, Config, Refusal, option, option_fields

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig
    from sfs_cli.run.cohort import Cohort

TRANSFORMS = ("log2cpm:tmm", "log2cpm", "log2cpm:ratios")
"""Transformations that weights go with: by their library sizes. The first is the default."""


@option_fields
class PrecisionFields(Config):
    """The option of precision weights."""

    voom: bool = option(
        "Test raw counts by linear models of their log2 counts per million, in which each count "
        "has the weight that the trend of variance and mean gives it (voom of limma). It takes "
        f"the library sizes of --transform {', '.join(TRANSFORMS[1:])}, or else {TRANSFORMS[0]}, "
        "and moderates variances unless --moderate says otherwise.",
        section="Tests",
        verbs=RANKING,
        default=False,
        takers=lambda _: METHODS,
        taken_by="method",
        excludes={
            "source": "weights are of the counts of the matrix",
            "members": "each of them ranks the values of --transform",
            "batch": "one trend of all samples gives the weights",
            "sample_weights": "each count has a weight of its own",
        },
    )


def _rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the transformation."""
    if config.voom and config.transform is not None and config.transform not in TRANSFORMS:
        what = "--voom takes the logarithms of raw counts itself, and does not go with --transform "
        what += config.transform
        hint = f"leave --transform out, or choose the library sizes by it: {', '.join(TRANSFORMS)}"
        yield what, hint, ("transform", "voom")


def _resolve(config: RankConfig, _cohort: Cohort) -> RankConfig:
    """Return a configuration with the transformation whose library sizes are used."""
    if not config.voom or config.transform is not None:
        return config
    return replace(config, transform=TRANSFORMS[0])


FEATURE = Feature(
    "precision",
    lambda config: config.voom,
    PrecisionFields,
    _rules,
    orders=True,
    one_by_one=True,
    resolve=_resolve,
)
