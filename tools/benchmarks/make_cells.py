"""Simulate single cells straight into an h5ad file, in blocks: counts and a graph of neighbours.

Cells stand on a ring in a random order. Each is joined to those at a few distances along it, by
weights of the pair (`obsp/connectivities`, symmetric, float32). A tenth of the genes are expressed
on an arc of the ring, the others anywhere. X is CSR, cells in rows, float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

BLOCK = 20_000
NEIGHBORS = 16
"""Neighbours of a cell, half of them on each side."""
REACH = 4
"""Neighbours are up to this many times further along the ring than they need be."""


def make_cells(path: Path, n: int, m: int, filled: float = 0.05) -> None:
    """Write the file.

    Parameters
    ----------
    path : Path
        Where to.
    n, m : int
        Cells and genes.
    filled : float
        Part of the values that is not zero.
    """
    rng = np.random.default_rng(0)
    angle = rng.permutation(n)  # the place of each cell on the ring
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        _frame(file, "obs", [f"cell{i:08d}" for i in range(n)])
        _frame(file, "var", [f"gene{i:05d}" for i in range(m)])
        for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
            _kind(file.create_group(name), "dict", "0.1.0")
        _values(file, n, m, filled, angle, rng)
        _graph(file, angle, rng)


def _kind(item: Any, kind: str, version: str) -> None:
    item.attrs.update({"encoding-type": kind, "encoding-version": version})


def _frame(file: h5py.File, name: str, ids: list[str]) -> None:
    group = file.create_group(name)
    _kind(group, "dataframe", "0.2.0")
    group.attrs["_index"] = "_index"
    group.attrs["column-order"] = np.array([], h5py.string_dtype())
    index = group.create_dataset("_index", data=np.array(ids, object), dtype=h5py.string_dtype())
    _kind(index, "string-array", "0.2.0")


def _sparse(file: h5py.File, name: str, shape: tuple[int, int]) -> tuple[Any, Any, Any]:
    group = file.create_group(name)
    _kind(group, "csr_matrix", "0.1.0")
    group.attrs["shape"] = shape
    resizable: dict[str, Any] = {"shape": (0,), "maxshape": (None,), "chunks": (1 << 20,)}
    data = group.create_dataset("data", dtype=np.float32, **resizable)
    return group, data, group.create_dataset("indices", dtype=np.int32, **resizable)


def _append(dataset: Any, values: np.ndarray) -> None:
    dataset.resize(dataset.shape[0] + len(values), axis=0)
    dataset[len(dataset) - len(values) :] = values


def _values(
    file: h5py.File, n: int, m: int, filled: float, angle: np.ndarray, rng: np.random.Generator
) -> None:
    group, data, indices = _sparse(file, "X", (n, m))
    chance = np.minimum(filled * rng.gamma(2, 0.5, m), 0.9).astype(np.float32)
    chance *= filled / chance.mean()
    centre = np.where(rng.random(m) < 0.1, rng.random(m), np.nan).astype(np.float32)
    indptr = [np.zeros(1, np.int64)]
    for lo in range(0, n, BLOCK):
        place = (angle[lo : lo + BLOCK, None] / np.float32(n)).astype(np.float32)
        away = np.abs((place - centre + 0.5) % 1 - 0.5)
        level = np.where(np.isnan(away), 1, np.where(away < 0.125, 2.5, 0.5)).astype(np.float32)
        rows, columns = np.nonzero(rng.random(level.shape, np.float32) < chance * level)
        _append(indices, columns.astype(np.int32))
        _append(data, 1 + rng.poisson(1, len(columns)).astype(np.float32))
        indptr.append(np.bincount(rows, minlength=len(place)))
    group["indptr"] = np.concatenate(indptr).cumsum()


def _graph(file: h5py.File, angle: np.ndarray, rng: np.random.Generator) -> None:
    n, half = len(angle), NEIGHBORS // 2
    shifts = np.sort(rng.choice(np.arange(1, REACH * half + 1), half, replace=False))
    weights = rng.uniform(0.2, 1, half).astype(np.float32)
    own = rng.uniform(0.5, 1, n).astype(np.float32)
    cell = np.argsort(angle)  # the cell at each place
    group, data, indices = _sparse(file, "obsp/connectivities", (n, n))
    steps = np.concatenate([shifts, -shifts])
    both = np.concatenate([weights, weights])
    for lo in range(0, n, BLOCK):
        columns = cell[(angle[lo : lo + BLOCK, None] + steps) % n]
        pairs = both * (own[lo : lo + BLOCK, None] * own[columns])
        order = np.argsort(columns, axis=1)
        _append(indices, np.take_along_axis(columns, order, axis=1).ravel().astype(np.int32))
        _append(data, np.take_along_axis(pairs, order, axis=1).ravel())
    group["indptr"] = np.arange(n + 1, dtype=np.int64) * (2 * half)
