"""``--markers``: the features that tell each class from all others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE, Config, Refusal, option, option_fields

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

_CLASSES = "markers are those of classes"


@option_fields
class MarkerFields(Config):
    """The option of markers."""

    markers: str | None = option(
        "Test each class of --labels against all other samples, and write the features of each, "
        "best first, to markers.tsv: by Welch's t-test (the t-test of scanpy), by the t-test of a "
        "linear model (t: with --block and --adjust), or by Wilcoxon's rank sums (with --block "
        "within blocks). With --write-h5ad, and in an AnnData, they are "
        'uns["rank_genes_groups"], which scanpy plots.',
        section="Tests",
        verbs=WHOLE,
        words=("welch", "t", "wilcoxon"),
        also={"t-test": "welch", "rank-test": "wilcoxon", "mann-whitney": "wilcoxon"},
        needs=("labels",),
        excludes={
            "label_type=ordered": _CLASSES,
            "label_type=continuous": _CLASSES,
            "batch": "batches are ranked one by one; --block compares within them",
            "sample_weights": "weighted samples have no degrees of freedom",
            "rank_sources": "markers are features of the matrix",
        },
        for_out=True,
    )


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    unfit = {"welch": ("adjust", "block"), "wilcoxon": ("adjust",)}
    for name in config.given(*unfit.get(str(config.markers), ())):
        hint = "give --markers t, or with --block alone wilcoxon, which ranks within blocks"
        yield f"--markers {config.markers} has no place for --{name}", hint, ("markers", name)


FEATURE = Feature("markers", lambda config: config.markers is not None, MarkerFields, rules)
