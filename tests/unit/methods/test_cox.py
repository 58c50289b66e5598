"""Score tests of proportional hazards: R, statsmodels, lifelines, the definition, invariances."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfs_cli.errors import InputError
from sfs_cli.methods.base import Status
from sfs_cli.methods.cox import CoxModel, CoxScorer, fit_cox
from tests.making import make_engine
from tests.oracles import survival as twin
from tests.oracles.cox_values import FEATURES, VALUES

STORED = json.loads(VALUES.read_text())
DATA = {name: np.array(column) for name, column in STORED["data"].items()}
CASES = [
    (covariates, strata) for covariates in ("none", "covariates") for strata in ("one", "strata")
]


def columns_of(model: CoxModel, X: np.ndarray, block_size: int = 3) -> dict[str, np.ndarray]:
    """The columns, scores and statuses of samples x features."""
    engine, test = make_engine(X, block_size=block_size), CoxScorer(model)
    measured = engine.columns(test.score_block, test.dtype)
    return measured | test.columns(measured)


def made(n: int, m: int, seed: int = 0, *, whole: bool = True) -> dict[str, Any]:
    """Times, equal ones where they are whole numbers, events, covariates, strata and features."""
    rng = np.random.default_rng(seed)
    Z, X = rng.normal(size=(n, 2)), rng.normal(size=(n, m))
    X[:, : m // 2] = rng.poisson(0.4, (n, m // 2))
    time = rng.exponential(size=n) / np.exp(Z[:, 0] + 0.4 * X[:, -1])
    return {
        "time": np.ceil(6 * time) if whole else time,
        "event": (rng.random(n) < 0.6).astype(int),
        "covariates": Z,
        "strata": rng.integers(0, 4, n),
        "X": X,
    }


@pytest.mark.parametrize(("covariates", "strata"), CASES)
def test_it_agrees_with_r(covariates: str, strata: str) -> None:
    Z = np.column_stack([DATA["z0"], DATA["z1"]]) if covariates == "covariates" else None
    s = DATA["s"].astype(int) if strata == "strata" else None
    model = fit_cox(DATA["time"], DATA["event"], Z, s)
    columns = columns_of(model, np.column_stack([DATA[name] for name in FEATURES]))
    key = f"efron/{covariates}/{strata}"
    r = STORED["r"]
    np.testing.assert_allclose(columns["score"], r[f"{key} score"], rtol=1e-9)
    np.testing.assert_allclose(model.residuals, r[f"{key} residuals"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.fit.log_likelihood, r[f"{key} likelihood"][0], rtol=1e-13)
    if Z is not None:
        np.testing.assert_allclose(model.coefficients, r[f"{key} coefficients"], rtol=1e-9)
        other = STORED["statsmodels"]
        np.testing.assert_allclose(columns["score"], other[f"{key} score"], rtol=1e-9)
        np.testing.assert_allclose(model.coefficients, other[f"{key} coefficients"], rtol=1e-9)
    if f"{key} coefficients" in STORED["lifelines"]:
        expected = STORED["lifelines"][f"{key} coefficients"]
        np.testing.assert_allclose(model.coefficients, expected, rtol=1e-8)
    expected = stats.chi2.sf(columns["score"], 1)
    np.testing.assert_allclose(columns["p_value"], expected, rtol=1e-10)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("covariates", "strata"), CASES)
def test_it_is_its_twin(covariates: str, strata: str, whole: bool) -> None:
    d = made(24, 4, 1, whole=whole)
    Z = d["covariates"] if covariates == "covariates" else None
    s = d["strata"] if strata == "strata" else None
    model = fit_cox(d["time"], d["event"], Z, s)
    columns = columns_of(model, d["X"])
    Z_ = np.empty((24, 0)) if Z is None else Z
    s_ = np.zeros(24, int) if s is None else s
    expected = [twin.score_test(d["time"], d["event"], f, Z_, s_) for f in d["X"].T]
    score, slope = np.transpose(expected)
    np.testing.assert_allclose(columns["score"], score, rtol=1e-8)
    np.testing.assert_allclose(columns["log_hazard_ratio"], slope, rtol=1e-8)
    at = (d["time"], d["event"], Z_, model.coefficients, s_)
    value, gradient, _, residuals = twin.derivatives(*at)
    np.testing.assert_allclose(model.fit.log_likelihood, value, rtol=1e-12)
    np.testing.assert_allclose(model.residuals, residuals, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradient, 0, atol=1e-9)
    for stratum in np.unique(s_):
        assert model.residuals[s_ == stratum].sum() == pytest.approx(0, abs=1e-12)


def test_of_two_groups_it_is_the_log_rank_test() -> None:
    d = made(80, 2, 3, whole=False)
    group = np.arange(80) % 2
    time, event = d["time"], d["event"] == 1
    columns = columns_of(fit_cox(time, event), group[:, None].astype(float))
    samples = [
        stats.CensoredData(time[(group == g) & event], right=time[(group == g) & ~event])
        for g in (0, 1)
    ]
    result = stats.logrank(*samples)
    np.testing.assert_allclose(columns["score"], result.statistic**2, rtol=1e-10)
    np.testing.assert_allclose(columns["p_value"], result.pvalue, rtol=1e-9)


def test_dependent_covariates_and_those_of_strata_add_nothing() -> None:
    d = made(60, 5, 5)
    Z, s = d["covariates"], d["strata"]
    more = np.column_stack([Z, Z.sum(axis=1), np.ones(60), s])
    one = columns_of(fit_cox(d["time"], d["event"], Z, s), d["X"])
    two = columns_of(fit_cox(d["time"], d["event"], more, s), d["X"])
    np.testing.assert_allclose(two["score"], one["score"], rtol=1e-8)


def test_features_without_information_have_no_score() -> None:
    d = made(60, 4, 6)
    Z, s = d["covariates"], d["strata"]
    time = d["time"].copy()
    time[:3], event = 0.5, d["event"].copy()
    event[:3] = 0  # censored before the first event
    X = np.column_stack([np.zeros(60), np.full(60, 3.7), Z @ [2, -1] + 9, s, np.arange(60) < 2])
    ok = Status.OK
    expected = [Status.ALL_ZERO, Status.CONSTANT, Status.EXPLAINED, ok, Status.CONSTANT]
    assert columns_of(fit_cox(time, event, Z), X)["status"].tolist() == expected
    in_strata = [*expected[:3], Status.EXPLAINED, Status.EXPLAINED]
    columns = columns_of(fit_cox(time, event, Z, s), X)
    assert columns["status"].tolist() == in_strata
    for name in ("score", "p_value", "q_value", "log_hazard_ratio"):
        assert np.isnan(columns[name]).all()


def test_the_tail_has_its_digits() -> None:
    n = 400
    time = np.arange(n, dtype=float)
    columns = columns_of(fit_cox(time, np.ones(n)), -time[:, None])
    assert 0 < columns["p_value"][0] < 1e-150
    expected = stats.norm.logsf(np.sqrt(columns["score"][0])) + np.log(2)
    assert np.log(columns["p_value"][0]) == pytest.approx(expected, rel=1e-12)


def test_p_values_of_unrelated_features_are_uniform() -> None:
    """Of this draw, as a test of uniformity rejects one in 100."""
    rng = np.random.default_rng(0)
    d = made(300, 2, 7)
    columns = columns_of(
        fit_cox(d["time"], d["event"], d["covariates"]), rng.normal(size=(300, 2000))
    )
    assert stats.kstest(columns["p_value"], "uniform").pvalue > 0.01


def test_huge_coefficients_are_refused() -> None:
    time = np.arange(1.0, 31)
    with pytest.raises(InputError, match="no finite coefficients"):
        fit_cox(time, np.ones(30), (time < 15)[:, None])
    with pytest.raises(InputError, match="no finite coefficients"):
        fit_cox(time, np.ones(30), time[:, None])


def test_censored_samples_alone_are_refused() -> None:
    with pytest.raises(InputError, match="there is no event"):
        fit_cox(np.arange(20.0), np.zeros(20))


def test_a_strong_covariate_is_fitted() -> None:
    """Steps of Newton's method from 0 are too long here."""
    rng = np.random.default_rng(0)
    z = rng.exponential(size=(400, 1)) ** 3
    time = rng.exponential(size=400) / np.exp(np.minimum(2 * z[:, 0], 300))
    model = fit_cox(time, np.ones(400), z)
    _, gradient, _, residuals = twin.derivatives(
        time, np.ones(400), z, model.coefficients, np.zeros(400)
    )
    np.testing.assert_allclose(gradient, 0, atol=1e-6)
    np.testing.assert_allclose(model.residuals, residuals, rtol=1e-6, atol=1e-9)


def test_covariates_that_the_strata_determine_add_nothing() -> None:
    """Their columns may be any basis of the strata; what is left of them is not even rounding."""
    for seed in range(5):
        data = made(40, 2, seed)
        strata = data["strata"]
        D = (strata[:, None] == np.unique(strata)) @ np.random.default_rng(seed).normal(size=(4, 4))
        model = fit_cox(data["time"], data["event"], D[:, :3], strata)
        bare = fit_cox(data["time"], data["event"], None, strata)
        np.testing.assert_array_equal(model.coefficients, 0)
        np.testing.assert_allclose(model.residuals, bare.residuals, atol=1e-12)
