"""One rule for names in all formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.files.names import check_names
from tests.making import annotated
from tests.making_commands import FEATURES, SAMPLES, M, N, values
from tests.running import run_here

REFUSED = ["g\n1", "g\r1", "g\t1", "g\x001", "g\x1b[31m1", "g\x7f", "g\x9b31m", ""]
KEPT = ["\u00a0g", "g 1", "gène", "基因", "<b>g</b>", "[red]g[/]", "x" * 1000]


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="a feature"):
        check_names(["a", name], "a feature", "m.csv")


def test_names_that_are_kept() -> None:
    check_names(KEPT, "a feature", "m.csv")


def _parquet(path: Path, frame: pd.DataFrame) -> str:
    frame.to_parquet(path / "m.parquet")
    return str(path / "m.parquet")


def _feather(path: Path, frame: pd.DataFrame) -> str:
    frame.reset_index(names="id").to_feather(path / "m.feather")
    return str(path / "m.feather")


def _h5ad(path: Path, frame: pd.DataFrame) -> str:
    annotated(frame.to_numpy().T, list(frame.index), list(frame.columns)).write_h5ad(
        path / "m.h5ad"
    )
    return str(path / "m.h5ad")


@pytest.mark.parametrize(
    ("write", "name", "axis"),
    [(_parquet, "g\t1", "feature"), (_feather, "g\x1b[31m1", "sample"), (_h5ad, "", "feature")],
)
def test_binary_formats_refuse_what_text_does(write, name, axis, tmp_path, capfd) -> None:
    features = [name, *FEATURES[1:]] if axis == "feature" else FEATURES
    samples = [name, *SAMPLES[1:]] if axis == "sample" else SAMPLES
    path = write(tmp_path, pd.DataFrame(values(), features, samples))
    done = run_here(["rank", path], capfd)
    assert (done.code, done.out) == (3, "")
    assert f"a {axis}" in done.err
    assert not set(done.err) & set("\x1b\x9b\x00\x7f\r\t")


def test_whole_numbers_that_are_no_longer_exact_are_said(tmp_path, capfd) -> None:
    X = np.arange(M * N, dtype=np.int64).reshape(M, N) ** 2
    X[2] += 2**60
    path = _parquet(tmp_path, pd.DataFrame(X, FEATURES, SAMPLES))
    done = run_here(["rank", path, "--dtype", "float64"], capfd)
    assert "no longer exact" in done.err
    assert "gene3" in done.err
