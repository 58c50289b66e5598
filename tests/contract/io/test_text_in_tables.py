"""Tables of which nothing may be left out: text in place of numbers is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.knowledge.coordinates import open_coordinates
from sfs_cli.io.matrix.base import read_sparse_table

COLUMN = "id,x,y,z\na,1,2,n.d.\nb,2,3,1.5um\nc,3,1,x\n"
LINE = "id,x,y\nunit,um,um\na,1,2\nb,2,3\nc,3,1\n"


@pytest.mark.parametrize(("text", "named"), [(COLUMN, "z"), (LINE, "line 2")])
def test_of_text(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=f"text in place of numbers: {named}"):
        open_coordinates(str(path), "m.csv")
    with pytest.raises(InputError, match=f"text in place of numbers: {named}"):
        read_sparse_table(path, lambda values: values >= 0, str, "")


def test_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "x": [1.0, 2.0], "y": ["1.0", "2.0"]}), path)
    with pytest.raises(InputError, match="text in place of numbers: y"):
        open_coordinates(str(path), "m.csv")
