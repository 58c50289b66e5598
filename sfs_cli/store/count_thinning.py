"""Counts divided at random into two matrices: of one the sample graph is made, the other is tested.

Of every count, each unit goes to one of the two with probability 1/2. Parts of a Poisson count are
independent of each other (A. Neufeld et al., "Inference after latent variable estimation for
single-cell RNA sequencing data", Biostatistics 25, 2024, Proposition 1), so what is found in one is
tested fairly in the other. Parts of counts that vary more than Poisson ones, from sample to sample,
share that variation.
"""

from __future__ import annotations

import hashlib

import numpy as np

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.store.matrix import DerivedMatrix, Matrix, Stored

MOST = 2.0**53
"""Larger numbers are not whole by themselves."""


class ThinnedMatrix(DerivedMatrix):
    """One of the two parts of a matrix of counts.

    What is drawn depends on the seed, the name of the feature and the order of the samples alone.

    Parameters
    ----------
    matrix : Matrix
        The counts.
    seed : int
        Both parts have the same one.
    second : bool
        Which of the parts.
    where : str
        The input, for messages.
    samples : ndarray of int, optional
        Those that are used, in the order in which they are drawn for: that of the matrix has no
        part in it.
    """

    def __init__(
        self,
        matrix: Matrix,
        seed: int,
        *,
        second: bool,
        where: str = "",
        samples: np.ndarray | None = None,
    ) -> None:
        super().__init__(matrix)  # what is missing stays missing
        self.seed, self.second, self.where = seed, second, where
        # the turn of each sample: those that are not used come last
        self._turn = np.arange(matrix.n_samples)
        if samples is not None:
            self._turn += len(samples)
            self._turn[samples] = np.arange(len(samples))

    def read(self, span: Span, out: np.ndarray) -> None:
        """Fill `out` with the part of a block of features, shape (b, n)."""
        self.matrix.read(span, out)
        for row, values in enumerate(out):
            places = np.flatnonzero(values)  # the same draws as for stored values
            places = places[np.argsort(self._turn[places])]
            values[places] = self._part(values[places], span.lo + row, places)

    def read_stored(self, span: Span) -> Stored:
        """Return the part of the stored values of a block; some may be zero."""
        counts, indices, data = self.matrix.read_stored(span)
        data, ends = data.copy(), np.cumsum(counts)
        for row, (lo, hi) in enumerate(zip((ends - counts).tolist(), ends.tolist())):
            order = lo + np.argsort(self._turn[indices[lo:hi]])
            order = order[data[order] != 0]
            data[order] = self._part(data[order], span.lo + row, indices[order])
        return Stored(counts, indices, data)

    def _part(self, values: np.ndarray, feature: int, samples: np.ndarray) -> np.ndarray:
        """Return the part of the counts of a feature, none of them zero, in given samples."""
        known = ~np.isnan(values)
        bad = known & ~((values > 0) & (values < MOST) & (values == np.rint(values)))
        if bad.any():
            at = int(np.argmax(bad))
            raise InputError(
                f"--split counts needs whole numbers of 0 or more; found {values[at]:g}",
                where=f"{self.where}: feature {self.ids.features[feature]}, "
                f"sample {self.ids.samples[int(samples[at])]}",
                hint="give raw counts, or --split features",
                option="split",
            )
        name = self.ids.features[feature].encode()
        own = int.from_bytes(hashlib.blake2b(name, digest_size=7).digest(), "little")
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, 0, own]))
        # a missing count takes a draw too, of which nothing is used
        drawn = rng.binomial(np.where(known, values, 0).astype(np.int64), 0.5).astype(values.dtype)
        drawn[~known] = np.nan if values.dtype.kind == "f" else 0
        return values - drawn if self.second else drawn
