"""10x folders: a Matrix Market file between the names of its features and barcodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sfs_cli.errors import InputError, listed
from sfs_cli.io.base import Annotations, Axis, MatrixReader, ReadOptions, RowBlock
from sfs_cli.io.lines import LineStream
from sfs_cli.io.matrix_market import Header, read_header, stream_major
from sfs_cli.io.tenx_features import name_features

_NAME = "10x-mtx"
_ENDINGS = ("", ".gz", ".zst")
_FEATURES = ("features.tsv", "genes.tsv")
_BARCODES = ("barcodes.tsv",)


def open_tenx_mtx(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a 10x folder, or its matrix file.

    Rows are samples (barcodes) where the entries are sorted by barcode, as Cell Ranger writes
    them, and features where they are sorted by feature.

    Parameters
    ----------
    path : Path
        The folder, or ``matrix.mtx[.gz]`` in it; what precedes ``matrix.mtx`` in the name of the
        file (``GSM1_matrix.mtx.gz``) precedes the names of the others too.
    options : ReadOptions
        Type and size of the blocks.

    Returns
    -------
    MatrixReader
        Its `notes` say how features are named, and which feature types there are.

    Raises
    ------
    InputError
        A file is missing or damaged, or the sizes of the three differ.
    """
    matrix = _present(path, "", ("matrix.mtx",)) if path.is_dir() else path
    prefix = matrix.name.partition("matrix.mtx")[0] if "matrix.mtx" in matrix.name else ""
    features, notes = _read_features(_present(matrix.parent, prefix, _FEATURES))
    barcodes = [line[0] for line in _table(_present(matrix.parent, prefix, _BARCODES))]
    header = read_header(matrix)
    if (header.n_rows, header.n_columns) != (len(features), len(barcodes)):
        raise InputError(
            f"the matrix is {header.n_rows:,} x {header.n_columns:,}, but there are "
            f"{len(features):,} features and {len(barcodes):,} barcodes",
            where=str(matrix),
            hint="the three files must come from one run",
        )
    return TenxMtxReader(path, matrix, header, features, barcodes, notes, options)


class TenxMtxReader:
    """Blocks of a 10x folder; see `open_tenx_mtx` and `MatrixReader`."""

    format = _NAME
    sparse = True

    def __init__(
        self,
        path: Path,
        matrix: Path,
        header: Header,
        features: Sequence[str],
        barcodes: Sequence[str],
        notes: list[str],
        options: ReadOptions,
    ) -> None:
        self.path = path
        self.notes = notes
        self.annotations = Annotations()
        self.fixed_rows: Axis | None = "samples" if header.by_column else "features"
        self.column_ids = features if header.by_column else barcodes
        self._row_ids = barcodes if header.by_column else features
        self.n_rows: int | None = len(self._row_ids)
        self._matrix = matrix
        self._header = header
        self._options = options

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of all rows, which were read when the folder was opened."""
        return self._row_ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        options = self._options
        parts = stream_major(self._matrix, self._header, options.dtype, options.block_bytes)
        for start, stop, block in parts:
            yield RowBlock(self._row_ids[start:stop], block)

    def close(self) -> None:
        """Do nothing: the file is open only while blocks are read."""


def _present(folder: Path, prefix: str, names: tuple[str, ...]) -> Path:
    candidates = [folder / f"{prefix}{name}{end}" for name in names for end in _ENDINGS]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise InputError(
        f"the 10x matrix has no {' or '.join(prefix + name for name in names)}",
        where=str(folder),
        hint="keep matrix.mtx, barcodes.tsv and features.tsv (or genes.tsv) in one folder",
    )


def _read_features(path: Path) -> tuple[list[str], list[str]]:
    lines = _table(path)
    widths = {len(line) for line in lines}
    if len(widths) > 1:
        raise InputError(
            f"its lines have {listed([str(width) for width in sorted(widths)])} columns",
            where=str(path),
            hint="every line is an id, a symbol and a feature type, with tabs between",
        )
    columns = [list(column) for column in zip(*lines)] + [[], [], []]
    return name_features(*columns[:3])


def _table(path: Path) -> list[list[str]]:
    lines = LineStream(path)
    rows = []
    try:
        while (line := lines.read_line()) is not None:
            rows.append(line.decode().split("\t"))
    except UnicodeDecodeError as error:
        raise InputError(
            "a name is not UTF-8",
            where=f"{path}, line {len(rows) + 1}",
            hint="convert the file with 'iconv -f LATIN1 -t UTF-8'",
        ) from error
    finally:
        lines.close()
    return rows
