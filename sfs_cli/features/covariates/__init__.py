"""``--adjust``: covariates of the samples whose effect is taken out of the features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfs_cli.catalog import PERMUTED
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE_ON_SOURCE, Config, Refusal, option, texts_of
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class CovariateFields(Config):
    """The option of covariates."""

    adjust: tuple[str, ...] = option(
        "Covariates of the samples whose linear effect is taken out of every feature, such as "
        "batch,age (repeatable). Text is categorical and numbers are numeric, unless a column is "
        "written COLUMN=categorical or COLUMN=numeric.",
        section="Input",
        verbs=WHOLE_ON_SOURCE,
        default=(),
        metavar="FILE:COLUMNS or obs:KEYS",
        column=True,
        excludes={
            "sample_weights": "covariates are taken out over all samples alike",
        },
        items=str,
        parse=texts_of,
        path=READS,
    )


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    if config.adjust and config.pvalues is not None and config.ranker in PERMUTED:
        what = f"--pvalues of --method {config.ranker} has no null distribution with --adjust"
        yield what, "leave one of them out, or test by f-test", ("pvalues", "adjust")


FEATURE = Feature(
    "covariates",
    lambda config: bool(config.adjust),
    CovariateFields,
    rules,
    orders=True,
    one_by_one=True,
    adjusts=True,
    against={
        "artificial": "cannot shuffle adjusted values",
        "cv": "cannot adjust in folds",
    },
)
