"""Matrices of 10x Genomics: folders with a Matrix Market file, and HDF5 of Cell Ranger 2 and 3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sfs_cli.errors import COPY_AGAIN, InputError, listed
from sfs_cli.io.files.names import decoded
from sfs_cli.io.files.text import text_lines
from sfs_cli.io.matrix.base import MatrixReader, ReadOptions, packed, read_errors, releasing
from sfs_cli.io.matrix.matrix_market import MatrixMarketRows
from sfs_cli.io.matrix.stored import (
    SparseRows,
    StoredReader,
    open_hdf5,
)

_FEATURES = ("features.tsv", "genes.tsv")
_BARCODES = ("barcodes.tsv",)
_HDF5_PARTS = ("data", "indices", "indptr", "shape", "barcodes")


def open_tenx_mtx(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a 10x folder, or ``matrix.mtx[.gz]`` in it.

    What precedes ``matrix.mtx`` in the name of the file (``GSM1_matrix.mtx.gz``) precedes the
    names of the others too. Rows are samples (barcodes) where the entries are sorted by barcode,
    as Cell Ranger writes them, and features where they are sorted by feature.
    """
    matrix = _present(path, "", ("matrix.mtx",)) if path.is_dir() else path
    prefix = matrix.name.partition("matrix.mtx")[0] if "matrix.mtx" in matrix.name else ""
    # older files lack the feature types, or hold ids alone; some lines lack the symbol
    lines = _table(named := _present(matrix.parent, prefix, _FEATURES), 3)
    if lines[1:] and min(lines, key=len) is lines[-1]:  # of shortest lines it is the first
        what = "the last line has fewer fields than all others"
        raise InputError(
            what, where=named, hint=f"complete it, if it was added by hand; else {COPY_AGAIN}"
        )
    fields = [*map(list, zip_longest(*lines, fillvalue="")), [], [], []]
    features, notes = _name_features(*fields[:3])
    barcodes = [line[0] for line in _table(_present(matrix.parent, prefix, _BARCODES), 1)]
    entries = MatrixMarketRows(matrix, options)
    return StoredReader(
        path=path,
        format="10x-mtx",
        features=features,
        samples=barcodes,
        fixed_rows="samples" if entries.by_column else "features",
        matrix=entries,
        options=options,
        release=lambda: None,  # the file is open only while blocks are read
        notes=notes,
    )


def _present(folder: Path, prefix: str, names: tuple[str, ...]) -> Path:
    found = next(filter(Path.is_file, (folder / f"{prefix}{n}" for n in packed(*names))), None)
    if found is None:
        raise InputError(
            f"the 10x matrix has no {' or '.join(prefix + name for name in names)}",
            where=folder,
            hint="keep matrix.mtx, barcodes.tsv and features.tsv (or genes.tsv) in one folder",
        )
    return found


def _table(path: Path, most: int) -> list[list[str]]:
    """Return the first fields of every line, `most` of them at most."""
    return [text.split("\t")[:most] for _, text in text_lines(path)]


def _name_features(
    ids: Sequence[str], symbols: Sequence[str], types: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the symbols if there are some and they are unique, else the ids; and notes on that.

    The id of a feature stands for a symbol that it lacks. `symbols` and `types` may be empty.
    """
    names = [symbol or name for symbol, name in zip(symbols, ids)]
    repeated = len(names) - len(set(names))
    if any(symbols) and not repeated:
        also = "" if all(symbols) else ", or by the id where that is missing"
        notes = [f"features are named by their symbols{also}"]
    else:
        names = list(ids)
        why = f"{repeated:,} symbols are repeated" if repeated else "symbols are missing"
        notes = [f"features are named by their ids, as {why}"]
    kinds = Counter(filter(None, types))
    if len(kinds) > 1:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        notes.append(f"all feature types are kept: {counts}")
    return names, notes


def open_tenx_h5(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a 10x file such as ``filtered_feature_bc_matrix.h5``; rows are samples (barcodes)."""
    file = open_hdf5(path)
    with releasing(file.close), read_errors(path, "10x-h5"):
        group = _matrix_group(file, path)
        where = f"{path}, {group.name.strip('/')}"
        names = ("features/id", "features/name", "features/feature_type")
        if "features" not in group:
            names = ("genes", "gene_names", "")  # version 2
        ids, symbols = (_texts(group[name]) for name in names[:2])
        types = _texts(group[names[2]]) if names[2] in group else []
        features, notes = _name_features(ids, symbols, types)
        barcodes = _texts(group["barcodes"])
        n_features, n_barcodes = (int(size) for size in group["shape"][:])
        matrix = SparseRows(group, (n_barcodes, n_features), where)
        return StoredReader(
            path=path,
            format="10x-h5",
            features=features,
            samples=barcodes,
            fixed_rows="samples",
            matrix=matrix,
            options=options,
            release=file.close,
            notes=notes,
        )


def _matrix_group(file: Any, path: Path) -> Any:
    groups = [file[name] for name in file if hasattr(file[name], "keys")]
    found = [group for group in groups if all(part in group for part in _HDF5_PARTS)]
    if len(found) == 1:
        return found[0]
    if found:
        names = listed([group.name.strip("/") for group in found])
        raise InputError(
            f"the file holds {len(found)} genomes",
            where=f"{path}: {names}",
            hint="give a file of one genome",
        )
    raise InputError(
        "this is not a 10x matrix: no group has data, indices, indptr, shape and barcodes",
        where=f"{path}, which has {listed(list(file)) or 'nothing'}",
        hint="give the .h5 file of counts that Cell Ranger writes, or AnnData",
    )


def _texts(array: Any) -> list[str]:
    return list(map(decoded, array[:].tolist()))
