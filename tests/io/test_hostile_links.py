"""Links that lead in circles, and ids that are no texts, are refused in every format with groups.

HDF5 is read in a child process, so a crash would not end these tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.errors import ExitCode
from tests.cli.running import run_here

RNG = np.random.default_rng(0)
N, M = 10, 6
Change = Callable[[Any], None]


def _data() -> ad.AnnData:
    obs = pd.DataFrame({"t": pd.Categorical(["a", "b"] * (N // 2))}, [f"s{i}" for i in range(N)])
    return ad.AnnData(RNG.random((N, M)), obs, pd.DataFrame(index=[f"g{i}" for i in range(M)]))


def _h5ad(path: Path) -> None:
    _data().write_h5ad(path)


def _h5mu(path: Path) -> None:
    _data().write_h5ad(path)
    with h5py.File(path, "r+") as file:
        parts = list(file)
        group = file.create_group("mod/rna")
        for part in parts:
            file.move(part, f"mod/rna/{part}")
        group.attrs.update(file.attrs)


def _tenx(path: Path) -> None:
    matrix = sparse.csc_array(RNG.integers(0, 5, (M, N)))
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        for part in ("data", "indices", "indptr", "shape"):
            group[part] = getattr(matrix, part)
        group["barcodes"] = [f"b{i}".encode() for i in range(N)]
        for part, letter in (("id", "e"), ("name", "g"), ("feature_type", "t")):
            group[f"features/{part}"] = [f"{letter}{i}".encode() for i in range(M)]


def _reset(name: str, **made: Any) -> Change:
    def change(file: Any) -> None:
        del file[name]
        file.create_dataset(name, **made)

    return change


def _references(name: str, target: str, count: int, *, regions: bool = False) -> Change:
    def change(file: Any) -> None:
        found = file[target].regionref[0:1] if regions else file[target].ref
        kind = h5py.regionref_dtype if regions else h5py.ref_dtype
        _reset(name, data=[found] * count, dtype=kind)(file)

    return change


def _linked(name: str, target: str, *, soft: bool = False) -> Change:
    def change(file: Any) -> None:
        link = h5py.SoftLink(target) if soft else file[target]
        if name in file:
            del file[name]
        file[name] = link

    return change


def _in_anndata(below: str) -> dict[str, Change]:
    return {
        "a hard circle": _linked(f"{below}obs/circle", f"{below}obs"),
        "a soft circle": _linked(f"{below}var/circle", f"/{below}var", soft=True),
        "a link to its parent": _linked(f"{below}obs/parent", below or "/"),
        "obs that is the root": _linked(f"{below}obs", "/"),
        "obs that is itself": _linked(f"{below}obs", f"/{below}obs", soft=True),
        "codes that are their group": _linked(f"{below}obs/t/codes", f"{below}obs/t"),
        "X that is the root": _linked(f"{below}X", "/"),
        "an index that is its table": _linked(f"{below}var/_index", f"{below}var"),
        "references": _references(f"{below}var/_index", f"{below}X", M),
        "region references": _references(f"{below}var/_index", f"{below}X", M, regions=True),
    }


ODD: dict[str, dict[str, Any]] = {
    "integers": {"data": np.arange(M)},
    "floats": {"data": np.arange(M) / 2},
    "records": {"data": np.zeros(M, [("a", "i4"), ("b", "f4")])},
    "lists": {"shape": (M,), "dtype": h5py.vlen_dtype(np.int32)},
    "an enumeration": {"data": np.zeros(M, "i1"), "dtype": h5py.enum_dtype({"a": 0, "b": 1}, "i1")},
    "opaque": {"data": np.zeros(M, "V8")},
    "nothing": {"data": h5py.Empty("S4")},
    "one text": {"data": b"g1"},
    "a table of texts": {"data": np.full((M, 2), b"g")},
    "no texts": {"data": np.empty(0, "S4")},
    "empty texts": {"data": np.full(M, b"")},
    "no UTF-8": {"data": np.full(M, b"\xff\xfe")},
}
# without symbols features are named by their ids, and the other way round
IN_TENX: dict[str, Change] = {
    "a hard circle": _linked("matrix/features/id", "matrix"),
    "a soft circle": _linked("matrix/barcodes", "/matrix/barcodes", soft=True),
    "features that are the matrix": _linked("matrix/features", "matrix"),
    "a matrix that is the root": _linked("matrix", "/"),
    "data that are their group": _linked("matrix/data", "matrix"),
    "pointers that are the root": _linked("matrix/indptr", "/"),
    "references": _references("matrix/features/id", "matrix/data", M),
    "region references": _references("matrix/features/name", "matrix/data", M, regions=True),
    "references as barcodes": _references("matrix/barcodes", "matrix/data", N),
    **{
        f"ids: {odd}": _reset("matrix/features/id", **made)
        for odd, made in ODD.items()
        if odd != "empty texts"
    },
    **{
        f"symbols: {odd}": _reset("matrix/features/name", **made)
        for odd, made in ODD.items()
        if odd != "empty texts"
    },
    **{f"barcodes: {odd}": _reset("matrix/barcodes", **made) for odd, made in ODD.items()},
}
CASES = [
    *((_h5ad, "x.h5ad", name, change) for name, change in _in_anndata("").items()),
    *((_h5mu, "x.h5mu", name, change) for name, change in _in_anndata("mod/rna/").items()),
    (_h5mu, "x.h5mu", "a modality that is the root", _linked("mod/rna", "/")),
    (_h5mu, "x.h5mu", "modalities that are the root", _linked("mod", "/")),
    *((_tenx, "x.h5", name, change) for name, change in IN_TENX.items()),
]


def _refused(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = path.parent / "out"
    done = run_here(["rank", str(path), "--method", "variance", "--out", str(out)], capfd)
    assert done.code == ExitCode.BAD_INPUT, done.err
    assert "Traceback" not in done.err
    assert path.name in done.err
    assert not (out / "ranking.tsv").exists()


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("write", "name", "case", "change"),
    CASES,
    ids=[f"{name}: {case}" for _, name, case, _ in CASES],
)
def test_circles_and_odd_ids_are_refused(write, name, case, change, tmp_path, capfd) -> None:
    path = tmp_path / name
    write(path)
    with h5py.File(path, "r+") as file:
        change(file)
    _refused(path, capfd)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("place", ["obs/circle", "circle"])
@pytest.mark.parametrize("target", [".", ".."])
@pytest.mark.parametrize("has_list", [False, True])
def test_links_in_zarr_that_lead_in_circles(has_list, target, place, tmp_path, capfd) -> None:
    path, copy = tmp_path / "inner" / "x.zarr", tmp_path / "copy.zarr"
    _data().write_zarr(path)
    (path / place).symlink_to(target)
    if not has_list:  # then the members are those that lie in the folder
        (path / ".zmetadata").unlink(missing_ok=True)  # of version 2; 3 has it with the group
        if (group := path / "zarr.json").exists():
            described = json.loads(group.read_text())
            described.pop("consolidated_metadata", None)
            group.write_text(json.dumps(described))
    command = ["rank", str(path), "--method", "variance", "--out", str(tmp_path / "out")]
    done = run_here([*command, "--write-h5ad", str(copy)], capfd)
    assert done.code == ExitCode.BAD_INPUT, done.err
    assert "Traceback" not in done.err
    assert "link" in done.err
    assert not copy.exists()
    assert not (tmp_path / "out" / "ranking.tsv").exists()
