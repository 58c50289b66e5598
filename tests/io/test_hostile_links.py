"""Links that lead in circles, and ids that are references, are refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pytest

from sfs_cli.errors import ExitCode

RNG = np.random.default_rng(0)


def _reset(file: Any, name: str, **made: Any) -> None:
    del file[name]
    file.create_dataset(name, **made)


def _circle(place: str, link: Callable[[Any], Any]) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        file[f"{place}/circle"] = link(file[place])

    return change


CHANGES: dict[str, Callable[[Any], None]] = {
    "a hard circle": _circle("obs", lambda group: group),
    "a soft circle": _circle("var", lambda group: h5py.SoftLink(group.name)),
    "obs that is the root": lambda f: (f.__delitem__("obs"), f.__setitem__("obs", f["/"]))[0],
    "codes that are their group": lambda f: (
        f.__delitem__("obs/t/codes"),
        f.__setitem__("obs/t/codes", f["obs/t"]),
    )[0],
    "references": lambda f: _reset(f, "var/_index", data=[f["X"].ref] * 6, dtype=h5py.ref_dtype),
    "region references": lambda f: _reset(
        f, "var/_index", data=[f["X"].regionref[0:1]] * 6, dtype=h5py.regionref_dtype
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_circles_and_references_are_refused(case: str, tmp_path: Path) -> None:
    obs = pd.DataFrame({"t": pd.Categorical(["a", "b"] * 5)}, [f"s{i}" for i in range(10)])
    var = pd.DataFrame(index=[f"g{i}" for i in range(6)])
    path = tmp_path / "x.h5ad"
    ad.AnnData(RNG.random((10, 6)), obs, var).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        CHANGES[case](file)
    command = ["rank", str(path), "--method", "variance", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "sfs_cli", *command], capture_output=True, text=True
    )
    assert done.returncode == ExitCode.BAD_INPUT, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "ranking.tsv").exists()
