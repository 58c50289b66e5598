"""Transformations of the values, applied in order as blocks pass.

A step works on each feature by itself, or on each sample: the latter needs a factor for each sample
(from its total, or its mean logarithm), which an earlier pass over the matrix finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfs_cli.errors import InputError, UsageError, nearest

Step = Callable[[np.ndarray], np.ndarray]
"""From a block (b, n) of float64 values to one of the same shape; may work in place."""


def _log1p(block: np.ndarray) -> np.ndarray:
    _refuse(block <= -1, block, "log1p", "needs values above -1", "are they logarithms already?")
    return np.log1p(block, out=block)


def _log2(block: np.ndarray) -> np.ndarray:
    _refuse(block <= 0, block, "log2", "needs positive values", "counts hold zeros: use log1p")
    return np.log2(block, out=block)


def _center(block: np.ndarray) -> np.ndarray:
    # by the first sample first, so that a constant feature becomes exactly zero
    block -= block[:, :1].copy()
    block -= block.mean(axis=1, keepdims=True)
    return block


def _unit(block: np.ndarray) -> np.ndarray:
    return _scaled(block, np.sqrt(np.vecdot(block, block)))


def _zscore(block: np.ndarray) -> np.ndarray:
    block = _center(block)
    return _scaled(block, np.sqrt(np.vecdot(block, block) / block.shape[1]))


def _scaled(block: np.ndarray, norms: np.ndarray) -> np.ndarray:
    norms[norms == 0] = 1  # a zero feature stays zero, and its status says so
    block /= norms[:, None]
    return block


def _rank(block: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    return rankdata(block, axis=1)


class RefusedError(InputError):
    """A value that a step cannot take, with its row and column in the block."""

    row: int
    column: int


def _refuse(
    bad: np.ndarray, block: np.ndarray, step: str, needs: str, hint: str | None = None
) -> None:
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        error = RefusedError(f"--transform {step} {needs}; found {block[row, column]:g}", hint=hint)
        error.row, error.column = row, column
        raise error


FEATURE_STEPS: dict[str, Step] = {
    "log1p": _log1p,
    "log2": _log2,
    "zscore": _zscore,
    "center": _center,
    "unit": _unit,
    "rank": _rank,
}
"""Steps on each feature: z-scores divide by the root of the mean square; ranks average ties."""


@dataclass(frozen=True)
class SampleStep:
    """A step that needs a factor for each sample."""

    # from a block (b, n) to the terms of a sum over features, value by value, 0 for 0; may work in
    # place
    terms: Step
    # from the sums and the number of features to the factors, shape (n,); not finite where a
    # sample cannot be transformed
    factors: Callable[[np.ndarray, int], np.ndarray]
    apply: Callable[[np.ndarray, np.ndarray], np.ndarray]  # from a block and the factors


def _cpm_terms(block: np.ndarray) -> np.ndarray:
    _refuse(block < 0, block, "cpm", "needs counts", "give raw counts: negative values are none")
    return block


def _cpm_factors(total: np.ndarray, _n_features: int) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1e6 / total


def _cpm_apply(block: np.ndarray, factor: np.ndarray) -> np.ndarray:
    block *= factor
    return block


def _clr_terms(block: np.ndarray) -> np.ndarray:
    _refuse(block < 0, block, "clr", "needs values of 0 or more", "give counts or abundances")
    return np.log1p(block, out=block)


def _clr_factors(total: np.ndarray, n_features: int) -> np.ndarray:
    return total / max(n_features, 1)


def _clr_apply(block: np.ndarray, mean: np.ndarray) -> np.ndarray:
    np.log1p(block, out=block)
    block -= mean
    return block


SAMPLE_STEPS = {
    "cpm": SampleStep(_cpm_terms, _cpm_factors, _cpm_apply),
    "clr": SampleStep(_clr_terms, _clr_factors, _clr_apply),
}
"""Counts per million; centered log-ratio of x + 1 (counts hold zeros)."""

KEEP_ZEROS = ("log1p", "cpm", "unit")
"""Steps after which a zero is still a zero."""
NAMES = (*FEATURE_STEPS, *SAMPLE_STEPS)


def parse(text: str | None) -> tuple[str, ...]:
    """Split the value of ``--transform`` into its steps; another name is a `UsageError`."""
    steps = tuple(part.strip() for part in text.split(",")) if text else ()
    for step in steps:
        if step not in NAMES:
            raise UsageError(
                f"--transform {step!r} is not a step",
                hint=f"{nearest(step, sorted(NAMES))} (separated by commas)",
                option="transform",
            )
    return steps
