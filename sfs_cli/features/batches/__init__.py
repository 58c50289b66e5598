"""``--batch``: the features are ranked within each batch, and the rankings aggregated."""

from __future__ import annotations

from functools import partial

from sfs_cli.catalog import ON_SOURCES
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE, Config, option, option_fields
from sfs_cli.options.paths import READS

_EACH = (
    "one ranking of each batch is aggregated; --adjust takes the batch out of the features instead"
)
_batches = partial(option, section="Input", verbs=WHOLE)


@option_fields
class BatchFields(Config):
    """The options of batches."""

    batch: str | None = _batches(
        "Rank within each batch, and aggregate the rankings; with --spatial or --scales the "
        "p-values of the batches, which are slides there, are combined (Fisher).",
        metavar="FILE:COLUMN, obs:KEY or COLUMN",
        column=True,
        groups="batch",
        excludes={
            **dict.fromkeys(("source", *(f"method={name}" for name in ON_SOURCES)), _EACH),
            "sample_weights": "all samples count alike",
        },
        path=READS,
    )


FEATURE = Feature(
    "batches",
    lambda config: config.batch is not None,
    BatchFields,
    orders=True,
    one_by_one=True,
    not_in_folds="has no folds within batches",
)
