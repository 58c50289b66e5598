"""What ``sfs select`` promises, on simulated data with 20 planted genes, through whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.select import SelectConfig
from sfs_cli.run import select
from sfs_cli.run.artificial import drawn
from sfs_cli.run.rank import run as run_rank
from tests.making import write_labels, write_parquet, write_table

PLANTED, M, N = 20, 600, 60
BOUND = 0.1


def labeled(folder: Path, rng: np.random.Generator, shift: float, n: int = N) -> dict[str, Any]:
    """Write genes of which the first are higher in one of two classes; the others vary in modules.

    Noise genes share factors in tens, so that they are no more independent than real ones.
    """
    y = rng.permutation(np.arange(n) % 2)
    X = np.repeat(rng.normal(size=(M // 10, n)), 10, axis=0) * 0.6 + rng.normal(size=(M, n))
    X = X / np.sqrt(1.36)
    X[:PLANTED] = rng.normal(size=(PLANTED, n)) + shift * y
    return {
        "matrix": write_parquet(folder / "x.parquet", X.astype(np.float32)),
        "labels": write_labels(folder / "y.tsv", y.tolist()),
    }


def on_a_graph(folder: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Write genes of which the first follow two hidden variables, and the graph of these."""
    hidden = rng.normal(size=(2, N))
    distances = ((hidden[:, :, None] - hidden[:, None, :]) ** 2).sum(axis=0)
    X = rng.normal(size=(M, N))
    X[:PLANTED] += rng.normal(size=(PLANTED, 2)) @ hidden * 1.5
    samples = [f"s{i}" for i in range(N)]
    return {
        "matrix": write_parquet(folder / "x.parquet", X.astype(np.float32)),
        "similarity_file": write_table(folder / "S.csv", np.exp(-distances / 2), samples, samples),
    }


def chosen(folder: Path, given: dict[str, Any], log: Messages | None = None, **how: Any) -> Any:
    """Rank and select; return the indices of the chosen genes."""
    out = str(folder / "ranked")
    run_rank(RankConfig(**given, out=out, force=True), Messages(-1))
    text = select.run(SelectConfig(out, **how), log or Messages(-1)).decode()
    return np.array([int(name[1:]) for name in text.split()], int)


CASES = [
    *({"method": name} for name in ("f-test", "fisher", "t-test")),
    *({"method": name} for name in ("spec", "laplacian", "hsic")),
    {"method": "spec", "ranking": "phi3", "clusters": 3},
    {"method": "mrsf", "response": "lda", "select": 60},
]


@pytest.mark.slow
@pytest.mark.parametrize("method", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_artificial_features_keep_the_rate_and_find_most(tmp_path, method):
    shares, found = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        by_labels = method["method"] in ("f-test", "fisher", "t-test", "mrsf")
        given = labeled(tmp_path, rng, 1.5) if by_labels else on_a_graph(tmp_path, rng)
        log = Messages(-1)
        genes = chosen(tmp_path, given | method, log, artificial=True, seed=seed)
        assert log.warnings == []
        shares.append((genes >= PLANTED).sum() / max(1, len(genes)))
        found.append((genes < PLANTED).sum() / PLANTED)
    error = np.std(shares, ddof=1) / np.sqrt(len(shares))
    assert np.mean(shares) <= BOUND + 2 * error
    assert np.mean(found) > 0.7


def with_a_factor(
    folder: Path, seed: int, by_chance: float, load: np.ndarray | None = None
) -> dict[str, Any]:
    """Write genes with one factor behind all of them, correlated so much with the classes.

    `load`, shape (m, 1), is how much each gene has of it.
    """
    rng, y = np.random.default_rng(seed), np.tile([-1.0, 1.0], N // 2)
    factor = rng.normal(size=N)
    factor -= factor.mean() + factor @ y / N * y
    factor = np.sqrt(1 - by_chance**2) * factor / factor.std() + by_chance * y
    load = np.ones((M, 1)) if load is None else load
    X = rng.normal(size=(len(load), N)) + load * factor
    return {
        "matrix": write_parquet(folder / "x.parquet", X.astype(np.float32)),
        "labels": write_labels(folder / "y.tsv", y.tolist()),
        "method": "f-test",
    }


def of_shuffles(folder: Path, given: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Return whether features that vary together are warned of, and the facts."""
    log = Messages(-1)
    chosen(folder, given, log, artificial=True, out=str(folder / "s"), force=True)
    facts = json.loads((folder / "s" / "run.json").read_text())["artificial"]
    return "joint permutations" in "".join(log.warnings), facts


def test_features_that_are_selected_together_by_chance_are_warned_of(tmp_path):
    """One factor behind all genes, which agrees with the classes by chance (p = 0.02)."""
    warned, facts = of_shuffles(tmp_path, with_a_factor(tmp_path, 4, 0.3))
    assert facts["selected"] > 50  # all of them false
    assert warned
    together = np.array(facts["selected_in_shuffles"])
    assert len(together) == 99
    assert (together >= facts["selected"] / 2).sum() >= 5
    given = labeled(tmp_path, np.random.default_rng(1), 1.5)
    warned, facts = of_shuffles(tmp_path, given | {"method": "f-test"})
    assert facts["selected"] >= 15
    assert not warned
    assert max(facts["selected_in_shuffles"]) < 5


def test_of_large_matrices_features_of_all_places_and_those_selected_are_shuffled(tmp_path):
    """Every fourth gene is independent of the others; with 20 true ones nothing is told."""
    load = 3.0 * (np.arange(4000) % 4 > 0)[:, None]
    warned, facts = of_shuffles(tmp_path, with_a_factor(tmp_path, 2, 0.3, load))
    assert facts["selected"] > 2000  # all of them false
    assert warned
    rng, y = np.random.default_rng(5), np.tile([-1.0, 1.0], N // 2)
    X = rng.normal(size=(4000, N))
    X[1::200] += 1.2 * y
    given = {
        "matrix": write_parquet(tmp_path / "x.parquet", X.astype(np.float32)),
        "labels": write_labels(tmp_path / "y.tsv", y.tolist()),
        "method": "f-test",
    }
    warned, facts = of_shuffles(tmp_path, given)
    assert 15 <= facts["selected"] < 30
    assert not warned
    assert np.count_nonzero(facts["selected_in_shuffles"]) < 3


@pytest.mark.parametrize(("chosen", "of_chosen"), [(0, 0), (20, 20), (150, 100), (8000, 400)])
def test_features_to_shuffle_count_for_those_they_are_drawn_from(chosen, of_chosen):
    taking = np.arange(0, 40_000, 2)
    best = taking[:chosen]
    looked, counts_for = drawn(taking, best, 10_000, np.random.default_rng(1))
    assert len(looked) == 1000
    assert (np.diff(looked) > 0).all()
    assert np.isin(looked, best).sum() == of_chosen
    assert counts_for.sum() == pytest.approx(20_000)
    assert counts_for[np.isin(looked, best)].sum() == pytest.approx(chosen)
    few, counts_for = drawn(taking, best, 1, np.random.default_rng(1))
    assert len(few) == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["colon", "allaml", "prostate_ge"])
def test_real_features_are_not_selected_together_by_chance(name, tmp_path, shared_data):
    folder = shared_data / name
    given = {"matrix": str(folder / "expression.parquet"), "labels": str(folder / "labels.tsv")}
    warned, facts = of_shuffles(tmp_path, given | {"method": "f-test"})
    assert facts["selected"] > 100
    assert not warned


@pytest.mark.slow
def test_where_nothing_is_planted_hardly_anything_is_selected(tmp_path):
    some = []
    for seed in range(40):
        given = labeled(tmp_path, np.random.default_rng(seed), 0.0)
        genes = chosen(tmp_path, given | {"method": "f-test"}, artificial=True, seed=seed)
        some.append(len(genes) > 0)
    # without a true gene every selection is false: the rate is that of selecting anything
    assert np.mean(some) <= BOUND + 2 * np.sqrt(BOUND * (1 - BOUND) / len(some))


@pytest.mark.slow
def test_on_a_graph_of_the_genes_the_rate_is_not_kept_and_that_is_said(tmp_path):
    shares = []
    for seed in range(10):
        given = labeled(tmp_path, np.random.default_rng(seed), 0.0)
        del given["labels"]
        log = Messages(-1)
        genes = chosen(
            tmp_path,
            given | {"method": "spec", "similarity": "knn", "neighbors": 5},
            log,
            artificial=True,
        )
        assert any("tested features" in text for text in log.warnings)
        shares.append(len(genes) > 0)
    assert np.mean(shares) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shift"), [(60, 1.2), (100, 0.9)])
def test_cross_validation_picks_the_planted_number_within_a_factor_of_two(tmp_path, n, shift):
    picked = []
    for seed in range(10):
        given = labeled(tmp_path, np.random.default_rng(seed), shift, n)
        genes = chosen(
            tmp_path, given | {"method": "f-test"}, cv=True, repeats=3, seed=seed, threads=1
        )
        picked.append(len(genes))
    inside = [PLANTED / 2 <= k <= 2 * PLANTED for k in picked]
    assert sum(inside) >= 8
    assert PLANTED / 2 <= np.median(picked) <= 2 * PLANTED
