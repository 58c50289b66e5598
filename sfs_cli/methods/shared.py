"""What several methods share: checks of labels and of optional packages, features in [0, 1]."""

from __future__ import annotations

from math import exp, lgamma
from sys import float_info

import numpy as np

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import BlockLike, Span, cut
from sfs_cli.errors import InputError, counted
from sfs_cli.methods.base import Problem, Status
from sfs_cli.methods.centered_matrix import CenteredMatrix
from sfs_cli.methods.kernel import center
from sfs_cli.ranking.false_discovery import q_values

ROUNDING = 1e-12
"""Numbers of two features that differ by this part are the same but for rounding."""
SIGNIFICANT = 0.05
"""Features with a q-value of at most this are counted."""
TOGETHER = 16_384
"""Features that one thread makes columns of at a time."""


def class_counts(codes: np.ndarray, method: str, each: int = 1) -> np.ndarray:
    """Count the samples of every class, shape (c,), and check that a method can use them.

    `codes` (n,) are the classes 0..c-1 of the samples, and every class must have `each` of them.
    Raises InputError if there are fewer than two classes, or a class is too small.
    """
    counts = np.bincount(codes)
    if np.count_nonzero(counts) < 2:
        raise InputError(
            f"{method} needs at least two classes, but all {len(codes):,} samples have the same",
            hint="check which column holds the labels",
        )
    small = np.flatnonzero(counts < each)
    if small.size:
        raise InputError(
            f"{method} needs at least {each} samples in every class; {small.size} of "
            f"{len(counts)} classes have fewer (the smallest has {counts.min()})",
            hint="remove the samples of these classes",
        )
    return counts.astype(np.float64)


def unit_outcome(
    outcome: np.ndarray, method: str, samples: int = 2, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return an outcome (n,) around its mean, of unit norm.

    With weights w (n,) it is ``w^1/2 (y - mean)``, the mean weighted by w. Raises InputError if all
    have the same, or there are fewer than `samples`, which the method needs.
    """
    if len(outcome) < samples:
        raise InputError(
            f"{method} needs at least {samples} samples with a label, there are {len(outcome)}",
            hint="add samples, or use another method",
        )
    # the first is subtracted before the mean: the same outcome in all samples becomes exactly 0
    moved = outcome - outcome[0]
    moved -= np.average(moved, weights=weights)
    if weights is not None:
        moved *= np.sqrt(weights)
    size = float(np.linalg.norm(moved))
    if not size:
        raise InputError(
            f"{method} needs labels that differ, but all {len(outcome):,} samples have the same",
            hint="check which column holds the labels",
        )
    return moved / size


def require_weight(count: float, above: int, method: str) -> None:
    """Raise InputError if the samples do not count as more than so many, which the method needs."""
    if not count > above:
        raise InputError(
            f"{method} needs weights with a sum above {above}, and it is {count:g}",
            hint="weights count samples: multiply them so that their sum is the number of samples",
            option="sample_weights",
        )


def least_p_value(labels: np.ndarray, blocks: np.ndarray | None = None) -> float:
    """Return 1 over the number of different orders of labels, shape (n,): ``prod n_l! / n!``.

    Orders are within `blocks` (n,), where there are some. No test that compares a feature with its
    orders has a smaller p-value. It is never 0.
    """
    # not by scipy.special, which would be imported before the first pass and not beside it
    parts = [labels] if blocks is None else [labels[blocks == each] for each in np.unique(blocks)]
    logarithm = 0.0
    for part in parts:
        counts = np.unique(part, return_counts=True)[1].tolist()
        logarithm += sum(lgamma(count + 1) for count in counts) - lgamma(len(part) + 1)
    return max(exp(logarithm), float_info.min)  # of 1,100 samples and more it may underflow


def f_tests(
    statistic: np.ndarray,
    between: float,
    within: float | np.ndarray,
    threads: int = 1,
    *,
    least: float,
) -> dict[str, np.ndarray]:
    """Return the p-values and q-values of F statistics, shape (m,), as columns of a ranking.

    `between` and `within` are the degrees of freedom, the latter for all or for each. The upper
    tail is computed as such, so that a p-value has its digits down to the smallest number; infinity
    has `least`, because no noise was measured that says more; NaN has NaN.
    """
    from scipy.special import fdtrc

    p_value, within = np.empty(len(statistic)), np.broadcast_to(within, len(statistic))

    def test(span: Span) -> None:
        part = slice(span.lo, span.hi)
        fdtrc(float(between), within[part], statistic[part], out=p_value[part])

    for _ in ThreadExecutor(threads).map(test, cut(len(statistic), TOGETHER)):
        pass
    p_value[np.isinf(statistic)] = least
    return {"p_value": p_value, "q_value": q_values(p_value)}


def r_squared_tests(share: np.ndarray, between: int, within: int) -> np.ndarray:
    """Return the p-values, shape (k,), of parts of a variance that a regression explains, (k,).

    That is the upper tail of F with `between` and `within` degrees of freedom at ``(R^2 / between)
    / ((1 - R^2) / within)``, of normal residuals; one degree between is the t-test of a
    correlation. NaN has NaN.
    """
    from scipy.special import betainc

    return np.asarray(betainc(within / 2, between / 2, 1 - share))


def warn_of_infinite(statistic: np.ndarray, least: float) -> list[str]:
    """Return the warning, if any, of features (m,) that vary by the labels alone."""
    count = int(np.count_nonzero(np.isinf(statistic)))
    if not count:
        return []
    return [
        f"{counted(count, 'feature')} {'has' if count == 1 else 'have'} an infinite statistic: "
        "beside the labels nothing varies, so the noise is not known (are the values rounded, or "
        f"the samples few?); the p-value is 1 over the number of orders of the labels ({least:.2g})"
    ]


def require_variation(status: np.ndarray) -> None:
    """Raise InputError if by the statuses, shape (m,), no feature varies; it counts why."""
    if (status == Status.OK).any():
        return
    counts = {each: int((status == each).sum()) for each in Status}
    raise InputError(
        "no feature varies between the samples, so none can be scored",
        where=", ".join(f"{count:,} {each.text}" for each, count in counts.items() if count),
        hint="check that this is the right matrix (and --rows, --transform, --missing)",
    )


def set_aside_given(problem: Problem, features: CenteredMatrix) -> np.ndarray:
    """Return the given features that vary, shape (g,); none of them can be selected any more.

    Raises InputError if no other feature varies.
    """
    given = np.array(problem.context.given, np.int64)
    given = given[features.usable[given]]
    features.status[given] = Status.GIVEN
    if len(given) and not features.usable.any():
        raise InputError(
            "every feature that varies is given, so none is left to select",
            where=problem.context.where,
            hint="give a shorter list",
            option="given_",
        )
    return given


def warn_of_fewer(wanted: int, able: int) -> list[str]:
    """Return the warning, if any, that fewer features vary than are to be selected."""
    if wanted <= able:
        return []
    return [f"only {able:,} features vary, fewer than the {wanted:,} of --select: all are selected"]


def unit_range(block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
    """Scale each feature of a float64 block to [0, 1]: its smallest value to 0, its largest to 1.

    Returns the values (b, n), zero where a feature cannot be scored, and the statuses (b,). The
    block is overwritten.
    """
    centered = center(block)
    values = centered.values
    status = centered.status
    unscored = status != Status.OK
    # of the centered values, because the largest less the smallest loses the digits of an offset
    values -= values.min(axis=1, keepdims=True)
    width = values.max(axis=1, keepdims=True)
    width[unscored] = 1
    values /= width
    values[unscored] = 0
    return values, status


def first_by_id(problem: Problem, features: np.ndarray) -> int:
    """Return the one of some features (1 or more) whose id is first: places decide nothing."""
    if len(features) == 1:
        return int(features[0])  # without reading the ids
    ids = problem.context.matrix.ids.features
    return min(features.tolist(), key=lambda at: ids[at])
