"""Several matrices of the same samples as one, such as genes and miRNAs: feature after feature.

Each keeps its own transformation and its own policy for missing values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import Block, Ids, Span
from sfs_cli.store.matrix import FeatureView, Matrix, Missing
from sfs_cli.store.prepared import MissingPolicy, PreparedMatrix
from sfs_cli.store.transforms import before_fitting

ALIKE = "zscore"
"""The last step of every matrix: features of different units would not compare without it."""


class Member(NamedTuple):
    """One of the matrices that are joined."""

    name: str  # what its features are of: a source
    size: int  # number of its features
    steps: tuple[str, ...]  # of its transformation, `ALIKE` the last
    missing: MissingPolicy
    where: str  # it comes from, for messages


def _divided(features: np.ndarray, members: Sequence[Member]) -> list[np.ndarray]:
    """Return which of some features, ascending, are of each member, by their indices in it."""
    ends = np.cumsum([each.size for each in members])
    parts = np.split(features, np.searchsorted(features, ends[:-1]))
    return [own - end + each.size for own, end, each in zip(parts, ends, members)]


def _pieces(span: Span, members: Sequence[Member]) -> Iterator[tuple[int, Span]]:
    """Yield the number of each member that a span of all features meets, and its own span."""
    for at, own in enumerate(_divided(np.arange(span.lo, span.hi), members)):
        if len(own):
            yield at, Span(int(own[0]), int(own[-1]) + 1)


class JoinedMatrix(Matrix):
    """The features of several matrices, as they are stored, in the samples of the first.

    Parameters
    ----------
    matrices : sequence of Matrix
        The first has the samples.
    samples : sequence of ndarray of int, shape (n,)
        For each matrix the indices of these samples in it; of those that it lacks any, for no run
        uses them.
    members : tuple of Member
        The same matrices.
    features : sequence of str, length m
        Unique ids of all features.
    """

    sparse = False

    def __init__(
        self,
        matrices: Sequence[Matrix],
        samples: Sequence[np.ndarray],
        members: tuple[Member, ...],
        features: Sequence[str],
    ) -> None:
        self.matrices, self.samples, self.members = matrices, samples, members
        names = dict.fromkeys(name for each in matrices for name in each.ids.var)
        annotations = {
            name: [text for m in matrices for text in m.ids.var.get(name, [""] * m.n_features)]
            for name in names
        }
        self.ids = Ids(features, matrices[0].ids.samples, matrices[0].ids.obs, annotations)
        self.shape = len(features), matrices[0].n_samples
        self.dtype = np.result_type(*(each.dtype for each in matrices))
        known = [each.missing for each in matrices]
        self.missing = Missing(sum(m.values for m in known), sum(m.features for m in known))

    def read(self, span: Span, out: np.ndarray) -> None:
        """Fill `out` with a block of features, shape (b, n)."""
        pieces = _pieces(span, self.members)
        found = [self.matrices[at].values_of(own)[:, self.samples[at]] for at, own in pieces]
        np.concatenate(found, out=out)


@dataclass(eq=False)
class JoinedPrepared(PreparedMatrix):
    """A view of joined matrices that prepares the features of each as its own matrix would be.

    Samples, filter and adjustment are those of all, `steps` those of the first matrix.

    Attributes
    ----------
    members : tuple of Member
        The matrices, in their order; their sizes add up to all features.
    parts : list of PreparedMatrix
        The view of each.
    """

    members: tuple[Member, ...] = field(kw_only=True)
    parts: list[PreparedMatrix] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ends = np.cumsum([each.size for each in self.members])
        self.parts = [
            PreparedMatrix(
                FeatureView(self.matrix, own),
                samples=self.samples,
                missing=each.missing,
                features=self.features.of_some(own),
                steps=each.steps,
                adjustment=self.adjustment,
                where=each.where,
            )
            for each, own in zip(self.members, np.split(np.arange(self.n_features), ends[:-1]))
        ]
        self._factors = self.parts[0]._factors

    @property
    def target(self) -> PreparedMatrix:
        """The first matrix alone, without the step that makes features alike."""
        first = self.parts[0]
        return replace(first, steps=first.steps[:-1]).fitted_as(first)

    @property
    def lossless_dtype(self) -> np.dtype[Any]:
        """Shortest type in which blocks hold their values, all of which have steps."""
        return np.dtype(np.float64)

    def selecting(self, features: np.ndarray) -> JoinedPrepared:
        """Return a view of some features, prepared as they are among all."""
        own = _divided(features, self.members)
        members = tuple(e._replace(size=len(of)) for e, of in zip(self.members, own))
        some, matrix = self.features.of_some(features), FeatureView(self.matrix, features)
        view = replace(self, matrix=matrix, features=some, members=members)
        view.parts = [part.selecting(of) for part, of in zip(self.parts, own)]
        return view

    def fitted_as(self, other: PreparedMatrix) -> JoinedPrepared:
        """Take over what `fit` has found of another view of the same samples; return this one."""
        assert isinstance(other, JoinedPrepared)
        for mine, its in zip(self.parts, other.parts):
            mine.fitted_as(its)
        self._factors = other._factors
        return self

    def targeting(self, samples: np.ndarray) -> JoinedPrepared:
        """Return the same matrices, each scaled to the median total of some samples of it alone."""
        view = replace(self)
        view.parts = [part.targeting(samples) for part in self.parts]
        view._factors = view.parts[0]._factors
        return view

    def before_fitting(self) -> JoinedPrepared:
        """Return a view whose steps, of each matrix, take a value by itself."""
        members = (each._replace(steps=before_fitting(each.steps)) for each in self.members)
        return replace(self, steps=before_fitting(self.steps), members=tuple(members))

    def fit(self, passes: Engine, memory: int = 1 << 62, folder: Path | None = None) -> None:
        """Find the sample factors of each matrix; the passes over the first are those planned."""
        for part in self.parts:
            part.fit(replace(passes, source=part), memory, folder)
            # the others are small: their passes are neither counted nor kept
            passes = replace(passes, passes=None, parts=None)

    def read(self, span: Span, dtype: np.dtype[Any], n_steps: int | None = None) -> Block:
        """Read and prepare a block, by all steps of each matrix."""
        assert n_steps is None, "matrices have their own steps"
        found = [self.parts[at].read(own, dtype) for at, own in _pieces(span, self.members)]
        if len(found) == 1:
            return found[0]
        # where nothing is said of the features of a block, none is left out, and values show zeros
        left_out = [
            np.zeros(len(each.values), np.int8) if each.left_out is None else each.left_out
            for each in found
        ]
        zero = [~each.values.any(axis=1) if each.zero is None else each.zero for each in found]
        values = np.concatenate([each.values for each in found])
        return Block(values, np.concatenate(left_out), np.concatenate(zero))


def prepared(matrix: Matrix, **how: Any) -> PreparedMatrix:
    """Return a view of a matrix, joined or not, by the attributes of `PreparedMatrix`."""
    if isinstance(matrix, JoinedMatrix):
        return JoinedPrepared(matrix, members=matrix.members, **how)
    return PreparedMatrix(matrix, **how)
