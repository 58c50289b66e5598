"""Guards against common mistakes: results without an error that nobody should trust.

Each guard is a warning that says what was seen and what to do, and ends with its name in
``sfs_cli.options.guards``. A guard reads few values, or what the run has made anyway.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Span
from sfs_cli.errors import SfsError, counted, listed, plural
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, has_zero_degrees, name_samples
from sfs_cli.io.files.table import is_number
from sfs_cli.knowledge.samples import Classes, Profile
from sfs_cli.options.guards import GUARDS
from sfs_cli.options.testing import MODERATED, tested
from sfs_cli.ranking.prune import standardized
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.annotations import followed_by_top, groupings, repeated_donors
from sfs_cli.run.columns import seeming, sums_of_features
from sfs_cli.run.inputs import EVENT, filled_times, look_continuous, unused_events, visits_taken
from sfs_cli.run.load import Run
from sfs_cli.run.raw_values import (
    FOR_TESTS,
    coded_missing,
    contradicted,
    is_tame,
    like_logarithms,
    logged,
    looked,
    raw_kind,
    refuse_logarithms,
    scaled,
    shallow,
    swapped,
    taken_again,
)
from sfs_cli.run.ties import ties
from sfs_cli.run.top import TOP, from_all_over, stored_of
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.matrix import LOOK_VALUES, look
from sfs_cli.store.transforms import parse, target_of

UNIFORM_SPAN = 0.25
"""A graph is uniform if 9 of 10 pairs lie in a range below this part of a sample's own value."""
IDENTITY_MEAN = 0.02
"""A graph is nearly the identity if the mean of its pairs is below this part of that value."""
LOW_DEGREE = 0.15
"""A sample hardly belongs to a graph if its degree is below this part of the median degree."""
PAIRS = 2_000_000
"""Pairs of samples that are compared."""
FILLED = 0.5
"""The share of missing values of a sample above which filling them triggers the warning."""
_MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec"
    "|mrz|mär|märz|mai|okt|dez"  # German
    "|janv|févr|fevr|mars|avr|juin|juil|août|aout|déc"  # French
    "|ene|abr|ago|dic|gen|mag|giu|lug|set|ott"  # Spanish and Italian
    "|fev|out|mrt|mei"  # Portuguese and Dutch
)
"""The months as spreadsheets of these languages write them short."""
_DECIMAL = r"^\d+\.0$|^\d(?:\.\d+)?[eE]\+\d+$"
"""1017.0, as pandas writes an index of decimal numbers, and 1e+05, as R writes 100000."""
_DATE = (
    rf"^(?:\d{{1,2}}(?:-|\. ?)(?:{_MONTHS})\.?(?:[- .]\d{{2,4}})?"
    r"|(?:jan|feb|mar|mrz|mrt|apr|ma[iy]|jun|jul|aug|sept?|o[ck]t|nov|de[cz])-\d{2}(?:\d{2})?"
    r"|\d{4}-\d{2}-\d{2}(?:[ T]00:00:00)?|\d{1,2}/\d{1,2}/(?:\d{2}){1,2}"
    r"|\d{1,2}\.\d{1,2}\.\d{4})$"
)
"""2-Sep, 2-Sep-2026, 02. Sep, 1-mars, Sep-02, and 2026-09-02, 9/2/26 and 02.09.2026 of a cell."""
_NO_GENE = (
    r"^(?:__(?:no_feature|ambiguous|too_low_aqual|not_aligned|alignment_not_unique)"
    r"|N_(?:unmapped|multimapping|noFeature|ambiguous)"
    r"|(?:log1p_)?(?:n_counts|total_counts(?:_\w+)?|n_genes(?:_by_counts)?)|pct_counts_\w+"
    r"|percent[._]mt|n(?:Count|Feature)_\w+|doublet_scores?)$"
)
"""Unassigned reads of HTSeq and STAR, and quality metrics of cells by scanpy and Seurat."""
_OF_SAMPLES = (
    r"^(?:(?:age|sex|gender|race|ethnicity|bmi|height|weight|smok(?:er|ing)|class|labels?|group"
    r"|condition|disease|diagnosis|phenotype|treatment|response|outcome|target|stage|grade|subtype"
    r"|relapse|recurrence|metastasis|censored|event|(?:vital[ ._-])?status|batch|plate|run|lane"
    r"|site|cent(?:er|re)|donor|subject|individual|patient|sample|case|survival|follow[ ._-]?up)"
    r"(?:[ ._-](?:years?|months?|days?|at[ ._-]\w+|kg|cm|status|code|group|id|name|no|time))*"
    r"|(?:os|pfs|dfs|rfs)[ ._-](?:time|event|months|days|years|status)|days[ ._-]to[ ._-]\w+|time"
    r"|alter|geschlecht|gruppe|klasse|krankheit|diagnose"  # German, French, Spanish and others
    r"|[aâ]ge|sexe|groupe|maladie|edad|sexo|grupo|enfermedad|idade|sesso|gruppo|leeftijd|geslacht"
    r"|id|index|unnamed: ?\d+)$"
)
"""What is known of samples."""
_SUMMARY = (
    r"^(?:(?:grand[ ._-])?(?:totals?|sums?|mean)|average|avg|median|sd|std|stdev"
    r"|std?[ ._-]{0,2}dev\.?|maximum|minimum"
    r"|standard[ ._-]deviation|sem|variance|cv"
    r"|(?:gesamt)?summe|gesamt|mittel(?:wert)?|durchschnitt|standardabweichung|varianz"  # German
    r"|somme|moyenne|m[eé]diane|[eé]cart[ ._-]type"  # French
    r"|suma|soma|somma|m[eé]dia|promedio|mediana"  # Spanish, Portuguese and Italian
    r"|(?:desviaci[oó]n|desvio|deviazione)[ ._-](?:est[aá]ndar|padr[aã]o|standard)"
    r"|totaal|gemiddelde|mediaan|standaardafwijking"  # Dutch
    r"|(?:total|mean|average|sum|median)[ ._-](?:counts?|reads|expression|values?))$"
)
"""Rows that somebody has added below the genes."""
RARE = 10
"""Names of what is known of samples, and of sums and means, tell where at most one of so many
features has one: a table of patients, or of images, may hold nothing else."""
GENES_TOO = {"run", "sd", "cv", "sem", "time", "case", "lane", "site", "id", "stage"}
"""Names that are genes of some species, as scalloped (sd) and runt (run) of Drosophila: they tell
beside others only."""
CODED = 0.05
"""Fraction of features with so few values that these are not what was measured of one alone."""
FIRST, FEWEST = 3, 8
"""First features that may be a copy of the labels, and samples from which that is no chance."""
SAME_LINE = 1e-9
"""One less the correlation of an outcome and its copy, which was rounded."""
TOLD = (
    "{} is confounded with the classes (one follows from the other): differences between the "
    "classes may come from it, and no option can separate the two; check the first features on "
    "samples of which each group has several classes"
)
"""What is said of a batch that the classes follow, or that follows the classes."""
_MEND = "and no source will find them; correct the table (or name them by --id-map)"
_SYMBOLS = re.compile(r"symbol|^genes?(?:[ _.]?names?)?$", re.IGNORECASE)
SUSPICIOUS = {
    _DATE: "dates as names: a spreadsheet has replaced names of genes such as SEPTIN2 or "
    f"MARCHF1, {_MEND}",
    _DECIMAL: "decimal numbers as names: ids such as 1017 or 100000 were stored as numbers, "
    f"{_MEND}",
}
"""Patterns of names that programs have converted, and what is said of such features."""
NO_MEASUREMENTS = {
    _NO_GENE: "unassigned reads, or quality metrics of cells",
    _OF_SAMPLES: "by the name, known of the samples",
    _SUMMARY: "by the name, a sum or mean of others",
}
"""Patterns of names of what was not measured, and what it is."""


class Doubt(NamedTuple):
    """A reason not to trust p-values."""

    guard: str  # its name in `sfs_cli.options.guards`
    text: str  # of the warning: what is wrong, and what to do
    short: str  # what is wrong, after a "but"
    remedy: str = ""  # what to do, where it is about the samples


def before_ranking(run: Run) -> None:
    """Warn of what is seen before anything is ranked."""
    guard_raw(run)
    guard_labels(run)
    guard_sources(run)


def guard_filled(run: Run) -> None:
    """Say how many values are filled, and warn of samples of which most are."""
    missing = run.matrix.matrix.missing
    if run.config.missing != "mean" or not missing.values:
        return
    run.log.note(
        f"--missing mean: {counted(missing.values, 'value')} of "
        f"{counted(missing.features, 'feature')} filled by the mean of the feature"
    )
    most = max(1, LOOK_VALUES // run.matrix.n_samples)
    features = from_all_over(np.arange(run.matrix.n_features), most)
    tell(run, "columns", filled(stored_of(run, features), run.matrix.ids.samples))


def filled(values: np.ndarray, samples: Sequence[str]) -> str | None:
    """Warn of samples, by their values with NaN where they are filled (m, n), that lack most."""
    share = np.isnan(values).mean(axis=0)
    lacking = [samples[i] for i in np.flatnonzero(share > FILLED).tolist()]
    if not lacking:
        return None
    return (
        f"fewer than half of the values are there in {counted(len(lacking), 'sample')} of "
        f"{len(samples):,} ({listed(lacking, 5)}), and the mean of each feature fills the others: "
        "such a sample is like the mean of all, whatever it is; remove it from the table"
    )


def guard_raw(run: Run, of: str = "the ranking") -> None:
    """Warn of values that need a transformation; `of` is what they dominate."""
    asked = run.config.transform
    values = looked(run)
    if run.config.min_count is not None:
        refuse_logarithms(run, "min_count")
    if coded := coded_missing(values):
        tell(run, "raw-values", coded)
        return
    tell(run, "raw-values", scaled(values, run.opened.facts, run.config.layer), swapped(asked))
    if asked and not run.config.voom:  # which refuses logarithms
        already = logged(run)
        tell(run, "logarithms", taken_again(asked, already), contradicted(asked, already))
    if is_tame(asked):
        if target_of(parse(asked)[0]) is not None:
            tell(run, "shallow", shallow(asked, values, run.matrix.n_features))
        return
    raw = raw_kind(values, run.config)
    if raw is not None:
        instead = f"--transform {raw.after(asked)}"
        moderated = raw.transform == FOR_TESTS and run.config.scorer in MODERATED
        if moderated and not raw.sparse and _takes(run, voom=True):
            instead = "--voom"
        tell(run, "raw-values", f"{raw.warning('the values', of)}; give {instead}")


def guard_labels(run: Run) -> None:
    """Warn of labels that are ids, and of classes and groups with two spellings."""
    if run.labels is not None and run.labels.values is None:
        tell(run, "labels", id_labels(run.labels), spelled_twice(run.labels.classes))
    if run.config.label_type == "continuous":
        unused = unused_events(*run.label_columns) if run.config.events is None else None
        tell(run, "survival", unused or without_times(run, run.labels))
        table = run.label_table
        if table is not None and run.config.events is not None:
            known = next(iter(run.columns["event"])).values, run.matrix.ids.samples
            tell(
                run,
                "survival",
                *filled_times(table, *known) if table.parts else (visits_taken(table, *known),),
            )
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
            tell(
                run,
                "labels",
                id_labels(labels, f" of source {spec.name}"),
                single_class(labels, spec.name),
                spelled_twice(labels.classes),
            )
        if not isinstance(source, Profile):
            continue
        if spec.missing == "mean":
            lacking = filled(look(source.matrix), source.matrix.ids.samples)
            tell(run, "columns", lacking and f"source {spec.name}: {lacking}")
        if spec.has_coordinates:
            continue
        values = look(source.matrix)
        if again := taken_again(spec.transform, like_logarithms(values), "transform="):
            tell(run, "logarithms", f"source {spec.name}: {again}")
        raw = None if is_tame(spec.transform) else raw_kind(values)
        if raw is not None:
            text = raw.warning(f"the values of source {spec.name}", "its graph")
            tell(run, "raw-values", f"{text}; add to it ,transform={raw.after(spec.transform)}")


def guard_graph(run: Run, similarity: Similarity) -> None:
    """Warn of a graph that has no structure, and of samples that it hardly has."""
    tell(run, "graph", structureless(similarity))
    if not has_zero_degrees(similarity):  # `linear` has no others
        tell(run, "outliers", outliers(similarity.degrees, run.matrix.ids.samples))


def unnamed_donors(run: Run) -> tuple[str, np.ndarray] | None:
    """Return the column of donors that a test takes for independent samples, and each one's (n,).

    None where an option names donors, or keeps samples of a donor apart.
    """
    config, labels = run.config, run.labels
    if labels is None or config.donors is not None or config.batch is not None:
        return None
    if not (config.markers or (run.labels_used and tested(config))):
        return None
    matrix, samples = run.opened.matrix, run.matrix.samples
    of_cells = config.pseudobulk is not None or run.opened.like_cells()[0]
    return repeated_donors(matrix, labels, samples, config.labels, of_cells=of_cells)


def guard_batches(run: Run, top: np.ndarray) -> None:
    """Warn of first features, found without labels, that follow a column; `top` are their values.

    With labels it warns of a batch that is confounded with the classes.
    """
    config, labels = run.config, run.labels
    if config.adjust or config.batch is not None or config.block is not None:
        return
    used = run.labels_used
    columns = groupings(run.opened.matrix, labels, config.labels, telling=used, batches=True)
    if used:  # of donors the warning `donors` tells, and what to do
        donors = config.donors, (unnamed_donors(run) or ("",))[0]
        telling = [column.spec for column in columns if column.spec not in donors]
        tell(run, "batch", *map(TOLD.format, telling[:1]))
    if used or len(top) < TOP:
        return
    found = followed_by_top(columns, standardized(top), run.matrix.samples)
    for name, share in [*found.items()][:1]:
        text = f"the first features follow {name}, which explains {share:.0%} of the variance of "
        text += f"{TOP}; if it is technical, as a batch is, "
        if _takes(run, adjust=(spec := f"{name}=categorical",)):
            text += f"give --adjust {shlex.quote(spec)}"
        else:  # as beside weights of samples
            text += "take its means out of the values before they are ranked"
        tell(run, "batch", text)


def guard_names(run: Run, first: Sequence[int] = ()) -> str | None:
    """Warn of features that are no measurements, and of names that no gene has.

    Asked are the features that take part, and symbols in an annotation. `first` are the indices of
    those that rank first, which may be the labels. Returned is what ``--exclude`` has to be.
    """
    ids, by_id = run.matrix.ids, run.matrix.features.by_id
    names: Sequence[str] = ids.features
    taken = np.arange(len(names))
    if by_id is not None:
        taken = np.flatnonzero(by_id == 0)
        names = FeatureIds.of(names).take(taken)
    reasons = not_measured(run, names, taken, first)
    pattern = f"^({'|'.join(re.escape(name) for name in reasons)})$" if reasons else None
    if pattern is not None:
        text = (
            f"{seeming([*reasons.items()], 'measurement')}: such a feature may rank before what "
            "was measured, and enters totals of samples and the sample graph; give --exclude "
            f"{shlex.quote(pattern)}"
        )
        tell(run, "columns", text)
    symbols = [texts for name, texts in ids.var.items() if _SYMBOLS.search(name)]
    for each in (names, *symbols):
        tell(run, "names", *suspicious(each))
    return pattern


def not_measured(
    run: Run, own: Sequence[str], taken: np.ndarray, first: Sequence[int]
) -> dict[str, str]:
    """Return the features, of those `taken`, that are no measurements, by names or values, and why.

    `own` are the names of these. Sums and means of the other features are found in a matrix
    that takes little to read, whatever they are called, and copies of the labels among those that
    are suspects by the name, and among the `first`.
    """
    names = run.matrix.ids.features
    reasons: dict[str, str] = {}
    for pattern, why in NO_MEASUREMENTS.items():
        alike = like(own, pattern)
        if pattern == _NO_GENE or RARE * len(alike) <= len(taken):
            reasons |= dict.fromkeys(alike, why)
    if {name.lower() for name in reasons} <= GENES_TOO:
        reasons = {}
    if len(names) * run.matrix.n_samples <= LOOK_VALUES:
        values = run.matrix.matrix.values_of(Span(0, len(names)))[taken]
        run.passes.look(len(names))
        named = [i for i, name in enumerate(own) if reasons.get(name) == NO_MEASUREMENTS[_SUMMARY]]
        reasons |= {own[i]: why for i, why in sums_of_features(values, named).items()}
    suspects = [i for i in taken.tolist() if names[i] in reasons] if reasons else []
    at = np.array([*suspects[:TOP], *first], int)
    if run.context.labels is not None and len(at):
        of_labels = copies(stored_of(run, at), run.context.labels)
        if of_labels.any() and _are_coded(looked(run), run.context.labels):
            of_labels[:] = False
        reasons |= {names[i]: "it tells the labels exactly" for i in at[of_labels].tolist()}
    return reasons


def _are_coded(values: np.ndarray, labels: Labels) -> bool:
    """Tell whether many features (b, n) have no more values than there are classes.

    Then one that tells the classes is a finding, such as the presence of a gene.
    """
    if labels.values is not None:
        return False
    distinct = (np.diff(np.sort(values, axis=1), axis=1) > 0).sum(axis=1) + 1
    return bool((distinct <= labels.n_classes).mean() > CODED)


def copies(values: np.ndarray, labels: Labels) -> np.ndarray:
    """Tell which features (b, n) are the labels: one value in each class, or the outcome's line."""
    known = labels.known
    values = values[:, known].astype(np.float64)
    if known.sum() < FEWEST:
        return np.zeros(len(values), bool)
    if labels.values is not None:
        fit = standardized(np.vstack([values, labels.values[known]]))
        return np.abs(fit[:-1] @ fit[-1]) > 1 - SAME_LINE
    codes = labels.codes[known]
    distinct = len(np.unique(codes))

    def is_copy(row: np.ndarray) -> bool:
        pairs = np.unique(np.stack([row, codes]), axis=1)
        return len(np.unique(row)) == pairs.shape[1] == distinct > 1

    return np.array([is_copy(row) for row in values], bool)


def guard_ranking(run: Run, ranking: Ranking) -> None:
    """Warn of ties, and of features that are no measurements."""
    tell(run, "ties", ties(ranking))
    # not before: large matrices read the ids during the first pass
    guard_names(run, ranking.order[: min(FIRST, ranking.n_scored)].tolist())


def _takes(run: Run, **options: Any) -> bool:
    """Tell whether options go with those of a run, so that they can be proposed."""
    try:
        return not replace(run.config, **options).ignored
    except SfsError:
        return False


def tell(run: Run, name: str, *texts: str | None) -> None:
    """Warn of what a guard has found, if anything."""
    for text in texts:
        if text is not None:
            run.log.warn(f"{text} [{name}]", GUARDS[name].weight)


def suspicious(names: Sequence[str]) -> Iterator[str]:
    """Yield the warning of each kind of names that programs have converted."""
    for pattern, what in SUSPICIOUS.items():
        if alike := like(names, pattern):
            have = "has" if len(alike) == 1 else "have"
            yield f"{counted(len(alike), 'feature')} ({listed(alike, 9)}) {have} {what}"


def like(names: Sequence[str], pattern: str) -> list[str]:
    """Return the names that are like a pattern, in upper or lower case."""
    import pyarrow.compute as pc

    ids = FeatureIds.of(names).array
    found: list[str] = ids.filter(
        pc.match_substring_regex(ids, pattern, ignore_case=True)
    ).to_pylist()
    return found


def id_labels(labels: Labels, of: str = "") -> str | None:
    """Warn of labels, perhaps `of` a source, with a class for every two samples or more."""
    sizes = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.classes))
    used, samples = int(np.count_nonzero(sizes)), int(sizes.sum())
    if used < 3 or 2 * used < samples:
        return None
    measured = not of and look_continuous(labels)
    return (
        f"the labels{of} have {used:,} classes for {samples:,} samples: they look like ids of "
        "patients, pairs or batches; give the column of the classes"
        + " (of measurements: --label-type continuous)"
        * measured
    )


def without_times(run: Run, labels: Labels | None) -> str | None:
    """Warn of times of events, by --event, name, or another column, where others are left out."""
    lost, used = run.opened.matrix.n_samples - run.matrix.n_samples, run.context.labels
    if not lost or labels is None or used is None:
        return None
    known = Labels(labels.known.astype(int), ["without", "with"])
    columns = groupings(run.opened.matrix, known, run.config.labels, telling=True)
    names = [run.label_columns[0], *(c.spec.rpartition(":")[2] for c in columns if c.levels == 2)]
    named = re.search(EVENT, " ".join(names), re.IGNORECASE)
    if not (used.survival.event.all() if used.survival else named):
        return None
    return (
        f"all samples that are used have the event, with {counted(lost, 'sample')} left out: who "
        "had none until the last visit is censored, and times without such samples are too short; "
        "give them the time of that visit (--labels FILE:TIME,LAST takes LAST where TIME is "
        "empty), and the event 0 (--event)"
    )


def single_class(labels: Labels, source: str) -> str | None:
    """Warn of labels of a source that have one class."""
    if len(labels.classes) > 1:
        return None
    return (
        f"the labels of source {source} have a single class, {labels.classes[0]!r}: all samples "
        "are equally similar, which carries no information; give labels of two classes or more, "
        "or leave the source out"
    )


def spelled_twice(classes: Sequence[str], what: str = "class") -> str | None:
    """Warn of names that differ in upper and lower case or in blanks only, or are one number.

    `what` says what they name: a class, or a donor, for example.
    """
    alike: dict[str | float, list[str]] = {}
    for name in classes:
        plain = "".join(name.casefold().split())
        alike.setdefault(float(plain) if is_number(plain) else plain, []).append(name)
    twice = next((names for names in alike.values() if len(names) > 1), None)
    if twice is None:
        return None
    return (
        f"the {plural(what)} {' and '.join(map(repr, twice[:3]))} differ in spelling only and "
        f"count as different: give them one name if they are one {what}"
    )


def structureless(similarity: Similarity) -> str | None:
    """Tell whether a dense graph has no structure to rank by; sparse graphs always have some."""
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
        return (
            "in the sample graph hardly any two samples are similar (the mean similarity is "
            f"{float(pairs.mean()):.2g}, that of a sample with itself {own:.2g}): outlier samples "
            "dominate the ranking; give --similarity knn, or a wider kernel (bandwidth=)"
        )
    if low > 0 and high - low < UNIFORM_SPAN * size and high < 2 * low:
        return (
            "in the sample graph nearly all pairs are equally similar "
            f"(9 of 10 lie from {low:.2f} to {high:.2f}), so that it hardly tells features apart; "
            "give --similarity knn, or a steeper kernel (bandwidth=)"
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
        f"({name_samples(low, sample_ids)}): check these outliers, and leave out damaged samples"
    )
