"""Guards against the usual accidents: results without an error that nobody should trust.

Each guard is a warning that says what was seen and what to do. ``--accept`` silences it by its name
in ``sfs_cli.options.guards``. A guard looks at few values, or at what the run has made anyway.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfs_cli import provenance
from sfs_cli.catalog import METHODS, ON_SOURCES, SIGNED
from sfs_cli.compute.context import Labels
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import Span, cut
from sfs_cli.errors import counted, listed
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, has_zero_degrees, name_samples
from sfs_cli.io.files.table import is_number
from sfs_cli.knowledge.samples import Classes, Profile
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import LABELS_ALONE
from sfs_cli.options.guards import GUARDS
from sfs_cli.options.source import KINDS
from sfs_cli.provenance import DonorFacts, StabilityFacts
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.identity import Identity, any_same, identity_of, matrix_identity, same_matrix
from sfs_cli.run.inputs import look_continuous
from sfs_cli.run.load import Run
from sfs_cli.run.passes import graph_asked, needed
from sfs_cli.run.ties import ties
from sfs_cli.run.top import LOOKING, TOP, TopFeatures, stored_of, values_of
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.matrix import LOOK_VALUES, look
from sfs_cli.store.transforms import parse

if TYPE_CHECKING:
    from sfs_cli.methods.significance.tested import TestedScorer

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
LOOK_NORMAL, LOOK_TESTED = 1024, 256
"""Features that are looked at to tell whether they are like normal noise, of which few may be far
from it, and whether tests of class means suit them."""
NORMAL_AT, TOO_OFTEN = (0.05, 0.01, 0.001, 1e-4), 1.05
"""They are not if p-values up to one of the first come up so many times as often as they should, by
more than chance. Some values, or graphs, change one end of the tail only."""
SMALL_P = 0.001
"""The p-value at which tests of class means are looked at."""
SMALL_CLASS = 6
"""The t-test needs so many samples of each class: with fewer, variances are too small by chance."""
CONSTANT = 0.1
"""A class is constant in many features if it is in this part of them."""
LARGEST_EXACT = 2**53
LOGARITHMS = ("log1p", "log2", "clr")
TAMING = (*LOGARITHMS, "rank", "pearson-residuals", "deviance")
"""Steps after which large values of counts or intensities do not decide."""
FOR_COUNTS, FOR_TESTS = "cpm,log1p", "pearson-residuals"
"""What raw counts need, and where they are tested: logarithms of few counts follow the depth."""
DECIDE = "features with large values, and single samples, decide"
LOOKED_AT_TOGETHER = 65_536
"""Names that one thread looks at, at a time."""
_OF_FEATURES = r"obsm:X_.*|obsp:(connectivities|distances)"
"""What scanpy makes of the matrix itself."""
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


def _tests(config: RankConfig) -> bool:
    """Tell whether p-values are asked for."""
    return config.pvalues is not None or config.scorer in SIGNED


def guard_labels(run: Run) -> None:
    """Warn of labels that are ids, and of classes, batches and donors with two spellings."""
    if run.labels is not None and run.labels.values is None:
        tell(run, "labels", id_labels(run.labels))
        tell(run, "labels", spelled_twice(run.labels.classes))
    for what, column in (("batch", run.columns.batch), ("donor", run.columns.donors)):
        if column is not None:
            levels = sorted({str(value) for value in column.values.values()})
            tell(run, "labels", spelled_twice(levels, what))


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


def guard_pvalues(run: Run, name: str) -> bool:
    """Warn of p-values on a graph that was made of the tested features; return whether it was.

    Where that is not known, a message says what it would mean.

    `name` is that of the sample graph: one of `sfs_cli.options.graph.SIMILARITIES`, ``obsp:KEY`` or
    ``file``.
    """
    config = run.config
    fused = fused_from_matrix(config, name)
    made = own_graph(name, config.coordinates_from) or own_file(config, fused)
    what = optimistic(config.similarity, config.coordinates, of_file=name == "file")
    tell(run, "tested-graph", None if made is None else f"{made}: {OWN_EDGE}, {what}")
    if made is None and (unknown := unknown_graph(config, name, fused)):
        run.log.note(f"if {unknown} was made of the tested features, the p-values are too small")
    return made is not None


OWN_EDGE = "they follow it for that reason alone"
"""What is wrong with a graph of the tested features."""
OTHER_GRAPH = (
    "test on a graph of something else: --similarity label, --coordinates, or a --similarity-file "
    "of another profile"
)


def optimistic(similarity: str | None, coordinates: str | None, *, of_file: bool) -> str:
    """Return what that does to p-values, and what to do; --split takes no graph that is given.

    `similarity` and `coordinates` are the options of these names.
    """
    without = ""
    if coordinates is not None:
        without = " without --coordinates"
    elif ":" in (similarity or ""):
        without = " without --similarity"
    split = f"give --split features (of raw counts also --split counts){without}, or "
    ways = OTHER_GRAPH if of_file else split + OTHER_GRAPH
    return f"so the p-values are too small, and q-values promise nothing; {ways}"


def own_graph(name: str, coordinates: str | None) -> str | None:
    """Tell whether a sample graph is made of the matrix, or of what scanpy makes of it."""
    if name in (*LABELS_ALONE, "file"):
        return None
    if name.startswith("obsp:") or coordinates is not None:
        held = name if name.startswith("obsp:") else str(coordinates)
        if not re.fullmatch(_OF_FEATURES, held):
            return None
        return (
            f"the sample graph ({held}) is probably made of the tested features, as scanpy makes it"
        )
    return "the sample graph was made of the tested features"


def own_file(config: RankConfig, fused: bool | None) -> str | None:
    """Tell of a graph of a file that was made of the matrix, as `fused_from_matrix` has found."""
    if not fused:
        return None
    return f"the sample graph ({config.similarity_file}) was made of the tested features"


def unknown_graph(config: RankConfig, name: str, fused: bool | None) -> str | None:
    """Return a graph, or its coordinates, of which no record says what it was made of."""
    if name == "file":
        return f"the sample graph of {config.similarity_file}" if fused is None else None
    of = config.coordinates_from
    if of is None or of.startswith("obsm:") or name in LABELS_ALONE:
        return None
    return f"the sample graph on {of}"


def fused_from_matrix(config: RankConfig, name: str) -> bool | None:
    """Tell whether `sfs fuse` has made a graph of a file of values of the matrix; None: not known.

    The record beside the file says of what it was made. `name` is that of the graph.
    """
    if name != "file":
        return False
    record = _of_fuse(config)
    sources = record.get("sources")
    if not isinstance(sources, list) or not sources or not all(map(_is_record, sources)):
        return None
    roles, unknown = set(), False
    for source in sources:
        kind, path = source.get("kind"), str(source.get("path"))
        inside = path.startswith(("obsm:", "obsp:"))
        if (kind in KINDS and KINDS[kind].of_matrix) or re.fullmatch(_OF_FEATURES, path):
            roles.add("matrix")  # of that run
        elif kind == "profile" and not inside:
            roles.add(f"source.{source.get('name')}.path")
        elif kind == "similarity" and not inside:
            unknown = True
    own = matrix_identity(config.matrix) if roles else Identity()
    found = [same_matrix(own, identity_of(record.get("inputs"), [role])) for role in roles]
    return any_same([*found, None] if unknown else found)


def _is_record(value: object) -> bool:
    return isinstance(value, dict)


def _of_fuse(config: RankConfig) -> dict[str, Any]:
    """Return the record beside a similarity; empty where there is none that is of this file."""
    path = Path(str(config.similarity_file))
    record = provenance.read_record(path.with_name(path.name + provenance.BESIDE)) or {}
    try:
        written = record["outputs"][path.name]["bytes"]
        return record if written == path.stat().st_size else {}
    except (KeyError, TypeError, OSError):
        return {}


def guard_normal(run: Run, scorer: TestedScorer, score: np.ndarray) -> None:
    """Warn of p-values of normal noise where some of the scored features (m,) are far from it."""
    scored = np.flatnonzero(~np.isnan(score))
    if not len(scored) or not _wanted(run, "not-normal"):
        return
    step = -(-len(scored) // LOOK_NORMAL)
    values = values_of(run, scored[::step])
    values -= values.mean(axis=1, keepdims=True)
    tell(run, "not-normal", not_normal(scorer, values))


def guard_tests(run: Run, tested: dict[str, Any], scored: np.ndarray) -> None:
    """Warn of p-values whose samples depend on each other, or whose test does not suit the values.

    `tested` are the facts of the method, and `scored` the features that have a score, by index.
    """
    design = donor_design(run)
    if design is not None:
        tell(run, "donors", dependent_samples(design, run.matrix.n_samples))
    share = missing_share(run, scored)
    if share:
        run.log.note(
            f"{share:.2g} of the values are missing, and are filled by the mean of their feature: "
            "the test takes them for measured ones, and p-values of features that lack many may be "
            "wrong: too large, or too small where one class lacks more of them than another"
        )
    guard_class_tests(run, tested, scored)


def missing_share(run: Run, scored: np.ndarray) -> float:
    """Return the share of values that are filled, of the used samples and scored features (m,).

    Of large matrices it is that of features from all over; only where these lack none, all are
    read.
    """
    whole = run.matrix.matrix
    if run.config.missing != "mean" or not whole.missing.values or not len(scored):
        return 0.0
    features, n = np.sort(scored), run.matrix.n_samples
    step = -(-len(features) // max(1, LOOK_VALUES // n))
    share = float(np.isnan(stored_of(run, features[::step])).mean())
    if share or step == 1:
        return share
    parts = np.array_split(features, step)
    missing = sum(np.count_nonzero(np.isnan(stored_of(run, part))) for part in parts)
    return missing / (len(features) * n)


def guard_class_tests(run: Run, tested: dict[str, Any], scored: np.ndarray) -> None:
    """Warn of tests of class means that the values, or the sizes of the classes, do not suit.

    `scored` are the features that have a score, by index.
    """
    config, labels = run.config, run.context.labels
    by_graph = config.pvalues is not None
    if by_graph:
        tests = (
            config.scorer == "fisher" or graph_asked(config, run.matrix.n_samples).name == "label"
        )
        tests &= not METHODS[config.scorer].permuted  # which tests dependence of any kind
    else:
        tests = config.scorer in SIGNED
    names = ("class-tests", "small-class") if config.scorer == "t-test" else ("class-tests",)
    if labels is None or not tests or not any(_wanted(run, name) for name in names):
        return
    if run.batches is not None or not len(scored):
        return
    wanted = min(LOOK_TESTED, max(1, LOOK_VALUES // run.matrix.n_samples))
    values = values_of(run, np.sort(scored)[:: -(-len(scored) // wanted)])
    values -= values.mean(axis=1, keepdims=True)
    held = Inflation.of(values, labels, run.context.covariates)
    if config.scorer == "t-test" and not by_graph:
        counts, constant = labels.counts(), tested["constant_in_a_class"]
        text = small_class(counts, constant, tested["tested_features"], held)
        tell(run, "small-class", text)
        tell(run, "class-tests", None if text else ill_suited_t_test(held))
    else:
        tell(run, "class-tests", ill_suited_test(held, len(values), by_graph=by_graph))


def label_columns(labels: Labels) -> np.ndarray:
    """Return orthonormal columns, shape (n, q), each with the sum 0.

    Their span has the class means of centered features, or the line of an outcome.
    """
    from sfs_cli.methods.classical import ClassScatter
    from sfs_cli.methods.shared import unit_outcome

    if labels.values is not None:
        return unit_outcome(labels.values, "the F-test")[:, None]
    return ClassScatter(np.unique(labels.codes, return_inverse=True)[1]).columns


@dataclass(frozen=True)
class Inflation:
    """How many times as often as they should tests of class means have p-values up to `SMALL_P`.

    Attributes
    ----------
    shape : float
        The F-test, by the shape of the values.
    variances : float
        The F-test, and tests by orders of the samples, by variances that differ between classes.
    welch : float
        Welch's t-test, by the shape of the values and the number of samples; infinite where there
        are not two classes.
    """

    shape: float
    variances: float
    welch: float

    @classmethod
    def of(cls, values: np.ndarray, labels: Labels, covariates: int) -> Inflation:
        """Measure them on features (b, n) around their means."""
        from sfs_cli.methods.significance import class_tests

        n, variances, welch = values.shape[1], 1.0, math.inf
        codes = np.unique(labels.codes, return_inverse=True)[1]  # without empty classes
        classes = int(codes.max()) + 1
        columns = label_columns(labels)
        within = n - (classes if labels.values is None else 2) - covariates
        shape = class_tests.too_often(values, columns, within, SMALL_P)
        if 1 < classes < n:  # an outcome that is measured has no classes
            variances = class_tests.too_often_by_variances(values, codes, SMALL_P)
        if classes == 2 and np.bincount(codes).min() > 1:
            welch = class_tests.too_often_by_welch(values, codes, SMALL_P)
        return cls(shape, variances, welch)

    @property
    def instead_of_t(self) -> str:
        """What to do where Welch's t-test does not hold."""
        if max(self.shape, self.variances) < TESTS_TOO_OFTEN:
            return (
                "give --method f-test, which has one variance for all classes, as these values have"
            )
        return self._by_orders

    @property
    def instead_of_f(self) -> str:
        """What to do where the F-test does not hold."""
        if self.welch < TESTS_TOO_OFTEN:
            return (
                "give --method t-test, which has a variance for each class and errs least here "
                f"(in a class of fewer than {SMALL_CLASS} samples that variance is rough: add some)"
            )
        return self._by_orders

    @property
    def _by_orders(self) -> str:
        if self.variances < TESTS_TOO_OFTEN:
            return (
                "give --method hsic --pvalues moments (or permutation:10000), which compares with "
                "the same values in other orders of the samples"
            )
        return (
            "no other test does better, because the variances of the classes differ too, and "
            "f-test, fisher and hsic err more: take the order of the features and not their "
            "p-values, or add samples to the small class"
        )


TESTS_TOO_OFTEN = 3
"""Tests of class means do not hold where p-values up to `SMALL_P` come up so many times as often:
with 6 samples of normal values in a class of 36 Welch's test comes near it."""


def ill_suited_test(held: Inflation, looked: int, *, by_graph: bool) -> str | None:
    """Tell whether the F-test, or a test on the graph of the labels, finds too much in noise.

    `held` was measured on so many features.
    """
    how = f"by the values of {looked:,} features, p-values up to {SMALL_P:g} of features that have"
    if held.variances >= TESTS_TOO_OFTEN:
        return (
            f"the classes differ in size and in variance: {how} the same mean in all classes come "
            f"up {held.variances:.1f} times as often as they promise; {held.instead_of_f}"
        )
    if by_graph or held.shape < TESTS_TOO_OFTEN:
        return None
    return (
        f"the values are too far from normal for classes of these sizes: {how} nothing to do with "
        f"the labels come up {held.shape:.1f} times as often as they promise; {held.instead_of_f}"
    )


def ill_suited_t_test(held: Inflation) -> str | None:
    """Tell whether Welch's t-test finds too much in noise."""
    if not TESTS_TOO_OFTEN <= held.welch < math.inf:
        return None
    return (
        "the values are too far from normal for classes of these sizes: p-values of the t-test up "
        f"to {SMALL_P:g} come up {held.welch:.1f} times as often as they promise where there is "
        f"nothing to find; {held.instead_of_t}"
    )


def donor_design(run: Run) -> DonorFacts | None:
    """Return how the samples are spread over donors and classes; None where no donors are named."""
    donors, labels = run.donors, run.labels
    if donors is None:
        return None
    count, known = int(donors.max()) + 1, np.zeros(len(donors), int)
    if labels is not None:
        labels = labels.take(run.matrix.samples)  # an outcome as it was before --adjust
        values = labels.codes if labels.values is None else np.nan_to_num(labels.values)
        known = np.unique(values, return_inverse=True)[1]
    pairs = np.unique(np.column_stack([donors, known]), axis=0)
    several = int(np.count_nonzero(np.bincount(pairs[:, 0]) > 1))
    return DonorFacts(
        donors=count,
        of_several_classes=several,
        donors_by_classes=len(pairs),
        adjusted=run.design is not None and _explains(run.design.basis, donors),
    )


def _explains(basis: np.ndarray, groups: np.ndarray) -> bool:
    """Tell whether a basis (r, n), beside the mean, explains which group each sample is of (n,)."""
    if len(basis) < groups.max():
        return False
    sizes = np.bincount(groups)
    # the squares of an indicator around its mean, and those of its projection
    sums = np.array([np.bincount(groups, row) for row in basis])
    return bool(np.allclose((sums**2).sum(axis=0), sizes * (1 - sizes / len(groups)), rtol=1e-6))


def dependent_samples(design: DonorFacts, samples: int) -> str | None:
    """Tell whether a test takes several samples of one donor for independent ones."""
    donors = design["donors"]
    if donors == samples:
        return None
    what = f"the {samples:,} samples are of {donors:,} donors, and "
    if design["donors_by_classes"] < samples:
        return (
            f"{what}those of one donor are no independent samples: p_value and q_value, which take "
            f"them for such, can be far too small; {of_donors(design, samples)}"
        )
    if design["adjusted"]:
        return None
    return (
        f"{what}the classes vary within donors, as in pairs: p_value and q_value take the samples "
        "for independent ones and the differences between donors for noise, so that they are too "
        "large where donors have the classes alike, and may be too small elsewhere; "
        f"{of_donors(design, samples)}"
    )


def of_donors(design: DonorFacts, samples: int) -> str:
    """Return what to do about several samples of one donor."""
    if not design["of_several_classes"]:
        return "add up or average the samples of each donor (pseudobulk), and rank these"
    ways = []
    if design["donors_by_classes"] < samples:
        ways.append("add up or average the samples of each donor and class (not across classes)")
    if not design["adjusted"]:
        ways.append(
            "compare within donors: --adjust with the column of the donors, --method f-test, "
            "--label-type ordered and --label-order, which of two classes is the paired test"
        )
    return ", and ".join(ways)


def small_class(counts: dict[str, int], constant: int, tested: int, held: Inflation) -> str | None:
    """Tell whether a t-test knows the variance of each class too badly."""
    name, size = min(counts.items(), key=lambda each: each[1])
    if size < SMALL_CLASS:
        what = (
            f"class {name} has {size} samples: the t-test takes the variance of each class from "
            "its own samples, and of so few it is far too small in some features"
        )
    elif constant > CONSTANT * tested:
        what = (
            f"in {constant:,} of {tested:,} features one class does not vary: the t-test takes "
            "its variance for zero, as if its mean were known exactly"
        )
    else:
        return None
    return f"{what}, so that many p-values are too small; {held.instead_of_t}"


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


def guard_lists(run: Run, how: str) -> None:
    """Warn of p-values of an aggregation that assume independent lists, where there are none."""
    tell(run, "dependent-lists", dependent(how))


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
        return Raw(what, FOR_TESTS if config is not None and _tests(config) else FOR_COUNTS)
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

    `what` one of them is: a class, a batch or a donor.
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
    each = {"class": "classes", "batch": "batches"}.get(what, f"{what}s")
    return (
        f"the {each} {' and '.join(map(repr, twice[:3]))} {number} {how}, and count as different: "
        f"give them one name if they are one {what}"
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


def not_normal(scorer: TestedScorer, values: np.ndarray) -> str | None:
    """Tell whether centered features (b, n) get small p-values more often than normal noise."""
    from sfs_cli.methods.significance.tested import more_often

    assert scorer.distribution is not None
    levels = np.array(NORMAL_AT)
    times, chance = more_often(scorer.distribution, scorer.ratio, values, levels)
    over = times - chance
    worst = int(over.argmax())
    if over[worst] < TOO_OFTEN:
        return None
    return (
        f"--pvalues gaussian compares with normal noise, which the features are not like: by the "
        f"values of {len(values)} of them, p-values up to {levels[worst]:g} come up "
        f"{times[worst]:.1f} times as often as they promise where there is nothing to find; give "
        "--pvalues moments"
    )


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


def dependent(how: str) -> str | None:
    """Tell whether lists of one matrix are aggregated with p-values of independent lists."""
    if how != "rra":
        return None
    return (
        "the p-values of rra assume independent lists, and these rank the features of one matrix: "
        "they agree even where there is nothing to find, so p_value and q_value are too small; use "
        "the order, not a cut by q_value"
    )
