"""The sentences and numbers of a report, for readers who know the biology and not the method."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.report.model import Heatmap, Plane, ReportData, SampleNotes, Strip

LOG_ABOVE = 1000
"""Ranks of more features than this are drawn on a logarithmic axis."""
TURNING = ("R", "AL", "AN", "RLE", "RLO", "LRE", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI")
"""Kinds of characters (Unicode Annex 9) that change the order of the text around them."""
CLASSES = 8
"""Colors of classes; more classes differ by the shape of their points."""
BEST = 5
"""Features that the first paragraph names."""
STABILITY = (
    "The best features of the table, and how often each is among the first when part of the "
    "samples is ranked. Those that are seldom found again depend on a few samples."
)
WEIGHTS = "How much each source counts in the ranking."
MOST_GROUPS = 10
"""Classes in the chart of one feature: of more, those with the highest medians."""


def significant(value: object, digits: int = 6) -> str:
    """Format a table cell: numbers with significant digits, a dash for a missing value."""
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return "–"
    if not is_number(value):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{value:#.{digits}g}".removesuffix(".") if value else "0"


def isolated(name: object) -> str:
    """Return a name for a sentence, whose order letters from right to left cannot change."""
    text = " ".join(str(name).split())
    turns = any(unicodedata.bidirectional(letter) in TURNING for letter in text)
    return f"\u2068{text}\u2069" if turns else text


def is_number(value: object) -> bool:
    """Tell whether a value is a number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def summary(data: ReportData) -> list[str]:
    """Summarize the result: what was ranked by what, the best features, and the evidence."""
    scored = data.n_features - data.n_unscored
    features = counted(data.n_features, "feature")
    share = f"{scored:,} of {features}"
    if scored == data.n_features:
        share = "the only feature" if scored == 1 else f"all {features}"
    sentences = [f"{data.method} ranked {share}{' ' if data.made_from else ''}{data.made_from}."]
    first = data.top[:BEST]
    higher = [row.get("direction") or row.get("highest_class") for row in first]
    together = len(first) > 1 and len(set(higher)) == 1 and higher[0]
    best = [
        f"{isolated(row['feature'])} (higher in {isolated(name)})"
        if name and not together
        else isolated(row["feature"])
        for row, name in zip(first, higher)
    ]
    end = f", all higher in {isolated(higher[0])}" if together else ""
    if len(best) > 1:
        sentences.append(f"The best features are {', '.join(best[:-1])} and {best[-1]}{end}.")
    elif best:
        sentences.append(f"The best feature is {best[0]}.")
    sentences += data.sentences
    if data.reading:
        sentences.append(data.reading)
    if data.pictures is not None:
        sentences += classes_together(data.pictures.heatmap, data.pictures.notes)
    return sentences


def classes_together(found: Heatmap, notes: SampleNotes) -> list[str]:
    """Say how far classes that took no part lie together in the order of the heatmap.

    By chance, over all orders, two of n neighbors are of one class of s samples with the
    probability ``s (s - 1) / (n (n - 1))``.
    """
    if notes.used or found.by_class or found.codes is None:
        return []
    codes = found.codes[found.codes >= 0]
    n, sizes = len(codes), np.bincount(codes)
    if np.count_nonzero(sizes) < 2 or sizes.max() < 2:
        return []
    by_chance = (sizes * (sizes - 1)).sum() / (n * (n - 1))
    return [
        f"In the heatmap {np.mean(codes[1:] == codes[:-1]):.0%} of neighboring columns are of one "
        f"class, {by_chance:.0%} by chance."
    ]


def left_over(data: ReportData) -> list[str]:
    """Say why features have no score."""
    not_selected = data.reasons.get("not selected", 0)
    reasons = {
        "were not selected": not_selected,
        "were left out": data.n_left_out,
        "could not be scored": data.n_unscored - not_selected - data.n_left_out,
    }
    return [f"{counted(count, 'feature')} {why}." for why, count in reasons.items() if count]


def how_to_read(data: ReportData) -> str:
    """Say how a score is to be read."""
    return data.how or f"A {'larger' if data.larger_is_better else 'smaller'} score is better."


def heatmap_caption(found: Heatmap, notes: SampleNotes) -> str:
    """Explain the heatmap."""
    rows = counted(len(found.features), "feature")
    words = (
        f"The best {rows} with their ranks; correlated features are neighbors. Samples are ordered "
        f"{found.ordered}. Each row is scaled to mean 0 and standard deviation 1."
    )
    if found.samples is None:
        largest = int(found.sizes.max())
        words += (
            f" Each of the {len(found.sizes):,} columns is the mean of up to {largest:,} "
            f"neighboring samples, of {notes.n:,} in all."
        )
    if len(notes.classes) > CLASSES:
        words += f" Of {len(notes.classes)} classes, those {CLASSES} apart have the same color."
    if notes.codes is not None and not notes.used:
        words += " The labels were not used in the ranking; they are drawn for comparison."
    return words


def plane_caption(found: Plane, notes: SampleNotes) -> str:
    """Explain the plane of the samples."""
    words = f"The samples in {found.where}. Near points are similar samples."
    if "best" in found.where and notes.used:
        does = "separate the classes" if notes.outcome is None else "follow the outcome"
        words += (
            f" The features were selected with the labels, so they {does} better here than in "
            "held-out samples."
        )
    if found.notes is not None:
        words += " Colors are the groups of samples."
    return f"{words} {found.drawn}".strip()


def strips_caption(found: Sequence[Strip], notes: SampleNotes) -> str:
    """Explain the charts of single features."""
    count = len(found)
    first = "The best feature" if count == 1 else f"The best {count} features"
    if notes.codes is not None:
        words = f"{first}, as they were scored, in each class; the bar is the median."
        if len(notes.classes) > MOST_GROUPS:
            words += f" Of {len(notes.classes)} classes the {MOST_GROUPS} with the highest medians."
        if sum(len(drawn) for drawn, _ in found[0].groups) < np.count_nonzero(notes.codes >= 0):
            words += " Of large classes evenly spaced quantiles are drawn."
        return words
    if notes.outcome is not None:
        return f"{first}, as they were scored, against the outcome."
    return (
        f"{first}, as they were scored: their values in ascending order. A step is a group of "
        "samples that differs; a slope is a gradual change."
    )


def p_value_caption(p: np.ndarray) -> str:
    """Explain the histogram of the p-values."""
    return (
        f"{counted(len(p), 'p-value')}. If all features are null, the bars are as high as the "
        "dashed line. A peak at the left is signal; a peak at the right, or a slope upwards, means "
        "that the p-values are not calibrated for these data."
    )


def volcano_caption(change: str, count: int, *, log2: bool) -> str:
    """Explain the volcano plot."""
    less = f": the mean of {change.replace(' less ', ' less that of ')}" if change else ""
    scale = "1 is twice as much, −1 half" if log2 else "the values are as they were scored"
    return (
        f"Each feature by its change{less}, and by its p-value. The best {count} are marked; "
        f"{scale}."
    )


def curve_caption(data: ReportData) -> str:
    """Explain the score curve."""
    words = "Every scored feature, from the best on the left to the worst on the right. "
    if is_pruned(data):
        words = "The features that pruning kept, from the best on the left to the worst. "
    return words + "sfs select chooses by a rule how many to take."


def is_pruned(data: ReportData) -> bool:
    """Tell whether the scores are those of some features alone."""
    return len(data.scores) < data.n_features - data.n_unscored
