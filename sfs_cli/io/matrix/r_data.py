"""Matrices and data frames that R has saved: ``.rds`` and ``.RData``, read by ``rdata``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError, listed, need_extra
from sfs_cli.io.files.text import split_member
from sfs_cli.io.matrix.base import MatrixReader, ReadOptions, read_errors
from sfs_cli.io.matrix.memory import Table, open_table
from sfs_cli.io.matrix.stored import checked_csr

if TYPE_CHECKING:
    import pandas as pd


_EXPORT = (
    'write it from R: {}; write.table(as.matrix(x), "matrix.tsv", sep="\\t", quote=FALSE, '
    "col.names=NA) (of an experiment: as.matrix(assay(x)))"
)
_OF_RDS, _OF_RDATA = 'x <- readRDS("FILE")', 'print(load("FILE")); x <- NAME'
_NEEDED = f", or {_EXPORT.format(_OF_RDS)}"


need_extra("rdata", "r", "reading saved R objects needs rdata", _NEEDED)  # all below does


def open_r_data(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a saved matrix, dgCMatrix, data frame or SummarizedExperiment.

    ``FILE.RData:NAME`` is one of several objects, ``FILE.rds:ASSAY`` one of several assays. Of an
    experiment features are the rows, and colData the annotations of samples.
    """
    with _object(path) as (held, assay):
        reader = open_table(path, _table(held, assay, path), options)
    reader.format = "r"
    return reader


def read_frame(path: Path) -> pd.DataFrame:
    """Read a saved data frame, or a matrix as one, with the ids in its index."""
    with _object(path) as (held, _):
        return _whole(_frame(held, path))


@contextmanager
def _object(path: Path) -> Iterator[tuple[Any, str | None]]:
    """Give the object that a path names, and the name of an assay."""
    from rdata.conversion import DEFAULT_CLASS_MAP, convert
    from rdata.parser import RObjectType, parse_file

    file, name = split_member(path)
    with read_errors(path, "saved R objects", _export(path)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that it has no constructor for
        parsed = parse_file(file)
        held = convert(parsed, {**DEFAULT_CLASS_MAP, **_CLASSES}, default_encoding="utf-8")
        if parsed.object.info.type is RObjectType.LIST:  # of save()
            held, name = _part(held, name, path), None
        yield held, name


def _times(unit: Any, form: str, values: Any, _: Any) -> Any:
    """Return times as R writes them into a table of text."""
    import pandas as pd

    return pd.to_datetime(np.asarray(values, np.float64), unit=unit).strftime(form).array


def _integer64(values: Any, _: Any) -> Any:
    """Return the numbers of package bit64, whose bits R keeps as those of other numbers."""
    whole = np.asarray(values).view(np.int64)
    return np.where(whole == np.iinfo(np.int64).min, np.nan, whole)


_CLASSES = {
    "integer64": _integer64,
    "Date": partial(_times, "D", "%Y-%m-%d"),
    "POSIXct": partial(_times, "s", "%Y-%m-%d %H:%M:%S"),
}
"""Classes whose numbers mean something else than those that R keeps for them."""


def _part(parts: Mapping[str, Any], name: str | None, path: Path) -> Any:
    """Return the part of a name, or the only one."""
    if name is None and len(parts) == 1:
        return next(iter(parts.values()))
    if name is None or name not in parts:
        what = f"there is no {name!r} in it" if name else "the file has several objects"
        hint = f"give {split_member(path)[0].name}:NAME, one of {listed(list(parts), 20)}"
        raise InputError(what, where=path, hint=hint)
    return parts[name]


def _table(held: Any, assay: str | None, path: Path) -> Table:
    """Return a matrix with ids; of an experiment its own, which an assay may not have."""
    import pandas as pd
    from scipy.sparse import csc_array

    obs, names = None, [None, None]
    if hasattr(held, "colData"):
        known = {str(k): v for k, v in held.colData.listData.items() if np.ndim(v) == 1}
        names = [_row_names(held), held.colData.rownames]
        obs = _whole(pd.DataFrame(known, index=names[1]))
        held = _part(held.assays.data.listData, assay, path)
    elif assay is not None:
        _part({}, assay, path)
    if np.ravel(getattr(held, "class", "")) == "dgCMatrix":
        values: Any = checked_csr(csc_array((held.x, held.i, held.p), held.Dim), path)
        axes = [own if ids is None else ids for ids, own in zip(names, held.Dimnames)]
        if any(ids is None for ids in axes):
            raise _without_ids(path)
    else:
        frame = _frame(held, path, names)
        numbers = frame.select_dtypes(["number", "bool"], "complex")
        if others := [*map(str, frame.columns.difference(numbers.columns, sort=False))]:
            hint = "take them out: all columns but the ids are values"
            raise InputError(f"columns hold no numbers: {listed(others)}", where=path, hint=hint)
        values = np.ascontiguousarray(frame.to_numpy(np.float64, na_value=np.nan))  # R: by columns
        axes = frame.axes
    rows, columns = (list(map(str, ids)) for ids in axes)
    return Table(values, rows, columns, None if obs is None else False, obs)


def _export(path: Path) -> str:
    """Return how R writes a saved matrix as text."""
    is_rds = split_member(path)[0].suffix.lower() == ".rds"
    return _EXPORT.format(_OF_RDS if is_rds else _OF_RDATA)


def _without_ids(path: Path) -> InputError:
    what = "this is no data frame with ids, and no matrix with names of its rows and columns"
    return InputError(what, where=path, hint=_export(path))


def _row_names(experiment: Any) -> Any:
    """Return the names of the features of a SummarizedExperiment, or None."""
    ranges = getattr(experiment, "rowRanges", None)
    ranges = getattr(ranges, "ranges", getattr(ranges, "partitioning", experiment))
    return getattr(ranges, "NAMES", None)


def _frame(held: Any, path: Path, names: Sequence[Any] = (None, None)) -> pd.DataFrame:
    """Return a data frame, or a matrix as one, with its ids in the index.

    `names` of rows and columns replace its own. The ids of a data frame that has no row names, or
    numbers of rows as a filter leaves them, are the first column, if it has text or whole numbers
    that differ.
    """
    import pandas as pd

    types: Any = pd.api.types
    named = types.is_string_dtype  # names that R or xarray has made are numbers
    frame: Any = held
    if np.ndim(held) == 2 and not (is_frame := isinstance(held, pd.DataFrame)):
        frame = held.to_pandas() if hasattr(held, "to_pandas") else pd.DataFrame(held)
        for axis, ids in enumerate(names):
            frame = frame if ids is None else frame.set_axis(ids, axis=axis)
    if np.ndim(held) != 2 or not named(frame.columns) or not (is_frame or named(frame.index)):
        raise _without_ids(path)
    if named(frame.index):
        return frame
    first = _whole(frame.iloc[:, :1]).iloc[:, 0]
    if not types.is_numeric_dtype(first) or (types.is_integer_dtype(first) and first.is_unique):
        return frame.iloc[:, 1:].set_axis(pd.Index(first), axis=0)
    if isinstance(frame.index, pd.RangeIndex):
        raise _without_ids(path)
    return frame


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame whose whole numbers are integers: R has most of them as decimals."""
    return frame.convert_dtypes(
        infer_objects=False, convert_string=False, convert_boolean=False, convert_floating=False
    )
