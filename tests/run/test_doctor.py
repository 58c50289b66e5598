"""What `sfs doctor` says, and that it says so where something does not work."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sfs_cli.io.files import scratch
from sfs_cli.run import doctor
from tests.cli.making import BAD
from tests.cli.running import run_here


def checks(capfd) -> dict[str, dict]:
    done = run_here(["doctor", "--json"], capfd)
    record = json.loads(done.out)
    assert (done.code == 0) == record["well"] == all(each["well"] for each in record["checks"])
    return {each["name"]: each for each in record["checks"]}


def test_this_installation_is_well(capfd):
    found = checks(capfd)
    assert all(each["well"] for each in found.values())
    assert f"sfs {metadata.version('sfs-cli')}" in found["versions"]["found"]
    for name in ("numpy", "scipy", "pyarrow"):
        assert f"{name} {metadata.version(name)}" in found["libraries"]["found"]
    assert "thread" in found["BLAS"]["found"]
    text = run_here(["doctor"], capfd)
    assert text.code == 0
    assert len([line for line in text.out.splitlines() if line.startswith("ok ")]) == len(found)
    assert text.err == ""


def test_every_extra_is_listed_with_what_it_is_for(capfd, monkeypatch):
    known = metadata.version

    def without_numba(name: str) -> str:
        if name == "numba":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(metadata, "version", without_numba)
    found = checks(capfd)
    assert {"extra ml", "extra singlecell", "extra dask"} <= set(found)
    numba = found["extra singlecell"]
    assert numba["well"]
    assert "not installed (numba)" in numba["found"]
    assert "sfs-cli[singlecell]" in numba["hint"]


def test_the_purpose_of_every_extra_is_declared():
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) == set(extras) - {"all"}


def test_a_library_that_cannot_be_loaded_is_named(capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    found = checks(capfd)
    assert not found["libraries"]["well"]
    assert "h5py" in found["libraries"]["found"]
    done = run_here(["doctor"], capfd)
    assert done.code == BAD
    assert "h5py" in done.err
    assert "to do:" in done.err


def test_wrong_numbers_are_seen(capfd, monkeypatch):
    right = doctor._scores

    def wrong(X: np.ndarray, S: np.ndarray, method: str, threads: int) -> np.ndarray:
        return right(X, S, method, threads) * (1 + 1e-6)

    monkeypatch.setattr(doctor, "_scores", wrong)
    found = checks(capfd)
    assert not found["self-test"]["well"]
    assert "phi2" in found["self-test"]["found"]


@pytest.mark.parametrize("method", ["spec", "laplacian"])
def test_threads_that_differ_and_identities_that_fail_are_seen(method, capfd, monkeypatch):
    right = doctor._scores

    def wrong(X: np.ndarray, S: np.ndarray, name: str, threads: int) -> np.ndarray:
        off = name == method and (threads == 2 or name == "laplacian")
        return right(X, S, name, threads) + (1e-4 if off else 0)

    monkeypatch.setattr(doctor, "_scores", wrong)
    assert not checks(capfd)["self-test"]["well"]


def test_scratch_that_cannot_be_written_is_not_well(tmp_path, capfd, monkeypatch):
    closed = tmp_path / "file"
    closed.write_text("")
    monkeypatch.setattr(scratch, "tempfile", SimpleNamespace(gettempdir=lambda: str(closed)))
    found = checks(capfd)["scratch space"]
    assert not found["well"]
    assert str(closed) in found["found"]
    assert found["hint"]
