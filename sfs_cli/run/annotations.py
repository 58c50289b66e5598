"""What the columns of the samples look like: classes, or batches that the samples may follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.io.files.table import NULL_TOKENS, is_number
from sfs_cli.io.given import given
from sfs_cli.io.knowledge.sample_columns import is_inside, table_of
from sfs_cli.ranking.prune import standardized
from sfs_cli.run.columns import (
    DONORS_OF_CELLS,
    LIKE_BATCHES,
    LIKE_CLASSES,
    LIKE_DONORS,
    MOST_CLASSES,
)
from sfs_cli.run.pictures import principal_components
from sfs_cli.run.raw_values import raw_kind
from sfs_cli.run.top import from_all_over
from sfs_cli.store.matrix import Matrix, look

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLES_PER_CLASS = 4
"""A column with fewer in the mean would explain much by chance."""
REPLICATES = 3
"""Samples of each class that a small experiment has at least."""
GROUPS_PER_CLASS = 2
"""Groups that tell the classes are suspect up to so many: of many donors each has one diagnosis."""
FOLLOWS = 0.5
"""A column leads a direction if it explains so much of it."""
OF_TOP = 0.03
"""The first features follow a column if it explains so much of their variance."""
LOOKED_AT = 4000
"""Samples that are looked at, from all over the matrix."""
PERMUTATIONS = 199


class Annotation(NamedTuple):
    """A column that puts every sample into a group of several."""

    spec: str  # as options name it: obs:KEY or FILE:COLUMN
    codes: np.ndarray  # (n,): the group of each sample
    levels: int  # number of groups
    batch: bool  # whether it looks like batches by its name, and else like classes
    named: bool  # whether its name is one of batches or classes


def groupings(
    matrix: Matrix,
    labels: Labels | None = None,
    spec: str | None = None,
    *,
    telling: bool = False,
    batches: bool = False,
    per_class: int = SAMPLES_PER_CLASS,
) -> list[Annotation]:
    """Return the columns that look like classes or batches, those first that are so by name.

    They are the annotations of the matrix, and all columns of the table of the labels, which `spec`
    names. A column that tells which of the `labels` its samples have, or the reverse, is not among
    them: both cannot be separated. With `telling` these alone are returned, and with `batches`
    those alone that are batches by name. Classes have at least `per_class` samples in the mean.
    """
    found = []
    for name, column in _columns(matrix, spec, LIKE_BATCHES.search if batches else bool).items():
        if name == spec or {",", "="} & {*name}:  # the labels, or what no option could name
            continue
        if telling and labels and {*map(str, column.unique().to_pylist())} == {*labels.classes}:
            continue  # the labels again, as where they are called `sample`
        bare = name.rpartition(":")[2]
        batch = LIKE_BATCHES.search(bare) is not None
        named = batch or LIKE_CLASSES.search(bare) is not None
        codes = _codes(column, numbers=batch, codes=named)
        sizes = np.bincount(codes)
        most = matrix.n_samples // (SAMPLES_PER_CLASS if batch else per_class)
        most = GROUPS_PER_CLASS * labels.n_classes if telling and labels else most
        fits = 2 <= len(sizes) <= (most if batch else min(most, MOST_CLASSES))
        if fits and sizes.min() > 1 and _tells(codes, labels) == telling:
            found.append(Annotation(name, codes, len(sizes), batch, named))
    return sorted(found, key=lambda each: not each.named)


def pairs(
    matrix: Matrix, labels: Labels, samples: np.ndarray | None, spec: str | None
) -> list[str]:
    """Return the columns, as `groupings` names them, whose groups have a sample of each class.

    `samples` are the indices of those that are used, and `spec` names the labels.
    """
    labels = labels.take(samples)
    found, each = [], labels.n_classes
    for name, column in _columns(matrix, spec, bool).items():
        used = column if samples is None else column.take(samples)
        codes = _codes(used, numbers=True, codes=True)
        if each * (codes.max() + 1) == len(codes) and not {",", "="} & {*name}:
            cells = np.unique(np.stack([codes, labels.codes]), axis=1)
            if cells.shape[1] == len(codes) > each:
                found.append(name)
    return found


def repeated_donors(
    matrix: Matrix,
    labels: Labels,
    samples: np.ndarray | None,
    spec: str | None,
    *,
    of_cells: bool = True,
) -> tuple[str, np.ndarray] | None:
    """Return the column of donors, by name, whose samples have one class, and the donor of each.

    Each donor has two samples or more on average, and some class has two donors: where none has, no
    option can tell donors from classes. `samples` are the indices of those that are used, and
    `spec` names the labels. Of several columns it is that of the fewest donors. Samples that are
    not `of_cells` may be called by their condition.
    """
    found = []
    labels = labels.take(samples)
    classes = np.unique(np.nan_to_num(labels.target), return_inverse=True)[1]
    alone = int(classes.max()) + 1 if labels.classes else 1
    wanted = DONORS_OF_CELLS if of_cells else LIKE_DONORS
    for name, column in _columns(matrix, spec, wanted.search).items():
        used = column if samples is None else column.take(samples)
        codes = _codes(used, numbers=True, codes=True)
        pairs = np.unique(np.stack([codes, classes]), axis=1).shape[1]
        if name != spec and alone < pairs == codes.max() + 1 <= len(codes) // 2:
            found.append((name, codes))
    return min(found, key=lambda each: each[1].max(), default=None)


def _columns(
    matrix: Matrix, spec: str | None, wanted: Callable[[str], object]
) -> dict[str, pa.ChunkedArray]:
    """Return the annotations, and the columns of the table that `spec` names, by their specs.

    They are those of `wanted` names.
    """
    obs = matrix.ids.obs
    found = {}
    if obs is not None:
        found = {f"obs:{name}": obs[name] for name in obs.column_names if wanted(name)}
    if spec is not None and not is_inside(spec):
        table, _ = table_of(spec, "labels")
        ids = table.ids_among(matrix.ids.samples)
        at = {sample: row for row, sample in enumerate(table.columns[ids])}
        rows = [at.get(sample) for sample in matrix.ids.samples]
        # an object of Python has no path: its columns are named alone
        of = "" if given(table.path) is not None else f"{table.path}:"
        for name, texts in table.columns.items():
            if name != ids and wanted(name):
                import pyarrow as pa  # which imports pandas

                values = [None if row is None else texts[row] for row in rows]
                found[f"{of}{name}"] = pa.chunked_array([values], pa.string())
    return found


def _codes(column: pa.ChunkedArray, *, numbers: bool, codes: bool) -> np.ndarray:
    """Return the value of each sample by number; all 0 in other columns, or if a sample has none.

    Samples without a value would have to be left out. `numbers` says that whole ones may be
    groups, and `codes` that texts may be that are numbers, which are else measured, such as ages.
    """
    import pandas as pd

    held, none = str(column.type), np.zeros(len(column), int)
    if not re.match("dictionary|string|large_string|bool" + "|u?int" * numbers, held):
        return none
    found, known = pd.factorize(column.to_pandas())  # -1 where there is no value
    texts = {*map(str, known)}
    measured = not codes and held.endswith("string") and all(map(is_number, texts))
    return none if measured or -1 in found or texts & {*NULL_TOKENS} else found


def _tells(codes: np.ndarray, labels: Labels | None) -> bool:
    """Tell whether a column (n,) says which class its samples have, or the class which group."""
    if labels is None or not labels.classes:
        return False
    pairs = np.stack([codes, labels.codes])[:, labels.codes >= 0]
    return len(np.unique(pairs, axis=1).T) in [len(np.unique(each)) for each in pairs]


def components(matrix: Matrix) -> np.ndarray:
    """Return the leading principal components of some features, which are standardized: (n, k).

    Logarithms are taken of values that need them.
    """
    values = look(matrix)
    values = values[np.isfinite(values).all(axis=1)]
    if raw_kind(values) is not None:
        values = np.log1p(np.maximum(values, 0))
    return principal_components(standardized(values))


def explained(directions: np.ndarray, codes: np.ndarray, *, all_of: bool = False) -> float:
    """Return how much of one of some directions (n, k) a column explains, the most of them.

    With `all_of` it is the mean over the directions. The measure is epsilon squared,
    ``1 - (1 - eta^2) (n - 1) / (n - g)`` for g groups: the share of the variance between groups,
    less what is expected by chance (T. L. Kelley, "An unbiased correlation ratio measure", PNAS 21,
    1935). It is 0 below `FOLLOWS` (`OF_TOP` of the mean), and where one of `PERMUTATIONS` orders of
    the samples reaches as much.
    """
    directions, codes = from_all_over(directions, LOOKED_AT), from_all_over(codes, LOOKED_AT)
    by, n, rng = np.argsort(codes, kind="stable"), len(codes), np.random.default_rng(0)
    starts = np.flatnonzero(np.diff(codes[by], prepend=-1))
    sizes, unit = np.diff(starts, append=n), standardized(directions.T)

    def measure(order: np.ndarray) -> float:
        eta = (np.add.reduceat(unit[:, order], starts, axis=1) ** 2 / sizes).sum(axis=1)
        one = eta.mean() if all_of else eta.max()
        return float(1 - (1 - one) * (n - 1) / max(n - len(starts), 1))

    found = measure(by)
    least = OF_TOP if all_of else FOLLOWS
    if found < least or any(measure(rng.permutation(n)) >= found for _ in range(PERMUTATIONS)):
        return 0.0
    return found


def followed(columns: Sequence[Annotation], directions: np.ndarray) -> dict[str, float]:
    """Return the batches that explain a direction (n, k), with the share; the first is to be named.

    Of those that explain as much, to one decimal, it is that of the fewest groups: donors within
    batches explain what batches do.
    """
    if not directions.size:  # as where every feature lacks a value
        return {}
    return _ordered((explained(directions, c.codes), c) for c in columns if c.batch)


def followed_by_top(
    columns: Sequence[Annotation], values: np.ndarray, samples: np.ndarray | None
) -> dict[str, float]:
    """Return the batches that the first features (b, n), standardized, follow, as `followed` does.

    They are so by name: clusters of cells may have any other. `samples` are the indices of those
    that are used.
    """
    columns = [c if samples is None else c._replace(codes=c.codes[samples]) for c in columns]
    return _ordered((explained(values.T, c.codes, all_of=True), c) for c in columns if c.batch)


def _ordered(shares: Iterable[tuple[float, Annotation]]) -> dict[str, float]:
    def key(found: tuple[float, Annotation]) -> tuple[float, int]:
        return -round(found[0], 1), found[1].levels

    return {c.spec: share for share, c in sorted(shares, key=key) if share}
