"""``sfs convert``: build a store that is kept, or write a matrix as a file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import block_features, cut
from sfs_cli.compute.memory import format_size
from sfs_cli.errors import (
    InputError,
    OutOfMemoryError,
    OutputExistsError,
    UsageError,
    counted,
    listed,
)
from sfs_cli.io.files.atomic import check_writable, replacing, scratch_folder
from sfs_cli.io.files.sniff import MANIFEST, Kind, examine, is_store, recognize
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.quantifiers import files_in
from sfs_cli.io.matrix.samples import SamplesReader
from sfs_cli.io.matrix.whole import write_table
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of
from sfs_cli.options.grammar import joined
from sfs_cli.options.paths import TABLES
from sfs_cli.provenance import difference, of_matrix, plain
from sfs_cli.run import inputs
from sfs_cli.run.columns import check_columns
from sfs_cli.run.inputs import Opened
from sfs_cli.run.needs import memory_budget
from sfs_cli.store.disk import read_manifest
from sfs_cli.store.matrix import Matrix
from sfs_cli.workflow.annotated import as_anndata
from sfs_cli.workflow.outputs import describe_inputs, tell_up_to_date, with_digests

BLOCK_PART, BLOCK_BYTES = 32, 64 << 20
"""Blocks of a table take at most this fraction (1/N) of memory, and so many bytes: Arrow and
Parquet hold some copies."""
COLUMN_BYTES, GROUP_BYTES = 9 << 10, 2 << 10
"""What Parquet takes for a column, and for each group of rows of it (measured, with pyarrow 26)."""
COPIES = 3
"""How often AnnData holds the values at most, while it is made."""


def convert(
    config: RankConfig,
    target: str,
    messages: Messages,
    column: str | None = None,
) -> None:
    """Build a store from the matrix of a configuration, or a file where `target` ends as one.

    Several files of text have the counts of a sample each, in the `column` asked for, and so have
    those of a folder. Raises OutputExistsError when `target` holds another matrix, or is a file,
    without ``--force``.
    """
    store, of_folder = Path(target), _files_in_folder(config, messages)
    config = of_folder or config
    path, several = Path(config.matrix), bool(config.files or of_folder)
    paths, is_file = [*map(Path, config.all_files)], target.lower().endswith(TABLES)
    if is_store(path) and not several and not is_file:
        raise UsageError(
            f"{path} is a store already", hint="use it as it is: sfs rank STORE", option="matrix"
        )
    kinds = [examine(each) for each in paths]
    counts = several and kinds[0].is_text
    if column is not None and not counts:
        raise UsageError(
            "--column is for several files with the counts of a sample each",
            hint="leave it out",
            option="column",
        )
    if config.rows == "features" and counts:
        raise UsageError(
            "--rows features: each of several files is a sample",
            hint="leave --rows out",
            option="rows",
        )
    check_writable(store, "OUTPUT", folder=True)

    memory = memory_budget(config)

    def read(folder: Path, source: dict[str, Any] | None) -> Opened:
        if counts:
            reader = SamplesReader(paths, column, ReadOptions(inputs.storage_dtype(config).name))
            opened = inputs.load(config, [], memory, folder, messages, source, reader)
        else:
            opened, _ = inputs.load_with_labels(config, memory, folder, messages, source)
        check_columns(config, opened.matrix, None, (), messages)
        return opened

    if is_file:
        _write_file(read, store, memory, messages, force=config.force)
        return
    # which files there are, their content says
    taken = {o.name for o in options_of(RankConfig) if "convert" in o.verbs and not o.path}
    given = {name: v for name, v in config.result_options().items() if name in taken}
    options = joined(RankConfig, given) | {"column": column}
    files = describe_inputs(config)
    replaceable = is_store(store)
    if store.exists() and not (config.force and replaceable):
        other = "it is no store"
        if replaceable:
            record, other = read_manifest(store).source, "it does not say what it was made of"
            if "config" in record:
                other = difference(record, options, files)
        if other:
            raise OutputExistsError(
                f"{store} exists, and is not the store of this matrix: {other}",
                hint="give another name" + ", or --force" * replaceable,
            )
        tell_up_to_date(store, messages, [store / MANIFEST])
        return

    files = with_digests(files)
    sha, *others = [each["sha256"] for each in files if of_matrix(each["role"])]
    if several:
        sha = sha256(" ".join([sha, *others, column or ""]).encode()).hexdigest()
    source = plain({"path": path, "sha256": sha, "config": options, "inputs": files})
    with replacing(store) as partial:
        partial.mkdir()
        matrix = read(partial, source).matrix
    size = sum(f["bytes"] for f in read_manifest(store).files.values())
    what = f"{'sparse' if matrix.sparse else 'dense'} {matrix.dtype.name}, {format_size(size)}"
    messages.note(f"wrote {store}: {_size_of(matrix)}, {what}")


def _size_of(matrix: Matrix) -> str:
    return f"{matrix.n_samples:,} samples x {matrix.n_features:,} features"


def _files_in_folder(config: RankConfig, messages: Messages) -> RankConfig | None:
    """Return a configuration of the files that a quantifier has written into a folder, or None.

    Raises InputError where they are of several kinds.
    """
    folder = Path(config.matrix)
    if config.files or recognize(folder).kind is not Kind.FOLDER:
        return None
    found = files_in(folder)
    if not found:
        return None
    if len(found) > 1:
        most = Path(max(found, key=lambda pattern: len(found[pattern]))).relative_to(folder)
        each = ", ".join(f"{pattern} ({len(files):,})" for pattern, files in found.items())
        raise InputError(
            f"the folder has files of several kinds: {each}",
            where=folder,
            hint=f"name those of one kind: sfs convert {shlex.quote(str(folder))}/{most} OUTPUT",
            option="matrix",
        )
    [(pattern, files)] = found.items()
    messages.note(f"{folder}: {counted(len(files), 'file')}, {pattern}")
    first, *others = map(str, files)
    return replace(config, matrix=first, files=tuple(others))


def _write_file(
    read: Callable[[Path, None], Opened],
    target: Path,
    memory: int,
    messages: Messages,
    *,
    force: bool,
) -> None:
    """Write a matrix as a table, block by block, or as AnnData, which is made in memory.

    `read` reads it, and leaves in a folder what does not stay in memory.
    """
    if target.exists() and not (force and target.is_file()):
        hint = "give another name" + ", or --force" * target.is_file()
        raise OutputExistsError(f"{target} exists", hint=hint)
    with scratch_folder() as scratch, replacing(target) as partial:
        opened = read(scratch, None)
        matrix, obs = opened.matrix, opened.matrix.ids.obs
        if target.suffix.lower() == ".h5ad":
            _refuse_large(matrix, memory)
            adata = as_anndata(matrix)
            for frame in (adata.obs, adata.var):  # HDF5 has slashes for groups
                frame.columns = [name.replace("/", "|") for name in frame]
            if logs := inputs.logged(opened.facts):
                base = logs["log1p"]
                adata.uns["log1p"] = {} if base is True else {"base": base}
            adata.write_h5ad(partial)
        else:
            row = matrix.n_samples * matrix.dtype.itemsize
            spans = cut(matrix.n_features, max(1, min(memory // BLOCK_PART, BLOCK_BYTES) // row))
            if target.suffix.lower() == ".parquet":
                _refuse_wide(matrix.n_samples, len(spans), memory)
            if obs is not None and obs.num_columns:
                messages.note(
                    f"{counted(obs.num_columns, 'annotation')} of the samples (obs) left out: a "
                    "table has none; .h5ad and a store have them"
                )
            with messages.progress("writing", matrix.n_features) as advance:

                def blocks() -> Iterator[np.ndarray]:
                    for span in spans:
                        yield matrix.values_of(span)
                        advance(span.size)

                left = write_table(partial, target, matrix.ids, matrix.dtype, blocks())
            if left:
                messages.note(
                    f"numbers that annotate features are left out of text ({listed(left)}), where "
                    "they would look like a sample; .parquet, .h5ad and a store have them"
                )
    what = f"{matrix.dtype.name}, {format_size(target.stat().st_size)}"
    if matrix.dtype == np.float32:
        what += "; values have 7 digits (--dtype float64: 15)"
    messages.note(f"wrote {target}: {_size_of(matrix)}, {what}")


def _refuse_large(matrix: Matrix, memory: int) -> None:
    """Raise an OutOfMemoryError where AnnData does not fit."""
    size = matrix.n_features * matrix.n_samples * matrix.dtype.itemsize
    if matrix.sparse:
        spans = cut(matrix.n_features, block_features(matrix.n_samples, matrix.dtype.itemsize))
        stored = sum(len(matrix.read_stored(span).data) for span in spans)
        size = stored * (matrix.dtype.itemsize + np.dtype(np.int64).itemsize)
    if COPIES * size > memory:
        raise OutOfMemoryError(
            f"AnnData is made in memory, which needs {format_size(COPIES * size)}",
            hint="give more --memory, or write a store, which every command reads",
            option="memory",
        )


def _refuse_wide(n: int, groups: int, memory: int) -> None:
    """Raise an OutOfMemoryError where the columns of Parquet, one for each sample, do not fit."""
    needed = n * (COLUMN_BYTES + groups * GROUP_BYTES)
    if needed > memory:
        raise OutOfMemoryError(
            f"a Parquet table of {n:,} samples, a column each, needs {format_size(needed)}",
            hint="give more --memory, or write a store or .h5ad",
            option="memory",
        )
