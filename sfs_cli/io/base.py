"""What every matrix reader is, and the registry that finds the one for a file.

A reader knows the ids of its columns before it reads a value, and then yields blocks of rows,
dense or sparse, from the first to the last, within a bounded amount of memory. Whether a row is a
feature or a sample is decided above it (``sfs_cli.io.orientation``), except for the formats that
fix it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from scipy.sparse import csr_array

Axis = Literal["features", "samples"]


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
    """How a matrix is to be read.

    Attributes
    ----------
    dtype : {"float32", "float64"}
        The type of the values that blocks carry.
    block_bytes : int
        Readers keep what they hold at a time near this size (one row may be larger).
    layer : str, optional
        Layer of an AnnData file to read in place of ``X``.
    use_raw : bool
        Read ``raw/X`` of an AnnData file.
    decode_bytes : int, optional
        What columns that are decoded side by side may take; more of them are read in groups.
    scratch : Path, optional
        Folder for what such groups leave on the disk; the system's where it is not given.
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
        One row per sample, in the order of the samples; columns are sample annotations.
    graphs : tuple of str
        Names of the sample graphs (``obsp``) that the file holds.
    """

    obs: pa.Table | None = None
    graphs: tuple[str, ...] = field(default=())


class MatrixReader(Protocol):
    """A matrix file, opened. Rows come in file order; columns keep theirs.

    Attributes
    ----------
    path : Path
        The file or folder.
    format : str
        Name of the format in the registry.
    fixed_rows : {"features", "samples"} or None
        What a row is, where the format says; None for text and tables.
    sparse : bool
        Whether blocks are sparse.
    column_ids : sequence of str
        The ids of the columns.
    n_rows : int or None
        Number of rows, None where only reading them all can tell (text).
    annotations : Annotations
        Sample annotations, where the format has them.
    """

    path: Path
    format: str
    fixed_rows: Axis | None
    sparse: bool
    column_ids: Sequence[str]
    n_rows: int | None
    annotations: Annotations

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first row or rows, without reading the whole file."""
        ...

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows in order, in blocks. May be called once."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...
