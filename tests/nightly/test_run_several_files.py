"""Files of real cells as one matrix: what `anndata.concat` makes of them."""

from __future__ import annotations

from pathlib import Path

import anndata
import pytest

from tests.running import run_here


def test_real_cells_of_two_protocols(
    shared_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = sorted((shared_data / "cells").glob("*.h5ad"))
    parts = {path.stem: anndata.read_h5ad(path) for path in files}
    anndata.concat(parts, label="file").write_h5ad(tmp_path / "joined.h5ad")
    options = ["--method", "variance", "--transform", "cpm,log1p", "--batch", "obs:file"]
    one = run_here(["rank", str(tmp_path / "joined.h5ad"), *options], capfd)
    several = run_here(["rank", *map(str, files), *options], capfd)
    assert (one.code, several.code) == (0, 0), several.err
    assert "15,073 features are in all 2 files" in several.err
    assert one.out == several.out
