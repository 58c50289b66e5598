"""Guards against the usual accidents: results without an error that nobody should trust.

Each guard is a warning that says what was seen and what to do. ``--accept`` silences it by its name
in ``sfs_cli.options.guards``. A guard looks at few values, or at what the run has made anyway.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfs_cli.catalog import ON_SOURCES
from sfs_cli.compute.context import Labels
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import Span, cut
from sfs_cli.errors import counted, listed, plural
from sfs_cli.features.significance import tests
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, has_zero_degrees, name_samples
from sfs_cli.io.files.table import is_number
from sfs_cli.knowledge.samples import Classes, Profile
from sfs_cli.options import RankConfig
from sfs_cli.options.guards import GUARDS
from sfs_cli.provenance import StabilityFacts
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.inputs import look_continuous
from sfs_cli.run.load import Run
from sfs_cli.run.passes import needed
from sfs_cli.run.ties import ties
from sfs_cli.run.top import LOOKING, TOP, TopFeatures
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.matrix import look
from sfs_cli.store.transforms import parse

if TYPE_CHECKING:
    pass

COUNTS_ABOVE, SPARSE_COUNTS_ABOVE = 50, 12
"""Whole numbers are counts if they go beyond this, and beyond the second where more than half are
zero, as in single cells: genotypes and scores do not."""
LOG_SPAN = 64.0
"""Logarithms of base 2 of what is measured do not span more than this."""
UNIFORM_SPAN = 0.25
"""A graph is uniform if 9 of 10 pairs lie in a range below this part of a sample's own value."""
IDENTITY_MEAN = 0.02
"""A graph is nearly the identity if the mean of its pairs is below this part of that value."""
LOW_DEGREE = 0.15
"""A sample hardly belongs to a graph if its degree is below this part of the median degree."""
PAIRS = 2_000_000
"""Pairs of samples that are looked at."""
SPIKE, SPIKES = 0.5, 0.1
"""A feature is made by a sample that has more than the first part of its squares about the mean;
the second is the part of the top from which that is told."""
REPEATS = 0.7
"""Mean absolute correlation of the pairs of the top from which that is told."""
UNSTABLE = 0.4
"""Nogueira's measure below this is poor: agreement by chance-corrected measures is poor below 0.4
(Fleiss), which Nogueira et al. 2018 take over."""
LARGEST_EXACT = 2**53
LOGARITHMS = ("log1p", "log2", "clr")
TAMING = (*LOGARITHMS, "rank", "pearson-residuals", "deviance")
"""Steps after which large values of counts or intensities do not decide."""
FOR_COUNTS, FOR_TESTS = "cpm,log1p", "pearson-residuals"
"""What raw counts need, and where they are tested: logarithms of few counts follow the depth."""
DECIDE = "features with large values, and single samples, decide"
LOOKED_AT_TOGETHER = 65_536
"""Names that one thread looks at, at a time."""
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_DECIMAL = r"^\d+\.0$|^\d(?:\.\d+)?[eE]\+\d+$"
"""1017.0, as pandas writes an index of decimal numbers, and 1e+05, as R writes 100000."""
_DATE = (
    rf"^(?:\d{{1,2}}-(?:{_MONTHS})(?:-\d{{2,4}})?|(?:{_MONTHS})-\d{{2}}(?:\d{{2}})?"
    r"|\d{4}-\d{2}-\d{2}(?:[ T]00:00:00)?|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}\.\d{1,2}\.\d{4})$"
)
"""2-Sep, 2-Sep-2026, Sep-02, and 2026-09-02, 9/2/2026 and 02.09.2026 of a file's cell."""
_NO_GENE = (
    r"^(?:__(?:no_feature|ambiguous|too_low_aqual|not_aligned|alignment_not_unique)"
    r"|N_(?:unmapped|multimapping|noFeature|ambiguous)"
    r"|(?:log1p_)?(?:n_counts|total_counts(?:_\w+)?|n_genes(?:_by_counts)?)|pct_counts_\w+"
    r"|percent[._]mt|n(?:Count|Feature)_\w+|doublet_scores?)$"
)
"""Reads of no gene, as HTSeq and STAR count them, and measures of cells of scanpy and Seurat."""


class Raw(NamedTuple):
    """Values that nobody has transformed."""

    what: str  # what they look like
    transform: str  # that they need
    hint: str = ""  # about the transformation


def guard_values(run: Run) -> Raw | None:
    """Warn of values that were not transformed, which are returned, and of labels that are ids."""
    raw = guard_raw(run)
    guard_labels(run)
    return raw


def guard_raw(run: Run, of: str = "the ranking") -> Raw | None:
    """Warn of values that were not transformed, which are returned; they decide what `of` says."""
    if not _wanted(run, "raw-values"):
        return None
    raw, text = raw_of(run, of)
    tell(run, "raw-values", text)
    return raw


def raw_of(run: Run, of: str = "the ranking") -> tuple[Raw | None, str | None]:
    """Look at the values of a run; return what they are if they are raw, and what to tell."""
    asked = run.config.transform
    if any(step in TAMING for step in parse(asked)):
        return None, swapped(asked)
    raw = raw_kind(_looked(run), run.config)
    return raw, raw_values(raw, asked, of)


def _looked(run: Run) -> np.ndarray:
    """Return the values of some features in the samples that are used, as they are stored."""
    values, used = look(run.opened.matrix), run.matrix.samples
    run.passes.look(len(values))
    return values if used is None else values[:, used]


def guard_labels(run: Run) -> None:
    """Warn of labels that are ids, and of classes and groups with two spellings."""
    if run.labels is not None and run.labels.values is None:
        tell(run, "labels", id_labels(run.labels))
        tell(run, "labels", spelled_twice(run.labels.classes))
    for column in run.columns.all:
        if column.groups:
            levels = sorted({str(value) for value in column.values.values()})
            tell(run, "labels", spelled_twice(levels, column.groups))


def guard_sources(run: Run) -> None:
    """Warn of profiles among the sources whose values were not transformed, and of labels."""
    for source in run.sources:
        spec = source.spec
        if isinstance(source, Classes) and spec.path:
            known = [source.labels[s] for s in run.matrix.ids.samples if s in source.labels]
            names, codes = np.unique(known, return_inverse=True)
            labels = Labels(codes, names.tolist())
            tell(run, "labels", id_labels(labels, spec.name))
            tell(run, "labels", single_class(labels, spec.name))
            tell(run, "labels", spelled_twice(labels.classes))
        tame = any(step in TAMING for step in parse(spec.transform))
        if not isinstance(source, Profile) or tame or spec.has_coordinates:
            continue
        raw = raw_kind(look(source.matrix))
        if raw is not None:
            where = f"the values of source {spec.name} look like {raw.what}: {DECIDE} its graph"
            transform = with_logarithms(raw, spec.transform)
            tell(run, "raw-values", f"{where}; add ,transform={transform} to it{raw.hint}")


def guard_graph(run: Run, similarity: Similarity) -> None:
    """Warn of a graph that has no structure, and of samples that it hardly has."""
    given = run.config.graph in ("file", "obsp")
    tell(run, "graph", structureless(similarity, given=given))
    far = outliers(similarity.degrees, run.matrix.ids.samples)
    if far is not None and not has_zero_degrees(similarity):  # `linear` has no others
        tell(run, "outliers", far)


def guard_ranking(run: Run, ranking: Ranking, top: TopFeatures | None) -> float | None:
    """Warn of ties, names that are dates, and top features that repeat each other or one sample.

    Returns the mean absolute correlation of the top features, None where it was not looked at.
    """
    tell(run, "ties", ties(ranking))
    if _wanted(run, "names") or _wanted(run, "columns"):
        # not before: large matrices read the ids during the first pass
        suspects = converted(ranking.feature.names, run.plan.workers)
        tell(run, "names", dates(suspects))
        tell(run, "names", decimals(suspects))
        tell(run, "columns", without_gene(suspects))
    few = ranking.n_scored < TOP  # of which a part says little
    if top is None or few or not any(_wanted(run, name) for name in LOOKING):
        return None
    text = spikes(top.values, run.matrix.ids.samples)
    tell(run, "spikes", None if text is None else text + _against_spikes(run))
    tell(run, "repeats", repeats(top.values, _without_repeats(run.config)))
    return mean_correlation(top.values)


def guard_stability(run: Run, found: StabilityFacts, enough: float) -> None:
    """Warn of a list that changes with the samples; `enough` is the frequency of a good feature."""
    text = unstable(found, enough)
    tell(run, "unstable", None if text is None else text + _what_is_known(run.config))


def _wanted(run: Run, name: str) -> bool:
    return name not in run.config.accept


def tell(run: Run, name: str, text: str | None) -> None:
    """Warn of what a guard has seen, if anything, unless its name is accepted."""
    assert name in GUARDS
    if text is not None and _wanted(run, name):
        run.log.warn(f"{text} (--accept {name}, if that is intended)")


def raw_values(raw: Raw | None, asked: str | None = None, of: str = "the ranking") -> str | None:
    """Warn of values that look like raw counts, or like intensities without logarithms.

    `asked` is the transformation that was asked for, without logarithms, and `of` what they decide.
    """
    if raw is None:
        return None
    transform = with_logarithms(raw, asked)
    return f"the values look like {raw.what}: {DECIDE} {of}; give --transform {transform}{raw.hint}"


def with_logarithms(raw: Raw, asked: str | None) -> str:
    """Return the transformation that raw values need, with the other steps that were asked for."""
    steps = parse(asked)
    if raw.transform == FOR_TESTS:  # which takes the counts as they are
        steps = tuple(s for s in steps if s != "cpm" and not s.startswith("floor:"))
    floors = [step for step in steps if step.startswith("floor:")]
    needs = [s for s in raw.transform.split(",") if not (floors and s.startswith("floor:"))]
    others = [step for step in steps if step not in (*floors, *needs)]
    return ",".join([*floors, *needs, *others])


def swapped(asked: str | None) -> str | None:
    """Tell whether a transformation takes counts per million of logarithms."""
    steps = parse(asked)
    first = next((i for i, step in enumerate(steps) if step in LOGARITHMS), len(steps))
    if "cpm" not in steps[first:]:
        return None
    others = [step for step in steps if step != "cpm"]
    return (
        f"--transform {asked} takes counts per million of logarithms, which are no counts; "
        f"give --transform {','.join(['cpm', *others])}"
    )


def raw_kind(values: np.ndarray, config: RankConfig | None = None) -> Raw | None:
    """Tell whether values (b, n) are raw counts or intensities, as they seem, or neither.

    Counts need another transformation where `config` tests them.
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    zeros = np.count_nonzero(values == 0) / values.size
    if is_counts(values):
        what = f"raw counts (whole numbers, up to {high:,.0f} where looked at, {zeros:.0%} zero)"
        return Raw(what, FOR_TESTS if config is not None and tests(config) else FOR_COUNTS)
    if high - low > LOG_SPAN:
        what = f"intensities without logarithms (from {low:,.6g} to {high:,.6g})"
        if low >= 0:
            return Raw(what, "log1p")
        return Raw(what, "floor:20,log2", ", with a floor that suits the noise")
    return None


def is_counts(values: np.ndarray) -> bool:
    """Tell whether values, NaN for missing ones, are whole numbers that go as far as counts do."""
    values = values[np.isfinite(values)]
    if not values.size or values.min() < 0 or not values.max() < LARGEST_EXACT:
        return False
    sparse = 2 * np.count_nonzero(values == 0) > values.size
    above = SPARSE_COUNTS_ABOVE if sparse else COUNTS_ABOVE
    return bool(values.max() > above and (values == np.rint(values)).all())


def converted(names: Sequence[str], threads: int = 1) -> list[str]:
    """Return the names of features that programs have made dates, decimals, or sums of no gene."""
    import pyarrow.compute as pc

    ids = FeatureIds.of(names).array
    either = f"{_DATE}|{_DECIMAL}|{_NO_GENE}"

    def found(span: Span) -> list[str]:
        part = ids.slice(span.lo, span.size)
        matched: list[str] = part.filter(
            pc.match_substring_regex(part, either, ignore_case=True)
        ).to_pylist()
        return matched

    spans = cut(len(ids), LOOKED_AT_TOGETHER)
    return [name for part in ThreadExecutor(threads).map(found, spans) for name in part]


def dates(names: Sequence[str]) -> str | None:
    """Tell whether names of features are dates, as a spreadsheet makes them of SEPT2 or MARCH1."""
    found = [name for name in names if re.match(_DATE, name, re.IGNORECASE)]
    if not found:
        return None
    return (
        f"{_named(found)} by dates ({', '.join(found[:3])}): "
        "a spreadsheet has replaced names of genes such as SEPTIN2 or MARCHF1, which no source "
        "will find; mend them where the table was made (--id-map can name them for sources)"
    )


def without_gene(names: Sequence[str]) -> str | None:
    """Tell whether features are no genes: reads without one, or measures of whole cells."""
    found = [name for name in names if re.match(_NO_GENE, name, re.IGNORECASE)]
    if not found:
        return None
    return (
        f"{counted(len(found), 'feature')} ({listed(found, 9)}) count the reads of no gene, or are "
        "measures of whole cells: they are ranked as genes, and count for --transform cpm; remove "
        "them from the table"
    )


def _named(found: Sequence[str]) -> str:
    return f"{counted(len(found), 'feature')} {'is' if len(found) == 1 else 'are'} named"


def decimals(names: Sequence[str]) -> str | None:
    """Tell whether names of features are whole numbers that were written as decimal ones."""
    found = [name for name in names if re.match(_DECIMAL, name)]
    if not found:
        return None
    return (
        f"{_named(found)} by decimal numbers ({', '.join(found[:3])}): ids such "
        "as 1017 or 100000 were written as numbers, and no source will find them; mend them where "
        "the table was made (--id-map can name them for sources)"
    )


def id_labels(labels: Labels, source: str | None = None) -> str | None:
    """Tell whether labels, of a source or of the run, have about as many classes as pairs."""
    sizes = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.classes))
    used, samples = int(np.count_nonzero(sizes)), int(sizes.sum())
    if used < 3 or 2 * used < samples:
        return None
    measured = ""
    if source is None and look_continuous(labels):
        measured = " (of measurements: --label-type continuous)"
    return (
        f"the labels{_of(source)} have {used:,} classes for {samples:,} samples: they look like "
        "ids of patients, pairs or batches, which features are not to be chosen for; "
        f"give the column of the classes{measured}"
    )


def _of(source: str | None) -> str:
    return "" if source is None else f" of source {source}"


def single_class(labels: Labels, source: str) -> str | None:
    """Tell whether the labels of a source have one class."""
    if len(labels.classes) > 1:
        return None
    return (
        f"the labels{_of(source)} have a single class, {labels.classes[0]!r}: all samples are "
        "equally similar, which says nothing about the features; give labels of two classes or "
        "more, or leave the source out"
    )


def spelled_twice(classes: Sequence[str], what: str = "class") -> str | None:
    """Tell whether two names differ in upper and lower case or in blanks alone, or as numbers.

    `what` one of them is: a class, or such as a donor.
    """
    alike: dict[str | float, list[str]] = {}
    for name in classes:
        plain = "".join(name.casefold().split())
        alike.setdefault(float(plain) if is_number(plain) else plain, []).append(name)
    twice = next((names for names in alike.values() if len(names) > 1), None)
    if twice is None:
        return None
    number = "differ" if not is_number(twice[0]) else "are the same number, and differ"
    how = "in upper and lower case or in blanks alone" if number == "differ" else "as text alone"
    return (
        f"the {plural(what)} {' and '.join(map(repr, twice[:3]))} {number} {how}, and count as "
        f"different: give them one name if they are one {what}"
    )


def structureless(similarity: Similarity, *, given: bool = False) -> str | None:
    """Tell whether a dense graph has no structure to rank by; sparse graphs always have some.

    `given` says that it was not made by this run.
    """
    if not isinstance(similarity, DenseSimilarity) or similarity.n < 4:
        return None
    S = similarity.matrix
    own = float(np.abs(np.diagonal(S)).mean())
    step = max(1, similarity.n**2 // (2 * PAIRS))
    rows = np.arange(0, similarity.n, step)
    pairs = S[rows][np.arange(similarity.n) > rows[:, None]]
    low, high = np.percentile(pairs, [5, 95])
    size = own or float(np.abs(pairs).max())  # a graph without loops has no value of its own
    if not size:
        return None
    if float(np.abs(pairs).mean()) < IDENTITY_MEAN * own:
        instead = "give a larger --bandwidth, or --similarity knn"
        return (
            "in the sample graph hardly any two samples are similar (the mean is "
            f"{float(pairs.mean()):.2g}, and {own:.2g} of a sample with itself): features that "
            f"differ in one sample win; {'make it with a wider kernel' if given else instead}"
        )
    if low > 0 and high - low < UNIFORM_SPAN * size and high < 2 * low:
        instead = (
            "keep the nearest neighbors of each sample in it, or make it with a steeper kernel"
        )
        return (
            "in the sample graph nearly all pairs are equally similar "
            f"(9 of 10 lie from {low:.2f} to {high:.2f}): it says little about the features; "
            f"{instead if given else 'give --similarity knn'}"
        )
    return None


def outliers(degrees: np.ndarray, sample_ids: Sequence[str]) -> str | None:
    """Tell which samples have a degree far below that of the others."""
    median = float(np.median(degrees))
    low = np.flatnonzero(degrees < LOW_DEGREE * median)
    if not len(low) or median <= 0:
        return None
    return (
        f"{len(low):,} of {len(degrees):,} samples {'is' if len(low) == 1 else 'are'} far from all "
        "others in the sample graph "
        f"({name_samples(low, sample_ids)}): look at them, and leave out what is damaged"
    )


def spikes(values: np.ndarray, sample_ids: Sequence[str]) -> str | None:
    """Tell whether single samples make top features, centered values (b, n)."""
    squares = values**2
    made = np.flatnonzero(squares.max(axis=1) > SPIKE * squares.sum(axis=1))
    if len(made) <= SPIKES * len(values):
        return None
    samples, times = np.unique(squares[made].argmax(axis=1), return_counts=True)
    first = samples[np.argsort(-times, kind="stable")]
    return (
        f"{len(made)} of the first {len(values)} features differ in one sample only (it has more "
        f"than half of their variation: {name_samples(first, sample_ids)}): look at these samples"
    )


def _against_spikes(run: Run) -> str:
    """Return what may be done besides looking, as far as it was not: ", or so", or nothing."""
    ways = []
    # log1p refuses some negative values
    if run.config.transform is None and not (_looked(run) < 0).any():
        ways.append(", or take logarithms if they are none (--transform log1p)")
    if run.config.similarity in ("rbf", "linear", "correlation"):
        ways.append(", or give --similarity knn")
    return "".join(ways)


def mean_correlation(values: np.ndarray) -> float:
    """Return the mean absolute correlation of the pairs of centered features (b, n)."""
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    correlation = np.abs(unit @ unit.T)
    return float(correlation[np.triu_indices(len(unit), 1)].mean())


def repeats(values: np.ndarray, instead: str = "--method mrsf") -> str | None:
    """Tell whether top features, centered values (b, n), are much the same.

    `instead` are the options of a ranking that leaves repetition out.
    """
    mean = mean_correlation(values)
    if not mean > REPEATS:
        return None
    return (
        f"the first {len(values)} features repeat each other (their mean absolute correlation is "
        f"{mean:.2f}): the list says one thing many times; --max-correlation 0.7 moves repetition "
        f"behind, {instead} leaves it out"
    )


def _without_repeats(config: RankConfig) -> str:
    """Return the options of a ranking that is made of the same and leaves repetition out."""
    if config.ranker in ON_SOURCES:
        return "--then mrsf"
    if {"labels", "some-labels"} & needed(config):
        return f"--method mrsf --response {response_of(config)}"
    return "--method mrsf"


def response_of(config: RankConfig) -> str:
    """Return the response by which MRSF uses the labels of a ranking."""
    return "outcome" if config.numeric else "lda"


def unstable(found: StabilityFacts, enough: float) -> str | None:
    """Tell whether the first features change with the samples."""
    low, high = found["interval"]
    if not found["stability"] < UNSTABLE:
        return None
    kept = next(each for each in found["stable"] if each["threshold"] == enough)["features"]
    if "noise" in found and low <= found["noise"]["interval"][1]:
        return (
            f"the first {found['top']:,} features are no more stable than noise: their stability "
            f"is {found['stability']:.2f} ({low:.2f} to {high:.2f}), and that of shuffled features "
            f"{found['noise']['stability']:.2f}; take nothing from this list without more samples"
        )
    return (
        f"the first {found['top']:,} features change with the samples: their stability is "
        f"{found['stability']:.2f} ({low:.2f} to {high:.2f}), and below {UNSTABLE} it is poor; "
        f"report those with a frequency of {enough:g} or more ({kept:,}) in place of the list, and "
        "look for more samples"
    )


def _what_is_known(config: RankConfig) -> str:
    """Return what else may make a list stable, if it was not given: ", or so"."""
    if config.labels is not None or config.source:
        return ""
    return ", or a method that uses what is known (--labels, --source)"
