"""The options of parts of the samples that are ranked by themselves, and of what samples count.

Subsets whose rankings show how stable a list is, batches, donors, weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sfs_cli import catalog
from sfs_cli.catalog import ON_SOURCES
from sfs_cli.options.fields import (
    RANKING,
    SURE,
    WHOLE,
    Config,
    Refusal,
    option,
    option_fields,
)
from sfs_cli.options.parameters import MethodFields
from sfs_cli.options.paths import READS

DEFAULT_TOP = 50
"""Features of the list whose stability is measured, where there are many."""
SUBSETS = {"half": "half-samples", "bootstrap": "bootstrap samples"}
"""The kinds of subsets of the samples, and what the page and messages call them."""
DEFAULT_SUBSETS = 100
"""Subsets that are drawn where no number is given."""
_stability = partial(option, section="Method", verbs=WHOLE)
_own = partial(_stability, of="stability", needs=("stability",))
_EACH = (
    "one ranking of each batch is aggregated; --adjust takes the batch out of the features instead"
)
_batches = partial(option, section="Input", verbs=WHOLE)


@option_fields
class SampleFields(Config):
    """The options of parts and weights of the samples."""

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
    sample_weights: str | None = option(
        "Weight of each sample, 0 or more: it counts as so many samples. The graph and "
        "transformations ignore weights.",
        section="Input",
        verbs=WHOLE,
        metavar="FILE[:COLUMN], obs:KEY or COLUMN",
        column=True,
        path=READS,
        takers=lambda _: catalog.WITH_WEIGHTS,
        taken_by="method",
        excludes={
            "max_correlation": "it takes correlations over all samples alike",
            "pvalues": "all samples count alike",
            "ranking=phi3": "it counts clusters; phi2 takes weights",
        },
    )
    donors: str | None = option(
        "Column of the donor of each sample. Subsets and folds take whole donors; a warning says "
        "where p-values count several samples of a donor as independent (pseudoreplication).",
        section="Input",
        first=SURE,
        verbs=(*RANKING, "compare"),
        metavar="FILE:COLUMN, obs:KEY or COLUMN",
        column=True,
        groups="donor",
        needs=("labels", "stability", "pvalues"),
        path=READS,
    )
    stability: str | None = _stability(
        "Rank on subsets of the samples too, and count how often each feature is among the first: "
        "complementary halves of the samples, or bootstrap samples (as many draws as samples, with "
        "replacement), each drawn sample used once. A number alone is that of halves.",
        metavar="half, bootstrap or B",
        words=(*SUBSETS, "COUNT"),
        first=SURE,
    )
    stability_subsets: int | None = _own(
        "Number of subsets.",
        word="subsets",
        metavar="B",
        least=2,
        most=10_000,
        default_text=str(DEFAULT_SUBSETS),
    )
    stability_top: int | None = _own(
        "Number of first features that are counted.",
        word="top",
        metavar="K",
        least=1,
        default_text=f"{DEFAULT_TOP}, of few features a quarter",
    )

    @property
    def subset_kind(self) -> str:
        """What the subsets of the samples are, one of `SUBSETS`."""
        return self.stability if self.stability in SUBSETS else "half"

    @property
    def subsets_asked(self) -> int:
        """Number of subsets of the samples that is asked for."""
        return DEFAULT_SUBSETS if self.stability_subsets is None else self.stability_subsets

    @property
    def subset_count(self) -> int:
        """Number of subsets of the samples: halves come in pairs."""
        count = self.subsets_asked
        return count + count % 2 if self.subset_kind == "half" else count


def stability_options(config: MethodFields) -> dict[str, Any]:
    """Return what a number alone stands for."""
    if config.stability is None or config.stability in SUBSETS:
        return {}
    try:
        count = float(config.stability)
    except ValueError:  # which is refused as an unknown value
        return {}
    if config.stability_subsets is not None:
        what = f"--stability {config.stability},subsets={config.stability_subsets} has two numbers"
        raise config.error(what, "leave one out", "stability")
    if not count.is_integer():
        what = f"--stability {config.stability} is not a whole number"
        raise config.error(what, "give the number of subsets, such as 100", "stability")
    return {"stability": "half", "stability_subsets": int(count)}


def stability_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    selected = config.method_options().get("select")
    if selected is not None and (config.stability_top or 0) > selected:
        top = config.label("stability_top", config.stability_top)
        method = f"--method {config.scorer}"
        hint = f"give {selected} or fewer, or let it select more with --select"
        yield f"{top}: {method} selects {selected} features", hint, ("stability_top", "select")
