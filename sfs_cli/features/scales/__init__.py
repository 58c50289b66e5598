"""``--scales``: one test on several scales of the coordinates of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, Refusal, option, split_words
from sfs_cli.options.graph import GRAPH_FIELDS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

LINEAR = "linear"
"""The projection on the coordinates: features that rise in one direction."""
DEFAULT = ("1.5", "3", "6", LINEAR)
"""On simulated tissues of 30 x 30 spots no set of widths from 0.7 to 10, with or without quadratic
terms of the coordinates, had a mean power that was larger by more than 0.01, and on 56 x 56 spots
those without 6 had less (``tools/benchmarks/power.py``)."""

_scales = partial(option, section="Method", verbs=RANKING)


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class ScaleFields(Config):
    """The options of scales."""

    scales: tuple[str, ...] = _scales(
        "Test on several scales of the --coordinates: Gaussian kernels of these widths, which are "
        "multiples of the distance to the nearest sample, and the projection on the coordinates "
        "(linear), such as 1.5,3,6,linear. "
        "The p-values of a feature are combined (Cauchy combination).",
        metavar="WIDTH,...,linear",
        words=("NUMBER", LINEAR),
        items=str,
        parse=split_words,
        default=(),
        default_text=f"{','.join(DEFAULT)} with --coordinates and --pvalues, if no sample graph is "
        "asked for",
        needs=("coordinates", "similarity"),
        excludes={"source": "it is one test on coordinates"},
    )
    scale_pvalues: bool = _scales(
        "Add the p-value on each scale as a column.", default=False, needs=("pvalues",)
    )


def asked(config: RankConfig) -> bool:
    """Tell whether features are tested on several scales: by default, where they can be."""
    return bool(config.scales) or (
        config.scorer == "hsic" and _spatial(config) and not config.stability
    )


def of(config: RankConfig) -> tuple[str, ...]:
    """Return the scales of a configuration that asks for some."""
    return config.scales or DEFAULT


def _spatial(config: RankConfig) -> bool:
    """Tell whether there are coordinates and p-values, and no sample graph is asked for."""
    where = config.coordinates_from
    free = config.similarity in (None, where) and not config.given(*GRAPH_FIELDS)
    return where is not None and free and config.null in ("moments", "permutation")


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    if config.scale_pvalues and not asked(config):
        what = "--scale-pvalues has no effect without several scales"
        yield what, "give --scales, or leave it out", ("scale_pvalues",)
    if not config.scales:
        return
    if len({name if name == LINEAR else float(name) for name in config.scales}) < len(
        config.scales
    ):
        yield "--scales names a scale twice", "give each once", ("scales",)
    if config.coordinates_from is None:
        yield "--scales has no effect without coordinates", "give --coordinates", ("scales",)
    if config.scorer != "hsic":
        what = f"--scales has no effect with --method {config.ranker}"
        yield what, "give --method hsic", ("scales", "method")
    if config.null not in ("moments", "permutation"):
        what = "--scales combines p-values over the orders of the samples"
        yield what, "give --pvalues moments or permutation", ("scales", "pvalues")
    if config.similarity not in (None, config.coordinates_from) or config.given(*GRAPH_FIELDS):
        what = "--scales takes the place of a sample graph and its options"
        yield what, "leave one of them out", ("scales", "similarity", *GRAPH_FIELDS)
    if config.stability:
        what = "--scales has no effect with --stability, whose subsets are ranked by scores"
        yield what, "leave one of them out", ("scales", "stability")


FEATURE = Feature(
    "scales",
    asked,
    ScaleFields,
    rules,
    against=dict.fromkeys(("artificial", "cv"), "tests on several scales at once"),
    method=lambda config: "hsic" if config.scales or _spatial(config) else "",
)
