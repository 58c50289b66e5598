"""Names of many megabytes are refused before gigabytes of them are unpacked."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from sfs_cli.errors import ExitCode, InputError
from sfs_cli.io.files.names import LONGEST, check_lengths
from tests.cli.running import MODULE, run_apart

LETTERS = 20_000_000
MIB = 1 << 20
_PEAK = "getrusage(RUSAGE_CHILDREN).ru_maxrss"
# a process of its own between: the peak of a child begins with that of its parent
_MEASURE = (
    "import subprocess, sys; from resource import *; done = subprocess.call(sys.argv[1:]); "
    f"sys.stderr.write(chr(10) + str({_PEAK})); sys.exit(done)"
)
MEASURED = (sys.executable, "-c", _MEASURE, *MODULE)
START = 130 * MIB
"""Of the command without a file: NumPy, SciPy and Arrow."""


def _table(n: int, one_name: bool) -> pa.Table:
    if one_name:
        codes = pa.array(np.zeros(n, np.int32))
        names = pa.DictionaryArray.from_arrays(codes, ["x" * LETTERS])
    else:
        bounds = pa.py_buffer(np.arange(n + 1) * LETTERS)
        letters = pa.py_buffer(b"x" * (n * LETTERS))
        names = pa.Array.from_buffers(pa.large_string(), n, [None, bounds, letters])
    return pa.table({"gene": names, "a": np.arange(n, dtype="f4"), "b": np.ones(n, "f4")})


def _parquet(folder: Path, n: int, one_name: bool) -> Path:
    pq.write_table(
        _table(n, one_name),
        folder / "m.parquet",
        compression="zstd",
        use_dictionary=["gene"] if one_name else False,
        dictionary_pagesize_limit=1 << 30,
        store_schema=not one_name,
    )
    return folder / "m.parquet"


def _feather(folder: Path, n: int, one_name: bool, packed: str | None) -> Path:
    table, path = _table(n, one_name), folder / "m.feather"
    options = pa.ipc.IpcWriteOptions(compression=packed)
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, table.schema, options=options) as out,
    ):
        out.write_table(table)
    return path


def _names(n: int) -> list[str]:
    return ["x" * LETTERS + str(i) for i in range(n)]


def _csv(folder: Path, n: int) -> Path:
    path = folder / "m.csv.gz"
    with gzip.open(path, "wt", 1) as file:
        file.write("gene,a,b\n")
        file.writelines(f"{name},1,{i}\n" for i, name in enumerate(_names(n)))
    return path


def _anndata(folder: Path, n: int, suffix: str) -> Path:
    var = pd.DataFrame(index=_names(n))
    data = ad.AnnData(np.ones((3, n)), pd.DataFrame(index=["a", "b", "c"]), var)
    path = folder / f"m{suffix}"
    data.write_h5ad(path) if suffix == ".h5ad" else data.write_zarr(path)
    return path


def _tenx(folder: Path, n: int) -> Path:
    path = folder / "m.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        matrix = sparse.csc_array(np.ones((n, 3), "f4"))
        for part in ("data", "indices", "indptr", "shape"):
            group[part] = getattr(matrix, part)
        group["barcodes"] = [b"a", b"b", b"c"]
        group["features/id"] = group["features/name"] = _names(n)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "parquet": lambda folder: _parquet(folder, 30, False),
    "parquet, one name": lambda folder: _parquet(folder, 200, True),
    "feather": lambda folder: _feather(folder, 40, False, "zstd"),
    "feather, mapped": lambda folder: _feather(folder, 30, False, None),
    "feather, one name": lambda folder: _feather(folder, 200, True, "lz4"),
    "csv": lambda folder: _csv(folder, 10),
    "h5ad": lambda folder: _anndata(folder, 12, ".h5ad"),
    "zarr": lambda folder: _anndata(folder, 8, ".zarr"),
    "10x-h5": lambda folder: _tenx(folder, 8),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("case", FILES)
def test_long_names_are_refused_within_the_memory(case: str, tmp_path: Path) -> None:
    path, out = FILES[case](tmp_path), tmp_path / "out"
    command = ["rank", str(path), "--method", "variance", "--memory", "512M"]
    done = run_apart([*command, "--out", str(out)], launcher=MEASURED)
    told, peak = done.err.rsplit("\n", 1)
    assert done.code == ExitCode.BAD_INPUT, told
    assert "Traceback" not in told
    assert f"{LONGEST:,}" in told or "--memory" in told
    assert path.name in told
    assert not (out / "ranking.tsv").exists()
    copied = 128 * MIB if case == "feather, mapped" else 0  # until the child is stopped
    assert int(peak) << 10 < 512 * MIB + START + copied


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
)
def test_every_type_of_texts_is_measured(kind: pa.DataType) -> None:
    at_most = pa.array(["a", "é" * LONGEST, "b" * LONGEST])
    check_lengths(at_most.cast(kind), "m.parquet")
    check_lengths(at_most.cast(kind).slice(3), "m.parquet")
    longer = pa.array(["a", "c" * (LONGEST + 1), "b"])
    check_lengths(longer.cast(kind).slice(2), "m.parquet")
    with pytest.raises(InputError, match=f"a row has {LONGEST + 1:,} characters: 'ccc"):
        check_lengths(longer.cast(kind).slice(1), "m.parquet")
