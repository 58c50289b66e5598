"""The files that results consist of, and the columns of their tables, each declared once.

Writers take their headers from here, and the reference of the documentation is made from it. The
columns that one method adds to a ranking are in its entry of the catalog (`sfs_cli.catalog`).
Names in capitals stand for something of the run: ``mean_CLASS`` is ``mean_tumour``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sfs_cli.catalog import METHODS, TESTING


class Column(NamedTuple):
    """A column that a ranking may have."""

    meaning: str
    when: str = ""  # what makes it be there; empty where it always is


class File(NamedTuple):
    """A file of a result."""

    meaning: str
    verbs: tuple[str, ...]  # the commands that write it
    when: str = ""  # what makes it be there; empty where it always is
    columns: Mapping[str, str] = {}  # of a table, in their order; those of rankings are `RANKING`


_BY_CLASSES = "methods that score each feature by the classes"
_P_VALUES = f"`--pvalues`; {', '.join(f'`{name}`' for name in TESTING)}; `rra`"
_SCALES = "`--scales`, and where it is default"

RANKING = {
    "rank": Column("1 for the best feature"),
    "feature": Column("the id of the feature, as in the matrix"),
    "score": Column("the score of the method; `NaN` where there is none (null in JSON)"),
    "status": Column("`ok`, or why there is no score or the feature takes no part"),
    "tied": Column(
        "how many features have this score, up to rounding: 1 where no other has, 0 without a "
        "score; tied features are in the order of the input, which is arbitrary",
        "two or more features have the same score",
    ),
    "p_value": Column("the p-value of the score", _P_VALUES),
    "q_value": Column(
        "the p-value adjusted by Benjamini and Hochberg over all scored",
        _P_VALUES,
    ),
    "effect": Column(
        "standard deviations by which the score is better than the mean of null features",
        "`--pvalues`",
    ),
    "p_value_by": Column(
        "how the p-value was found: `moments`, which say no more than that it is above 0.1, "
        "`permutation`, or `extrapolation` below what the permutations reach",
        "`--pvalues`",
    ),
    "scale": Column("the scale with the smallest p-value", _SCALES),
    "p_value_SCALE": Column("the p-value on one scale", _SCALES),
    "direction": Column(
        "the class with the higher mean, of `rank-test` that with the higher ranks; empty where "
        "both are equal",
        _BY_CLASSES,
    ),
    "mean_CLASS": Column("the mean of each of two classes, as scored", _BY_CLASSES),
    "log2_fold_change": Column(
        "the mean of the second of two classes less that of the first, in the order of their "
        "names or by `--reference`, as a logarithm to base 2: 1 is twice as much; of x + 1 after "
        "`log1p` and `clr`",
        f"{_BY_CLASSES}, if `--transform` takes the logarithm, or it (`is-log2`) or `uns` of "
        "AnnData says that it is taken",
    ),
    "mean_difference": Column(
        "the mean of the second of two classes less that of the first, in the order of their "
        "names or by `--reference`, of the values as scored",
        f"{_BY_CLASSES}, else",
    ),
    "highest_class": Column("the class with the highest mean", f"{_BY_CLASSES}, three or more"),
    "representative": Column(
        "the best kept feature that this one repeats; empty for kept ones, and for those after "
        "the last one that was compared (1,000 are kept)",
        "`--max-correlation`",
    ),
    "frequency": Column(
        "share of the subsets of samples in which the feature is among the first", "`--stability`"
    ),
    "source": Column(
        "the source that the feature is of; the matrix has the name of the source `target`, or "
        "`matrix`",
        "`--rank-sources`",
    ),
    "rank_in_source": Column("the rank among the features of its source", "`--rank-sources`"),
    "n_lists": Column("number of lists that rank the feature", "`kogs`, `sfs aggregate`"),
    "rank_NAME": Column(
        "the rank in a list: of a source alone, a member, a batch or a file, or by another method",
        "`kogs`, `msfs` with `--leave-one-out` of two sources or more, `--batch`, `--also`, "
        "`sfs aggregate`",
    ),
    "ANNOTATION": Column(
        "what the matrix has beside its values, under the name that it has there",
        "columns of text, or of numbers that are no samples by their names",
    ),
}
"""The columns of rankings, in the order in which they are explained."""

CHANGES = ("log2_fold_change", "mean_difference")
"""The columns that compare two classes. A ranking has one at most."""

_OF_METHODS = [name for method in METHODS.values() for name in method.columns]
OF_GENES = tuple(
    name
    for name in dict.fromkeys((*RANKING, *CHANGES, *_OF_METHODS))
    if name == name.lower() and name != "feature"
)
"""The columns of rankings that ``var`` of AnnData gets: those with the same name in all of them."""

_LIST = {
    "list": "the ranking or control",
    "selection": "when its features were chosen: `in folds`, on `all samples`, or `given`",
    "features": "the length: how many of its first features are judged",
}
_MODELS = "1-NN, 5-NN or linear SVM; ridge regression of numbers and times"
_OF_TASKS = (
    "accuracy and balanced_accuracy; of numbers spearman (the correlation of predicted and true "
    "ones) and r2 (1 less the squared errors over those of the training mean); of times "
    "concordance (Harrell's)"
)
_MEASURED = _LIST | {
    "measure": f"of held-out samples {_OF_TASKS}; stability (Nogueira's, of the lists of the "
    "folds: 1 for equal ones, 0 is the mean of random ones), nmi, ari, redundancy, jaccard or "
    "hit_ratio",
    "classifier": f"of measures of held-out samples: {_MODELS}",
    "value": "the measure; of held-out samples the mean over the folds",
    "standard_error": "over the repeats; empty where there is one value",
    "low": "of a measure of held-out samples the lower limit of its 95 % confidence interval over "
    "the folds (corrected for their overlap: Nadeau and Bengio, 2003), within what the measure "
    "can be",
    "high": "the upper limit",
}
_WHOLE = ("rank", "shard merge")
_JUDGING = ("evaluate", "compare")
_RANKINGS = (*_WHOLE, "aggregate")
_OF_MULTIQC = (*_RANKINGS, *_JUDGING, "select")

COEFFICIENTS = "coefficients.tsv"

FILES = {
    "ranking.*": File(
        "the ranking, best first; features without a score last. The suffix is that of "
        "`--format`: tsv, csv, parquet, json or rnk (feature and "
        "metric of those with a score, for GSEA)",
        _RANKINGS,
    ),
    "report.html": File(
        "one page without links to other files: the result in words, figures, tables, what was "
        "read and how",
        (*_RANKINGS, "report", *_JUDGING),
    ),
    "page.json": File(
        "what `report.html` shows, from which `sfs report` draws it again; its form is no promise",
        (*_RANKINGS, *_JUDGING),
    ),
    "run.json": File(
        "options, inputs with size, time and sha256, names of outputs, versions, time and memory",
        _OF_MULTIQC,
    ),
    "sfs_mqc.json": File("a row for MultiQC", _RANKINGS),
    "sfs_evaluation_mqc.json": File("a row of each list for MultiQC", _JUDGING),
    "sfs_selection_mqc.json": File("a row for MultiQC", ("select",)),
    "sfs_general_mqc.json": File("the same rows for General Statistics of MultiQC", _OF_MULTIQC),
    "sfs_mqc_versions.yml": File("versions of software, for MultiQC", _OF_MULTIQC),
    COEFFICIENTS: File(
        "coefficients of the features that have some, in the regression on the response; of "
        "`mrsf-rounds` those at the end of each round",
        ("rank",),
        "`mrsf`, `mrsf-rounds`, `l21`, `rfs`, without `--batch`",
        {
            "feature": "the id of the feature",
            "wK": "its coefficient for column K of the response, where the feature is centered and "
            "has norm 1 (`rfs`: z-scores): for a class, in the order of their names, for numbers, "
            "or for the K-th eigenvector of the similarity (`pca`: principal component)",
        },
    ),
    "modules.tsv": File(
        "modules of correlated features among the first",
        _WHOLE,
        "`--modules`",
        {
            "module": "its number, from 1",
            "size": "number of members",
            "representative": "the best-ranked member",
            "mean_correlation": "mean absolute correlation of pairs of members",
            "members": "ids, best first, with `;` between them",
            "opposite": "members with a negative correlation with the representative",
        },
    ),
    "module_profiles.tsv": File(
        "the mean z-score of the members in each sample",
        _WHOLE,
        "`--modules`",
        {"module": "its number", "SAMPLE": "the mean z-score, with the sign of the representative"},
    ),
    "module_eigengenes.tsv": File(
        "the eigengene of each module, the first principal component of its members",
        _WHOLE,
        "`--modules`",
        {
            "module": "its number",
            "variance_explained": "part of the variance of the members that it explains",
            "SAMPLE": "the eigengene, of norm 1, with the sign of the representative",
        },
    ),
    "module_traits.tsv": File(
        "tests of the eigengenes against columns of the samples",
        _WHOLE,
        "`--module-traits`",
        {
            "module": "its number",
            "trait": "the column",
            "taken_as": "numeric or categorical",
            "samples": "number of samples that have a value",
            "correlation": "Pearson's, with numbers (partial with `--adjust`); empty for classes",
            "r_squared": "part of the variance of the eigengene that the column explains: of "
            "classes eta squared",
            "p_value": "of no relation: t-test of the correlation, one-way ANOVA of classes",
            "q_value": "adjusted by Benjamini and Hochberg over all modules and columns",
        },
    ),
    "pairs.tsv": File(
        "correlated pairs of features of different sources, the strongest first",
        _WHOLE,
        "`--modules` with `--rank-sources`",
        {
            "feature_1": "a feature",
            "source_1": "its source",
            "feature_2": "a feature of another source",
            "source_2": "that source",
            "correlation": "their Pearson correlation",
            "p_value": "of no correlation (t-test); too small for features that were ranked on one "
            "sample graph",
            "q_value": "adjusted by Benjamini and Hochberg over all pairs of the first features",
        },
    ),
    "markers.tsv": File(
        "tests of each class against all other samples, the best feature of each class first; "
        "with `--top N` the first N of each",
        _WHOLE,
        "`--markers`",
        {
            "class": "the class that is tested",
            "feature": "a feature that takes part",
            "rank": "its rank in the class, by the statistic",
            "statistic": "t, or the standardized rank sum: positive where the class is higher; 0 "
            "of a feature that does not vary",
            "p_value": "two-sided",
            "q_value": "adjusted by Benjamini and Hochberg over the features, for each class",
            "log2_fold_change": "of the class to the rest: after `log1p` of their means without "
            "the logarithm, as scanpy has it; after other logarithms the difference of the means; "
            "NaN where neither `--transform` nor `uns` of AnnData says that the values are "
            "logarithms",
            "mean": "in the class, of the values as scored (before `--adjust` and `--block`)",
            "mean_rest": "in all other samples",
            "share": "share of the samples of the class with a value other than zero",
            "share_rest": "the same of all other samples",
        },
    ),
    "module_edges.tsv": File(
        "pairs of correlated features, which Cytoscape imports as a network",
        _WHOLE,
        "`--modules`",
        {
            "source": "a feature",
            "target": "another feature",
            "correlation": "their Pearson correlation",
            "module": "the module of both; empty if they share none",
        },
    ),
    "evaluation.tsv": File(
        "accuracy, redundancy and other measures of lists, by length", ("evaluate",), "", _MEASURED
    ),
    "curves.tsv": File(
        "accuracy, redundancy and other measures of lists, by length", ("compare",), "", _MEASURED
    ),
    "folds.tsv": File(
        "the measures of held-out samples in each fold",
        _JUDGING,
        "`--labels`",
        {
            "repeat": "number of the repeat",
            "fold": "number of the fold",
            "test_samples": "number of samples that are tested",
            **_LIST,
            "classifier": _MODELS,
            "MEASURE": f"{_OF_TASKS}, a column each",
        },
    ),
    "verdicts.tsv": File(
        "which of two lists is better: differences of a measure on held-out samples",
        _JUDGING,
        "`--labels`",
        {
            "list": "a ranking or list; none that was made on the test samples",
            "other": "another one, or a control",
            "features": "the length of both; all genes are compared with every length",
            "measure": "what they are compared by: balanced_accuracy, r2 or concordance",
            "classifier": _MODELS,
            "value": "mean of the measure of the list over the folds",
            "other_value": "that of the other",
            "difference": "of the list less the other",
            "low": "lower limit of its 95 % confidence interval (as in evaluation.tsv)",
            "high": "the upper limit",
            "p_value": "of no difference (corrected resampled t-test)",
            "p_adjusted": "by Holm: over all pairs of lists of this length and classifier, or over "
            "the controls that the list is compared with",
            "better": "the better one if the adjusted p-value is up to 0.05; empty where no "
            "difference is shown",
        },
    ),
    "enrichment.tsv": File(
        "hypergeometric tests of gene sets among the first or the selected features",
        (*_WHOLE, *_JUDGING, "select"),
        "`--sets`, or sources with sets",
        {
            **_LIST,
            "set": "the gene set",
            "size": "number of its genes that take part",
            "overlap": "number of them among the first features",
            "expected": "the mean overlap of random lists",
            "p_value": "of an overlap as large or larger",
            "q_value": "adjusted by Benjamini and Hochberg over all sets",
            "members": "the genes of the overlap, with `;` between them",
        },
    ),
    "overlap.tsv": File(
        "what any two lists share",
        ("compare",),
        "",
        {
            "list": "a ranking or control",
            "other": "another one",
            "features": "the length of both",
            "shared": "number of features in both",
            "shared_by_chance": "the same, expected of random lists",
            "jaccard": "features in both over features in either",
        },
    ),
    "methods.tsv": File(
        "what each list is, and what it costs; it differs from run to run",
        ("compare",),
        "",
        {
            "list": "the ranking or control",
            "kind": "ranking, given or control",
            "method": "of a ranking",
            "options": "as they were given, or the path",
            "ranked": "number of features that are ranked",
            "seconds": "time on all samples",
            "seconds_in_folds": "mean time in a fold",
            "peak_memory_bytes": "of the whole process, the matrix included",
        },
    ),
    "selected.txt": File("the chosen features, best first, one id a line", ("select",)),
    "selected.tsv": File("their rows of the ranking", ("select",)),
    "curve.tsv": File(
        "accuracy by the number of features",
        ("select",),
        "`--cv`",
        {
            "features": "the length of the list",
            "balanced_accuracy": "mean of the classifiers over folds and repeats",
            "standard_error": "of the mean over the folds of a split, averaged over the repeats",
            "1-NN": "balanced accuracy of this classifier",
            "5-NN": "the same",
            "linear SVM": "the same",
            "chosen": "`best`, `chosen`, or both",
        },
    ),
}
"""The files of results, by name; a pattern where the suffix varies."""


def meaning_of(column: str) -> str:
    """Return what a column of a ranking means, as plain text; empty for one that is not known."""
    own = [method.columns[column] for method in METHODS.values() if column in method.columns]
    return (RANKING[column].meaning if column in RANKING else own[0] if own else "").replace(
        "`", ""
    )


def header(name: str) -> tuple[str, ...]:
    """Return the columns of a table; names in capitals are for the writer to replace."""
    return tuple(FILES[name].columns)
