"""The options of tests of the features, and which of them go together.

p-values of scores and a graph of other data for them, covariates and blocks, times with events,
precision weights of counts, moderated variances, scales of coordinates, markers of classes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import partial
from typing import Any

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, TESTING, UNADJUSTED
from sfs_cli.errors import UsageError, either, listed
from sfs_cli.options.fields import (
    ASKED,
    ON_SOURCE,
    RANKING,
    SURE,
    WHOLE,
    Config,
    Refusal,
    flag,
    option,
    option_fields,
    split_words,
    texts_of,
)
from sfs_cli.options.grammar import MethodFields
from sfs_cli.options.graph import GRAPH_FIELDS
from sfs_cli.options.paths import READS

FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 10, 1_000_000
DEFAULT_PERMUTATIONS = 1000
ABLE = tuple(dict.fromkeys((*catalog.WITH_PVALUES, *TESTING)))
"""Methods that ``--pvalues`` is for."""
_test = partial(option, section="Tests", verbs=RANKING)
MODERATED = ("f-test", "t-test")
"""Methods whose variances can be moderated."""
FEW = 10
"""Residual degrees of freedom up to which variances are moderated by default."""
OF_COUNTS = ("log2cpm:tmm", "log2cpm", "log2cpm:ratios")
"""Transformations that weights go with: by their library sizes. The first is the default."""
_NUMBERS = {"label_type=ordered": "times are numbers"}
_column = partial(
    option,
    section="Tests",
    verbs=(*RANKING, "compare"),
    metavar="FILE:COLUMN, obs:KEY or COLUMN",
    column=True,
    path=READS,
)
LINEAR = "linear"
"""The projection on the coordinates: features that rise in one direction."""
SCALES = ("1.5", "3", "6", LINEAR)
"""On simulated tissues of 30 x 30 spots no set of widths from 0.7 to 10, with or without quadratic
terms of the coordinates, had a mean power that was larger by more than 0.01, and on 56 x 56 spots
those without 6 had less (``tools/benchmarks/power.py``)."""
STANDS_FOR = ("coordinates", "pvalues", "min_samples", "transform", "batch")
"""Options that ``--spatial`` gives, beside ``--scales``."""
_CLASSES = "markers are those of classes"


@option_fields
class TestingFields(Config):
    """The options of tests."""

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
        goes_to=("out", "write_h5ad"),
    )
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
    event: str | None = _column(
        "Whether each sample had an event (1, true, yes, dead) at the time that --labels gives, or "
        "was censored then (0, false, no, alive): for --method cox. Of others that take numeric "
        "labels the outcome is the martingale residual of the times. Times may be in two columns: "
        "of FILE:DEATH,LAST each sample takes the first that is not empty.",
        excludes=_NUMBERS,
    )
    censored: str | None = _column(
        "The opposite of --event: whether each sample was censored (1, true, yes) at the time that "
        "--labels gives, or had the event then (0, false, no).",
        excludes={"event": "both say who had the event"} | _NUMBERS,
    )
    pvalues: str | None = _test(
        "Add p-values and q-values by permutations of the samples, in place of those of theory "
        "where the method has some, and effects of scores on graphs: of the features whose p-value "
        "by the moments of all permutations is small (moments), or of every feature.",
        words=("moments", "permutation"),
        takers=lambda _: ABLE,
        taken_by="method",
        first=SURE,
        by_verb={"evaluate": {"first": ""}},  # lists are judged there
    )
    permutation_draws: int | None = _test(
        "Number of permutations.",
        of="pvalues",
        word="draws",
        metavar="B",
        least=FEWEST_PERMUTATIONS,
        most=MOST_PERMUTATIONS,
        default_text=str(DEFAULT_PERMUTATIONS),
        needs=("pvalues=permutation",),
    )
    split: str | None = _test(
        "Test on a graph built from other data: the other half of the features.",
        words=("features",),
        takers=lambda _: catalog.SPLIT,
        taken_by="method",
        needs=("pvalues",),
        excludes={
            "stability": "subsets are ranked by scores, not by p-values",
            "source": "the sources make the sample graph",
        },
    )
    spatial: bool = _test(
        "Find spatially variable features: stands for --coordinates obsm:spatial --pvalues moments "
        "--min-samples 10, for --transform pearson-residuals of counts, and for --batch where obs "
        "names several slides, each where nothing else is given. Stderr says what it became.",
        default=False,
        excludes={"source": "it is one test on coordinates"},
    )
    scales: tuple[str, ...] = _test(
        "Test on several scales of the --coordinates: Gaussian kernels of these widths, which are "
        "multiples of the distance to the nearest sample, and the projection on the coordinates "
        "(linear), such as 1.5,3,6,linear. "
        "The p-values of a feature are combined (Cauchy combination).",
        metavar="WIDTH,...,linear",
        words=("NUMBER", LINEAR),
        items=str,
        parse=split_words,
        default=(),
        default_text=f"{','.join(SCALES)} with --coordinates and --pvalues, if no sample graph is "
        "asked for",
    )
    moderate: str = option(
        "Moderated variances (empirical Bayes, as in limma): the residual variance of each feature "
        "is shrunk towards that of all features (yes), or towards the trend of variance and "
        f"mean (trend). By default where the residual degrees of freedom are {FEW} or fewer and "
        "samples are not ranked in batches, and with --voom.",
        section="Tests",
        verbs=RANKING,
        metavar="[auto|yes|trend|no]",
        default="auto",
        words=("auto", "yes", "trend", "no"),
        takers=lambda _: MODERATED,
        taken_by="method",
        excludes={"sample_weights": "weighted samples have no degrees of freedom"},
    )
    voom: bool = option(
        "Test raw counts by linear models of their log2 counts per million, in which each count "
        "has the weight that the trend of variance and mean gives it (voom of limma). It takes "
        f"the library sizes of --transform {', '.join(OF_COUNTS[1:])}, or else {OF_COUNTS[0]}, "
        "and moderates variances unless --moderate says otherwise.",
        section="Tests",
        verbs=RANKING,
        default=False,
        takers=lambda _: MODERATED,
        taken_by="method",
        excludes={
            "source": "weights are of the counts of the matrix",
            "members": "each of them ranks the values of --transform",
            "batch": "one trend of all samples gives the weights",
            "sample_weights": "each count has a weight of its own",
            "pvalues": "the weight of a count does not go to another sample",
        },
    )

    @property
    def events(self) -> str | None:
        """The column that says which samples had the event, or its opposite."""
        return self.event if self.event is not None else self.censored

    @property
    def permutations(self) -> int:
        """Number of permutations that are asked for; 0 without ``--pvalues permutation``."""
        if self.pvalues != "permutation":
            return 0
        return self.permutation_draws or DEFAULT_PERMUTATIONS

    def error(self, what: str, hint: str, *names: str, **kind: Any) -> UsageError:
        """Return an error, which says so where it is about what ``--spatial`` stands for."""
        own = [flag(name) for name in STANDS_FOR if name in names]
        if self.spatial and own and "spatial" not in names:
            hint += f"; --spatial stands for {listed(own, 3)}"
        return super().error(what, hint, *names, **kind)


def tested(config: MethodFields) -> bool:
    """Tell whether the features are tested: by ``--pvalues``, or by the method itself."""
    return config.pvalues is not None or config.scorer in catalog.TESTING


def moderates(config: MethodFields) -> bool:
    """Tell whether variances are moderated, once that is settled by the samples."""
    return config.scorer in MODERATED and config.moderate not in ("auto", "no")


def voom_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with the transformation."""
    if config.voom and config.transform is not None and config.transform not in OF_COUNTS:
        what = "--voom takes the logarithms of raw counts itself, and does not go with --transform "
        what += config.transform
        hint = f"leave --transform out, or choose the library sizes by it: {', '.join(OF_COUNTS)}"
        yield what, hint, ("transform", "voom")


def adjusts(config: MethodFields) -> bool:
    """Tell whether covariates or blocks are taken out of the features."""
    return bool(config.adjust) or config.block is not None


def covariate_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with covariates or blocks."""
    if not adjusts(config):
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
    if config.block is not None and config.spatial:
        hint = f"give --batch {shlex.quote(config.block)}: slides are tested one by one"
        yield "--spatial does not test within --block", hint, ("spatial", "block")
    elif config.block is not None and config.pvalues == "moments":
        what = "--pvalues moments is of permutations over all samples, and not within --block"
        yield what, "give --pvalues permutation", ("pvalues", "block")


def event_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with the events."""
    if config.events is not None and config.labels is None:
        name = "event" if config.event is not None else "censored"
        what = f"--{name} needs the times, which --labels gives"
        yield what, f"give --labels FILE:COLUMN, or leave out --{name}", (name, "labels")
    if config.events is None and "event" in METHODS[config.scorer].needs:
        what = f"--method {config.scorer} needs --event"
        hint = "give times, and the column that says whether there was an event then: --labels "
        hint += "FILE:COLUMN --event COLUMN (or --censored COLUMN)"
        yield what, hint, ("event", "method")


def on_scales(config: MethodFields) -> bool:
    """Tell whether features are tested on several scales: by default, where they can be."""
    return config.scorer == "hsic" and can_have_scales(config)


def scales_of(config: MethodFields) -> tuple[str, ...]:
    """Return the scales of a configuration that asks for some."""
    return config.scales or SCALES


def can_have_scales(config: MethodFields) -> bool:
    """Tell whether there are coordinates and p-values, and no sample graph is asked for."""
    where = config.coordinates_from
    free = config.similarity in (None, where) and not config.given(*GRAPH_FIELDS)
    return where is not None and free and config.pvalues is not None


def why_no_scales(config: MethodFields) -> str:
    """Return why ``--scales`` has no effect; "" where it has one, or is not given."""
    if not config.scales or on_scales(config):
        return ""
    if config.method is not None and config.scorer != "hsic":
        return f"with {config.using('method')}"
    if config.coordinates_from is None:
        return "without --coordinates"
    if config.pvalues is None:
        return "without --pvalues"
    return "with a sample graph that is asked for"


def scale_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    if config.spatial and not on_scales(config):
        what = "--spatial goes with no other method, sample graph or kind of --pvalues"
        hint = "leave those out, or give --coordinates obsm:spatial --pvalues moments in its place"
        yield what, hint, ("spatial", "method", "pvalues", "similarity", *GRAPH_FIELDS)
    if config.stability and on_scales(config):
        what = "--stability does not go with tests on several --scales: it ranks subsets by scores"
        hint = "leave --stability out, or test on one sample graph: give --similarity "
        hint += f"{config.coordinates_from},neighbors=10 --pvalues moments, and no --spatial"
        yield what, hint, ("stability", "scales")
    if len({name if name == LINEAR else float(name) for name in config.scales}) < len(
        config.scales
    ):
        yield "--scales names a scale twice", "give each once", ("scales",)


def spatial_options(config: MethodFields) -> dict[str, Any]:
    """Return the options that ``--spatial`` stands for."""
    if not config.spatial:
        return {}
    return {
        "coordinates": config.coordinates_from or "obsm:spatial",  # a similarity may name them
        "pvalues": config.pvalues or "moments",
        "min_samples": config.min_samples or 10,
    }


def marker_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with tests of classes."""
    unfit = {"welch": ("adjust", "block"), "wilcoxon": ("adjust",)}
    for name in config.given(*unfit.get(str(config.markers), ())):
        hint = "give --markers t, or with --block alone wilcoxon, which ranks within blocks"
        yield f"--markers {config.markers} has no place for --{name}", hint, ("markers", name)
