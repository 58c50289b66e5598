"""The matrix as it is scored: samples and features chosen, missing values dealt with, transformed.

Blocks come dense, or, where zeros stay zero, as the stored values alone; both ways make the same
choices, so the two are kept side by side here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import (
    Arrays,
    Block,
    Ids,
    LeftOut,
    NonZeros,
    Span,
    Workspace,
    block_features,
    cut,
    pointers,
)
from sfs_cli.errors import InputError, counted
from sfs_cli.store.adjust import Adjustment
from sfs_cli.store.filters import EVERYTHING, CountRule, FeatureFilter
from sfs_cli.store.matrix import FeatureView, Matrix, mean_of_known
from sfs_cli.store.quantile import normalized
from sfs_cli.store.size_factors import FACTORS, common_dispersion
from sfs_cli.store.transforms import (
    MEDIAN,
    PER_TOTAL,
    QUANTILE,
    RESIDUALS,
    RefusedError,
    Step,
    before_fitting,
    counts,
    dispersion_in,
    feature_step,
    keeps_zeros,
    kind,
    sample_step,
)

_DOUBLE = np.dtype(np.float64)
MissingPolicy = Literal["error", "drop", "mean"]


_DISPERSION = "dispersion of the counts for --transform vst"
COUNTING = "sums of the samples for --min-count"


@dataclass(eq=False)
class PreparedMatrix:
    """A view of a matrix that prepares each block as it passes.

    Another view of the same kind, such as one of fewer samples, is made by `dataclasses.replace`;
    its factors are then to be found again (`fit`), or taken over (`fitted_as`).

    Attributes
    ----------
    matrix : Matrix
        As it is stored.
    samples : ndarray of int, shape (n,), optional
        The indices of those to use, in any order; all by default.
    missing : {"error", "drop", "mean"}
        What becomes of features with missing values: refused by an `InputError`, left out, or
        filled by the mean of the feature's known values.
    features : FeatureFilter
        Those that take part.
    steps : tuple of str
        The names of the transformations, in order.
    adjustment : Adjustment, optional
        Taken out of the features after all steps.
    where : str
        The input, for messages.
    """

    matrix: Matrix
    _: KW_ONLY
    samples: np.ndarray | None = None
    missing: MissingPolicy = "error"
    features: FeatureFilter = EVERYTHING
    steps: tuple[str, ...] = ()
    adjustment: Adjustment | None = None
    where: str = ""
    # of each step that needs a pass, by its place: the factors of the samples, or for quantile the
    # normalized matrix
    _factors: dict[int, Any] = field(default_factory=dict, init=False, repr=False)
    _rule: CountRule | None = field(default=None, init=False, repr=False)
    _work: Workspace = field(default_factory=Workspace, init=False, repr=False)

    def __post_init__(self) -> None:
        found = self.matrix.missing
        if self.missing == "error" and found.values:
            places = "; ".join(f"feature {f}, sample {s}" for f, s in found.places)
            raise InputError(
                f"{counted(found.values, 'missing value')} in {found.features:,} of "
                f"{self.n_features:,} features",
                where=f"{self.where}: first at {places}",
                hint="--missing drop leaves those features out; --missing mean fills them by "
                "their mean",
            )

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return self.matrix.n_features

    @property
    def n_used(self) -> int:
        """Number of features less those that are known, before any pass, to take no part.

        Those are left out for their ids, or else for missing values of any sample.
        """
        if self.features.by_id is not None:
            return int(np.count_nonzero(self.features.by_id == 0))
        drops = self.missing == "drop" and self.n_samples == self.matrix.n_samples
        return self.n_features - (self.matrix.missing.features if drops else 0)

    @property
    def n_samples(self) -> int:
        """Number of samples n that are used."""
        return self.matrix.n_samples if self.samples is None else len(self.samples)

    @property
    def as_in_file(self) -> np.ndarray:
        """The places of the samples in the order of the file, shape (n,), for what lists them."""
        return np.arange(self.n_samples) if self.samples is None else np.argsort(self.samples)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored values."""
        return self.matrix.dtype

    @property
    def lossless_dtype(self) -> np.dtype[Any]:
        """Shortest type in which blocks hold their values without rounding."""
        return _DOUBLE if self.steps or self.adjustment else self.dtype

    @property
    def ids(self) -> Ids:
        """The ids of the features and of the samples that are used."""
        ids = self.matrix.ids
        if self.samples is None:
            return ids
        obs = None if ids.obs is None else ids.obs.take(self.samples)
        return Ids(ids.features, [ids.samples[i] for i in self.samples], obs, ids.var)

    @property
    def _leaves_out(self) -> bool:
        """Whether features may be left out, or values filled."""
        return bool(self.matrix.missing.values) or self.features.active

    @property
    def sparse(self) -> bool:
        """Whether zeros are not stored."""
        return self.matrix.sparse

    @property
    def keeps_zeros(self) -> bool:
        """Whether zeros are not stored, and are still zero after steps and adjustment."""
        return self.adjustment is None and self._keeps_zeros(len(self.steps))

    @property
    def basis(self) -> np.ndarray | None:
        """The basis of the adjustment, where zeros are still zero after the steps before it."""
        made = self.adjustment
        if made is None or made.known is not None or not self._keeps_zeros(len(self.steps)):
            return None
        return made.columns.T

    def _keeps_zeros(self, n_steps: int) -> bool:
        return self.matrix.sparse and all(map(keeps_zeros, self.steps[:n_steps]))

    def prefetch(self, span: Span) -> None:
        """Announce that a span will be read soon."""
        self.matrix.prefetch(span)

    def read_nonzeros(self, span: Span, dtype: np.dtype[Any]) -> NonZeros:
        """Read and prepare the stored values of a block, if it `keeps_zeros` or has a `basis`."""
        block = self._prepare_nonzeros(span, len(self.steps))
        block = replace(block, data=block.data.astype(dtype, copy=False))
        if self.adjustment is None:
            return block
        return self.adjustment.of_stored(block, float(np.finfo(self.dtype).eps))

    def left_out(self) -> Iterator[np.ndarray]:
        """Yield why features are left out whatever the steps, 0 for the others, block by block."""
        for span in cut(self.n_features, block_features(self.n_samples, self.dtype.itemsize)):
            yield self._leave_out(self._chosen(span), span)

    def selecting(self, features: np.ndarray) -> PreparedMatrix:
        """Return a view of some features, prepared as they are among all.

        Samples, steps, the policy for missing values and what features need to take part stay, and
        so do the factors that `fit` found on all features: counts per million stay those of the
        whole library. `features` are ascending indices, shape (l,).
        """
        some = self.features.of_some(features)
        view = replace(self, matrix=FeatureView(self.matrix, features), features=some)
        view.fitted_as(self)
        view._factors = {
            at: FeatureView(found, features) if self.steps[at] == QUANTILE else found
            for at, found in self._factors.items()
        }
        return view

    @property
    def target(self) -> PreparedMatrix:
        """The matrix that is ranked, without those that are joined with it."""
        return self

    def before_fitting(self) -> PreparedMatrix:
        """Return a view with the steps before the first that compares samples with each other."""
        return replace(self, steps=before_fitting(self.steps))

    def adjusted(self, adjustment: Adjustment | None) -> PreparedMatrix:
        """Return the same matrix with something else, or nothing, taken out of its features."""
        return replace(self, adjustment=adjustment).fitted_as(self)

    def targeting(self, samples: np.ndarray) -> PreparedMatrix:
        """Return the same matrix, scaled to the median total of some samples (l,) of it alone.

        It is for the steps `before_fitting`, and is the same matrix where none of them is `MEDIAN`.
        """
        view = replace(self).fitted_as(self)
        scaled = {
            at: factors * np.median(1 / factors[samples])
            for at, factors in self._factors.items()
            if self.steps[at] == MEDIAN
        }
        view._factors = self._factors | scaled
        return view

    def fitted_as(self, other: PreparedMatrix) -> PreparedMatrix:
        """Take over what `fit` has found of another view of the same samples; return this one."""
        self._factors, self._rule = other._factors, other._rule
        return self

    @property
    def totals(self) -> np.ndarray | None:
        """The totals of the samples (n,) that the first step has found; None where it needs none.

        They are those of the features that take part, times normalization factors where the step
        has some; of a step that scales to another total than 1e6, in proportion to them.
        """
        first = kind(self.steps[0]) if self.steps else ""
        if first in PER_TOTAL:
            return 1e6 / self._factors[0]
        return self._factors[0] if first in ("log2cpm", *RESIDUALS) else None

    @property
    def dispersion(self) -> float | None:
        """The dispersion that ``vst`` has found; None where it is no step, or not fitted."""
        for at, factors in self._factors.items():
            if kind(self.steps[at]) == "vst":
                return dispersion_in(factors)
        return None

    def fit(self, passes: Engine, memory: int = 1 << 62, folder: Path | None = None) -> None:
        """Find the sample factors that the steps and the filter need, by one pass for each.

        Those that are known already stay. A quantile normalization takes a part of `memory`, in
        bytes, or is kept in a scratch folder where one is given; it refuses a sparse matrix by an
        `InputError`.
        """
        if self.sparse and QUANTILE in self.steps:
            raise InputError(
                f"--transform {QUANTILE} needs a dense matrix: it makes most zeros other values",
                where=self.where,
                hint="for counts give --transform median,log1p, or write the matrix as a dense one",
                option="transform",
            )
        least = self.features.min_count
        if least is not None and self._rule is None:
            every = replace(self.features, min_count=None)
            view = replace(self, features=every, steps=(), adjustment=None)
            task = partial(view._sample_sums, counts, "--min-count", 0)
            total = passes.at(COUNTING).total_over(task)["total"]
            self._refuse_empty("--min-count", total, total > 0)
            self._rule = CountRule.of(total, self.features.group, least)
        for at, name in enumerate(self.steps):
            step, asked = sample_step(name), f"--transform {name}"
            if at in self._factors or (step is None and name != QUANTILE):
                continue
            made = passes.at(f"sums of the samples for {asked}")
            if step is None:
                before = partial(self._values_before, at)
                self._factors[at] = normalized(made, before, self.ids, memory, folder)
                continue
            if step.scaling:
                totals, scaling = FACTORS[step.scaling](
                    made, partial(self._counts_before, at), memory
                )
                total, used = totals * scaling, np.array(0)
            else:
                sums = made.total_over(partial(self._sample_sums, step.terms, asked, at))
                total, used = sums["total"], sums["used"]
            factors = step.factors(total, int(used))
            usable = np.isfinite(total) & np.isfinite(factors)
            self._refuse_empty(asked, total, usable)
            if step.dispersed:
                read = partial(self._counts_before, at)
                factors = factors * common_dispersion(passes.at(_DISPERSION), read, factors)
            self._factors[at] = factors

    def _refuse_empty(self, asked: str, total: np.ndarray, usable: np.ndarray) -> None:
        """Refuse samples whose sums cannot be used, by naming the first."""
        if not usable.all():
            first = int(np.argmin(usable))
            raise InputError(
                f"{asked}: the values of a sample add up to {total[first]:g}",
                where=f"{self.where}: sample {self.ids.samples[first]}",
                hint="remove samples whose values are all zero",
            )

    def _values_before(self, at: int, span: Span) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of a span before step `at`, and which features take part."""
        block = self.read(span, _DOUBLE, at)
        if block.left_out is None:
            return block.values, np.ones(span.size, bool)
        return block.values, block.left_out == 0

    def _counts_before(self, at: int, span: Span) -> np.ndarray:
        """Return the counts of a span before step `at`, 0 of features that take no part."""
        block, step = self.read(span, _DOUBLE, at), sample_step(self.steps[at])
        assert step is not None, "those that gather counts"
        with self._naming(f"--transform {self.steps[at]}", span):
            return step.terms(block.values)

    def _sample_sums(self, terms: Step, asked: str, at: int, span: Span) -> Arrays:
        """Return sums over a span before step `at`, and how many features took part."""
        block: Block | NonZeros
        if self._keeps_zeros(at):
            block = self._prepare_nonzeros(span, at)
            with self._naming(asked, span, block):
                (values,) = terms(block.data.astype(np.float64)[None])
            sums = np.bincount(block.indices, values, minlength=self.n_samples)
        else:
            block = self.read(span, _DOUBLE, at)
            # features that are left out are zero, and add nothing
            with self._naming(asked, span):
                sums = terms(block.values).sum(axis=0)
        left_out = 0 if block.left_out is None else int(np.count_nonzero(block.left_out))
        return {"total": sums, "used": np.array(span.size - left_out)}

    # dense blocks

    def read(self, span: Span, dtype: np.dtype[Any], n_steps: int | None = None) -> Block:
        """Read and prepare a block, by all steps or the first ones.

        Its values stay valid until this thread's next read.
        """
        n_steps = len(self.steps) if n_steps is None else n_steps
        values = self._chosen(span)
        left_out = self._leave_out(values, span) if self._leaves_out else None
        if not self.steps and self.adjustment is None:
            return Block(self._cast(values, dtype), left_out)
        # of the values as stored: after log-ratios or centering no feature is zero by itself
        zero = np.logical_not(values.any(axis=1))
        work = self._work.array("steps", len(values), self.n_samples, _DOUBLE)
        # a normalized matrix has been made of the steps before it
        begin = max((at + 1 for at in range(n_steps) if self.steps[at] == QUANTILE), default=0)
        if begin:
            self._factors[begin - 1].read(span, work)
        else:
            np.copyto(work, values)
        out = None if left_out is None else left_out != 0
        for at, name in enumerate(self.steps[begin:n_steps], begin):
            if out is not None:
                work[out] = 1  # a value that every step can take; zero again below
            if (step := sample_step(name)) is not None:
                work = step.apply(work, self._factors[at])
            else:
                with self._naming(f"--transform {name}", span):
                    work = feature_step(name)(work)
        if self.adjustment is not None and n_steps == len(self.steps):
            explained = self.adjustment.residuals(work, float(np.finfo(self.dtype).eps))
            left_out = np.zeros(len(work), np.int8) if left_out is None else left_out
            left_out[explained & (left_out == 0)] = LeftOut.EXPLAINED
            out = left_out != 0
        if out is not None:
            work[out] = 0
        return Block(self._cast(work, dtype), left_out, zero)

    def _chosen(self, span: Span) -> np.ndarray:
        values = self._work.array("read", span.size, self.matrix.n_samples, self.dtype)
        self.matrix.read(span, values)
        if self.samples is None:
            return values
        chosen = self._work.array("chosen", span.size, len(self.samples), self.dtype)
        # they are in range: without a check nothing is copied twice
        np.take(values, self.samples, axis=1, out=chosen, mode="clip")
        return chosen

    def _cast(self, values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        if values.dtype == dtype:
            return values
        out = self._work.array("cast", len(values), values.shape[1], dtype)
        np.copyto(out, values, casting="same_kind")
        return out

    def _leave_out(self, values: np.ndarray, span: Span) -> np.ndarray:
        """Deal with NaN in place; make features that take no part zero, and return why."""
        # gaps are filled last: what was not measured does not count
        why = self.features.reasons(
            span,
            values,
            slice(None),
            partial(np.sum, axis=1, dtype=np.float64),
            self._rule,
            partial(self._fill, values) if self.matrix.missing.values else None,
        )
        values[why != 0] = 0
        return why

    def _fill(self, values: np.ndarray) -> np.ndarray:
        """Fill NaN in place; return which features are left out for them."""
        gaps = np.isnan(values)
        out = gaps.any(axis=1)
        for row in np.flatnonzero(out) if self.missing == "mean" else ():
            mean = mean_of_known(values[row])
            if mean is not None:
                values[row][gaps[row]] = mean
                out[row] = False
        return out

    @contextmanager
    def _naming(self, asked: str, span: Span, stored: NonZeros | None = None) -> Iterator[None]:
        """Have what a step refuses name the step that was asked for, the feature and the sample.

        The step takes a block of the span, or all `stored` values of it in one row.
        """
        try:
            yield
        except RefusedError as error:
            row, sample = error.row, error.column
            if stored is not None:
                row, sample = int(stored.rows[sample]), int(stored.indices[sample])
            ids = self.ids
            raise InputError(
                f"{asked} {error.what}",
                where=f"{self.where}: feature {ids.features[span.lo + row]}, "
                f"sample {ids.samples[sample]}",
                hint=error.hint,
            ) from None

    # stored values alone

    def _prepare_nonzeros(self, span: Span, n_steps: int) -> NonZeros:
        """Read the stored values of a block and take them through the first steps.

        They are of the stored type where there are no steps, else float64.
        """
        block = self._chosen_nonzeros(span)
        if self._leaves_out:
            block = self._without_left_out(block, span)
        before = pointers(block.data != 0)  # values that are not zero, before each place
        zero = before[block.indptr[1:]] == before[block.indptr[:-1]]
        if not n_steps:
            return replace(block, zero=zero)
        data = block.data.astype(np.float64)
        for at, name in enumerate(self.steps[:n_steps]):
            if (step := sample_step(name)) is not None:
                data = step.apply(data, self._factors[at][block.indices])
            elif name == "unit":
                norms = np.sqrt(np.bincount(block.rows, data * data, minlength=span.size))
                norms[norms == 0] = 1
                data = data / norms[block.rows]
            else:
                with self._naming(f"--transform {name}", span, block):
                    (data,) = feature_step(name)(data[None])
        return replace(block, data=data, zero=zero)

    def _chosen_nonzeros(self, span: Span) -> NonZeros:
        """Read the samples that are used; the values are copied."""
        counts, indices, data = self.matrix.read_stored(span)
        if self.samples is not None:
            position = np.full(self.matrix.n_samples, -1, np.int32)
            position[self.samples] = np.arange(self.n_samples, dtype=np.int32)
            found = position[indices]
            kept = found >= 0
            rows = np.repeat(np.arange(span.size), counts)[kept]
            counts, indices, data = np.bincount(rows, minlength=span.size), found[kept], data[kept]
            order = np.lexsort((indices, rows))  # sums go by the order of the samples
            indices, data = indices[order], data[order]
        indices = indices.astype(np.int32, copy=False)
        return NonZeros(pointers(counts), indices, data.copy(), self.n_samples)

    def _without_left_out(self, block: NonZeros, span: Span) -> NonZeros:
        """Deal with NaN in place; store nothing of features that take no part."""
        why = self.features.reasons(
            span,
            block.data,
            block.indices,
            partial(np.bincount, block.rows, minlength=span.size),
            self._rule,
            partial(_fill_stored, block, self.missing) if self.matrix.missing.values else None,
        )
        kept = why[block.rows] == 0
        counts = np.bincount(block.rows[kept], minlength=span.size)
        return replace(
            block,
            indptr=pointers(counts),
            indices=block.indices[kept],
            data=block.data[kept],
            left_out=why,
        )


def _fill_stored(block: NonZeros, policy: MissingPolicy) -> np.ndarray:
    """Fill missing values by the mean of the known ones, zeros included.

    Returns which features are left out instead, shape (b,).
    """
    rows, gaps = block.rows, np.isnan(block.data)
    known = block.n_samples - np.bincount(rows[gaps], minlength=block.n_features)
    if policy == "drop":
        return known < block.n_samples
    total = np.bincount(rows[~gaps], block.data[~gaps], minlength=block.n_features)
    block.data[gaps] = (total / np.maximum(known, 1))[rows[gaps]]
    return known == 0
