"""``--adjust``: covariates of the samples whose effect is taken out of the features."""

from __future__ import annotations

from dataclasses import dataclass

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE_ON_SOURCE, Config, option, texts_of
from sfs_cli.options.paths import READS


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
            "pvalues": "its null distribution does not hold for adjusted features",
            "sample_weights": "covariates are taken out over all samples alike",
        },
        items=str,
        parse=texts_of,
        path=READS,
    )


FEATURE = Feature(
    "covariates",
    lambda config: bool(config.adjust),
    CovariateFields,
    orders=True,
    one_by_one=True,
    adjusts=True,
    against={
        "artificial": "cannot shuffle adjusted values",
        "cv": "cannot adjust in folds",
    },
    untested="covariates are taken out of the features and not out of the classes; f-test with "
    "--label-type ordered takes them out of both, and for two classes it is the same test",
)
