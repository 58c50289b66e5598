"""Writing the coefficients of sparse methods."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfs_cli.io.atomic import replacing


def write_coefficients(path: Path, features: list[str], rows: np.ndarray) -> None:
    """Write rows of coefficients as Parquet: ``feature``, ``w1``, ``w2``, ...

    Parameters
    ----------
    path : Path
        The file; replaced if it is there.
    features : list of str, length s
        Features with non-zero coefficients.
    rows : ndarray, shape (s, k)
        Their coefficients, one column for each column of the response.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"w{j + 1}": pa.array(rows[:, j].tolist()) for j in range(rows.shape[1])}
    with replacing(path) as partial:
        pq.write_table(pa.table({"feature": pa.array(features, pa.string()), **columns}), partial)
