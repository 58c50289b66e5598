"""What a matrix reader is, the formats, and opening a file with the right one.

A reader knows the ids of its columns before it reads a value. It then yields blocks of rows, dense
or sparse, from the first to the last, in a bounded amount of memory. Whether a row is a feature or
a sample is decided by `decide`, except for the formats that fix it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from sfs_cli.errors import COPY_AGAIN, InputError, UsageError, listed
from sfs_cli.io.files.sniff import Content, Kind, recognize, refuse_absent, split_modality

if TYPE_CHECKING:
    import pyarrow as pa
    from scipy.sparse import csr_array

Axis = Literal["features", "samples"]
Rows = Literal["features", "samples", "auto"]


@dataclass(frozen=True)
class RowBlock:
    """Some consecutive rows of a matrix.

    Attributes
    ----------
    ids : sequence of str
        The ids of the rows.
    values : ndarray or csr_array, shape (len(ids), n_columns)
        float32 or float64; missing values are NaN.
    """

    ids: Sequence[str]
    values: np.ndarray | csr_array


@dataclass(frozen=True)
class ReadOptions:
    """How to read a matrix.

    Attributes
    ----------
    dtype : {"float32", "float64"}
        Type of the values in blocks.
    block_bytes : int
        Readers hold about this much at a time (one row may be larger).
    layer : str, optional
        Layer of an AnnData file to read in place of ``X``.
    use_raw : bool
        Read ``raw/X`` of an AnnData file.
    decode_bytes : int, optional
        Memory for table columns that are decoded together; more of them are read in groups.
    scratch : Path, optional
        Folder for temporary files of such groups; by default the system's.
    """

    dtype: str = "float32"
    block_bytes: int = 8 << 20
    layer: str | None = None
    use_raw: bool = False
    decode_bytes: int | None = None
    scratch: Path | None = None


@dataclass
class Annotations:
    """What a file knows of its samples besides their ids.

    Attributes
    ----------
    obs : pyarrow.Table, optional
        One row per sample, in the order of the samples; one column per annotation.
    graphs : tuple of str
        Names of the sample graphs (``obsp``) in the file.
    """

    obs: pa.Table | None = None
    graphs: tuple[str, ...] = field(default=())


class MatrixReader(Protocol):
    """An open matrix file. Rows come in file order; columns keep theirs.

    Attributes
    ----------
    path : Path
        The file or folder.
    format : str
        Name of the format in `FORMATS`.
    fixed_rows : {"features", "samples"} or None
        What a row is, where the format says; None for text and tables.
    sparse : bool
        Whether blocks are sparse.
    column_ids : sequence of str
        The ids of the columns.
    n_rows : int or None
        Number of rows; None where only reading all of them can tell (text).
    annotations : Annotations
        Sample annotations, where the format has them.
    notes : sequence of str
        Choices that the user should know of, such as how features are named.
    """

    path: Path
    format: str
    fixed_rows: Axis | None
    sparse: bool
    column_ids: Sequence[str]
    n_rows: int | None
    annotations: Annotations
    notes: Sequence[str]

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first row or rows, without reading the whole file."""
        ...

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows in order, in blocks. May be called once."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


@dataclass(frozen=True)
class Format:
    """A format that matrices are read from.

    Attributes
    ----------
    name : str
        Short name, which readers carry as ``format``.
    title : str
        Its name in messages.
    suffixes : tuple of str
        Endings of file names, lower case, the first being the usual one.
    kinds : tuple of Kind
        What such a file holds.
    opener : str
        ``module:function`` with the signature ``(Path, ReadOptions) -> MatrixReader``; imported
        when a file is opened.
    compressed : bool
        Whether the whole file may be compressed with gzip or zstd.
    layers : bool
        Whether it has layers and a raw matrix.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    kinds: tuple[Kind, ...]
    opener: str
    compressed: bool = False
    layers: bool = False


def _compressed(*suffixes: str) -> tuple[str, ...]:
    return tuple(suffix + extra for suffix in suffixes for extra in ("", ".gz", ".zst"))


FORMATS: tuple[Format, ...] = (
    Format(
        "text",
        "delimited text",
        _compressed(".csv", ".tsv", ".txt"),
        (Kind.TEXT,),
        "sfs_cli.io.matrix.delimited:open_text",
        compressed=True,
    ),
    Format(
        "gct",
        "a GCT matrix",
        _compressed(".gct"),
        (Kind.GCT,),
        "sfs_cli.io.matrix.gct:open_gct",
        compressed=True,
    ),
    Format(
        "parquet",
        "a Parquet table",
        (".parquet",),
        (Kind.PARQUET,),
        "sfs_cli.io.matrix.parquet:open_parquet",
    ),
    Format(
        "feather",
        "an Arrow (Feather) table",
        (".feather", ".arrow"),
        (Kind.ARROW,),
        "sfs_cli.io.matrix.feather:open_feather",
    ),
    Format(
        "h5ad",
        "AnnData in HDF5",
        (".h5ad",),
        (Kind.HDF5,),
        "sfs_cli.io.matrix.anndata:open_h5ad",
        layers=True,
    ),
    Format(
        "h5mu",
        "MuData in HDF5",
        (".h5mu",),
        (Kind.HDF5,),
        "sfs_cli.io.matrix.anndata:open_h5mu",
        layers=True,
    ),
    Format(
        "zarr",
        "AnnData in Zarr",
        (".zarr",),
        (Kind.ZARR,),
        "sfs_cli.io.matrix.anndata:open_zarr",
        layers=True,
    ),
    Format(
        "10x-mtx",
        "a 10x matrix (Matrix Market)",
        (".mtx", ".mtx.gz"),
        (Kind.TENX_FOLDER, Kind.MATRIX_MARKET),
        "sfs_cli.io.matrix.tenx:open_tenx_mtx",
        compressed=True,
    ),
    Format(
        "10x-h5",
        "a 10x matrix in HDF5",
        (".h5",),
        (Kind.HDF5,),
        "sfs_cli.io.matrix.tenx:open_tenx_h5",
    ),
)


def open_matrix(path: str | Path, options: ReadOptions) -> MatrixReader:
    """Open a matrix file, a 10x or Zarr folder, or ``FILE.h5mu:MODALITY``.

    Only the column ids and the first rows are read.

    Raises
    ------
    InputError
        If nothing is there, the format is unknown, or the content is not what the name says.
    UsageError
        If a layer or the raw matrix is asked of a format that has none.
    """
    path = Path(path)
    content = recognize(path)
    refuse_absent(path, content)
    found = format_of(path, content)
    if (options.layer is not None or options.use_raw) and not found.layers:
        asked = "--use-raw" if options.use_raw else "--layer"
        raise UsageError(
            f"{asked} needs AnnData (.h5ad, .h5mu or .zarr), but this is {found.title}",
            where=str(path),
            hint=f"leave {asked} out, or give the AnnData file",
        )
    module, function = found.opener.split(":")
    return getattr(import_module(module), function)(path, options)


def format_of(path: Path, content: Content) -> Format:
    """Return the format that both the name of a file and its content (`recognize`) have.

    Raises
    ------
    InputError
        If the name ends in no known suffix, or the content is another.
    """
    if content.kind is Kind.TENX_FOLDER:
        return _formats_of(content.kind)[0]  # such folders have any name
    name = split_modality(path)[0].name.lower()
    named = next((f for f in FORMATS if name.endswith(f.suffixes)), None)
    if named is None:
        raise _unknown_suffix(path, content)
    if content.kind not in named.kinds:
        raise InputError(
            f"{path.name} holds {content.kind.value}, not {named.title} as its name says",
            where=str(path),
            hint=_renaming(content),
        )
    if content.compression and not named.compressed:
        raise InputError(
            f"{path.name} is compressed with {content.compression} as a whole, "
            f"so it cannot be read as {named.title}",
            where=str(path),
            hint="decompress it first",
        )
    return named


def _formats_of(kind: Kind) -> list[Format]:
    return [f for f in FORMATS if kind in f.kinds]


def _unknown_suffix(path: Path, content: Content) -> InputError:
    if _formats_of(content.kind):
        return InputError(
            f"{path.name} holds {content.kind.value}, but its name does not say in which format",
            where=str(path),
            hint=_renaming(content),
        )
    known = " ".join(f.suffixes[0] for f in FORMATS)
    return InputError(
        f"{path.name} holds {content.kind.value}, which is not a known matrix format",
        where=str(path),
        hint=_ADVICE.get(content.kind, f"known formats: {known} .tsv .txt .arrow"),
    )


_ADVICE = {
    Kind.EXCEL: "export the sheet as CSV (Excel: File > Save As > CSV UTF-8)",
    Kind.UTF16: "convert it with 'iconv -f UTF-16 -t UTF-8', or save it as CSV UTF-8 in Excel",
    Kind.ZIP: "unpack it and give the file inside",
    Kind.R_DATA: "write the matrix from R with write.table(..., sep='\\t')",
}


def _renaming(content: Content) -> str:
    fitting = _formats_of(content.kind)
    if not fitting:
        return _ADVICE.get(content.kind, COPY_AGAIN)
    extra = {"gzip": ".gz", "zstd": ".zst"}.get(content.compression or "", "")
    names = [f"*{f.suffixes[0]}{extra if f.compressed else ''} ({f.title})" for f in fitting]
    return f"rename it to {' or '.join(names)}"


BY_CONVENTION = "rows are taken as features, the convention of expression matrices"
"""The reason of `decide` where nothing tells what a row is."""
CARRY_SAMPLES = "rows are samples, since they carry the known sample ids"
"""The reason of `decide` where sample ids from labels or sources stand in the rows."""


def decide(reader: MatrixReader, rows: Rows, known_samples: Collection[str]) -> tuple[Axis, str]:
    """Say what the rows of a matrix are, and why.

    Parameters
    ----------
    reader : MatrixReader
        The open matrix.
    rows : {"features", "samples", "auto"}
        What the user says.
    known_samples : collection of str
        Sample ids from labels and sources; may be empty.

    Returns
    -------
    axis : {"features", "samples"}
        What a row is.
    reason : str
        One sentence for the user.

    Raises
    ------
    UsageError
        If the user contradicts the format.
    InputError
        If the known samples match rows and columns equally well.
    """
    if (axis := reader.fixed_rows) is not None:
        if rows not in ("auto", axis):
            raise UsageError(
                f"--rows {rows} contradicts the file: rows of this format ({reader.format}) "
                f"are {axis}",
                where=str(reader.path),
                hint="leave --rows out",
                option="rows",
            )
        return axis, f"rows are {axis}, by the format ({reader.format})"
    if rows != "auto":
        return rows, f"rows are {rows}, as --rows says"
    known = frozenset(known_samples)
    of_columns = _share(reader.column_ids, known)
    of_rows = _share(reader.first_row_ids(), known)
    if of_columns == of_rows == 0.0:
        return "features", BY_CONVENTION
    if of_columns == of_rows:
        raise InputError(
            "the known sample ids match the rows as well as the columns",
            where=str(reader.path),
            hint="give --rows features or --rows samples",
        )
    if of_columns > of_rows:
        return "features", "rows are features, since the columns carry the known sample ids"
    return "samples", CARRY_SAMPLES


def _share(ids: Sequence[str], known: frozenset[str]) -> float:
    # a share, not a count: of the rows only the first ones are looked at
    return sum(i in known for i in ids) / len(ids) if len(ids) else 0.0


def cast_values(values: np.ndarray, dtype: str, where: str | Callable[[int], str]) -> np.ndarray:
    """Convert booleans, integers or floats of any shape to the type of the blocks.

    `where` is the place for messages, or a function from the position of a value to its place.
    Values that are not numbers, and finite values that become infinite, are an `InputError`.
    """
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"values are of type {values.dtype}, not numbers",
            where=where if isinstance(where, str) else where(0),
            hint="write the matrix as numbers",
        )
    with np.errstate(over="ignore"):
        converted = values.astype(dtype, copy=False)
    if values.dtype.kind != "f" or values.dtype.itemsize <= converted.dtype.itemsize:
        return converted
    infinite = np.isinf(converted)
    if infinite.any() and (lost := np.flatnonzero(infinite & np.isfinite(values))).size:
        first = int(lost[0])
        raise InputError(
            f"values are out of the range of {converted.dtype}, such as {values.flat[first]:g}",
            where=where if isinstance(where, str) else where(first),
            hint="is that a value of the matrix? if so, use --dtype float64",
        )
    return converted


def read_sparse_table(
    path: Path,
    is_valid: Callable[[np.ndarray], np.ndarray],
    describe: Callable[[float], str],
    hint: str,
) -> tuple[list[str], list[str], csr_array]:
    """Read a matrix of mostly zeros in any format, never holding all of it dense.

    Parameters
    ----------
    path : Path
        The file.
    is_valid : callable
        Says of values, shape (b,), which are allowed.
    describe : callable
        Returns what is wrong with a value that is not, for the message.
    hint : str
        What to do about it.

    Returns
    -------
    rows, columns : list of str
        The ids, each once.
    matrix : csr_array of float64, shape (len(rows), len(columns))
    """
    from scipy.sparse import coo_array, csr_array, vstack

    reader = open_matrix(path, ReadOptions(dtype="float64"))
    try:
        columns = list(reader.column_ids)
        rows: list[str] = []
        blocks = [csr_array((0, len(columns)))]
        for block in reader.blocks():
            rows.extend(block.ids)
            entries = csr_array(block.values)
            wrong = np.flatnonzero(~is_valid(entries.data))
            if wrong.size:
                row, column = (int(index[wrong[0]]) for index in coo_array(entries).coords)
                value = entries.data[wrong[0]]
                raise InputError(
                    "the value is missing" if np.isnan(value) else describe(value),
                    where=f"{path}, row {block.ids[row]!r}, column {columns[column]!r}",
                    hint=hint,
                )
            entries.eliminate_zeros()
            blocks.append(entries)
    finally:
        reader.close()
    for what, ids in (("rows", rows), ("columns", columns)):
        if len(set(ids)) < len(ids):
            repeated = [name for name, count in Counter(ids).items() if count > 1]
            raise InputError(
                f"{what} have the same id: {listed(repeated)}",
                where=str(path),
                hint=f"leave one of the {what} for each id",
            )
    return rows, columns, csr_array(vstack(blocks, format="csr"))
