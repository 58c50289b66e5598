"""Building the matrix from a reader: in memory while it is small, else a store on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, counted
from sfs_cli.io.base import Axis, MatrixReader
from sfs_cli.io.digest import sha256_file
from sfs_cli.store.checks import FiniteCheck
from sfs_cli.store.disk import open_store
from sfs_cli.store.feature_ids import FeatureIdsBuilder, write_ids
from sfs_cli.store.ids import check_samples, unique_features
from sfs_cli.store.manifest import DENSE, FEATURES, SAMPLES, SPARSE, Manifest
from sfs_cli.store.matrix import DenseMatrix, Ids, Matrix, Missing, SparseMatrix
from sfs_cli.store.sinks import FeatureRows, SampleRows, Sink
from sfs_cli.store.spread import SpreadCheck

Progress = Callable[[int, int | None], None]
"""Called with the rows read so far and, where it is known, their number."""


@dataclass
class Built:
    """A matrix, and what a user should be told of how it was read.

    Attributes
    ----------
    matrix : Matrix
        In memory or on disk.
    renamed : int
        Feature ids that were given a suffix to be unique.
    coarse : list of str
        Features that vary so little for their size that float32 hardly resolves it.
    """

    matrix: Matrix
    renamed: int
    coarse: list[str]


@dataclass
class BuildOptions:
    """How to build a matrix.

    Attributes
    ----------
    rows : {"features", "samples"}
        What a row of the reader is.
    dtype : dtype
        float32 or float64.
    folder : Path
        An existing, empty directory for what does not stay in memory.
    limit : int
        Bytes to hold in memory before the folder is used.
    keep : bool
        Always write the folder (it becomes a store to keep).
    source : dict
        Provenance for the manifest.
    progress : callable, optional
        Told of the rows read.
    """

    rows: Axis
    dtype: np.dtype[Any]
    folder: Path
    limit: int
    keep: bool = False
    source: dict[str, Any] = field(default_factory=dict)
    progress: Progress | None = None


def build(reader: MatrixReader, options: BuildOptions) -> Built:
    """Read a matrix whole, and return it feature-major.

    Raises
    ------
    InputError
        For what a reader refuses, infinite values, repeated sample ids, fewer than two samples or
        features.
    """
    rows_are_features = options.rows == "features"
    if rows_are_features:  # known before anything is read: fail early
        check_samples(reader.column_ids, str(reader.path))
    sink = _sink(reader, options)
    row_ids, missing, coarse = _drain(reader, sink, options)
    if not rows_are_features:
        check_samples(row_ids, str(reader.path))
    features, samples = (
        (row_ids, reader.column_ids) if rows_are_features else (reader.column_ids, row_ids)
    )
    _check_features(features, str(reader.path))
    unique, renamed = unique_features(features)
    ids = Ids(unique, list(samples), reader.annotations.obs)
    values = sink.finish(options.keep)
    if values is None:
        manifest = Manifest(
            n_features=len(unique),
            n_samples=len(samples),
            dtype=np.dtype(options.dtype).name,
            sparse=reader.sparse,
            missing=asdict(missing),
            source=options.source,
        )
        write_store_files(options.folder, ids, manifest, digests=options.keep)
        return Built(open_store(options.folder), renamed, coarse)
    kind = SparseMatrix if reader.sparse else DenseMatrix
    return Built(kind(values, ids, missing), renamed, coarse)


def _check_features(ids: Sequence[str], where: str) -> None:
    if len(ids) < 2:
        raise InputError(
            f"the matrix has {counted(len(ids), 'feature')}; a ranking needs at least 2",
            where=where,
            hint="check the delimiter and --rows: features are the rows of an expression matrix",
        )


def _sink(reader: MatrixReader, options: BuildOptions) -> Sink[Any, Any]:
    rows_are_features = options.rows == "features"
    if reader.sparse:
        from sfs_cli.store.sparse_sinks import SparseFeatureRows, SparseSampleRows

        kind = SparseFeatureRows if rows_are_features else SparseSampleRows
        return kind(options.folder, options.limit)
    if rows_are_features:
        return FeatureRows(options.folder, options.limit)
    return SampleRows(options.folder, options.limit, len(reader.column_ids), options.dtype)


def _drain(
    reader: MatrixReader, sink: Sink[Any, Any], options: BuildOptions
) -> tuple[Sequence[str], Missing, list[str]]:
    """Pass every block from the reader to the sink, looking at its values."""
    check = FiniteCheck(str(reader.path), options.rows == "features", reader.column_ids)
    spread = _spread_check(reader, options)
    row_ids: list[str] | FeatureIdsBuilder = (
        FeatureIdsBuilder() if options.rows == "features" else []
    )
    for block in reader.blocks():
        check.see(block.ids, block.values)
        if spread is not None:
            spread.see(block.ids, np.asarray(block.values))
        sink.add(block.values)
        row_ids.extend(block.ids)
        if options.progress is not None:
            options.progress(len(row_ids), reader.n_rows)
    if not len(row_ids):
        raise InputError(
            "the matrix has no rows",
            where=str(reader.path),
            hint="check the step that wrote it: a filter may have removed everything",
        )
    coarse = [] if spread is None else spread.result(reader.column_ids)
    ids = row_ids if isinstance(row_ids, list) else row_ids.finish()
    return ids, check.result(), coarse


def _spread_check(reader: MatrixReader, options: BuildOptions) -> SpreadCheck | None:
    if reader.sparse or options.dtype != np.float32:
        return None
    return SpreadCheck(options.rows == "features", len(reader.column_ids))


def write_store_files(folder: Path, ids: Ids, manifest: Manifest, *, digests: bool) -> None:
    """Write the ids and the manifest beside the values that are there already.

    Parameters
    ----------
    folder : Path
        The store.
    ids : Ids
        The names of both axes and the sample annotations.
    manifest : Manifest
        All but its list of files, which is made here.
    digests : bool
        Whether to note the sha256 of each file (a store that is kept is known by them).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_ids(folder / FEATURES, "feature", ids.features)
    samples = pa.table({"sample": pa.array(ids.samples, pa.string())})
    if ids.obs is not None:
        for name in ids.obs.column_names:
            if name != "sample":
                samples = samples.append_column(name, ids.obs[name])
    pq.write_table(samples, folder / SAMPLES)
    names = (*(SPARSE if manifest.sparse else DENSE), FEATURES, SAMPLES)
    files = {name: _describe(folder / name, digests) for name in names}
    replace(manifest, files=files).write(folder)


def _describe(path: Path, digest: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"bytes": path.stat().st_size}
    if digest:
        facts["sha256"] = sha256_file(path)
    return facts
