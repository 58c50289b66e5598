"""``--batch``: the features are ranked within each batch, and the rankings aggregated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sfs_cli.catalog import ON_SOURCES
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE, Config, Refusal, flag, option
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

DEFAULT_SIZE = 10
"""Samples of the smallest batch that is ranked: of fewer, rankings are mostly noise."""

_batches = partial(option, section="Input", verbs=WHOLE)


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class BatchFields(Config):
    """The options of batches."""

    batch: str | None = _batches(
        "Rank within each batch, and aggregate the rankings.",
        metavar="FILE:COLUMN or obs:KEY",
        column=True,
        groups="batch",
        path=READS,
    )
    min_batch_size: int | None = _batches(
        "Leave out batches of fewer samples.",
        metavar="N",
        least=4,
        default_text=str(DEFAULT_SIZE),
    )

    @property
    def smallest_batch(self) -> int:
        """Samples of the smallest batch that is ranked."""
        return DEFAULT_SIZE if self.min_batch_size is None else self.min_batch_size


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    if config.batch is None:
        if config.min_batch_size is not None:
            what = "--min-batch-size has no effect without --batch"
            yield what, "leave it out, or give --batch FILE:COLUMN", ("min_batch_size",)
        return
    together = "--adjust takes the batch out of the features, which goes with all sources"
    for name in config.given("source", "members"):
        what = f"{flag(name)} has no effect within batches: --batch aggregates one ranking of each"
        yield what, f"leave one of them out; {together}", ("batch", name)
    if config.method in ON_SOURCES:
        what = f"--method {config.method} cannot rank within batches"
        yield what, f"give --method {config.scorer}; {together}", ("batch", "method")
    if config.weights_out is not None:
        what = "--weights-out has no effect with --batch: each batch has its own coefficients"
        yield what, "leave one of them out", ("weights_out", "batch")


FEATURE = Feature(
    "batches",
    lambda config: config.batch is not None,
    BatchFields,
    rules,
    orders=True,
    one_by_one=True,
    takes=("how",),
    against={
        "pvalues": "has no meaning for an aggregate of rankings",
        "sample_weights": "treats all samples alike",
        "artificial": "has no meaning for an aggregate of rankings",
        "cv": "has no folds within batches",
    },
)
