"""MRSF in rounds: against paths made one by one, and what the rounds are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.centered_matrix import centered_matrix
from sfs_cli.methods.l21 import mrsf, rounds
from tests.making import HELD, STREAMED, make_problem
from tests.oracles import l21 as twin
from tests.oracles import similarities
from tests.unit.methods.helpers import check_solution

Array = np.ndarray


def simulated(n: int = 36, m: int = 150, seed: int = 0) -> Array:
    """Samples x features: two modules of 12 features each, the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(8, 1, size=(n, m))
    for module in range(2):
        X[:, 12 * module : 12 * (module + 1)] += 1.5 * rng.choice([-1, 1], n)[:, None]
    return X


def solved(X: Array, S: Array | None, select: int | None = 40, **given: Any) -> Solution:
    options = {"response": "similarity", "response_rank": None, "chance": 10, "select": select}
    return rounds.solve(make_problem(X, S=S, **(options | given)))


def paths_one_by_one(X: Array, S: Array, select: int, level: float) -> list[list[int]]:
    """The same list by whole paths, each over a matrix without the features before."""
    left, found = np.arange(X.shape[1]), []
    while sum(map(len, found)) < select:
        options = {"response": "similarity", "response_rank": None, "select": 60}
        path = mrsf.solve(make_problem(X[:, left], S=S, **options))
        above = [i for i in path.order[:60] if path.score[i] > level]
        above = above[: select - sum(map(len, found))]
        if not above:
            break
        found.append([int(left[i]) for i in above])
        left = np.delete(left, above)
    return found


@pytest.mark.parametrize("memory", [HELD, STREAMED])
def test_rounds_are_paths_without_the_features_before(memory: int) -> None:
    X = simulated(m=80)
    S = similarities.knn_correlation(X, 5)
    found = solved(X, S, memory=memory, block_size=32)
    expected = paths_one_by_one(X, S, 40, found.facts["chance_level"])
    assert found.order is not None
    assert found.order[: found.facts["selected"]].tolist() == [j for each in expected for j in each]
    assert found.facts["rounds"] == [len(each) for each in expected]
    for number, each in enumerate(expected, 1):
        assert (found.extra["round"][each] == number).all()
        assert (np.diff(found.extra["lambda"][each]) <= 0).all()
    check_solution(found)


def test_the_score_orders_the_list() -> None:
    found = solved(simulated(), similarities.knn_correlation(simulated(), 5))
    assert found.order is not None
    assert (np.diff(found.score[found.order]) <= 0).all()
    number, entry = found.extra["round"], found.extra["lambda"]
    chosen, count = ~np.isnan(number), len(found.facts["rounds"])
    share = entry / found.facts["lambda_max"]
    assert count > 1
    np.testing.assert_allclose(found.score[chosen], (count + 1 - number + share)[chosen])
    assert found.score[~chosen].max() < 1


def test_others_follow_by_their_smoothness() -> None:
    X = simulated()
    S = similarities.knn_correlation(X, 5)
    found = solved(X, S, select=10)
    F = X - X.mean(axis=0)
    F /= np.linalg.norm(F, axis=0)
    values, vectors = np.linalg.eigh(S)
    Y = vectors * np.sqrt(np.maximum(values, 0))
    reached = np.linalg.norm(F.T @ (Y - Y.mean(axis=0)), axis=1)
    assert found.order is not None
    assert (np.diff(reached[found.order[10:]]) <= 1e-12).all()
    found_reach = found.extra["reach"] * found.facts["chance_level"]
    np.testing.assert_allclose(found_reach, reached, rtol=1e-10)


@pytest.mark.parametrize("chance", [10])
def test_so_many_shuffled_features_exceed_the_level(chance: int) -> None:
    """In these ten matrices, within three standard errors of their mean."""
    # the features are noise themselves: about so many of them are above, too
    above = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(30, 500)), rng.normal(size=(30, 4))
        Y -= Y.mean(axis=0)
        features = centered_matrix(make_problem(X).engine, "unit", HELD)
        level = rounds.chance_level(features, Y, chance)
        above.append(int((np.linalg.norm(features.project(Y), axis=1) > level).sum()))
    assert abs(np.mean(above) - chance) <= 3 * np.sqrt(chance / len(above))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ("normal", "few columns"),
        ("lognormal", "graph"),
        ("counts", "classes"),
        ("spikes", "graph"),
        ("one in two", "classes"),
    ],
)
def test_the_level_is_that_of_the_twin(values: str, kind: str) -> None:
    rng, n, m, draws = np.random.default_rng(3), 24, 200, 30
    X = {
        "normal": lambda: rng.normal(size=(n, m)),
        "lognormal": lambda: np.exp(1.5 * rng.normal(size=(n, m))),
        "counts": lambda: rng.poisson(0.5, (n, m)),
        "spikes": lambda: 0.5 * rng.normal(size=(n, m)) + 50 * (np.arange(n)[:, None] == 7),
        "one in two": lambda: rng.poisson(np.where(np.arange(m) % 2, 0.04, 0.5), (n, m)),
    }[values]().astype(float)
    X = X[:, np.ptp(X, axis=0) > 0]
    Y = np.repeat(np.eye(3), [12, 8, 4], axis=0)
    if kind != "classes":
        Y = rng.normal(size=(n, 3))
    if kind == "graph":
        S = similarities.knn_correlation(rng.normal(size=(n, 50)), 5)
        roots, vectors = np.linalg.eigh(S)
        Y = vectors * np.sqrt(np.maximum(roots, 0))
    Y = Y - Y.mean(axis=0)
    features = centered_matrix(make_problem(X).engine, "unit", HELD)
    F = (X - X.mean(axis=0)) / np.linalg.norm(X - X.mean(axis=0), axis=0)
    shuffled = twin.shuffled(F, Y, draws)
    for chance in (2, 12):
        level = rounds.chance_level(features, Y, chance)
        above = (shuffled > level).sum(axis=1)
        # Pearson's distribution is no more than a good one: a fifth, and what the draws vary by
        assert abs(above.mean() - chance) <= 0.2 * chance + 3 * np.sqrt(chance / draws)


def test_the_level_is_that_of_any_order_of_features_and_blocks() -> None:
    rng = np.random.default_rng(0)
    X, Y = np.exp(rng.normal(size=(20, 400))), rng.normal(size=(20, 3))
    Y -= Y.mean(axis=0)
    levels = {
        rounds.chance_level(centered_matrix(make_problem(each, **how).engine, "unit", memory), Y, 9)
        for each in (X, X[:, ::-1], X[:, rng.permutation(400)])
        for how, memory in (({}, HELD), ({"block_size": 77, "threads": 2}, STREAMED))
    }
    assert len(levels) == 1


def test_where_no_order_changes_a_score_none_is_above_chance() -> None:
    X = np.random.default_rng(0).normal(size=(2, 30))
    features = centered_matrix(make_problem(X).engine, "unit", HELD)
    Y = np.array([[1.0], [-1.0]])
    level = rounds.chance_level(features, Y, 3)
    reached = np.linalg.norm(features.project(Y), axis=1)
    assert (reached < level).all()
    assert (reached > 0.999 * level).all()


def test_a_feature_of_one_sample_does_not_exceed_chance() -> None:
    rng = np.random.default_rng(3)
    X = simulated(seed=4)
    X[:, 100:130] = 0.01 * rng.normal(size=(36, 30))
    X[rng.integers(0, 36, 30), np.arange(100, 130)] += 50
    found = solved(X, similarities.knn_correlation(X[:, :100], 5))
    assert found.order is not None
    chosen = found.order[: found.facts["selected"]]
    assert not (set(chosen.tolist()) & set(range(100, 130)))


def test_noise_alone_is_told() -> None:
    X = np.random.default_rng(5).normal(size=(30, 300))
    S = similarities.knn_correlation(np.random.default_rng(6).normal(size=(30, 300)), 5)
    found = solved(X, S)
    assert found.facts["selected"] < 40
    assert found.order is not None
    assert sorted(found.order.tolist()) == list(range(300))
    for select, chance in ((None, 10), (200, 10), (None, 4)):
        found = solved(X, S, select, chance=chance)
        (told,) = [warning for warning in found.warnings if "shuffled" in warning]
        assert told.startswith(f"{found.facts['selected']} features")
        assert f"about {chance} would" in told
        assert ("--select asks for 200" in told) == (select is not None)


def test_copies_come_in_a_later_round() -> None:
    X = simulated()
    X[:, 120] = 3 * X[:, 0] + 1
    X[:, 140] = 5.0
    found = solved(X, similarities.knn_correlation(np.delete(X, 140, axis=1), 5))
    round_of = found.extra["round"]
    assert round_of[0] != round_of[120]
    assert found.status[140] == Status.CONSTANT


def planted(seed: int, groups: int) -> Array:
    """80 samples x 1,000 genes, 60 of which differ between groups; two samples are outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(8, 1, size=(80, 1000))
    group = np.arange(80) % groups
    for gene in range(60):
        X[:, gene] += 2.5 * (group == (gene % groups if groups > 2 else 1)) * rng.choice([-1, 1])
    X[[3, 10]] += rng.normal(0, 6, size=(2, 1000))
    return X


@pytest.mark.parametrize("groups", [2, 3])
def test_default_finds_planted_genes_beside_outliers(tmp_path: Path, groups: int) -> None:
    """In this simulation, and those of SPEC of the paper do not lead there."""
    from sfs_cli.options import RankConfig
    from sfs_cli.workflow.rank import rank
    from tests.making import write_parquet

    matrix = write_parquet(tmp_path / "matrix.parquet", planted(0, groups).T)
    best = rank(RankConfig(matrix=str(matrix))).ranking.order[:60]
    assert (best < 60).sum() >= 48
    paper = RankConfig(matrix=str(matrix), method="spec", similarity="rbf")
    best = rank(paper).ranking.order[:60]
    assert (best < 60).sum() < 48


def test_a_selection_that_is_asked_for_is_not_cut() -> None:
    X = simulated(m=24)
    found = solved(X, similarities.knn_correlation(X, 5), select=20)
    assert found.facts["selected"] == 20
    assert solved(X, similarities.knn_correlation(X, 5), select=None).facts["selected"] <= 12


def test_it_goes_on_from_given_features() -> None:
    X = simulated()
    S = similarities.knn_correlation(X, 5)
    plain, going_on = solved(X, S, select=20), solved(X, S, select=20, given=range(12))
    assert plain.order is not None
    assert going_on.order is not None
    # the first module is explained: its features are given, and the second one leads
    assert not set(going_on.order[:20].tolist()) & set(range(12))
    second = set(range(12, 24))
    assert len(second & set(going_on.order[:12].tolist())) >= 5  # of 138 by chance: 1
    assert set(plain.order[:20].tolist()) & set(range(12))
