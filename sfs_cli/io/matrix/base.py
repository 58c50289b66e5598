"""What a matrix reader is, the formats, and opening a file with the right one.

A reader knows the ids of its columns before it reads a value. It then yields blocks of rows, dense
or sparse, from the first to the last, in a bounded amount of memory. Whether a row is a feature or
a sample is decided by `decide`, except for the formats that fix it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np

from sfs_cli.errors import InputError, SfsError, UsageError, is_full, listed
from sfs_cli.io.files.names import check_names, is_ranking, nfc
from sfs_cli.io.files.sniff import Content, Kind, examine, recognize
from sfs_cli.io.files.text import PACKED, WORKBOOKS, repeated, split_member, text_suffix

if TYPE_CHECKING:
    import pyarrow as pa
    from scipy.sparse import csr_array

Axis = Literal["features", "samples"]
Rows = Literal["features", "samples", "auto"]


@dataclass(frozen=True)
class RowBlock:
    """Some consecutive rows of a matrix."""

    ids: Sequence[str]
    values: np.ndarray | csr_array  # (len(ids), n_columns), float32 or float64; missing is NaN
    # names and columns of what stands beside the values, each of len(ids)
    texts: Sequence[tuple[str, Sequence[str]]] = ()


RAW = "raw.X"
"""The layer that is the matrix of ``raw`` of AnnData."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a matrix."""

    dtype: str = "float32"  # of the values in blocks: float32 or float64
    block_bytes: int = 8 << 20  # readers hold about this much at a time (one row may be larger)
    layer: str | None = None  # layer of an AnnData file to read in place of X, or `RAW`
    decimal: str = "point"  # what text has before the digits of a fraction: point, comma or auto
    # memory for table columns that are decoded together; more of them are read in groups, by way
    # of temporary files in a folder (by default the system's)
    decode_bytes: int | None = None
    scratch: Path | None = None
    known_samples: Sequence[str] = ()  # ids that other files have, for a format with two of each


@dataclass
class Annotations:
    """What a file knows of its samples besides their ids."""

    obs: pa.Table | None = None  # a row for each sample, in order; a column for each annotation
    graphs: tuple[str, ...] = ()  # what compares samples, as ``obsp:KEY`` and ``obsm:KEY``
    # for run.json: `log1p` where ``uns`` says that scanpy took the logarithm of 1 + X (True of a
    # natural one, else the base), and
    # `matrices`, all that a file has
    facts: dict[str, Any] = field(default_factory=dict)


class MatrixReader(Protocol):
    """An open matrix file. Rows come in file order; columns keep theirs."""

    path: Path
    format: str  # its name in `FORMATS`
    fixed_rows: Axis | None = None  # what a row is, where the format says; None for text and tables
    sparse: bool = False  # whether blocks are sparse
    column_ids: Sequence[str]
    n_rows: int | None = None  # None where only reading all of them can tell (text)
    annotations: Annotations
    notes: Sequence[str] = ()  # choices that the user should know of: how features are named, say

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first row or rows, without reading the whole file."""
        ...

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows in order, in blocks. May be called once."""
        ...

    def close(self) -> None:
        """Release the file, where one is open."""
        return


@runtime_checkable
class LeavesOut(MatrixReader, Protocol):
    """A reader that gives columns as texts of its blocks, beside the values."""

    names: Sequence[str]  # of all columns
    left_out: Sequence[str] = ()  # these columns, and lines of text below the names
    unused: Collection[str] = ()  # columns whose values nothing uses, set before the first block

    @property
    def beside(self) -> Sequence[str]:
        """The names of these columns."""
        ...

    def leave_out(self, names: Sequence[str]) -> None:
        """Take more columns for annotations of the rows, before the first block."""
        ...


@dataclass(frozen=True)
class Format:
    """A format that matrices are read from."""

    name: str  # readers carry it as ``format``
    kinds: tuple[Kind, ...]  # what such a file holds
    suffixes: tuple[str, ...]  # endings of file names, lower case, the usual one first
    # ``module:function`` in this folder, which is imported when a file is opened; the function
    # makes a `MatrixReader` of (Path, ReadOptions)
    opener: str
    title: str  # its name in messages
    # whether it is AnnData, with layers, a raw matrix, annotations, graphs and coordinates
    anndata: bool = False


def packed(*suffixes: str) -> tuple[str, ...]:
    """Return suffixes, or names, each as it is and with those of compression."""
    return tuple(suffix + extra for suffix in suffixes for extra in PACKED.values())


_TENX = (Kind.TENX_FOLDER, Kind.MATRIX_MARKET)
FORMATS = (
    Format(
        "text",
        (Kind.TEXT,),
        packed(".csv", ".tsv", ".txt", ".tab"),
        "delimited:open_text",
        "delimited text",
    ),
    Format("gct", (Kind.GCT,), packed(".gct"), "gct:open_gct", "a GCT matrix"),
    Format("parquet", (Kind.PARQUET,), (".parquet",), "parquet:open_parquet", "a Parquet table"),
    Format(
        "feather",
        (Kind.ARROW,),
        (".feather", ".arrow"),
        "feather:open_feather",
        "an Arrow (Feather) table",
    ),
    Format("h5ad", (Kind.HDF5,), (".h5ad",), "anndata:open_h5ad", "AnnData in HDF5", anndata=True),
    Format("h5mu", (Kind.HDF5,), (".h5mu",), "anndata:open_h5ad", "MuData in HDF5", anndata=True),
    Format("zarr", (Kind.ZARR,), (".zarr",), "anndata:open_zarr", "AnnData in Zarr", anndata=True),
    Format(
        "10x-mtx", _TENX, (".mtx", ".mtx.gz"), "tenx:open_tenx_mtx", "a 10x matrix (Matrix Market)"
    ),
    Format("10x-h5", (Kind.HDF5,), (".h5",), "tenx:open_tenx_h5", "a 10x matrix in HDF5"),
    Format(
        "series-matrix",
        (Kind.SERIES,),
        packed("_series_matrix.txt"),
        "series:open_series",
        "a series matrix of GEO",
    ),
    # R compresses them all
    Format(
        "r",
        (Kind.R_DATA,),
        packed(".rds", ".rda", ".rdata"),
        "r_data:open_r_data",
        "saved R objects",
    ),
    Format("excel", (Kind.WORKBOOK,), WORKBOOKS, "delimited:open_text", "a workbook"),
)


def open_matrix(path: str | Path, options: ReadOptions) -> MatrixReader:
    """Open a matrix file, a 10x or Zarr folder, ``FILE.h5mu:MODALITY`` or ``FILE.xlsx:SHEET``.

    Only the column ids and the first rows are read.

    Raises
    ------
    InputError
        If nothing is there, or the format is none that is read.
    UsageError
        If a layer is asked of a format that has none.
    """
    path = Path(path)
    content = examine(path)
    if content.kind is Kind.OBJECT:
        return import_module("sfs_cli.io.matrix.memory").open_held(path, content.held, options)
    found = format_of(path, content)
    if options.layer is not None and not found.anndata:
        raise UsageError(
            f"--layer needs AnnData (.h5ad, .h5mu or .zarr), but this is {found.title}",
            where=path,
            hint="leave --layer out, or give the AnnData file",
            option="layer",
        )
    module, function = found.opener.split(":")
    opener = getattr(import_module(f"sfs_cli.io.matrix.{module}"), function)
    reader = opener(path, options)
    if isinstance(reader, LeavesOut) and is_ranking(reader.names):
        reader.close()
        raise InputError("this is a ranking made by sfs, not a matrix", where=path, hint=LIST)
    return reader


def format_of(path: Path, content: Content) -> Format:
    """Return the format of what a path holds (`recognize`); its name decides where that is open.

    Raises
    ------
    InputError
        If that is none that is read, or it is compressed as a whole and should not be.
    """
    fitting = [f for f in FORMATS if content.kind in f.kinds]
    if content.kind is Kind.HDF5:
        name = _of_hdf5(path)
        fitting = [f for f in fitting if f.name == name]
    if content.is_text and text_suffix(path) in _GENE_SETS:
        raise InputError(
            f"{path.name} holds gene sets, not a matrix",
            where=path,
            hint=f"give it as a source (--source NAME=genes:{path.name}:SET), or to --sets of sfs "
            "evaluate, compare or report",
        )
    if content.is_text and text_suffix(path) in (".sf", ".results"):
        raise InputError("these are the counts of one sample", where=path, hint=CONVERT)
    if content.kind is Kind.FOLDER:
        files = sorted(member.name for member in path.iterdir() if named_format(member.name))
        if (path / "run.json").is_file():
            raise InputError("this is a result of sfs, not a matrix", where=path, hint=LIST)
        holds = f"; it holds {listed(files)}" if files else ""
        if len(ends := {Path(name).suffix for name in files}) == 1 < len(files):
            holds = f", or {path}/*{ends.pop()} if each has other samples{holds}"
        raise InputError(
            "this is a folder, but none that is a matrix (a store, a Zarr or a 10x folder)",
            where=path,
            hint=f"give the matrix file in it{holds}; {CONVERT}",
        )
    if not fitting:
        known = " ".join(f.suffixes[0] for f in FORMATS)
        raise InputError(
            f"{path.name} holds {content.kind.value}, which is not a known matrix format",
            where=path,
            hint=_ADVICE.get(content.kind, f"known formats: {known} .tsv .txt .arrow"),
        )
    found = fitting[0]
    if content.compression and not any(each.endswith(".gz") for each in found.suffixes):
        raise InputError(
            f"{path.name} is compressed with {content.compression} as a whole, "
            f"so it cannot be read as {found.title}",
            where=path,
            hint="decompress it first",
        )
    return found


def _of_hdf5(path: Path) -> str:
    """Return the name of the format of an HDF5 file, by its keys; InputError for Loom and BIOM."""
    import h5py

    keys, tenx = set[str](), False
    with suppress(OSError, KeyError, RuntimeError), h5py.File(split_member(path)[0]) as file:
        keys = set(file)  # what cannot be read is told by who reads the file
        # those of a 10x matrix are the names of genomes
        tenx = any(isinstance(each, h5py.Group) and "barcodes" in each for each in file.values())
    for other, marks, reader in _OTHERS_IN_HDF5:
        if marks <= keys:
            raise InputError(f"this is {other}", where=path, hint=f"write it as h5ad: {reader}")
    if "mod" in keys:
        return "h5mu"
    return "10x-h5" if tenx and not {"obs", "var"} <= keys else "h5ad"


_OTHERS_IN_HDF5 = (
    ("a Loom file", {"row_attrs", "col_attrs"}, "anndata.io.read_loom(FILE).write_h5ad(NEW)"),
    (
        "a BIOM file",
        {"observation", "sample"},
        "or as text, biom convert -i FILE -o NEW.tsv --to-tsv",
    ),
)


def named_format(path: str | Path) -> Format | None:
    """Return the format that the name of a file, a folder or a modality stands for."""
    name = split_member(Path(path))[0].name.lower()
    return next((f for f in FORMATS if name.endswith(f.suffixes)), None)


def is_anndata(path: str | Path) -> bool:
    """Tell whether a matrix is AnnData."""
    content = recognize(path)
    return content.kind in (Kind.HDF5, Kind.ZARR) and format_of(Path(path), content).anndata


_GENE_SETS = (".gmt", ".gmx", ".gaf")
_ADVICE = {
    Kind.ZIP: "unpack it and give the file inside; a workbook is cut off: copy it again",
    Kind.JSON: "of BIOM write a table: biom convert -i FILE -o NEW.tsv --to-tsv",
    Kind.VCF: "give a table of the genotypes, as plink2 --export A-transpose writes (0, 1, 2)",
    **dict.fromkeys((Kind.BZIP2, Kind.XZ), "unpack it (gzip and zstd are read as they are)"),
}


def _refuse_text(reader: MatrixReader) -> None:
    """Refuse text in a table of which nothing may be left out: who reads it tells no notes."""
    if isinstance(reader, LeavesOut) and reader.left_out:
        raise InputError(
            f"text in place of numbers: {listed([*reader.left_out])}",
            where=reader.path,
            hint="take out columns and lines of text; all values are numbers",
        )


def read_dense_table(
    path: Path, wanted: str, hint: str
) -> tuple[MatrixReader, list[str], np.ndarray]:
    """Read a dense matrix in any format as a whole, as float64.

    Returned are the closed reader, the ids of the rows, and the values. `wanted` is what the table
    should hold, for the message about a sparse or an empty one.
    """
    names: list[str] = []
    values: list[np.ndarray] = []
    with closing(open_matrix(path, ReadOptions(dtype="float64"))) as reader:
        _refuse_text(reader)
        for block in reader.blocks() if not reader.sparse else ():
            check_names(block.ids, "a row", path)
            names += map(nfc, block.ids)
            values.append(np.asarray(block.values))
        check_names(reader.column_ids, "a column", path)
    if not values:
        raise InputError(f"this is not {wanted}", where=path, hint=hint)
    return reader, names, np.concatenate(values)


@contextmanager
def read_errors(
    where: object,
    name: str,
    hint: str = "copy it again, or write it again with the program that made it",
) -> Iterator[None]:
    """Turn what other libraries raise on a file into an `InputError`, in their words.

    `name` says what the file should be, as in "cannot be read as parquet".
    """
    try:
        yield
    except (SfsError, MemoryError):
        raise
    except Exception as error:  # libraries raise any kind on what they did not expect
        if isinstance(error, OSError) and is_full(error):
            raise  # about what is written meanwhile
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"cannot be read as {name}: {reason}", where=where, hint=hint) from error


@contextmanager
def releasing(release: Callable[[], None]) -> Iterator[None]:
    """Release a file if the block fails."""
    try:
        yield
    except BaseException:
        release()
        raise


CONVERT = (
    "files with the counts of one sample each are converted together: sfs convert FILE... OUTPUT "
    "(of Salmon, kallisto, RSEM or STAR their FOLDER will do)"
)
"""What to do about the output of a quantifier."""
LIST = (
    "give the matrix that was ranked; rankings are read by sfs aggregate, sfs select, and by sfs "
    "evaluate and sfs compare as --list"
)
"""What to do about a ranking in place of a matrix."""
BY_CONVENTION = "rows are taken as features, the convention of expression matrices"
"""The reason of `decide` where nothing tells what a row is."""
OF_ANNDATA = tuple(each.name for each in FORMATS if each.anndata)
"""Formats in which samples are the rows to people, although some files are read by columns."""
OF_TENX = ("10x-mtx", "10x-h5")
"""Formats with genes in rows on the disk, and in columns in Python: messages name no rows."""
CARRY_SAMPLES = "rows are samples, since they carry the known sample ids"
"""The reason of `decide` where sample ids from labels or sources stand in the rows."""


def decide(reader: MatrixReader, rows: Rows, known_samples: Collection[str]) -> tuple[Axis, str]:
    """Say what the rows of a matrix are, and why (one sentence for the user).

    `rows` is what the user says, and `known_samples` the sample ids from labels and sources, of
    which there may be none. A user who contradicts the format is a `UsageError`; known samples
    that match rows and columns equally well are an `InputError`.
    """
    if (axis := reader.fixed_rows) is not None:
        told = "samples" if reader.format in (*OF_ANNDATA, *OF_TENX) else axis
        what = "barcodes are samples" if reader.format in OF_TENX else f"rows are {told}"
        why = f"{what}, by the format ({reader.format})"
        if rows not in ("auto", told):
            raise UsageError(
                f"--rows {rows} contradicts the file: {why}",
                where=reader.path,
                hint="leave --rows out",
                option="rows",
            )
        return axis, why
    if rows != "auto":
        return rows, f"rows are {rows}, as --rows says"
    known = frozenset(map(nfc, known_samples))
    of_columns = _share(reader.column_ids, known)
    of_rows = _share(reader.first_row_ids(), known)
    if of_columns == of_rows == 0.0:
        if _are_of_genes(reader.column_ids) and not _are_of_genes(reader.first_row_ids()):
            return "samples", "rows are samples, since the columns have accession numbers of genes"
        return "features", BY_CONVENTION
    if of_columns == of_rows:
        raise InputError(
            "the known sample ids match the rows as well as the columns",
            where=reader.path,
            hint="give --rows features or --rows samples",
        )
    if of_columns > of_rows:
        return "features", "rows are features, since the columns carry the known sample ids"
    return "samples", CARRY_SAMPLES


_OF_A_GENE = re.compile(
    r"ENS[A-Z]*[GTP]\d{11}(\.\d+)?|[NX][MRP]_\d+(\.\d+)?|\d+(_[a-z]+)?_at|ILMN_\d+|FBgn\d{7}"
    r"|WBGene\d{8}|AT[1-5CM]G\d{5}|[a-z]{3}-(mir|miR|let)-.+"
    r"|(?P<protein>([OPQ]\d[A-Z0-9]{3}|[A-NR-Z]\d[A-Z][A-Z0-9]{2}(\d[A-Z][A-Z0-9]{2})?)\d(-\d+)?)"
)
"""Accession numbers: Ensembl, RefSeq, probes of Affymetrix and Illumina, flies, worms, thale cress,
miRBase, and UniProt."""


def _are_of_genes(ids: Sequence[str]) -> bool:
    """Tell whether nearly all ids are accession numbers of genes; symbols may be any word.

    P10001 may be a patient and P12T01 a tumour: of proteins some begin with P, and some with Q.
    """
    some = ids[:1000]
    found = [each for name in some if (each := _OF_A_GENE.fullmatch(name))]
    initials = {each["protein"][0] for each in found if each["protein"]}
    return len(found) > 0.9 * len(some) and (not initials or initials >= {"P", "Q"})


def _share(ids: Sequence[str], known: frozenset[str]) -> float:
    # a share, not a count: of the rows only the first ones are looked at
    return sum(nfc(i) in known for i in ids) / len(ids) if len(ids) else 0.0


def cast_values(values: np.ndarray, dtype: str, where: object | Callable[[int], str]) -> np.ndarray:
    """Convert booleans, integers or floats of any shape to the type of the blocks.

    `where` is the place for messages, or a function from the position of a value to its place.
    Values that are not numbers, finite values that become infinite, and values of which all of a
    row (of all, in one axis) are too small to keep their digits, are an `InputError`.
    """
    if values.dtype.kind not in "biuf":
        raise InputError(
            f"values are of type {values.dtype}, not numbers",
            where=where(0) if callable(where) else where,
            hint="write the matrix as numbers",
        )
    with np.errstate(over="ignore", invalid="ignore"):  # a NaN may be a signaling one
        converted = values.astype(dtype, copy=False)
    if values.dtype.kind != "f" or values.dtype.itemsize <= converted.dtype.itemsize:
        return converted
    infinite = np.isinf(converted)
    lost = np.flatnonzero(infinite & np.isfinite(values)) if infinite.any() else np.zeros(0, int)
    if not lost.size and converted.size:
        least = np.finfo(converted.dtype).tiny
        low = np.fmax.reduce(converted, -1, keepdims=True) < least
        low &= np.fmin.reduce(converted, -1, keepdims=True) > -least
        if low.any():  # few rows, and those of zeros alone are as they were
            lost = np.flatnonzero(low & (values != 0) & ~np.isnan(values))
    if lost.size:
        first = int(lost[0])
        raise InputError(
            f"values are out of the range of {converted.dtype}, such as {values.flat[first]:g}",
            where=where(first) if callable(where) else where,
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

    `is_valid` says of values, shape (b,), which are allowed; `describe` what is wrong with one
    that is not, and `hint` what to do about it. Returned are the ids of rows and columns, each
    once, and the matrix as float64.
    """
    from scipy.sparse import csr_array, vstack

    with closing(open_matrix(path, ReadOptions(dtype="float64"))) as reader:
        _refuse_text(reader)
        columns = [nfc(name) for name in reader.column_ids]
        rows: list[str] = []
        blocks = [csr_array((0, len(columns)))]
        for block in reader.blocks():
            rows.extend(map(nfc, block.ids))
            entries = csr_array(block.values)
            for at in np.flatnonzero(~is_valid(entries.data)).tolist():
                row = int(np.searchsorted(entries.indptr, at, "right")) - 1
                value, column = entries.data[at], columns[entries.indices[at]]
                raise InputError(
                    "the value is missing" if np.isnan(value) else describe(value),
                    where=f"{path}, row {block.ids[row]!r}, column {column!r}",
                    hint=hint,
                )
            entries.eliminate_zeros()
            blocks.append(entries)
    for what, ids in (("rows", rows), ("columns", columns)):
        check_names(ids, f"one of the {what}", path)
        if found := repeated(ids):
            raise InputError(
                f"{what} have the same id: {listed(found)}",
                where=path,
                hint=f"leave one of the {what} for each id",
            )
    return rows, columns, csr_array(vstack(blocks, format="csr"))
