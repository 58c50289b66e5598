"""Common mistakes that a run warns of or refuses, by the names that ``--accept`` takes."""

from __future__ import annotations

GUARDS = {
    "raw-values": "values look like counts or intensities, and --transform has no step that takes "
    "logarithms, ranks or residuals of them",
    "columns": "columns that are no samples, by name and scale, such as lengths of genes and "
    "results of tests (an error if that is certain); features that are no genes",
    "names": "names of features that a spreadsheet has turned into dates, or ids into decimals",
    "labels": "labels that look like ids of patients, pairs or batches, a class with two "
    "spellings, or labels of a source with a single class",
    "graph": "a sample graph without structure: nearly all pairs are equally similar, or hardly "
    "any pair is similar",
    "tested-graph": "p-values of features from which the sample graph was built (double dipping)",
    "donors": "p-values that count samples of one donor, also in pairs, as independent "
    "(pseudoreplication)",
    "small-class": "p-values of t-test and welch where a class is small, or constant in many "
    "features",
    "class-tests": "p-values of tests of class means where the values are too skewed for the sizes "
    "of the classes, or the classes differ in size and variance",
    "survival": "times that are taken as measured beside a column of events, and p-values of cox "
    "whose values are too skewed for the events",
    "depth": "p-values of counts where library size (depth) is confounded with the sample graph or "
    "the labels",
    "not-normal": "p-values that assume normal values, of features that are far from normal",
    "outliers": "outlier samples, which the sample graph hardly connects to others",
    "spikes": "top features that differ in one sample only",
    "repeats": "top features that repeat each other",
    "ties": "top features with the same score, whose order is arbitrary",
    "unstable": "first features that depend on the samples",
    "dependent-lists": "p-values of rra over lists that rank one matrix",
}
"""What each warns of."""
