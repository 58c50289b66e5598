"""Common mistakes that a run warns of, by names that stand at the end of the warnings."""

from typing import NamedTuple

from sfs_cli.logs import AT_ONCE, FIRST, LAST, ORDINARY


class Guard(NamedTuple):
    """What is warned of, and the weight of the warning (`sfs_cli.logs`), by which it is shown."""

    meaning: str
    weight: float


_GUARDS = {
    AT_ONCE: {
        "raw-values": "values look like counts or intensities, and --transform has no step that "
        "takes logarithms, ranks or residuals of them; a code such as -999 for missing values; "
        "X of an AnnData was scaled, and raw was not",
        "logarithms": "values are logarithms already, and --transform takes logarithms or totals "
        "of them, or says another base than the file",
        "columns": "columns or rows that are no measurements, by name and values: lengths of "
        "genes, results of tests, sums and means of the others, unassigned reads, what is known of "
        "the samples (age, diagnosis, a copy of the labels); two columns for each sample (counts "
        "and FPKM); samples that lack most of their values, which are filled",
        "labels": "labels that look like ids of patients, pairs or batches, a class with two "
        "spellings or without a sample that is used, or labels of a source with a single class",
        "shallow": "counts, most of them zero, that --transform scales to far more than their "
        "totals before logarithms (cpm of single cells)",
    },
    FIRST: {
        "tested-graph": "p-values of features from which the sample graph was built (double "
        "dipping)",
        "donors": "p-values that count samples of one donor, also in pairs, as independent "
        "(pseudoreplication)",
        "batch": "first features of a ranking without labels that follow a column that is a batch "
        "by its name; a batch that is confounded with the classes of the labels",
        "depth": "p-values of counts where library size (depth) is confounded with the sample "
        "graph or the labels",
        "class-tests": "p-values of tests of class means where the classes differ in size and "
        "variance",
        "survival": "times that are taken as measured beside a column of events, times without "
        "those that are censored, and events with the time of a visit before",
        "slides": "coordinates of several slides that are taken for one",
        "dependent-lists": "p-values of rra over lists that rank one matrix",
    },
    ORDINARY: {
        "names": "names of features that a spreadsheet has turned into dates, or ids into decimals",
        "graph": "a sample graph without structure: nearly all pairs are equally similar, or "
        "hardly any pair is similar",
        "unstable": "first features that depend on the samples",
    },
    LAST: {
        "outliers": "outlier samples, which the sample graph hardly connects to others",
        "ties": "top features with the same score, whose order is arbitrary",
    },
}
GUARDS = {
    name: Guard(meaning, weight + at / 100)
    for weight, each in _GUARDS.items()
    for at, (name, meaning) in enumerate(each.items())
}
"""What each warns of, the one first that does most harm: at most three are shown, in this order."""
