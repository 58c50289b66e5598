"""Disks that are full, and files and folders that may not be read or written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import anndata
import h5py
import numpy as np
import pytest

from tests.conftest import ROOT
from tests.making import annotated, write_parquet, write_table
from tests.making_commands import BAD, good, h5ad, labels
from tests.running import MODULE, Finished, run_apart, run_here, snapshot

NOBODY = "65534"
BUFFERED_OR_NOT = pytest.mark.parametrize(
    "unbuffered", ["", pytest.param("1", marks=pytest.mark.nightly)]
)


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


def full_copy_of_a_modality(folder: Path, disk: Path) -> list[str]:
    words = full_copy(folder, disk)
    with h5py.File(words[1], "r+") as file:
        for name in list(file):
            file.move(name, f"mod/rna/{name}")
    path = Path(words[1]).rename(folder / "cells.h5mu")
    with path.open("r+b") as file:
        file.truncate(1 << 20)
    return ["rank", f"{path}:rna", "--write-h5ad", str(disk / "copy.h5mu"), "--top", "2"]


def full_copy_of_zarr(folder: Path, disk: Path) -> list[str]:
    data = anndata.read_h5ad(h5ad(folder))
    data.layers["noise"] = np.random.default_rng(3).normal(size=data.shape)
    data.uns["noise"] = np.random.default_rng(3).normal(size=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the format's version
        data.write_zarr(folder / "m.zarr")
    return ["rank", str(folder / "m.zarr"), "--write-h5ad", str(disk / "copy.zarr"), "--top", "2"]


FULL = [full_out, full_store, full_copy, full_copy_of_a_modality, full_copy_of_zarr]


@pytest.mark.nightly
@pytest.mark.parametrize("make", FULL)
def test_full_disk_is_told_and_nothing_is_left_on_it(make, tmp_path, small_disk):
    arguments = make(tmp_path, small_disk)
    done = run_apart(arguments, TMPDIR=str(tmp_path))
    assert done.code == BAD, done.err
    assert done.out == ""
    assert "no space left on the disk" in done.err
    assert "to do: free some space" in done.err
    assert "Traceback" not in done.err
    assert snapshot(small_disk) == {}
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*sfs*"))


@pytest.mark.nightly
@BUFFERED_OR_NOT
def test_full_device_behind_stdout_is_told(tmp_path, unbuffered):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("wb") as full:
        done = into(full, ["rank", good(tmp_path)], unbuffered)
    assert done.returncode == BAD, done.stderr
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.nightly
@BUFFERED_OR_NOT
def test_table_that_fits_a_disk_in_part_is_an_error(tmp_path, small_disk, unbuffered):
    matrix = large(tmp_path, 4, 20_000)  # of which the table takes more than the disk holds
    with (small_disk / "table.tsv").open("wb") as table:
        done = into(table, ["rank", matrix], unbuffered)
    assert (small_disk / "table.tsv").stat().st_size > 0
    assert done.returncode == BAD, done.stderr
    assert "no space left" in done.stderr
    assert "Exception ignored" not in done.stderr


def into(file: BinaryIO, arguments: list[str], unbuffered: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a file behind stdout; Python takes an empty variable as none."""
    return subprocess.run(
        [*MODULE, *arguments],
        stdout=file,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )


@pytest.mark.nightly
@BUFFERED_OR_NOT
def test_pipe_that_does_not_wait_gets_all_or_an_error(tmp_path, unbuffered):
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        with open(write, "wb") as pipe:  # noqa: PTH123 - a file that is open already
            done = into(pipe, ["rank", large(tmp_path, 4, 20_000)], unbuffered)
    finally:
        os.close(read)
    assert done.returncode == BAD, done.stderr
    assert "cannot be used" in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.nightly
def test_closed_stdout_is_an_error_only_for_what_belongs_there(tmp_path):
    shell = ("sh", "-c", '"$0" "$@" >&-')
    table = run_apart(["rank", good(tmp_path)], launcher=(*shell, *MODULE))
    assert table.code == BAD
    assert "standard output is closed" in table.err
    out = tmp_path / "out"
    folder = run_apart(["rank", good(tmp_path), "--out", str(out)], launcher=(*shell, *MODULE))
    assert folder.code == 0, folder.err
    assert (out / "run.json").exists()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "closed", [pytest.param("2>&-", marks=pytest.mark.nightly), "<&- >&- 2>&-"]
)
def test_closed_streams_change_neither_code_nor_files(tmp_path, closed, capfd):
    launcher = ("sh", "-c", f'"$0" "$@" {closed}', *MODULE)
    out, other = tmp_path / "out", tmp_path / "other"
    assert run_apart(["rank", good(tmp_path), "--out", str(out)], launcher=launcher).code == 0
    assert run_here(["rank", good(tmp_path), "--out", str(other)], capfd).code == 0
    assert (out / "ranking.tsv").read_bytes() == (other / "ranking.tsv").read_bytes()
    assert run_apart(["rank", str(tmp_path / "no.csv")], launcher=launcher).code == BAD


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [
        ["rank", "m.csv", "--method", "variance", "--out", "made"],
        ["rank", "m.h5ad", "--method", "variance", "--write-h5ad", "made"],
        ["convert", "m.csv", "made"],
    ],
)
def test_a_file_that_grows_too_large_is_named(words, tmp_path):
    X = np.random.default_rng(1).normal(size=(3000, 20)).round(3)
    write_table(tmp_path / "m.csv", X)
    annotated(X.T).write_h5ad(tmp_path / "m.h5ad")
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
    assert "ulimit -f" in done.stderr
    assert snapshot(tmp_path) == before


def test_a_folder_that_has_been_removed_is_named(tmp_path):
    matrix, gone = good(tmp_path), tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir ../gone && exec "$@"', "sh", *MODULE, "rank", matrix, "--out", "out"],
        cwd=gone,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == BAD, done.stderr
    assert "has been removed" in done.stderr
    assert str(gone) in done.stderr


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


def unreadable_labels(folder: Path) -> tuple[list[str], str]:
    path = labels(folder, ["a", "b"] * 3)
    Path(path).chmod(0o000)
    return ["rank", good(folder), "--method", "fisher", "--labels", path], path


def unreadable_folder(folder: Path) -> tuple[list[str], str]:
    (folder / "closed").mkdir()
    path = good(folder / "closed")
    (folder / "closed").chmod(0o000)
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


def unwritable_copy(folder: Path) -> tuple[list[str], str]:
    copy = str(closed(folder) / "copy.h5ad")
    return ["rank", h5ad(folder), "--write-h5ad", copy], copy


def unwritable_copy_of_zarr(folder: Path) -> tuple[list[str], str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the format's version
        anndata.read_h5ad(h5ad(folder)).write_zarr(folder / "m.zarr")
    copy = str(closed(folder) / "copy.zarr")
    return ["rank", str(folder / "m.zarr"), "--write-h5ad", copy], copy


@pytest.mark.nightly
@pytest.mark.parametrize(
    "make",
    [
        unreadable_matrix,
        pytest.param(unreadable_labels, marks=pytest.mark.nightly),
        unreadable_folder,
        unwritable_out,
        unwritable_store,
        pytest.param(unwritable_copy, marks=pytest.mark.nightly),
        pytest.param(unwritable_copy_of_zarr, marks=pytest.mark.nightly),
    ],
)
def test_lacking_permission_is_told(make, open_folder, as_nobody):
    arguments, path = make(open_folder)
    done = as_nobody(arguments)
    assert done.code == BAD, done.err
    assert done.out == ""
    assert path in done.err
    assert "permission" in done.err
    assert "to do:" in done.err
    assert "Traceback" not in done.err
    assert not (open_folder / "closed" / "out").exists()


@pytest.mark.nightly
@pytest.mark.parametrize("buffered", ["", "1"])
def test_messages_that_cannot_be_written_change_neither_code_nor_result(tmp_path, buffered, capfd):
    """Standard error on a full device, or into a pipe that nobody reads."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = [*MODULE, "rank", good(tmp_path), "--method", "spec"]
    environment = os.environ | {"PYTHONUNBUFFERED": buffered}
    plain = run_here(["rank", good(tmp_path), "--method", "spec"], capfd).out.encode()
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, env=environment)
        out = [*command, "--out", str(tmp_path / "out")]
        assert subprocess.run(out, stderr=full, env=environment).returncode == 0
        for arguments, code in ((["rank", "no.csv"], BAD), (["rank"], 2), ([], 2)):
            failed = subprocess.run([*MODULE, *arguments], stderr=full, env=environment)
            assert failed.returncode == code
    assert (done.returncode, done.stdout) == (0, plain)
    assert (tmp_path / "out" / "ranking.tsv").read_bytes() == plain
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as closed:  # noqa: PTH123 - a pipe without a reader
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=closed, env=environment)
    assert (done.returncode, done.stdout) == (0, plain)


@pytest.mark.nightly
def test_help_on_a_full_device_is_an_error_and_on_a_closed_stream_is_not(tmp_path):
    for line, code in (
        ("--help > /dev/full", BAD),
        ("--help >&-", 0),
        ("methods > /dev/full", BAD),
    ):
        done = subprocess.run(["sh", "-c", f"{' '.join(MODULE)} {line}"], capture_output=True)
        assert done.returncode == code, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"Exception ignored" not in done.stderr
