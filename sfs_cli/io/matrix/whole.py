"""Matrices written as tables with a row for each feature, a block at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfs_cli.compute.matrix import Ids
from sfs_cli.io.files.table import is_number
from sfs_cli.io.files.text import arrow_file, string_array, text_suffix
from sfs_cli.io.matrix.subset import text_to


def write_table(
    path: Path, target: Path, ids: Ids, dtype: np.dtype[Any], blocks: Iterable[np.ndarray]
) -> list[str]:
    """Write features as a Parquet table, or as delimited text.

    Columns are the id of the feature (``feature``), the annotations that are texts, and the
    samples; NaN is a missing value. A block is a row group of Parquet.

    Parameters
    ----------
    path, target : Path
        Where it is written, and the name that it takes later, which says the format:
        ``.parquet``, ``.csv`` or ``.tsv``, the latter two also compressed.
    ids : Ids
        Of n samples and m features.
    dtype : dtype
        Of the values.
    blocks : iterable of ndarray, shape (b, n)
        Consecutive features, m in all.

    Returns
    -------
    list of str
        The annotations that are left out of text: numbers would be read as those of a sample.
    """
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    suffix, texts = text_suffix(target), [("feature", list(ids.features))]
    left_out = []
    for name, column in ids.var.items():
        known = list(column)
        if suffix == ".parquet" or not all(map(is_number, filter(None, known))):
            texts.append((name, known))
        else:
            left_out.append(name)
    kind = string_array([]).type
    fields = [*((name, kind) for name, _ in texts)]
    fields += [(name, pa.from_numpy_dtype(dtype)) for name in ids.samples]
    schema, lo = pa.schema(fields), 0
    with arrow_file(path, "wb") if suffix == ".parquet" else text_to(path, target) as out:
        if suffix == ".parquet":
            writer: Any = pq.ParquetWriter(out, schema)
        else:
            how = pacsv.WriteOptions(delimiter="," if suffix == ".csv" else "\t")
            writer = pacsv.CSVWriter(out, schema, write_options=how)
        with writer:
            for block in blocks:
                hi = lo + len(block)
                columns = [string_array(known[lo:hi]) for _, known in texts]
                samples = np.ascontiguousarray(block.T)
                columns += [pa.array(values, from_pandas=True) for values in samples]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                lo = hi
    return left_out
