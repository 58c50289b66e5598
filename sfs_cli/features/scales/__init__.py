"""``--scales``: one test on several scales of the coordinates of the samples.

``--spatial`` stands for what such a test of spots or cells in a tissue takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import UsageError, listed
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import (
    RANKING,
    Config,
    Refusal,
    flag,
    option,
    option_fields,
    split_words,
)
from sfs_cli.options.graph import GRAPH_FIELDS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig
    from sfs_cli.store.matrix import Matrix

LINEAR = "linear"
"""The projection on the coordinates: features that rise in one direction."""
DEFAULT = ("1.5", "3", "6", LINEAR)
"""On simulated tissues of 30 x 30 spots no set of widths from 0.7 to 10, with or without quadratic
terms of the coordinates, had a mean power that was larger by more than 0.01, and on 56 x 56 spots
those without 6 had less (``tools/benchmarks/power.py``)."""

MANY, OF_MANY = 20_000, ("1.5", "3", LINEAR)
"""Above so many samples of a slide ``--spatial`` leaves out the widest scale: its time and memory
grow with its square; of 50,000 it takes 9 GB and minutes."""
STANDS_FOR = ("coordinates", "pvalues", "min_samples", "transform", "batch")
"""Options that ``--spatial`` gives, beside ``--scales``."""
SLIDES = ("library_id", "slide", "slide_id", "section_id")
"""Columns of the samples that name slides, as scanpy, squidpy and others write them."""

_scales = partial(option, section="Tests", verbs=RANKING)


@option_fields
class ScaleFields(Config):
    """The options of scales."""

    spatial: bool = _scales(
        "Find spatially variable features: stands for --coordinates obsm:spatial --pvalues moments "
        "--min-samples 10, for --transform pearson-residuals of counts, and for --batch where obs "
        "names several slides, each where nothing else is given. Stderr says what it became.",
        default=False,
        excludes={"source": "it is one test on coordinates"},
    )
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
    )

    def error(self, what: str, hint: str, *names: str, **kind: Any) -> UsageError:
        """Return an error, which says so where it is about what ``--spatial`` stands for."""
        own = [flag(name) for name in STANDS_FOR if name in names]
        if self.spatial and own and "spatial" not in names:
            hint += f"; --spatial stands for {listed(own, 3)}"
        return super().error(what, hint, *names, **kind)


def asked(config: RankConfig) -> bool:
    """Tell whether features are tested on several scales: by default, where they can be."""
    return config.scorer == "hsic" and _spatial(config)


def of(config: RankConfig) -> tuple[str, ...]:
    """Return the scales of a configuration that asks for some."""
    return config.scales or DEFAULT


def _spatial(config: RankConfig) -> bool:
    """Tell whether there are coordinates and p-values, and no sample graph is asked for."""
    where = config.coordinates_from
    free = config.similarity in (None, where) and not config.given(*GRAPH_FIELDS)
    return where is not None and free and config.pvalues is not None


def without_effect(config: RankConfig) -> str:
    """Return why ``--scales`` has no effect; "" where it has one, or is not given."""
    if not config.scales or asked(config):
        return ""
    if config.method is not None and config.scorer != "hsic":
        return f"with {config.using('method')}"
    if config.coordinates_from is None:
        return "without --coordinates"
    if config.pvalues is None:
        return "without --pvalues"
    return "with a sample graph that is asked for"


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    if config.spatial and not asked(config):
        what = "--spatial goes with no other method, sample graph or kind of --pvalues"
        hint = "leave those out, or give --coordinates obsm:spatial --pvalues moments in its place"
        yield what, hint, ("spatial", "method", "pvalues", "similarity", *GRAPH_FIELDS)
    if config.stability and asked(config):
        what = "--stability does not go with tests on several --scales: it ranks subsets by scores"
        hint = "leave --stability out, or test on one sample graph: give --similarity "
        hint += f"{config.coordinates_from},neighbors=10 --pvalues moments, and no --spatial"
        yield what, hint, ("stability", "scales")
    if len({name if name == LINEAR else float(name) for name in config.scales}) < len(
        config.scales
    ):
        yield "--scales names a scale twice", "give each once", ("scales",)


def _implies(config: RankConfig) -> dict[str, Any]:
    """Return the options that ``--spatial`` stands for."""
    if not config.spatial:
        return {}
    return {
        "coordinates": config.coordinates_from or "obsm:spatial",  # a similarity may name them
        "pvalues": config.pvalues or "moments",
        "min_samples": config.min_samples or 10,
    }


def _settle(config: RankConfig, matrix: Matrix) -> RankConfig:
    """Return the configuration with the scales, transformation and slides of ``--spatial``.

    Pearson residuals alone have calibrated p-values where depth follows the tissue, and no other
    transformation has more power where it does not (``tools/benchmarks/spatial.py``).
    """
    if not config.spatial:
        return config
    changes: dict[str, Any] = {}
    largest, obs = matrix.n_samples, matrix.ids.obs
    columns = {} if obs is None or config.batch else obs.to_pydict()
    for name in SLIDES:
        if len(sizes := Counter(columns.get(name, ()))) > 1:
            changes["batch"], largest = f"obs:{name}", max(sizes.values())
            break
    if not config.scales and largest > MANY:
        changes["scales"] = OF_MANY
    if config.transform is None:
        from sfs_cli.store.matrix import look

        values = look(matrix)
        if (values % 1 == 0).all() and values.min() >= 0:
            changes["transform"] = "pearson-residuals"
    return replace(config, **changes)


FEATURE = Feature(
    "scales",
    asked,
    ScaleFields,
    rules,
    not_in_folds="tests on several scales at once",
    implies=_implies,
    settle=_settle,
    method=lambda config: "hsic" if _spatial(config) else "",
)
