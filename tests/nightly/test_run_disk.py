"""Disks that are full, and files and folders that may not be read or written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.making import write_parquet, write_table
from tests.making_commands import BAD, good, h5ad
from tests.places import ROOT
from tests.running import MODULE, Finished, run_apart, snapshot

NOBODY = "65534"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def large(folder: Path, n_samples: int, n_features: int) -> str:
    X = np.random.default_rng(3).normal(size=(n_samples, n_features)).astype(np.float32)
    return write_parquet(folder / "large.parquet", X.T)


def full_out(folder: Path, disk: Path) -> list[str]:
    return ["rank", large(folder, 4, 20_000), "--out", str(disk / "out")]


def full_store(folder: Path, disk: Path) -> list[str]:
    return ["convert", large(folder, 24, 5_000), str(disk / "m.store")]


def full_copy(folder: Path, disk: Path) -> list[str]:
    path = Path(h5ad(folder))
    with path.open("r+b") as file:
        file.truncate(1 << 20)  # HDF5 does not mind what follows it
    return ["rank", str(path), "--write-h5ad", str(disk / "copy.h5ad")]


@pytest.mark.parametrize("make", [full_out, full_store, full_copy])
def test_full_disk_is_told_and_nothing_is_left_on_it(make, tmp_path, small_disk):
    arguments = make(tmp_path, small_disk)
    done = run_apart(arguments, TMPDIR=str(tmp_path))
    assert done.code == BAD, done.err
    assert done.out == ""
    assert "no space left on the disk" in done.err
    assert "Traceback" not in done.err
    assert snapshot(small_disk) == {}
    assert not (tmp_path / "out").exists()


def test_table_that_fits_a_disk_in_part_is_an_error(tmp_path, small_disk):
    matrix = large(tmp_path, 4, 20_000)  # of which the table takes more than the disk holds
    with (small_disk / "table.tsv").open("wb") as table:
        done = subprocess.run(
            [*MODULE, "rank", matrix], stdout=table, stderr=subprocess.PIPE, text=True
        )
    assert (small_disk / "table.tsv").stat().st_size > 0
    assert done.returncode == BAD, done.stderr
    assert "no space left" in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["rank", "m.csv", "--method", "variance", "--out", "made"],
        ["convert", "m.csv", "made"],
    ],
)
def test_a_file_that_grows_too_large_is_named(words, tmp_path):
    X = np.random.default_rng(1).normal(size=(3000, 20)).round(3)
    write_table(tmp_path / "m.csv", X)
    before = snapshot(tmp_path)
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 40 && exec "$@"', "sh", *MODULE, *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == BAD, done.stderr
    assert "made" in done.stderr
    assert "file too large" in done.stderr
    assert "ulimit -f" in done.stderr
    assert snapshot(tmp_path) == before


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter (those of pytest are closed to others)."""
    with tempfile.TemporaryDirectory(prefix="for-everybody-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def as_nobody() -> Callable[[list[str]], Finished]:
    """Run the command line as a user whom permissions hold for."""
    if os.geteuid() != 0:
        return run_apart
    if shutil.which("setpriv") is None:
        pytest.skip("root may read everything, and setpriv is not there to run as another user")
    launcher = ("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", *MODULE)
    probe = subprocess.run(
        [*launcher[:6], sys.executable, "-c", "import sfs_cli, click"], capture_output=True
    )
    if probe.returncode:
        pytest.skip("another user may not run this Python")
    return lambda arguments: run_apart(
        arguments, launcher=launcher, HOME="/nonexistent", PYTHONDONTWRITEBYTECODE="1"
    )


def unreadable_matrix(folder: Path) -> tuple[list[str], str]:
    path = good(folder)
    Path(path).chmod(0o000)
    return ["rank", path], path


def closed(folder: Path) -> Path:
    (folder / "closed").mkdir(mode=0o555)
    return folder / "closed"


def unwritable_out(folder: Path) -> tuple[list[str], str]:
    out = str(closed(folder) / "out")
    return ["rank", good(folder), "--out", out], out


def unwritable_store(folder: Path) -> tuple[list[str], str]:
    store = str(closed(folder) / "m.store")
    return ["convert", good(folder), store], store


@pytest.mark.parametrize("make", [unreadable_matrix, unwritable_out, unwritable_store])
def test_lacking_permission_is_told(make, open_folder, as_nobody):
    arguments, path = make(open_folder)
    done = as_nobody(arguments)
    assert done.code == BAD, done.err
    assert done.out == ""
    assert path in done.err
    assert "permission" in done.err
    assert "Traceback" not in done.err
    assert not (open_folder / "closed" / "out").exists()
