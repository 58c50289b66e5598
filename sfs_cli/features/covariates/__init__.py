"""``--adjust`` and ``--block``: what is taken out of the features, such as batch, age, patient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfs_cli.catalog import METHODS, TESTING, UNADJUSTED
from sfs_cli.errors import either
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import (
    ASKED,
    ON_SOURCE,
    Config,
    Refusal,
    option,
    option_fields,
    texts_of,
)
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


@option_fields
class CovariateFields(Config):
    """The options of covariates."""

    adjust: tuple[str, ...] = option(
        "Covariates of the samples whose linear effect is taken out of every feature, such as "
        "batch,age (repeatable). Text is categorical and numbers are numeric, unless a column is "
        "written COLUMN=categorical or COLUMN=numeric.",
        section="Tests",
        first=ASKED,
        verbs=(*ON_SOURCE, "compare"),
        default=(),
        metavar="FILE:COLUMNS, obs:KEYS or COLUMNS",
        column=True,
        excludes={
            "sample_weights": "covariates are taken out over all samples alike",
        },
        items=str,
        parse=texts_of,
        path=READS,
    )
    block: str | None = option(
        "Column of pairs, patients, litters or other blocks in which samples are compared: the "
        "differences between blocks are taken out of the features, and permutations stay within "
        "blocks. Samples of one donor in one class are replicates: see --donors.",
        section="Tests",
        first=ASKED,
        verbs=(*ON_SOURCE, "compare"),
        metavar="FILE:COLUMN, obs:KEY or COLUMN",
        column=True,
        groups="block",
        excludes={"sample_weights": "blocks are taken out over all samples alike"},
        path=READS,
    )


def _asked(config: RankConfig) -> bool:
    return bool(config.adjust) or config.block is not None


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    if not _asked(config):
        return
    option = "adjust" if config.adjust else "block"
    if config.scorer in UNADJUSTED:
        label_type = config.label_type
        takers = [
            name
            for name in TESTING
            if name not in UNADJUSTED and label_type in METHODS[name].label_types
        ]
        what = f"--method {config.scorer} does not take --{option}"
        hint = f"leave --{option} out, or give --method {either(takers)}, which test with it"
        yield what, hint, ("method", option)
    if config.pvalues is None:
        return
    if config.block is not None and config.pvalues == "moments":
        what = "--pvalues moments is of permutations over all samples, and not within --block"
        yield what, "give --pvalues permutation", ("pvalues", "block")


FEATURE = Feature(
    "covariates",
    _asked,
    CovariateFields,
    rules,
    orders=True,
    one_by_one=True,
    adjusts=True,
    not_in_folds="cannot take the effect of covariates or blocks out in each fold",
)
