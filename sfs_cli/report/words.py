"""The sentences and numbers of a report, for readers who know the biology and not the method."""

from __future__ import annotations

import math
from numbers import Integral, Real

from sfs_cli.errors import counted
from sfs_cli.report.model import ReportData

LOG_ABOVE = 1000
"""Ranks of more features than this are drawn on a logarithmic axis."""


def significant(value: object, digits: int = 6) -> str:
    """Format a table cell: numbers with significant digits, a dash for a missing value."""
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return "–"
    if not is_number(value) or isinstance(value, Integral):
        return str(value)
    return f"{value:#.{digits}g}" if value else "0"


def is_number(value: object) -> bool:
    """Tell whether a value is a number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def summary(data: ReportData) -> list[str]:
    """Summarize what was ranked, how to read a score and which features are the best."""
    scored = data.n_features - data.n_unscored
    features = counted(data.n_features, "feature")
    share = f"{scored:,} of {features}"
    if scored == data.n_features:
        share = "the only feature" if scored == 1 else f"all {features}"
    sentences = [f"{data.method} scored {share}."]
    direction = f"A {'larger' if data.larger_is_better else 'smaller'} score is better."
    sentences.append(data.how or direction)
    best = [str(row["feature"]) for row in data.top[:3] if "feature" in row]
    if len(best) > 1:
        sentences.append(f"The best features are {', '.join(best[:-1])} and {best[-1]}.")
    elif best:
        sentences.append(f"The best feature is {best[0]}.")
    not_selected = data.reasons.get("not selected", 0)
    if not_selected:
        sentences.append(f"{counted(not_selected, 'feature')} were not selected.")
    if data.n_left_out:
        sentences.append(f"{counted(data.n_left_out, 'feature')} were left out.")
    failed = data.n_unscored - not_selected - data.n_left_out
    if failed:
        sentences.append(f"{counted(failed, 'feature')} could not be scored.")
    return sentences


def curve_caption(data: ReportData) -> str:
    """Explain the score curve."""
    words = "Every scored feature, from the best on the left to the worst on the right. "
    if is_pruned(data):
        words = "The features that pruning kept, from the best on the left to the worst. "
    if not data.elbow:
        return words + "The curve has no clear bend."
    return words + (
        f"The elbow, after {counted(data.elbow, 'feature')}, is the point of the curve that is "
        "farthest from the straight line between the first and the last score"
        f"{', with ranks counted evenly' if len(data.scores) > LOG_ABOVE else ''}. It describes "
        "the curve and does not say how many features to take: random features have one, too."
    )


def distribution_caption(data: ReportData) -> str:
    """Explain the histogram of the scores."""
    of = "features that pruning kept" if is_pruned(data) else "features with a score"
    return (
        f"Number of {of} in each range. A thin tail on the better side is a few features "
        "that stand out."
    )


def is_pruned(data: ReportData) -> bool:
    """Tell whether the scores are those of some features alone."""
    return len(data.scores) < data.n_features - data.n_unscored


def spectrum_caption(data: ReportData) -> str:
    """Explain the spectrum."""
    words = (
        "Each small eigenvalue of the normalized graph Laplacian stands for a split of the samples "
        "that cuts few edges; the first is always 0. "
    )
    if not data.clusters:
        return words + "A wide gap after the k-th value suggests k groups of samples."
    return words + (
        f"This ranking used {counted(data.clusters, 'group')} of samples. A wide gap at the dashed "
        "line supports this number; without a gap, the number is a choice and not a finding."
    )
