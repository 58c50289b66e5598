"""``--moderate``: variances of features that borrow strength from those of all features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, option, option_fields

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig
    from sfs_cli.run.cohort import Cohort

METHODS = ("f-test", "t-test")
"""Methods whose variances can be moderated."""
FEW = 10
"""Residual degrees of freedom up to which variances are moderated by default."""


@option_fields
class ModerationFields(Config):
    """The option of moderated variances."""

    moderate: str = option(
        "Moderated variances (empirical Bayes, as in limma): the residual variance of each feature "
        "is shrunk towards that of all features (yes), or towards the trend of variance and "
        f"mean (trend). By default where the residual degrees of freedom are {FEW} or fewer and "
        "samples are not ranked in batches, and with --voom.",
        section="Tests",
        verbs=RANKING,
        metavar="[auto|yes|trend|no]",
        default="auto",
        words=("auto", "yes", "trend", "no"),
        takers=lambda _: METHODS,
        taken_by="method",
        excludes={"sample_weights": "weighted samples have no degrees of freedom"},
    )


def _resolve(config: RankConfig, cohort: Cohort) -> RankConfig:
    """Return a configuration that says whether variances are moderated for these samples."""
    if config.moderate != "auto" or config.scorer not in METHODS or cohort.weights is not None:
        return config
    freedom = None if cohort.parts else cohort.freedom
    few = config.voom or (freedom is not None and 0 < freedom <= FEW)
    return replace(config, moderate="yes" if few else "no")


FEATURE = Feature(
    "moderation",
    lambda config: config.scorer in METHODS and config.moderate not in ("auto", "no"),
    ModerationFields,
    orders=True,
    one_by_one=True,
    resolve=_resolve,
)
