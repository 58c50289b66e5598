"""The usual accidents that a run warns of or refuses, by the names that ``--accept`` takes."""

from __future__ import annotations

GUARDS = {
    "raw-values": "values look like counts or intensities, and --transform has no step that takes "
    "logarithms, ranks or residuals of them",
    "columns": "columns of numbers that are no samples, by name and scale, such as lengths of "
    "genes and results of tests (refused where that is sure); features that are no genes",
    "names": "names of features that a spreadsheet has turned into dates, or ids into decimals",
    "labels": "labels that look like ids of patients, pairs or batches, a class with two "
    "spellings, or labels of a source with a single class",
    "graph": "a sample graph without structure: nearly all pairs are equally similar, or none are",
    "tested-graph": "p-values of features that the sample graph was made of",
    "donors": "p-values that take samples of one donor, pairs too, for independent ones",
    "small-class": "p-values of t-test with a class that is small, or constant in many features",
    "class-tests": "p-values of tests of class means on values that are too skewed for the sizes "
    "of the classes, or on classes that differ in size and variance",
    "depth": "p-values of counts that follow the depth of the samples, as the sample graph or the "
    "labels do",
    "not-normal": "p-values of normal noise for features that are far from it",
    "outliers": "samples that hardly belong to the sample graph",
    "spikes": "top features that differ in one sample only",
    "repeats": "top features that repeat each other",
    "ties": "top features with one and the same score, whose order says nothing",
    "unstable": "a list of first features that changes with the samples",
    "dependent-lists": "p-values of rra over lists that were made from one matrix",
}
"""What each warns of."""
