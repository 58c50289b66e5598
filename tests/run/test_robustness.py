"""``sfs robustness``: a dense recomputation, bounds on real data, the same bytes, its record."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.logs import Messages
from sfs_cli.options.robustness import RobustnessConfig
from sfs_cli.provenance import RobustnessRecord
from sfs_cli.run import robustness
from tests.making import table_text, write_labels
from tests.oracles import robustness as oracle
from tests.oracles import similarities
from tests.run.test_record import check

SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"


def matrix(folder: Path, m: int = 40, n: int = 14, seed: int = 0) -> tuple[str, np.ndarray]:
    """Write features x samples of two groups, a constant among them; return path and values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(3, 1, (m, n)) + (np.arange(n) % 2) * (np.arange(m)[:, None] < 8)
    X[5] = 2.5
    (folder / "x.csv").write_text(table_text(X))
    return str(folder / "x.csv"), X


def rows_of(config: RobustnessConfig, log: Messages | None = None) -> list[dict[str, str]]:
    text = robustness.run(config, log or Messages(-1)).decode()
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ranking", ["phi1", "phi2", "phi3"])
@pytest.mark.parametrize("power", [1, 3])
def test_changes_are_those_of_a_dense_recomputation(tmp_path, ranking, power):
    path, X = matrix(tmp_path)
    config = RobustnessConfig(
        path,
        similarity="rbf",
        ranking=ranking,
        gamma_power=power,
        clusters=2 if ranking == "phi3" else None,
        dtype="float64",
        noise="0.2",
        draws=2,
        seed=4,
    )
    rows = rows_of(config)
    varying = [i for i in range(len(X)) if i != 5]
    S = similarities.rbf(X.T)
    d = S.sum(axis=1)
    trivial = np.sqrt(d / d.sum())
    L = oracle.normalized(S)

    def gamma(value: float) -> float:
        return value**power

    for draw in range(2):
        features = np.random.default_rng([4, draw, 0]).uniform(size=(X.shape[1], len(X)))
        noise = oracle.normalized(similarities.rbf(features))
        mixed = 0.8 * L + 0.2 * noise
        pool = np.random.default_rng([4, draw, 1]).normal(size=(997, X.shape[1]))
        for kind in ("graph", "features", "both"):
            (row,) = [r for r in rows if (r["noise"], r["draw"]) == (kind, str(draw + 1))]
            after_L = L if kind == "features" else mixed
            before, after, limit = [], [], []
            for i in varying:
                f = X[i]
                g = f if kind == "graph" else f + 0.2 * f.std() * pool[i]
                before.append(oracle.score(f, d, L, ranking, gamma, 2))
                after.append(oracle.score(g, d, after_L, ranking, gamma, 2))
                u, v = (oracle.unit(each, d, ranking) for each in (f, g))
                moved = float(np.linalg.norm(v - u))
                limit.append(oracle.bound(L, after_L, trivial, moved, ranking, gamma, 2))
            change = np.abs(np.subtract(after, before))
            assert float(row["score_change_max"]) == pytest.approx(change.max(), rel=1e-6)
            assert float(row["score_change_median"]) == pytest.approx(np.median(change), rel=1e-6)
            assert float(row["bound_median"]) == pytest.approx(np.median(limit), rel=1e-6)
            parts = change / limit
            assert float(row["part_of_bound_max"]) == pytest.approx(parts.max(), rel=1e-6)
            tau = kendalltau(before, after).statistic
            assert float(row["kendall_tau"]) == pytest.approx(tau, abs=1e-9)
            assert float(row["within_bound"]) == float(row["within_sharp"]) == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ranking", ["phi1", "phi2", "phi3"])
@pytest.mark.parametrize("graph", [{"similarity": "rbf"}, {}, {"similarity": "knn"}], ids=str)
@pytest.mark.parametrize("gamma", [{"gamma_power": 3}, {"gamma": "exp"}, {}], ids=str)
def test_every_bound_holds_on_the_sample_data(ranking, graph, gamma):
    config = RobustnessConfig(
        str(SAMPLE_DATA / "expression.csv"),
        ranking=ranking,
        noise="0.1,0.5",
        draws=1,
        **graph,
        **gamma,
    )
    log = Messages(-1)
    rows = rows_of(config, log)
    assert {(r["within_bound"], r["within_sharp"]) for r in rows} == {("1", "1")}
    assert not any("above a bound" in text for text in log.warnings)


@pytest.mark.parametrize("ranking", ["phi1", "phi2", "phi3"])
@pytest.mark.parametrize("name", ["colon/expression.parquet", "leukemia/expression.gct"])
def test_every_bound_holds_on_real_data(shared_data, ranking, name):
    path = str(shared_data / name)
    rows = rows_of(RobustnessConfig(path, ranking=ranking, noise="0.05,0.4", draws=1))
    assert {(r["within_bound"], r["within_sharp"]) for r in rows} == {("1", "1")}


def test_more_noise_changes_the_order_more(tmp_path):
    path, _ = matrix(tmp_path)
    rows = rows_of(RobustnessConfig(path, similarity="rbf", noise="0.01,1", draws=3))
    for kind in ("graph", "features", "both"):
        weak, strong = (
            np.mean([float(r["kendall_tau"]) for r in rows if (r["noise"], r["level"]) == at])
            for at in ((kind, "0.01"), (kind, "1"))
        )
        assert weak > strong


def test_threads_memory_and_blocks_change_no_byte(tmp_path):
    path, _ = matrix(tmp_path, m=150)
    cases: list[dict[str, Any]] = [
        {"threads": 1},
        {"threads": 4, "block_size": 7},
        {"threads": 2, "memory": "100M"},
    ]
    texts = [robustness.run(RobustnessConfig(path, draws=2, **how), Messages(-1)) for how in cases]
    table = [[line.split(b"\t")[0] for line in text.splitlines()] for text in texts]
    assert table[0] == table[1] == table[2]
    assert texts[0] == texts[2]
    # blocks of another size may be rounded otherwise in a matrix product
    numbers = [
        np.genfromtxt(text.decode().splitlines(), skip_header=1, usecols=range(1, 18))
        for text in texts
    ]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-6, atol=1e-12)


def test_a_graph_of_labels_is_mixed_with_that_of_shuffled_samples(tmp_path):
    path, X = matrix(tmp_path)
    labels = write_labels(tmp_path / "y.tsv", (np.arange(X.shape[1]) % 2).tolist())
    out = tmp_path / "out"
    config = RobustnessConfig(
        path, labels=labels, similarity="label", noise="0.3", draws=1, out=str(out)
    )
    robustness.run(config, Messages(-1))
    record = json.loads((out / "run.json").read_text())
    assert record["noise_graph"] == "shuffled samples"


def test_the_record_is_what_its_schema_says_and_a_second_run_is_up_to_date(tmp_path):
    path, _ = matrix(tmp_path)
    out = tmp_path / "out"
    config = RobustnessConfig(path, ranking="phi3", draws=1, out=str(out))
    printed = json.loads(robustness.run(config, Messages(-1), as_json=True))
    record = json.loads((out / "run.json").read_text())
    assert printed == record
    check(record, RobustnessRecord, "run.json")
    assert record["n_scored"] == 39  # one of 40 does not vary
    before = {each.name: each.stat().st_ino for each in out.iterdir()}
    assert set(before) == {"robustness.tsv", "run.json"}
    robustness.run(config, Messages(-1))
    assert {each.name: each.stat().st_ino for each in out.iterdir()} == before


def test_the_example_writes_scores_and_claims(tmp_path):
    out = tmp_path / "out"
    config = RobustnessConfig("", example=True, draws=2, noise="0.2,0.5", out=str(out))
    robustness.run(config, Messages(-1))
    check(json.loads((out / "run.json").read_text()), RobustnessRecord, "run.json")
    rows = list(csv.DictReader((out / "example.tsv").read_text().splitlines(), delimiter="\t"))
    assert {r["level"] for r in rows} == {"0", "0.2", "0.5"}
    assert {(r["ranking"], r["gamma_power"]) for r in rows} == {
        (f"phi{i}", str(power)) for i in (1, 2, 3) for power in (1, 3)
    }
    claims = list(csv.DictReader((out / "claims.tsv").read_text().splitlines(), delimiter="\t"))
    assert {r["claim"]: float(r["samples"]) for r in claims}["the leading eigenvalues grow"] == 1


def test_passes_are_those_that_were_planned(tmp_path, capfd):
    path, _ = matrix(tmp_path)
    config = RobustnessConfig(path, similarity="rbf", transform="zscore", noise="0.1,0.2", draws=2)
    with robustness.loaded(config, Messages(-1)) as run:
        prepared = robustness._prepared(run, config)
        robustness._measure(prepared, config)
        rows = prepared.passes.facts()
        assert [row["planned"] for row in rows] == [row["executed"] for row in rows]
        assert sum(row["features"] for row in rows) == prepared.passes.total


def test_too_many_samples_and_too_little_memory_are_refused(tmp_path, monkeypatch):
    path, _ = matrix(tmp_path)
    monkeypatch.setattr(robustness, "DENSE_SAMPLES", 13)
    with pytest.raises(InputError, match="14 samples are too many"):
        rows_of(RobustnessConfig(path))
    monkeypatch.undo()
    monkeypatch.setattr(robustness, "SQUARES", 1 << 40)
    with pytest.raises(OutOfMemoryError, match="14 samples"):
        rows_of(RobustnessConfig(path))


def test_a_laplacian_with_negative_eigenvalues_is_refused(tmp_path):
    path, X = matrix(tmp_path)
    n = X.shape[1]
    S = np.ones((n, n)) - np.eye(n)
    S[0, 1] = S[1, 0] = -9  # below -6 two samples are apart, although their degrees are positive
    assert (S.sum(axis=1) > 0).all()
    assert np.linalg.eigvalsh(oracle.normalized(S))[0] < -0.1
    (tmp_path / "s.csv").write_text(table_text(S, [f"s{i}" for i in range(n)]))
    with pytest.raises(InputError, match="negative eigenvalues"):
        rows_of(RobustnessConfig(path, similarity_file=str(tmp_path / "s.csv")))
