"""What sample graphs are made from: the matrix, the labels, and distances between samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from sfs_cli.compute import passes
from sfs_cli.compute.engine import Engine
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph import kernels
from sfs_cli.graph.options import GraphOptions, parse_bandwidth
from sfs_cli.logs import Messages
from sfs_cli.store.prepared import PreparedMatrix


@dataclass
class GraphRequest:
    """All that a graph can be made from.

    Attributes
    ----------
    options : GraphOptions
        What is asked for.
    engine : Engine
        Passes over the matrix.
    codes : ndarray of int, optional
        Classes of the samples, for `label` and `relieff`.
    memory : int
        Bytes that may be used.
    messages : Messages
        Told of what was decided.
    classes : list of str, optional
        Names of the classes.
    where : str
        The input, for messages.
    seed : int
        Of the pairs that are sampled.
    asked_by : str
        The source whose options these are; empty for those of the command line.
    known : ndarray, shape (n, n), optional
        Squared distances, where they are not those of the matrix.
    """

    options: GraphOptions
    engine: Engine
    codes: np.ndarray | None
    memory: int
    messages: Messages
    classes: list[str] | None = None
    where: str = ""
    seed: int = 0
    asked_by: str = ""
    known: np.ndarray | None = None

    @property
    def source(self) -> PreparedMatrix:
        """The matrix."""
        return cast(PreparedMatrix, self.engine.source)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.engine.source.n_samples

    def flag(self, option: str) -> str:
        """Return what a message calls an option."""
        return f"{self.asked_by}: {option}" if self.asked_by else f"--{option}"


def distances(request: GraphRequest, *, exact: bool = False) -> np.ndarray:
    """Return all squared distances, shape (n, n).

    Parameters
    ----------
    request : GraphRequest
        The matrix.
    exact : bool
        Whether to compute in float64 in any case. Neighbours are found so: which of two nearly
        equal distances is shorter changes a score by far more than rounding does.

    Raises
    ------
    OutOfMemoryError
        When they do not fit the memory allowed.
    InputError
        When they overflow.
    """
    if request.known is not None:
        return request.known.copy()
    n = request.n
    needed = 3 * 8 * n * n
    if needed > request.memory:
        raise OutOfMemoryError(
            f"the distances of {n:,} samples need {needed / 2**30:.1f} GiB",
            where=f"--memory allows {request.memory / 2**30:.1f} GiB",
            hint="raise --memory, or take --similarity knn, which stays sparse",
        )
    double = np.dtype(np.float64)
    engine = replace(request.engine, dtype=double) if exact else request.engine
    eps = float(np.finfo(engine.dtype).eps)
    gram = passes.gram(engine)
    if not np.isfinite(gram).all():
        raise InputError(
            f"the distances between samples overflow {engine.dtype.name}",
            where=request.where,
            hint="use --dtype float64, or bring the values to a common scale (--transform)",
        )
    d2 = kernels.squared_distances(gram, eps)
    if engine.dtype != double and np.count_nonzero(d2) < n * (n - 1):
        return distances(request, exact=True)  # to tell near duplicates from duplicates
    return d2


def bandwidth_of(request: GraphRequest, d2: np.ndarray) -> float | np.ndarray:
    """Return the bandwidth that is asked for: one number, or one for each sample.

    Parameters
    ----------
    request : GraphRequest
        Holds the option.
    d2 : ndarray, shape (n, n)
        Squared distances.
    """
    asked = parse_bandwidth(request.options.bandwidth or "median")
    if not d2.any():
        raise samples_alike(request)
    if asked == "median":
        return kernels.median_bandwidth(d2)
    if asked == "self-tuning":
        return kernels.self_tuning_bandwidths(d2)
    return float(asked)


def samples_alike(request: GraphRequest) -> InputError:
    """Return the refusal of samples that do not differ."""
    return InputError(
        f"all samples are alike: each of the {request.source.n_features:,} features is "
        "constant, zero or left out for missing values",
        where=request.where,
        hint="check that values differ between samples (and --rows, --transform, --missing)",
    )
