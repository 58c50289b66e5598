"""The matrix formats, and opening a file with the one that its name and content agree on."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from sfs_cli.errors import COPY_AGAIN, InputError, UsageError
from sfs_cli.io.base import MatrixReader, ReadOptions
from sfs_cli.io.modality import split_modality
from sfs_cli.io.sniff import Content, Kind, recognise, refuse_absent

_COMPRESSED = ("", ".gz", ".zst")


@dataclass(frozen=True)
class Format:
    """A format that matrices are read from.

    Attributes
    ----------
    name : str
        Short name, which readers carry as ``format``.
    title : str
        How a message names it.
    suffixes : tuple of str
        Endings of file names, lower case, the first being the usual one.
    kinds : tuple of Kind
        What such a file holds.
    opener : str
        ``module:function`` with the signature ``(Path, ReadOptions) -> MatrixReader``; imported
        when a file is opened.
    compressed : bool
        Whether it may be compressed as a whole with gzip or zstd.
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


def _with_compressed(*suffixes: str) -> tuple[str, ...]:
    return tuple(suffix + extra for suffix in suffixes for extra in _COMPRESSED)


FORMATS: tuple[Format, ...] = (
    Format(
        "text",
        "delimited text",
        _with_compressed(".csv", ".tsv", ".txt"),
        (Kind.TEXT,),
        "sfs_cli.io.text:open_text",
        compressed=True,
    ),
    Format(
        "gct",
        "a GCT matrix",
        _with_compressed(".gct"),
        (Kind.GCT,),
        "sfs_cli.io.gct:open_gct",
        compressed=True,
    ),
    Format(
        "parquet",
        "a Parquet table",
        (".parquet",),
        (Kind.PARQUET,),
        "sfs_cli.io.parquet:open_parquet",
    ),
    Format(
        "feather",
        "an Arrow (Feather) table",
        (".feather", ".arrow"),
        (Kind.ARROW,),
        "sfs_cli.io.feather:open_feather",
    ),
    Format(
        "h5ad",
        "AnnData in HDF5",
        (".h5ad",),
        (Kind.HDF5,),
        "sfs_cli.io.h5ad:open_h5ad",
        layers=True,
    ),
    Format(
        "h5mu",
        "MuData in HDF5",
        (".h5mu",),
        (Kind.HDF5,),
        "sfs_cli.io.h5mu:open_h5mu",
        layers=True,
    ),
    Format(
        "zarr",
        "AnnData in Zarr",
        (".zarr",),
        (Kind.ZARR,),
        "sfs_cli.io.zarr:open_zarr",
        layers=True,
    ),
    Format(
        "10x-mtx",
        "a 10x matrix (Matrix Market)",
        (".mtx", ".mtx.gz"),
        (Kind.TENX_FOLDER, Kind.MATRIX_MARKET),
        "sfs_cli.io.tenx_mtx:open_tenx_mtx",
        compressed=True,
    ),
    Format(
        "10x-h5",
        "a 10x matrix in HDF5",
        (".h5",),
        (Kind.HDF5,),
        "sfs_cli.io.tenx_h5:open_tenx_h5",
    ),
)


def open_matrix(path: str | Path, options: ReadOptions) -> MatrixReader:
    """Open a matrix file or folder.

    Parameters
    ----------
    path : str or Path
        A file whose name ends in one of the known suffixes, a 10x or Zarr folder, or
        ``FILE.h5mu:MODALITY``.
    options : ReadOptions
        How it is to be read.

    Returns
    -------
    MatrixReader
        Nothing but the ids of the columns and the first rows has been read.

    Raises
    ------
    InputError
        If nothing is there, the format is not known, or the content is not what the name says.
    UsageError
        If a layer or the raw matrix is asked of a format that has none.
    """
    path = Path(path)
    content = recognise(path)
    refuse_absent(path, content)
    found = format_of(path, content)
    if (options.layer is not None or options.use_raw) and not found.layers:
        asked = "--use-raw" if options.use_raw else "--layer"
        raise UsageError(
            f"{asked} needs AnnData (.h5ad, .h5mu or .zarr), and this is {found.title}",
            where=str(path),
            hint=f"leave {asked} out, or give the AnnData file",
        )
    module, function = found.opener.split(":")
    opener = getattr(import_module(module), function)
    return opener(path, options)


def format_of(path: Path, content: Content) -> Format:
    """Return the format that the name and the content of a file agree on.

    Parameters
    ----------
    path : Path
        Only its name is looked at.
    content : Content
        What is there, from `recognise`.

    Returns
    -------
    Format
        One of `FORMATS`.

    Raises
    ------
    InputError
        If the name ends in no known suffix, or the content is another.
    """
    if content.kind is Kind.TENX_FOLDER:
        return _holding(content.kind)[0]  # such folders have any name
    named = _format_named(split_modality(path)[0].name)
    if named is None:
        raise _unknown_suffix(path, content)
    if content.kind not in named.kinds:
        raise InputError(
            f"{path.name} holds {content.kind.value}, not {named.title} as its name says",
            where=str(path),
            hint=_way_out(path, content),
        )
    if content.compression and not named.compressed:
        raise InputError(
            f"{path.name} is compressed with {content.compression} as a whole, "
            f"which {named.title} cannot be read through",
            where=str(path),
            hint="decompress it first",
        )
    return named


def _format_named(name: str) -> Format | None:
    lower = name.lower()
    return next((f for f in FORMATS if lower.endswith(f.suffixes)), None)


def _holding(kind: Kind) -> list[Format]:
    return [f for f in FORMATS if kind in f.kinds]


def _unknown_suffix(path: Path, content: Content) -> InputError:
    if _holding(content.kind):
        return InputError(
            f"{path.name} holds {content.kind.value}, but its name does not say in which format",
            where=str(path),
            hint=_way_out(path, content),
        )
    known = " ".join(f.suffixes[0] for f in FORMATS)
    return InputError(
        f"{path.name} holds {content.kind.value}, which is not a matrix format that is read",
        where=str(path),
        hint=_ADVICE.get(content.kind, f"formats that are read: {known} .tsv .txt .arrow"),
    )


_ADVICE = {
    Kind.EXCEL: "export the sheet as CSV (Excel: File > Save As > CSV UTF-8)",
    Kind.UTF16: "convert it with 'iconv -f UTF-16 -t UTF-8', or save it as CSV UTF-8 in Excel",
    Kind.ZIP: "unpack it and give the file inside",
    Kind.R_DATA: "write the matrix from R with write.table(..., sep='\\t')",
}


def _way_out(path: Path, content: Content) -> str | None:
    fitting = _holding(content.kind)
    if not fitting:
        return _ADVICE.get(content.kind, COPY_AGAIN)
    extra = {"gzip": ".gz", "zstd": ".zst"}.get(content.compression or "", "")
    names = [f"*{f.suffixes[0]}{extra if f.compressed else ''} ({f.title})" for f in fitting]
    return f"rename it to {' or '.join(names)}"
