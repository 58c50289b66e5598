"""The sentences of a report, for a reader who knows the biology and not the method."""

from __future__ import annotations

from sfs_cli.report.axes import LOG_ABOVE
from sfs_cli.report.formatting import counted
from sfs_cli.report.model import ReportData


def summary(data: ReportData) -> list[str]:
    """Say in a few sentences what was ranked, what a score means and where the list bends."""
    scored = data.n_features - data.n_unscored
    sentences = [f"{data.method} gave a score to {_share(scored, data.n_features)}."]
    direction = f"A {'larger' if data.larger_is_better else 'smaller'} score is better."
    sentences.append(data.how or direction)
    if leaders := _leaders(data):
        sentences.append(f"{leaders}.")
    if data.elbow:
        sentences.append(_bend(data.elbow, scored))
    passed_over = data.reasons.get("not selected", 0)
    if passed_over:
        sentences.append(f"{counted(passed_over, 'feature')} were not selected.")
    if data.n_unscored > passed_over:
        failed = counted(data.n_unscored - passed_over, "feature")
        sentences.append(f"{failed} could not be scored.")
    return sentences


def curve_caption(data: ReportData) -> str:
    """Explain the score curve."""
    words = "Every scored feature, from the best on the left to the worst on the right. "
    if not data.elbow:
        return words + "The curve has no clear bend, so it does not suggest where to cut the list."
    return words + (
        f"The shaded {counted(data.elbow, 'feature')} come before the elbow, the point of the "
        "curve that is farthest from the straight line between the first and the last score"
        f"{', with ranks counted evenly' if len(data.scores) > LOG_ABOVE else ''}."
    )


def spectrum_caption(data: ReportData) -> str:
    """Explain the spectrum."""
    words = (
        "A small eigenvalue of the normalized graph Laplacian is a way to split the samples that "
        "cuts few edges; the first is always 0. "
    )
    if not data.clusters:
        return words + "A wide gap after the k-th value suggests k groups of samples."
    return words + (
        f"This ranking used {counted(data.clusters, 'group')} of samples. A wide gap at the dashed "
        "line supports that number; a narrow one means it is a choice, not a finding."
    )


def distribution_caption() -> str:
    """Explain the distribution of scores."""
    return (
        "How many features have a score in each range. A thin tail on the better side is a short "
        "list that stands out; a single hump means that scores grade smoothly."
    )


def _share(scored: int, total: int) -> str:
    if scored == total:
        return "its only feature" if total == 1 else f"all {counted(total, 'feature')}"
    return f"{scored:,} of {counted(total, 'feature')}"


def _bend(elbow: int, scored: int) -> str:
    """Say what the elbow is good for: a cut, unless most features come before it."""
    words = f"The curve of scores bends after {counted(elbow, 'feature')}"
    if 2 * elbow <= scored:
        return f"{words}, a natural place to cut the list."
    rest = scored - elbow
    tail = "one falls" if rest == 1 else f"{rest:,} fall"
    return f"{words}: no short list stands out, only the last {tail} off."


def _leaders(data: ReportData) -> str:
    names = [str(row["feature"]) for row in data.top[:3] if "feature" in row]
    if len(names) < 2:
        return f"The best feature is {names[0]}" if names else ""
    return f"The best features are {', '.join(names[:-1])} and {names[-1]}"
