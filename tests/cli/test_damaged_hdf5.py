"""Damaged HDF5 files, and those that are not what they seem, are refused with their names."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from tests.cli.running import MODULE, names_below, run_here, snapshot
from tests.cli.test_signals import wait_for_handlers

N, M = 12, 30
RANK = ("rank", "--method", "variance")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the file is read in a child process")


def cells(path: Path, compressed: bool = False) -> Path:
    rng = np.random.default_rng(0)
    X = rng.random((N, M)).astype(np.float32)
    data = ad.AnnData(
        sparse.csr_matrix(X * (X > 0.4)) if compressed else X,
        obs=pd.DataFrame(
            {"type": pd.Categorical(list("ab") * 6), "name": [f"n{i}" for i in range(N)]},
            index=[f"c{i}" for i in range(N)],
        ),
        var=pd.DataFrame(
            {"symbol": [f"s{j}" for j in range(M)]}, index=[f"g{j}" for j in range(M)]
        ),
        obsm={"X_pca": rng.random((N, 3))},
        obsp={"connectivities": sparse.csr_matrix(np.ones((N, N)))},
        uns={"made": {"by": "hand"}},
    )
    data.write_h5ad(path, compression="gzip" if compressed else None)
    return path


def circular(path: Path) -> Path:
    """Write an h5ad whose strings lead the library round in a circle.

    An object of the global heap has the size that makes the next object begin where it does
    (specification of HDF5, III.E: header of 16 bytes, size at byte 8 of an object).
    """
    content = bytearray(cells(path).read_bytes())
    at = content.find(b"GCOL")
    while at >= 0:
        content[at + 24 : at + 32] = (2**64 - 16).to_bytes(8, "little")
        at = content.find(b"GCOL", at + 1)
    path.write_bytes(content)
    return path


def mutated(content: bytes, seed: int) -> bytes:
    """Flip, replace, move, overwrite or cut bytes."""
    rng, made = random.Random(seed), bytearray(content)
    kind = rng.choice(["flip", "byte", "splice", "word", "zeros", "cut"])
    if kind == "cut":
        return bytes(made[: rng.randrange(len(made))])
    for _ in range(rng.choice([1, 2, 4, 16])):
        at = rng.randrange(len(made))
        if kind == "flip":
            made[at] ^= 1 << rng.randrange(8)
        elif kind == "byte":
            made[at] = rng.randrange(256)
        elif kind == "splice":
            size = rng.randrange(1, 64)
            other = rng.randrange(len(made) - size)
            made[at : at + size] = made[other : other + size]
        elif kind == "word":
            at -= at % 8
            word = rng.choice([0, 2**64 - 1, 2**64 - 16, rng.randrange(len(made)), 2**40])
            made[at : at + 8] = word.to_bytes(8, "little")
        else:
            made[at : at + 100] = bytes(len(made[at : at + 100]))
    return bytes(made)


@pytest.mark.slow
@pytest.mark.parametrize("compressed", [False, True])
def test_a_mutated_file_is_read_or_refused_with_its_name(compressed, tmp_path):
    content = cells(tmp_path / "cells.h5ad", compressed).read_bytes()
    path, refused = tmp_path / "mutated.h5ad", 0
    for seed in range(30):
        path.write_bytes(mutated(content, seed))
        found = error_of(path)
        if found is not None:
            refused += 1
            assert str(path) in found.where
            assert found.hint
    assert refused > 5


def error_of(path: Path) -> InputError | None:
    """Read a matrix to its end, and return the error that says why it cannot be."""
    try:
        reader = open_matrix(path, ReadOptions())
        try:
            rows = sum(len(block.ids) for block in reader.blocks())
        finally:
            reader.close()
    except InputError as error:
        return error
    assert rows == reader.n_rows
    return None


@pytest.mark.slow
@linux
def test_a_file_that_leads_in_a_circle_is_refused(tmp_path, capfd):
    path = circular(tmp_path / "circular.h5ad")
    done = run_here(["rank", str(path), "--out", str(tmp_path / "out")], capfd)
    assert done.code == 3
    assert "does not come to an end" in done.err
    assert f"{path}, obs" in done.err
    assert set(snapshot(tmp_path)) == {"circular.h5ad"}


@pytest.mark.slow
@linux
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_is_answered_while_the_library_loops(number, code, tmp_path):
    path = circular(tmp_path / "circular.h5ad")
    with path.open("ab") as file:
        file.truncate(1 << 30)  # for a large file, the library has more time
    arguments = ["rank", str(path), "--scratch", str(tmp_path / "scratch")]
    with subprocess.Popen(
        [*MODULE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_handlers(process)
        child = wait_for_child(process.pid)
        time.sleep(0.5)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in said
    for _ in range(100):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.05)
    else:
        pytest.fail("the process that reads the file lives on")
    if number != signal.SIGKILL:
        assert names_below(tmp_path) <= {"circular.h5ad", "scratch"}


def wait_for_child(pid: int) -> int:
    for _ in range(600):
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError("no child was started")


@pytest.mark.slow
@linux
def test_the_time_limit_ends_a_file_that_leads_in_a_circle(tmp_path, capfd):
    path = circular(tmp_path / "circular.h5ad")
    with path.open("ab") as file:
        file.truncate(1 << 30)
    arguments = ["rank", str(path), "--time-limit", "1", "--scratch", str(tmp_path / "scratch")]
    done = run_here(arguments, capfd)
    assert done.code == 143
    assert "time limit" in done.err
    assert names_below(tmp_path) <= {"circular.h5ad", "scratch"}


def linked(path: Path) -> str:
    with h5py.File(path, "r+") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink("other.h5ad", "/X")
    return "X (a link to other.h5ad)"


def stored_outside(path: Path) -> str:
    values = np.random.default_rng(1).random((N, M)).astype(np.float32)
    path.with_name("values.bin").write_bytes(values.tobytes())
    with h5py.File(path, "r+") as file:
        del file["X"]
        place = [(str(path.with_name("values.bin")), 0, values.nbytes)]
        file.create_dataset("X", (N, M), np.float32, external=place)
    return "X (stored in"


def virtual(path: Path) -> str:
    with h5py.File(path, "r+") as file:
        del file["X"]
        layout = h5py.VirtualLayout((N, M), np.float32)
        layout[:] = h5py.VirtualSource(path.with_name("other.h5ad"), "X", (N, M), np.float32)
        file.create_virtual_dataset("X", layout)
    return "X (a virtual data set"


@pytest.mark.parametrize("refer", [linked, stored_outside, virtual])
def test_values_from_other_files_are_refused_unless_allowed(refer, tmp_path, capfd):
    cells(tmp_path / "other.h5ad")
    path = cells(tmp_path / "cells.h5ad")
    named = refer(path)
    done = run_here([*RANK, str(path)], capfd)
    assert done.code == 3
    assert named in done.err
    assert "--allow-external" in done.err
    assert run_here([*RANK, str(path), "--allow-external"], capfd).code == 0
    assert run_here(["inspect", str(path)], capfd).code == 3
    assert run_here(["inspect", str(path), "--allow-external"], capfd).code == 0


def test_links_inside_a_file_are_followed(tmp_path, capfd):
    path = cells(tmp_path / "cells.h5ad")
    wanted = run_here([*RANK, str(path)], capfd).out
    assert wanted
    with h5py.File(path, "r+") as file:
        file["values"] = file["X"]
        del file["X"]
        file["X"] = h5py.SoftLink("/values")
        file["elsewhere"] = h5py.SoftLink("/nothing")
    done = run_here([*RANK, str(path)], capfd)
    assert (done.code, done.out) == (0, wanted)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("command", ["rank", "inspect"])
@pytest.mark.parametrize("member", ["obs", "var", "X", "obsm", "obsp", "layers", "uns"])
@pytest.mark.parametrize("kind", ["number", "empty"])
def test_members_of_another_kind_are_no_traceback(command, member, kind, tmp_path, capfd):
    path = cells(tmp_path / "cells.h5ad")
    with h5py.File(path, "r+") as file:
        if member in file:
            del file[member]
        file[member] = 5 if kind == "number" else h5py.Empty("f")
    done = run_here([command, str(path)], capfd)
    assert done.code in (0, 3), done.err
    assert "Traceback" not in done.err
    assert done.code == 0 or str(path) in done.err


def test_a_missing_file_is_not_called_damaged(tmp_path, capfd):
    done = run_here(["rank", str(tmp_path / "none.h5ad")], capfd)
    assert done.code == 3
    assert "no such file" in done.err
    assert snapshot(tmp_path) == {}
