"""Common mistakes that a run warns of, by names that stand at the end of the warnings."""

from typing import NamedTuple

from sfs_cli.logs import AT_ONCE, FIRST, LAST, ORDINARY


class Guard(NamedTuple):
    """What is warned of, and the weight of the warning (`sfs_cli.logs`), by which it is shown."""

    meaning: str
    weight: int


GUARDS = {
    "raw-values": Guard(
        "values look like counts or intensities, and --transform has no step that "
        "takes logarithms, ranks or residuals of them",
        AT_ONCE,
    ),
    "shallow": Guard(
        "counts, most of them zero, that --transform scales to far more than their "
        "totals before logarithms (cpm of single cells)",
        AT_ONCE,
    ),
    "columns": Guard(
        "columns that are no samples, by name and scale, such as lengths of genes and "
        "results of tests (an error where hardly a sample is left); features that are no genes; "
        "samples that lack most of their values, which are filled",
        AT_ONCE,
    ),
    "labels": Guard(
        "labels that look like ids of patients, pairs or batches, a class with two "
        "spellings, or labels of a source with a single class",
        AT_ONCE,
    ),
    "tested-graph": Guard(
        "p-values of features from which the sample graph was built (double dipping)", FIRST
    ),
    "donors": Guard(
        "p-values that count samples of one donor, also in pairs, as independent "
        "(pseudoreplication)",
        FIRST,
    ),
    "batch": Guard(
        "first features of a ranking without labels that follow a column that is, or may be, "
        "a batch",
        FIRST,
    ),
    "small-class": Guard(
        "p-values of t-test and welch where a class is small, or constant in many features", FIRST
    ),
    "class-tests": Guard(
        "p-values of tests of class means where the values are too skewed for the "
        "sizes of the classes, or the classes differ in size and variance",
        FIRST,
    ),
    "survival": Guard(
        "times that are taken as measured beside a column of events, times of which "
        "all that are censored were left out, and p-values of cox whose values are too skewed for "
        "the events",
        FIRST,
    ),
    "depth": Guard(
        "p-values of counts where library size (depth) is confounded with the sample "
        "graph or the labels",
        FIRST,
    ),
    "slides": Guard("coordinates of several slides that are taken for one", FIRST),
    "dependent-lists": Guard("p-values of rra over lists that rank one matrix", FIRST),
    "graph": Guard(
        "a sample graph without structure: nearly all pairs are equally similar, or "
        "hardly any pair is similar",
        ORDINARY,
    ),
    "names": Guard(
        "names of features that a spreadsheet has turned into dates, or ids into decimals", ORDINARY
    ),
    "unstable": Guard("first features that depend on the samples", ORDINARY),
    "outliers": Guard("outlier samples, which the sample graph hardly connects to others", LAST),
    "spikes": Guard("top features that differ in one sample only", LAST),
    "repeats": Guard("top features of a ranking without labels that repeat each other", LAST),
    "ties": Guard("top features with the same score, whose order is arbitrary", LAST),
}
"""What each warns of, by the weights: the first that are shown first."""
