"""Bringing values to the type the blocks carry, without losing any of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfs_cli.errors import InputError


def cast_values(values: np.ndarray, dtype: str, where: str | Callable[[int], str]) -> np.ndarray:
    """Convert numbers to the type of the blocks.

    Parameters
    ----------
    values : ndarray
        Booleans, integers or floats of any shape.
    dtype : {"float32", "float64"}
        The type asked for.
    where : str or callable
        The file (and column or layer) for the message; or what tells it from the position of a
        value.

    Returns
    -------
    ndarray
        The same shape; the input itself where the type is right already.

    Raises
    ------
    InputError
        Values that are no numbers, or finite values that become infinite.
    """
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"values are of type {values.dtype}, not numbers",
            where=where if isinstance(where, str) else where(0),
            hint="write the matrix as numbers",
        )
    with np.errstate(over="ignore"):
        converted = values.astype(dtype, copy=False)
    if values.dtype.kind == "f" and values.dtype.itemsize > converted.dtype.itemsize:
        _refuse_overflow(values, converted, where)
    return converted


def _refuse_overflow(
    values: np.ndarray, converted: np.ndarray, where: str | Callable[[int], str]
) -> None:
    infinite = np.isinf(converted)
    if not infinite.any():
        return
    lost = np.flatnonzero(infinite & np.isfinite(values))
    if lost.size:
        first = int(lost[0])
        raise InputError(
            f"values are out of the range of {converted.dtype}, such as {values.flat[first]:g}",
            where=where if isinstance(where, str) else where(first),
            hint="is that a value of the matrix? if so, read it with --dtype float64",
        )
