"""The matrix as it is scored: chosen samples, missing values dealt with, steps applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from sfs_cli.compute.spans import Span
from sfs_cli.compute.workspace import Workspace
from sfs_cli.errors import InputError
from sfs_cli.store.matrix import Ids, Matrix
from sfs_cli.store.nonzeros import sample_sums
from sfs_cli.store.transforms import FEATURE_STEPS, KEEP_ZEROS, SAMPLE_STEPS, RefusedError
from sfs_cli.store.view import FeatureView

MissingPolicy = Literal["error", "drop", "mean"]
TotalOver = Callable[[Callable[[Span], Sequence[np.ndarray]]], list[np.ndarray]]


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
    def exact(self) -> np.dtype[Any]:
        """Shortest type in which blocks hold their values without rounding."""
        return np.dtype(np.float64) if self.steps else self.dtype

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

    @property
    def keeps_zeros(self) -> bool:
        """Whether the matrix is sparse, and still is after the steps."""
        return self._keeps_zeros(len(self.steps))

    def _keeps_zeros(self, n_steps: int) -> bool:
        return self.matrix.sparse and all(name in KEEP_ZEROS for name in self.steps[:n_steps])

    def numbers(self, at: int) -> np.ndarray:
        """Return the numbers per sample of step `at`, shape (n,), which `fit` has found."""
        return self._numbers[at]

    def prefetch(self, span: Span) -> None:
        """Tell that `span` will be read soon."""
        self.matrix.prefetch(span)

    def read(self, span: Span, dtype: np.dtype[Any]) -> Block:
        """Read and prepare a block; its values stay valid until this thread's next read."""
        return self._prepare(span, dtype, len(self.steps))

    def selecting(self, features: np.ndarray) -> PreparedMatrix:
        """Return a view of some features, prepared as they are among all.

        Samples, steps and what becomes of missing values stay, and so do the numbers per sample
        that `fit` found on all features: counts per million stay those of the whole library.

        Parameters
        ----------
        features : ndarray of int, shape (l,)
            Indices, ascending.
        """
        view = PreparedMatrix(
            FeatureView(self.matrix, features),
            samples=self.samples,
            missing=self.policy,
            steps=self.steps,
            where=self.where,
        )
        assert all(at in self._numbers for at in self._sample_steps()), "fit comes first"
        view._numbers = self._numbers
        return view

    def _sample_steps(self) -> list[int]:
        return [at for at, name in enumerate(self.steps) if name in SAMPLE_STEPS]

    def fit(self, total_over: TotalOver) -> None:
        """Find the numbers per sample that the steps need, by one pass for each such step.

        Those that are known already stay.

        Parameters
        ----------
        total_over : callable
            Adds up what a task makes of all spans (``sfs_cli.compute.engine.Engine.total_over``).
        """
        for at in self._sample_steps():
            if at in self._numbers:
                continue
            name = self.steps[at]
            total, used = total_over(partial(self._sample_sums, at))
            numbers = SAMPLE_STEPS[name].finish(total, int(used))
            if not np.isfinite(numbers).all():
                first = int(np.argmin(np.isfinite(numbers)))
                raise InputError(
                    f"--transform {name}: the values of a sample add up to {total[first]:g}",
                    where=f"{self.where}: sample {self.ids.samples[first]}",
                    hint="remove samples without counts",
                )
            self._numbers[at] = numbers

    def _sample_sums(self, at: int, span: Span) -> tuple[np.ndarray, np.ndarray]:
        """Return each sample's part of the sum of step `at`, and how many features took part."""
        if self._keeps_zeros(at):
            return sample_sums(self, span, at)
        block = self._prepare(span, np.dtype(np.float64), at)
        left_out = 0 if block.missing is None else int(block.missing.sum())
        # features that are left out are zero, and add nothing
        terms = self._located(SAMPLE_STEPS[self.steps[at]].terms, block.values, span)
        return terms.sum(axis=0), np.array(span.size - left_out)

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
            raise self.refusal(error, span.lo + error.row, error.column) from None

    def refusal(self, error: RefusedError, feature: int, sample: int) -> InputError:
        """Return the refusal of a value, with the names of its feature and its sample."""
        ids = self.ids
        where = f"{self.where}: feature {ids.features[feature]}, sample {ids.samples[sample]}"
        return InputError(error.what, where=where, hint=error.hint)


def _missing_error(matrix: Matrix, where: str) -> InputError:
    missing = matrix.missing
    places = "; ".join(f"feature {f}, sample {s}" for f, s in missing.places)
    return InputError(
        f"{missing.values:,} values are missing, in {missing.features:,} of "
        f"{matrix.n_features:,} features",
        where=f"{where}: first at {places}",
        hint="--missing drop leaves those features out; --missing mean fills them by their mean",
    )
