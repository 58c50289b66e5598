"""The matrix as it is scored: chosen samples, missing values dealt with, steps applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfs_cli.compute.executor import Executor
from sfs_cli.compute.spans import Span, cut
from sfs_cli.compute.workspace import Workspace
from sfs_cli.errors import InputError
from sfs_cli.store.matrix import Ids, Matrix
from sfs_cli.store.transforms import FEATURE_STEPS, SAMPLE_STEPS, RefusedError

MissingPolicy = Literal["error", "drop", "mean"]


@dataclass(frozen=True)
class Block:
    """A block of features, ready to be scored.

    Attributes
    ----------
    values : ndarray, shape (b, n)
        In the arithmetic's dtype; the receiver may overwrite it.
    missing : ndarray of bool, shape (b,), or None
        Features left out for their missing values; their rows are zero.
    zero : ndarray of bool, shape (b,), or None
        Features that are zero in every sample before the steps; None where there are no steps and
        `values` itself tells.
    """

    values: np.ndarray
    missing: np.ndarray | None = None
    zero: np.ndarray | None = None


class PreparedMatrix:
    """A view of a matrix that prepares each block as it passes.

    Parameters
    ----------
    matrix : Matrix
        The values as stored.
    samples : ndarray of int, optional
        Indices of the samples to use; all by default.
    missing : {"error", "drop", "mean"}
        What becomes of features with missing values.
    steps : tuple of str
        Names of the transformations, in order.
    where : str
        The input, for messages.

    Raises
    ------
    InputError
        Under ``missing="error"``, when there are missing values.
    """

    def __init__(
        self,
        matrix: Matrix,
        *,
        samples: np.ndarray | None = None,
        missing: MissingPolicy = "error",
        steps: tuple[str, ...] = (),
        where: str = "",
    ) -> None:
        self.matrix = matrix
        self.steps = steps
        self.where = where
        self.policy = missing
        self.samples = samples
        self._numbers: dict[int, np.ndarray] = {}
        self._work = Workspace()
        if missing == "error" and matrix.missing.values:
            raise _missing_error(matrix, where)

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return self.matrix.n_features

    @property
    def n_samples(self) -> int:
        """Number of samples n that are used."""
        return self.matrix.n_samples if self.samples is None else len(self.samples)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored values."""
        return self.matrix.dtype

    @property
    def ids(self) -> Ids:
        """The names of the features and of the samples that are used."""
        ids = self.matrix.ids
        if self.samples is None:
            return ids
        obs = None if ids.obs is None else ids.obs.take(self.samples)
        return Ids(ids.features, [ids.samples[i] for i in self.samples], obs)

    @property
    def plain(self) -> bool:
        """Whether blocks are the stored values as they are."""
        return self.samples is None and not self.steps and not self.matrix.missing.values

    def prefetch(self, span: Span) -> None:
        """Tell that `span` will be read soon."""
        self.matrix.prefetch(span)

    def read(self, span: Span, dtype: np.dtype[Any]) -> Block:
        """Read and prepare a block; its values stay valid until this thread's next read."""
        return self._prepare(span, dtype, len(self.steps))

    def fit(self, executor: Executor, size: int) -> None:
        """Find the numbers per sample that the steps need, by one pass for each such step."""
        for at, name in enumerate(self.steps):
            if name not in SAMPLE_STEPS:
                continue
            step = SAMPLE_STEPS[name]

            def part(
                span: Span, at: int = at, collect: Any = step.collect
            ) -> tuple[np.ndarray, int]:
                block = self._prepare(span, np.dtype(np.float64), at)
                left_out = 0 if block.missing is None else int(block.missing.sum())
                # features that are left out are zero, and add nothing
                return self._located(collect, block.values, span), span.size - left_out

            total, used = np.zeros(self.n_samples), 0
            for sums, count in executor.map(part, cut(self.n_features, size)):
                total += sums
                used += count
            numbers = step.finish(total, used)
            if not np.isfinite(numbers).all():
                first = int(np.argmin(np.isfinite(numbers)))
                raise InputError(
                    f"--transform {name}: the values of a sample add up to {total[first]:g}",
                    where=f"{self.where}: sample {self.ids.samples[first]}",
                    hint="remove samples without counts",
                )
            self._numbers[at] = numbers

    def _prepare(self, span: Span, dtype: np.dtype[Any], n_steps: int) -> Block:
        values = self._chosen(span)
        if self.plain:
            return Block(self._cast(values, dtype))
        missing = self._fill(values) if self.matrix.missing.values else None
        if not self.steps:
            return Block(self._cast(values, dtype), missing)
        zero = np.logical_not(values.any(axis=1))
        work = self._work.array("steps", len(values), self.n_samples, np.dtype(np.float64))
        np.copyto(work, values)
        for at, name in enumerate(self.steps[:n_steps]):
            if missing is not None:
                work[missing] = 1  # a value that every step can take; zero again below
            work = self._apply(at, name, work, span)
        if missing is not None:
            work[missing] = 0
        return Block(self._cast(work, dtype), missing, zero)

    def _chosen(self, span: Span) -> np.ndarray:
        values = self._work.array("read", span.size, self.matrix.n_samples, self.dtype)
        self.matrix.read(span, values)
        if self.samples is None:
            return values
        chosen = self._work.array("chosen", span.size, len(self.samples), self.dtype)
        np.take(values, self.samples, axis=1, out=chosen)
        return chosen

    def _cast(self, values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        if values.dtype == dtype:
            return values
        out = self._work.array("cast", len(values), self.n_samples, dtype)
        np.copyto(out, values, casting="same_kind")
        return out

    def _fill(self, values: np.ndarray) -> np.ndarray:
        """Deal with NaN in place; return which features are left out."""
        gaps = np.isnan(values)
        rows = np.flatnonzero(gaps.any(axis=1))
        out = np.zeros(len(values), bool)
        if self.policy == "mean":
            for row in rows:
                known = values[row][~gaps[row]].astype(np.float64)
                if len(known):
                    values[row][gaps[row]] = known.mean()
                else:
                    out[row] = True
        else:
            out[rows] = True
        values[out] = 0
        return out

    def _apply(self, at: int, name: str, work: np.ndarray, span: Span) -> np.ndarray:
        if name in SAMPLE_STEPS:
            return SAMPLE_STEPS[name].apply(work, self._numbers[at])
        return self._located(FEATURE_STEPS[name], work, span)

    def _located(self, step: Any, block: np.ndarray, span: Span) -> np.ndarray:
        """Run a step; a refusal is told with the names of the feature and the sample."""
        try:
            return step(block)
        except RefusedError as error:
            feature = self.ids.features[span.lo + error.row]
            sample = self.ids.samples[error.column]
            where = f"{self.where}: feature {feature}, sample {sample}"
            raise InputError(error.what, where=where, hint=error.hint) from None


def _missing_error(matrix: Matrix, where: str) -> InputError:
    missing = matrix.missing
    places = "; ".join(f"feature {f}, sample {s}" for f, s in missing.places)
    return InputError(
        f"{missing.values:,} values are missing, in {missing.features:,} of "
        f"{matrix.n_features:,} features",
        where=f"{where}: first at {places}",
        hint="--missing drop leaves those features out; --missing mean fills them by their mean",
    )
