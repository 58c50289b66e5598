"""The benchmarks run: at toy sizes, without peers, and without a look at any time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.compute.matrix import Ids
from sfs_cli.store.matrix import HeldMatrix, Missing
from tools.benchmarks import bench_sparse, calibration, power, runner
from tools.benchmarks.rows_growth import exponent
from tools.benchmarks.rows_peers import rank_correlation
from tools.benchmarks.table import Bench, Part, Row

pytestmark = pytest.mark.any_python


def test_part_that_fails_is_a_row_and_the_rest_goes_on(tmp_path):
    def broken():
        yield Row("before", "1")
        raise ValueError("of\nsome kind")

    def run(bench):
        yield Part("a part", broken)
        yield Row("after", "2")

    found = list(runner.guarded("a job", run, Bench(tmp_path)))
    assert [row.what for row in found] == ["before", "a part", "after"]
    assert found[1].ours == "**failed**: ValueError: of some kind"
    tally = runner.MemoryCounter()
    for row in found:
        tally.add(row)
    assert tally.broken == ["a part"]


def test_a_row_holds_by_what_is_asked():
    assert Row("", "", ratio=1.5, asked=1.5).holds
    assert not Row("", "", ratio=1.51, asked=1.5).holds
    assert Row("", "", ratio=1.6, asked=1.6, least=True).holds
    assert Row("", "", asked=1.0).holds is False
    assert Row("", "", ratio=9.0).holds is None


def test_exponent_and_rank_correlation():
    assert exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)
    order = [2, 0, 3, 1]
    assert rank_correlation(order, order) == pytest.approx(1)
    assert rank_correlation(order, order[::-1]) == pytest.approx(-1)


def test_geary_c_is_that_of_its_definition():
    rng = np.random.default_rng(0)
    X, W = rng.poisson(1.0, (3, 20)) * 1.0, np.triu(rng.random((20, 20)), 1)
    W += W.T
    names = [f"g{i}" for i in range(3)], [f"c{j}" for j in range(20)]
    matrix = HeldMatrix(csr_array(X), Ids(*names), Missing())
    distances = np.square(X[:, :, None] - X[:, None])
    asked = 19 * (W * distances).sum(axis=(1, 2)) / (2 * W.sum() * 20 * X.var(axis=1))
    np.testing.assert_allclose(bench_sparse.geary(matrix, csr_array(W)), asked, rtol=1e-10)


def test_power_is_the_share_of_small_p_values():
    pattern = np.repeat([*power.EFFECTS, power.NULL], 10)
    p = np.where(np.arange(50) % 10 < 4, 1e-4, 0.02)
    found = power.measure(
        power.Data(np.ones((50, 2)), np.zeros((2, 2)), pattern), power.Test(p, 1.0)
    )
    assert found["gradient"] == found["mean"] == pytest.approx(0.4)
    assert found["null 0.05"] == 1
    assert found["null 0.001"] == pytest.approx(0.4)


def test_null_p_values_of_spark_x_are_uniform():
    data = power.simulate(1, 500, 0)
    p = power.spark_x(data.counts, data.coordinates)[data.pattern == power.NULL]
    assert 0.02 < (p <= 0.05).mean() < 0.08


def of_matrix(**given):
    usual = {"small": np.array([5, 1, 0, 0]), "tested": 100, "significant": 0}
    return calibration.Found(**usual | {"least_of_worse": 0.3, "largest": 1.0} | given)


@pytest.mark.parametrize(
    ("data", "given", "faults"),
    [
        ("normal", {}, []),
        ("normal", {"small": np.array([5, 1, 1, 0])}, ["at 0.001"]),
        ("normal", {"significant": 1}, ["matrices"]),
        ("normal", {"least_of_worse": 0.009}, ["effect"]),
        ("normal", {"largest": 1.1}, ["above 1"]),
        ("depth", {"significant": 9}, ["matrices"]),
    ],
)
def test_a_cell_of_the_calibration_fails_by_what_is_wrong(data, given, faults):
    cell = calibration.Cell("moments", "knn", data)
    result = calibration.Result(cell, tuple(of_matrix(**given) for _ in range(20)))
    assert result.faults == faults
    assert result.holds == (not faults)
    line = result.line()
    assert ("**fails**: " + ", ".join(faults) in line) == bool(faults)


def test_many_significant_features_in_one_matrix_are_no_chance():
    found = tuple(of_matrix(significant=7 if k == 3 else 0) for k in range(20))
    assert calibration.Result(calibration.Cell("moments", "knn", "normal"), found).faults == ["q"]
    assert calibration.Result(calibration.Cell("moments", "knn", "depth"), found).faults == []


@pytest.mark.parametrize(("bad", "holds"), [(1, True), (100, False)])
def test_what_does_not_hold_is_drawn_again(bad, holds, monkeypatch):
    drawn = []

    def tested(seed, features):
        drawn.append(seed.number)
        return of_matrix(least_of_worse=0.001 if seed.number < bad else 0.3)

    monkeypatch.setattr(calibration.Seed, "tested", tested)
    cell = calibration.Cell("moments", "knn", "normal")
    result = calibration.result_of(cell, 100, 2)
    assert drawn == [*range(2), *range(2, 8)]
    assert result.drawn_again
    assert result.holds == holds
