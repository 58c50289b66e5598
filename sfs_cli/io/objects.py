"""Objects of Python as what readers take: tables with ids, names, and sets of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_complex_dtype, is_numeric_dtype

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.names import nfc
from sfs_cli.io.given import named
from sfs_cli.io.matrix.memory import Table, of_samples
from sfs_cli.io.matrix.stored import check_sparse, is_sparse

if TYPE_CHECKING:
    from anndata import AnnData

MATRIX_TAKEN = (
    "a data frame, an array or a sparse matrix, with samples in rows and features in columns; the "
    "matrix itself may be an AnnData, a MuData or a path too"
)
_NUMBERS = ("floating", "integer", "mixed-integer-float", "boolean", "decimal", "empty")


def is_anndata(value: object) -> TypeGuard[AnnData]:
    """Tell whether it is an AnnData, or looks like one."""
    return all(hasattr(value, name) for name in ("obs_names", "var_names", "obs", "uns"))


def has_index(value: object) -> TypeGuard[pd.DataFrame | pd.Series]:
    """Tell whether it is of pandas, whose rows have names."""
    return hasattr(value, "iloc")


def refused(what: str, value: object, taken: str, reason: str = "") -> InputError:
    """Return the error for an object that is not taken, with its type."""
    told = f"{what} is of type {type(value).__name__}, which is not taken"
    return InputError(f"{told}: {reason}" if reason else told, hint=f"give {taken}")


def array_of(value: Any, what: str, axes: int, taken: str) -> np.ndarray:
    """Return what a user gave as an array of one or two axes; InputError that says what is taken.

    A single column is taken where one axis is asked for.
    """
    if is_sparse(value):
        value = value.toarray()
    if isinstance(value, np.ma.MaskedArray):  # whole numbers stay whole beside missing ones
        missing, value = np.ma.getmaskarray(value), value.data.astype(object)
        value[missing] = None
    try:
        found = np.asarray(value)
    except Exception as error:  # of lists of lists, and of what pretends to be an array
        raise refused(what, value, taken, str(error).partition(". ")[0]) from error
    if axes == 1 and found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != axes:
        raise refused(what, value, taken, f"it has {found.ndim} axes, not {axes}")
    return found


def as_table(value: Any, what: str, rows: str | None) -> Table:
    """Return a data frame, an array or a sparse matrix with ids; rows are samples by default."""
    if isinstance(value, Table):
        return value
    samples_are_rows = rows != "features"
    if not has_index(value) and hasattr(value, "to_pandas"):  # of polars or Arrow
        value = value.to_pandas()
    if isinstance(value, pd.DataFrame):
        ids = _names_of(value.index, "row"), _names_of(value.columns, "column")
        values = _numbers_of(value, what)
        return Table(values, *ids, samples_are_rows)
    if is_sparse(value):
        check_sparse(value, named(what))
        values = value if value.format in ("csr", "csc") else value.tocsr()
    else:
        if isinstance(value, np.ma.MaskedArray) and value.dtype.kind in "fiubc":
            value = np.ma.filled(value.astype(np.result_type(value, np.float32)), np.nan)
        values = array_of(value, what, 2, MATRIX_TAKEN)
        if values.dtype.kind == "O":
            values = _numbers_of(pd.DataFrame(values), what)
    samples, features = values.shape if samples_are_rows else values.shape[::-1]
    names = [str(i) for i in range(samples)], [f"x{i}" for i in range(features)]
    return Table(values, *(names if samples_are_rows else names[::-1]), samples_are_rows)


def _names_of(index: pd.Index, what: str) -> list[str]:
    """Return the names of rows or columns; one that is missing, or of several parts, is refused."""
    if isinstance(index, pd.MultiIndex):
        raise InputError(
            f"{what}s of the data frame have names of {index.nlevels} levels (a MultiIndex)",
            hint="join the levels: index.map(lambda names: ' '.join(map(str, names)))",
            option="matrix",
        )
    if (missing := np.asarray(index.isna())).any():
        raise InputError(
            f"{counted(int(missing.sum()), what)} of the data frame without a name (None or NaN), "
            f"first number {int(missing.argmax()) + 1:,}",
            hint=f"name every {what}, or drop those without a name",
            option="matrix",
        )
    return list(map(str, index))


def _numbers_of(frame: pd.DataFrame, what: str) -> np.ndarray:
    """Return the values of a data frame; where its columns are of many types, as float64.

    Complex numbers stay as they are, for the reader to refuse. InputError for text.
    """
    kinds = set(frame.dtypes)
    plain = all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in kinds)
    if plain or any(map(is_complex_dtype, kinds)):
        return frame.to_numpy()
    others = [
        str(name)
        for name, column in frame.items()
        if not is_numeric_dtype(column.dtype) and infer_dtype(column) not in _NUMBERS
    ]
    if others:
        raise InputError(
            "values are of type object, not numbers, but text or the like, in column "
            f"{listed(others, 3)}",
            where=named(what),
            hint=f"take such columns out: one that names the rows by set_index({others[0]!r}); one "
            f"that is known of the samples can be given beside, as labels=table[{others[0]!r}]",
        )
    return frame.to_numpy(np.float64, na_value=np.nan)


def names_of(value: Any, what: str, taken: str) -> list[str]:
    """Return names that a user gave: a list, an array, a set, or what yields them."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        value = value if hasattr(value, "ndim") else list(value)
    return list(map(str, array_of(value, what, 1, taken)))


def forms_of(held: Any, of: str) -> dict[str, str]:
    """Return how the ids of a matrix or a ranking are written, by the form they are read in.

    They are those ``of`` features, raw or samples. Of most there are none: what is ASCII has one
    form.
    """
    ids: Iterable[Any]
    if isinstance(held, Table):
        ids = held.row_ids if held.samples_are_rows == (of == "samples") else held.column_ids
    elif has_index(held):
        ids = [*held.index, *held.select_dtypes(exclude="number").to_numpy().ravel("F")]
    elif hasattr(held, "obs_names"):
        of_features = held.raw if of == "raw" and held.raw is not None else held
        ids = held.obs_names if of == "samples" else of_features.var_names
    else:
        ids = []
    first: dict[str, str] = {}  # the others of one form have suffixes
    for name in map(str, ids):
        if not name.isascii():
            first.setdefault(nfc(name), name)
    return first


def sets_of(given: Mapping[Any, Any], what: str) -> Mapping[Any, Any]:
    """Return sets of genes; InputError where one is no list of names."""
    for name, genes in given.items():
        if isinstance(genes, str | bytes) or not isinstance(genes, Iterable):
            raise refused(f"the set {str(name)!r} of {what}", genes, "a list of genes")
    return given


def with_whole(adata: Any, whole: Any, own: str) -> SimpleNamespace:
    """Return a modality with what its MuData has of its samples: obs, obsm and obsp.

    A column of ``obs`` is that of the modality where both have it, and ``MODALITY:COLUMN`` names
    that of any modality. A graph or coordinates are those of the whole, such as muon's weighted
    nearest neighbors, where both have them, and ``MODALITY:KEY`` names those of the modality.
    """
    parts = ("X", "raw", "layers", "obs_names", "var_names", "uns")
    held = SimpleNamespace(**{part: getattr(adata, part) for part in parts})
    columns = {
        f"{name}:{key}": each.obs[key] for name, each in whole.mod.items() for key in each.obs
    }
    columns |= dict(whole.obs.items())
    held.obs = adata.obs.assign(
        **{k: each.reindex(adata.obs_names) for k, each in columns.items() if k not in adata.obs}
    )
    at = whole.obs.index.get_indexer(adata.obs_names)
    for part in ("obsm", "obsp"):
        found = dict(getattr(adata, part))
        for key, values in dict(getattr(whole, part, {})).items():
            if getattr(values, "ndim", 2) != 2:
                continue  # which samples a modality has
            if key in found:
                found[f"{own}:{key}"] = found[key]
            values = values.tocsr() if is_sparse(values) else values
            found[key] = of_samples(values, at, both=part == "obsp")
        setattr(held, part, found)
    return held
