"""How the reader tests read a whole matrix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.io.matrix.base import MatrixReader, ReadOptions, open_matrix


def read_all(
    path: str | Path, opened: Callable[..., MatrixReader] = open_matrix, **options: Any
) -> tuple[list[str], np.ndarray, Any]:
    """Return the ids of the rows, the values as a dense array, and the reader, which is closed."""
    reader = opened(path, ReadOptions(**options))
    blocks = list(reader.blocks())
    reader.close()
    values = [b.values.toarray() if reader.sparse else b.values for b in blocks]
    return [name for block in blocks for name in block.ids], np.concatenate(values), reader
