"""``--batch``: the features are ranked within each batch, and the rankings aggregated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sfs_cli.catalog import ON_SOURCES
from sfs_cli.features import scales
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE, Config, Refusal, option, option_fields
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

_EACH = "one ranking of each batch is aggregated"
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
            "source": f"{_EACH}; --adjust takes the batch out of the features instead",
            "members": f"{_EACH}; --adjust takes the batch out of the features instead",
            "sample_weights": "all samples count alike",
        },
        path=READS,
    )


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the options, beyond what they declare."""
    if config.batch and config.pvalues and not scales.asked(config):
        what = "--batch has no effect with --pvalues: an aggregate of rankings has no p-values"
        yield what, "leave one of them out", ("batch", "pvalues")
    if config.batch is not None and config.method in ON_SOURCES:
        what = f"--batch has no effect with --method {config.method}"
        hint = f"give --method {config.scorer}; --adjust takes the batch out of the features"
        yield what, hint, ("batch", "method")


FEATURE = Feature(
    "batches",
    lambda config: config.batch is not None,
    BatchFields,
    rules,
    orders=True,
    one_by_one=True,
    not_in_folds="has no folds within batches",
)
