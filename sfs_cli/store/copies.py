"""Shuffled features, which are stored nowhere: in place of a matrix, or as copies behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Block, Ids, MatrixView, NonZeros, Span, pointers
from sfs_cli.compute.workspace import Workspace
from sfs_cli.store.matrix import DerivedMatrix, Matrix, Stored, runs

SHUFFLED_AT_ONCE = 1 << 16
"""Values whose order is drawn at a time."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def digests(names: Iterable[str], *what: object) -> np.ndarray:
    """Return a number of 64 bits for each name, (b,), which depends on it and `what` alone."""
    texts = ("\0".join(map(str, (*what, name))) for name in names)
    made = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(made), "<u8")


def orders(names: Sequence[str], draw: int, seed: int, n: int) -> np.ndarray:
    """Return an order of n samples for each of some features, shape (b, n).

    It depends on the name of the feature, the draw and the seed alone, so that blocks, threads and
    the other features do not matter. The samples are sorted by random keys, which are those of
    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) from a digest of the three.
    """
    key = digests(names, seed, draw)[:, None]
    key = key + _GOLDEN * np.arange(1, n + 1, dtype=np.uint64)  # modulo 2^64
    key = (key ^ (key >> np.uint64(30))) * _FIRST
    key = (key ^ (key >> np.uint64(27))) * _SECOND
    return np.argsort(key ^ (key >> np.uint64(31)), axis=1, kind="stable")


def _orders_of(
    names: Sequence[str], draw: int, seed: int, n: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield rows of some features and the `orders` of these, so many at a time."""
    step = max(1, SHUFFLED_AT_ONCE // n)
    for lo in range(0, len(names), step):
        rows = slice(lo, min(lo + step, len(names)))
        yield rows, orders(names[rows], draw, seed, n)


def _moved(
    counts: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    places: Iterable[tuple[slice, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Return stored values of b features, each moved to the sample that `places` say.

    `counts` (b,) say how many each feature has; `places` are rows, and the sample to which the
    value of each sample goes, (rows, n).
    """
    indices, data, ends = indices.copy(), data.copy(), np.cumsum(counts)
    for rows, place in places:
        stored = slice(int(ends[rows.start] - counts[rows.start]), int(ends[rows.stop - 1]))
        of = np.repeat(np.arange(len(place)), counts[rows])
        moved = place[of, indices[stored]]
        ascending = np.lexsort((moved, of))
        indices[stored], data[stored] = moved[ascending], data[stored][ascending]
    return indices, data


class ShuffledMatrix(DerivedMatrix):
    """A stored matrix in which the samples of each feature are shuffled, independently.

    Only `samples`, (n,) by default all, are shuffled among themselves; what is drawn depends on
    their order here, and not on that of the matrix. Those of each of the `parts`, indices of
    `samples`, stay in their part.
    """

    def __init__(
        self,
        matrix: Matrix,
        seed: int,
        samples: np.ndarray | None = None,
        parts: Sequence[np.ndarray] = (),
    ) -> None:
        super().__init__(matrix)
        self.seed = seed
        self.samples = np.arange(matrix.n_samples) if samples is None else samples
        self.part = np.zeros(len(self.samples), np.int64)
        for number, each in enumerate(parts, 1):
            self.part[each] = number

    def read(self, span: Span, out: np.ndarray) -> None:
        """Fill `out` with a block of shuffled features, shape (b, n)."""
        self.matrix.read(span, out)
        for rows, order in self._orders(span):
            shuffled = np.take_along_axis(out[rows][:, self.samples], order, axis=1)
            out[rows.start : rows.stop, self.samples] = shuffled

    def read_stored(self, span: Span) -> Stored:
        """Return the stored values of a block of shuffled features."""
        counts, indices, data = self.matrix.read_stored(span)
        return Stored(counts, *_moved(counts, indices, data, self._places(span)))

    def _places(self, span: Span) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of a span, and where the value of each sample goes."""
        for rows, order in self._orders(span):
            place = np.tile(np.arange(self.n_samples), (len(order), 1))
            place[:, self.samples] = self.samples[np.argsort(order, axis=1)]
            yield rows, place

    def _orders(self, span: Span) -> Iterator[tuple[slice, np.ndarray]]:
        names = self.ids.features[span.lo : span.hi]
        for rows, order in _orders_of(names, 0, self.seed, len(self.samples)):
            if self.part.any():  # those of a part, in the order drawn, take the places of it
                places = np.argsort(self.part, kind="stable")
                by_part = np.argsort(self.part[order], axis=1, kind="stable")
                order[:, places] = np.take_along_axis(order, by_part, axis=1)
            yield rows, order


class WithCopies:
    """A `MatrixView` of m features and, behind them, R copies of each: draw after draw.

    A copy has the values of its feature, as they are prepared, in another order of the samples.
    `chosen`, shape (l,), are the ascending indices of those in the view, by default all (R + 1) m.
    """

    def __init__(
        self, source: MatrixView, copies: int, seed: int, chosen: np.ndarray | None = None
    ) -> None:
        self.source, self.copies, self.seed, self.chosen = source, copies, seed, chosen
        self._work = Workspace()
        self.dtype = source.dtype
        self.lossless_dtype = source.lossless_dtype
        self.sparse, self.keeps_zeros = source.sparse, source.keeps_zeros
        self.basis = None  # that of a copy is in another order

    @property
    def n_features(self) -> int:
        """Number of features, copies included."""
        if self.chosen is not None:
            return len(self.chosen)
        return (self.copies + 1) * self.source.n_features

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return self.source.n_samples

    @property
    def ids(self) -> Ids:
        """The ids of both axes; a copy is named after its feature."""
        ids = self.source.ids
        return Ids(_Names(ids.features, self), ids.samples, ids.obs)

    def selecting(self, features: np.ndarray) -> WithCopies:
        """Return the view of some features (indices, ascending)."""
        chosen = features if self.chosen is None else self.chosen[features]
        return WithCopies(self.source, self.copies, self.seed, np.asarray(chosen, np.int64))

    def prefetch(self, span: Span) -> None:
        """Announce that a span will be read soon."""
        for _, run in self._runs(span):
            self.source.prefetch(run)

    def read(self, span: Span, dtype: np.dtype[Any]) -> Block:
        """Read a block; its values stay valid until this thread's next read."""
        values = self._work.array("copies", span.size, self.n_samples, dtype)
        blocks: list[Block] = []
        at = 0
        for draw, run in self._runs(span):
            block = self.source.read(run, dtype)
            part = values[at : at + run.size]
            if draw:
                for rows, order in self._orders(draw, run):
                    part[rows] = np.take_along_axis(block.values[rows], order, axis=1)
            else:
                np.copyto(part, block.values)
            blocks.append(block)
            at += run.size
        return Block(values, _joined(blocks, "left_out"), _joined(blocks, "zero"))

    def read_nonzeros(self, span: Span, dtype: np.dtype[Any]) -> NonZeros:
        """Read the stored values of a block, where the matrix `keeps_zeros`."""
        blocks: list[NonZeros] = []
        for draw, run in self._runs(span):
            block = self.source.read_nonzeros(run, dtype)
            if draw:
                orders = self._orders(draw, run)
                places = ((rows, np.argsort(order, axis=1)) for rows, order in orders)
                counts = np.diff(block.indptr)
                indices, data = _moved(counts, block.indices, block.data, places)
                block = replace(block, indices=indices, data=data)
            blocks.append(block)
        return NonZeros(
            pointers(np.concatenate([np.diff(block.indptr) for block in blocks])),
            np.concatenate([block.indices for block in blocks]),
            np.concatenate([block.data for block in blocks]),
            self.n_samples,
            _joined(blocks, "left_out"),
            _joined(blocks, "zero"),
        )

    def _orders(self, draw: int, run: Span) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of a run, and the order of the samples of each."""
        names = self.source.ids.features[run.lo : run.hi]
        return _orders_of(names, draw, self.seed, self.n_samples)

    def _runs(self, span: Span) -> Iterator[tuple[int, Span]]:
        """Yield the draw (0: no copy) and the span of neighboring features of the source."""
        m = self.source.n_features
        whole = np.arange(span.lo, span.hi)
        for run in runs(whole if self.chosen is None else self.chosen[span.lo : span.hi], m):
            draw, lo = divmod(run.lo, m)
            yield draw, Span(lo, lo + run.size)


class _Names(Sequence[str]):
    """The names of features and copies, made when they are needed."""

    def __init__(self, names: Sequence[str], view: WithCopies) -> None:
        self._names, self._view = names, view

    def __len__(self) -> int:
        return self._view.n_features

    def __getitem__(self, at: Any) -> Any:
        """Return a name, or a list of them."""
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        chosen = self._view.chosen
        draw, feature = divmod(int(at if chosen is None else chosen[at]), len(self._names))
        return f"{self._names[feature]} (copy {draw})" if draw else self._names[feature]


def _joined(blocks: Sequence[Block | NonZeros], name: str) -> np.ndarray | None:
    known = [part for block in blocks if (part := getattr(block, name)) is not None]
    return np.concatenate(known) if known else None
