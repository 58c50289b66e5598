"""Rows of an n x n matrix a few at a time, and samples by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfs_cli.errors import listed

PANEL_VALUES = 1 << 20


def panels(n: int) -> Iterator[slice]:
    """Yield slices of rows of an (n, n) matrix, of about `PANEL_VALUES` values each."""
    step = max(1, PANEL_VALUES // max(n, 1))
    for low in range(0, n, step):
        yield slice(low, min(low + step, n))


def name_samples(chosen: np.ndarray, sample_ids: Sequence[str] | None = None) -> str:
    """List the first few of the chosen samples for a message.

    Parameters
    ----------
    chosen : ndarray of int
        Positions, from 0.
    sample_ids : sequence of str, optional
        Ids of all samples; positions counted from 1 are named without them.
    """
    if sample_ids is None:
        return "sample number " + listed([str(i + 1) for i in chosen])
    return listed([sample_ids[i] for i in chosen])
