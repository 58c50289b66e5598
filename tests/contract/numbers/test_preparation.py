"""Steps of --transform through the command line: in order, and with the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfs_cli.cli.app import run
from tests.contract.numbers.commands import facts, ranked, ranking_bytes, sfs
from tests.making import write_table
from tests.oracles.preparation import (
    dispersion,
    ratio_sizes,
)
from tests.running import handlers_restored


def counts(m: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(8)
    values = rng.poisson(rng.gamma(1, 3, (m, 1)) * (1 + np.arange(n) % 3), (m, n))
    values[0] += 1
    return values.astype(np.float64)


def test_a_quantile_normalized_profile_is_that_of_its_own_matrix(tmp_path: Path) -> None:
    X = counts(60, 12)
    matrix = write_table(tmp_path / "m.csv", X)
    asked = ("--similarity", "rbf", "--method", "spec", "--transform", "quantile,log1p")
    own = ranked(tmp_path / "own", matrix, *asked)
    for i, kind in enumerate([f"profile:{matrix}", "target:"]):
        source = f"p={kind},transform=quantile,log1p,similarity=rbf"
        given = ("--method", "msfs", "--source", source, "--transform", "quantile,log1p")
        found = ranked(tmp_path / str(i), matrix, *given)
        np.testing.assert_allclose(found.by_feature(), own.by_feature(), rtol=1e-6)


def test_a_repeated_option_adds_steps_in_order(tmp_path: Path) -> None:
    path = write_table(tmp_path / "m.csv", counts(50, 12))
    repeated = ("--transform", "cpm", "--transform", "log1p,center")
    once = ranking_bytes(tmp_path / "once", path, "--transform", "cpm,log1p,center")
    assert ranking_bytes(tmp_path / "twice", path, *repeated) == once
    assert facts(tmp_path / "twice")["input"]["transform"] == ["cpm", "log1p", "center"]
    other = ranking_bytes(
        tmp_path / "other", path, "--transform", "log1p,center", "--transform", "rank"
    )
    assert other != once


def test_the_dispersion_is_said_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = counts(60, 12) + 1
    out, path = tmp_path / "out", write_table(tmp_path / "m.csv", values)
    with handlers_restored():
        run(["rank", str(path), "--method", "variance", "--transform", "vst", "--out", str(out)])
    alpha = dispersion(values, ratio_sizes(values))
    assert facts(out)["input"]["dispersion"] == pytest.approx(alpha, rel=1e-5)
    assert f"common dispersion of {alpha:.3g}" in capsys.readouterr().err


def test_flags_replace_the_steps_of_a_file(tmp_path: Path) -> None:
    path = write_table(tmp_path / "m.csv", counts(50, 12))
    (tmp_path / "run.yaml").write_text("transform: [log1p, 'floor:1']\n")
    config = ("--config", tmp_path / "run.yaml")
    sfs("rank", path, *config, "--out", tmp_path / "file")
    assert facts(tmp_path / "file")["input"]["transform"] == ["log1p", "floor:1"]
    sfs("rank", path, *config, "--transform", "cpm", "--transform", "rank", "--out", tmp_path / "b")
    assert facts(tmp_path / "b")["input"]["transform"] == ["cpm", "rank"]
