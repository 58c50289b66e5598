"""``--given``: rankings that go on from features that are already chosen."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.methods import mrmr, spca
from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.gdcov import sparse_pca
from sfs_cli.methods.l21 import fixed, mrsf
from tests.cli.shard_study import make_study, sfs
from tests.making import HELD, STREAMED, make_problem
from tests.oracles import baselines, covariance, similarities
from tests.oracles import l21 as twin
from tests.oracles import prune as prune_twin
from tests.results import rows_in
from tests.unit.methods.helpers import check_solution

N, M = 30, 45
GIVEN = (3, 17, 20, 41)
MEMORY = pytest.mark.parametrize("memory", [HELD, STREAMED])


def make_values(seed: int = 0) -> np.ndarray:
    """Samples x features: modules, a copy and a combination of given features, a constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) + rng.normal(size=(N, 5))[:, rng.integers(0, 5, M)]
    X[:, 5] = -2 * X[:, 17] + 1
    X[:, 6] = X[:, 3] + 0.5 * X[:, 20]
    X[:, 41] = 4.0
    return X


X = make_values()
S = similarities.rbf(X)
VARYING = [j for j in GIVEN if j != 41]
FREE = [j for j in range(M) if j not in GIVEN]
CODES = np.random.default_rng(1).permutation(np.repeat(np.arange(3), N // 3))
L21 = {"response": "similarity", "response_rank": None}


def checked(solution: Solution) -> Solution:
    check_solution(solution)
    assert (solution.status[VARYING] == Status.GIVEN).all()
    assert solution.status[41] == Status.CONSTANT
    assert np.isnan(solution.score[list(GIVEN)]).all()
    return solution


def l21(memory: int = HELD, **options: Any) -> Solution:
    asked = {"lambda_": None, "budget": None} | L21 | options
    return checked(fixed.solve(make_problem(X, S=S, memory=memory, given=GIVEN, **asked)))


def unpenalized(lam: float, Y: np.ndarray) -> np.ndarray:
    """The twin's coefficients of the features that are not given."""
    F = twin.unit_features(X)
    return twin.descent_beside_given(F[:, FREE], F[:, VARYING], twin.centred(Y), lam)[0]


@MEMORY
@pytest.mark.parametrize("response", ["similarity", "pca", "lda"])
def test_l21_is_the_problem_in_which_given_features_have_no_penalty(response, memory):
    given: dict[str, Any] = {"codes": CODES, "response": response}
    lam = 0.3 * float(l21(lambda_=1e3, **given).facts["lambda_max"])
    F = twin.unit_features(X)
    Y = {
        "similarity": lambda: twin.similarity_response(S),
        "pca": lambda: twin.similarity_response(F @ F.T),
        "lda": lambda: twin.lda_response(CODES),
    }[response]()
    norms = np.sqrt((unpenalized(lam, Y) ** 2).sum(axis=1))
    found = l21(memory, lambda_=lam, **given)
    assert (norms > 0).any()
    np.testing.assert_allclose(found.score[FREE], norms, atol=1e-7 * norms.max())
    assert not unpenalized(1.001 * lam / 0.3, Y).any()
    assert unpenalized(0.999 * lam / 0.3, Y).any()


@MEMORY
def test_the_path_of_mrsf_goes_on_from_given_features(memory):
    problem = make_problem(X, S=S, memory=memory, given=GIVEN, select=15, block_size=7, **L21)
    found = checked(mrsf.solve(problem))
    assert found.order is not None
    lam = found.facts["lambda_end"]
    norms = np.sqrt((unpenalized(lam, twin.similarity_response(S)) ** 2).sum(axis=1))
    own = found.extra["row_norm"][FREE]
    np.testing.assert_allclose(own, norms, atol=1e-6 * norms.max())
    entered = set(found.order[:15].tolist())
    assert {FREE[i] for i in np.flatnonzero(norms > 1e-6 * norms.max())} <= entered
    assert found.facts["largest_relative_gap"] <= 1e-6
    explained = found.facts["response_explained_by_given"]
    Z, Y = twin.unit_features(X)[:, VARYING], twin.centred(twin.similarity_response(S))
    fit = Z @ np.linalg.lstsq(Z, Y)[0]
    assert explained == pytest.approx((fit**2).sum() / (Y**2).sum(), rel=1e-10)


def test_what_repeats_given_features_never_enters():
    """A copy and a combination: nothing is left of them, however long the path is."""
    found = checked(mrsf.solve(make_problem(X, S=S, given=GIVEN, select=M, **L21)))
    assert np.isnan(found.score[[5, 6]]).all()
    assert (found.status[[5, 6]] == Status.NOT_SELECTED).all()
    assert np.isfinite(found.score).sum() > 20
    free = mrsf.solve(make_problem(X, S=S, select=M, **L21))
    assert np.isfinite(free.score[6])


def test_given_features_that_explain_everything_are_refused():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(12, 40))
    problem = make_problem(wide, S=similarities.rbf(wide), given=range(11), select=3, **L21)
    with pytest.raises(InputError) as caught:
        mrsf.solve(problem)
    assert "given_" in caught.value.options


@MEMORY
@pytest.mark.parametrize("variant", ["difference", "quotient"])
def test_mrmr_counts_given_features_from_the_first_pick_on(variant, memory):
    values = X.copy()
    values[:, :15] += 0.8 * CODES[:, None]
    options: dict[str, Any] = {"select": 8, "variant": variant, "block_size": 11}
    found = mrmr.solve(make_problem(values, codes=CODES, given=GIVEN, memory=memory, **options))
    checked(found)
    kept = [j for j in range(M) if j != 41]
    chosen, scores = baselines.mrmr(
        values[:, kept], CODES, 8, variant, [kept.index(j) for j in VARYING]
    )
    assert found.order is not None
    assert found.order[:8].tolist() == [kept[j] for j in chosen]
    np.testing.assert_allclose(found.score[found.order[:8]], scores, rtol=1e-9)
    assert not set(VARYING) & set(found.order.tolist())


@MEMORY
@pytest.mark.parametrize("method", ["spca", "gdcov-spca"])
def test_the_greedy_path_starts_from_given_features(method, memory):
    if method == "spca":
        C = np.cov(X.T)
        found = spca.solve(make_problem(X, given=GIVEN, memory=memory, select=12))
    else:
        C = covariance.gdcov_3(X, S, lambda v: np.where(v > 1e-12, 1 - v, 0))
        options: dict[str, Any] = {"definition": 3, "gamma": "one-minus", "select": 12}
        found = sparse_pca.solve(make_problem(X, S=S, given=GIVEN, memory=memory, **options))
    checked(found)
    C = np.nan_to_num(C)
    order, variances = covariance.greedy_path(C, 12, VARYING)
    assert found.order is not None
    assert found.order[:12].tolist() == order
    np.testing.assert_allclose(found.score[order], variances, rtol=1e-8)
    alone = np.linalg.eigvalsh(C[np.ix_(VARYING, VARYING)])[-1] / np.trace(C)
    np.testing.assert_allclose(found.facts["variance_kept_by_given"], alone, rtol=1e-8)


@pytest.mark.parametrize("solve", [mrmr.solve, spca.solve])
def test_where_every_other_feature_is_constant_nothing_is_left(solve):
    few = np.column_stack([X[:, :3], np.ones((N, 2))])
    problem = make_problem(few, codes=CODES, given=(0, 1, 2), select=2, variant="quotient")
    with pytest.raises(InputError) as caught:
        solve(problem)
    assert "given_" in caught.value.options


# ---- the command line

CASES: dict[str, list[str]] = {
    "pruned": ["--method", "variance", "--max-correlation", "0.3"],
    "mrmr": ["--method", "mrmr", "--labels", "labels.tsv:tissue", "--select", "20"],
    "msfs": ["--method", "msfs,then=mrsf", "--source", "a=profile:mirna.csv"],
    "kogs": [
        *("--method", "kogs,members=variance,fisher", "--max-correlation", "0.4"),
        *("--labels", "labels.tsv:tissue"),
    ],
    "batches": [
        *("--method", "mrsf", "--similarity", "rbf", "--select", "9"),
        *("--batch", "labels.tsv:tissue"),
    ],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)


@pytest.mark.parametrize("case", CASES)
def test_given_features_are_last_and_told(case, tmp_path, sfs, monkeypatch):
    monkeypatch.setattr("sfs_cli.run.batches.SMALLEST", 8)
    out = tmp_path / "out"
    words = ["rank", "m.csv", *CASES[case], "--given", "panel.txt", "--out", str(out)]
    done = sfs(*words)
    assert "4 features already chosen" in done.err
    rows = rows_in(out / "ranking.tsv")
    assert [(r["feature"], r["status"]) for r in rows[-3:]] == [
        ("g5", "given"),
        ("g7", "given"),
        ("g12", "given"),
    ]
    assert all(row["score"] == "NaN" for row in rows[-3:])
    assert {r["feature"]: r["status"] for r in rows}["g40"] == "constant"
    assert [row["status"] for row in rows].count("given") == 3
    record = json.loads((out / "run.json").read_text())
    assert record["input"]["given"] == 3
    assert record["result"]["unscored"]["given"] == 3
    assert any(each["role"] == "given" for each in record["inputs"])
    assert "already chosen" in (out / "report.html").read_text()


def test_pruning_takes_given_features_as_kept_before(tmp_path):
    sfs("rank", "m.csv", "--method", "variance", "--out", tmp_path / "plain")
    sfs("rank", "m.csv", *CASES["pruned"], "--given", "panel.txt", "--out", tmp_path / "out")
    with Path("m.csv").open() as file:
        _, *lines = csv.reader(file)
    names, values = [line[0] for line in lines], np.array([line[1:] for line in lines], float).T
    plain = [
        row["feature"]
        for row in rows_in(tmp_path / "plain" / "ranking.tsv")
        if row["status"] == "ok"
    ]
    names[-1] = next(name for name in plain if name not in names)  # the second g3
    given = [names.index(name) for name in ("g5", "g7", "g12")]
    order = [j for j in map(names.index, plain) if j not in given]
    kept, moved, rest = prune_twin.prune(values, order, 0.3, 1000, given)
    rows = [row for row in rows_in(tmp_path / "out" / "ranking.tsv") if row["status"] == "ok"]
    assert [(row["feature"], row["representative"]) for row in rows] == [
        *((names[i], "") for i in kept),
        *((names[i], names[k]) for i, k in moved),
        *((names[i], "") for i in rest),
    ]
    facts = json.loads((tmp_path / "out" / "run.json").read_text())["pruning"]
    assert facts["kept"] == len(kept)
    assert facts["repeat_given"] == sum(k in given for _, k in moved) > 0
