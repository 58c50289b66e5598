"""``--sample-weights`` through the command line: copies, zeros, annotations and bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway

from tests.contract.numbers.commands import code_of, facts, ranked, ranking_bytes
from tests.making import annotated, names, write_labels, write_table
from tests.running import run_here

M, N = 50, 16
WEIGHTS = np.random.default_rng(1).integers(0, 4, N).astype(float)
COPIES = np.repeat(np.arange(N), WEIGHTS.astype(int))
USED = np.flatnonzero(WEIGHTS)
CLASSES = ["a", "b"] * (N // 2)
METHODS = {
    "variance": ("--method", "variance"),
    "fisher": ("--method", "fisher", "--labels", "labels.tsv"),
    "f-test": ("--method", "f-test", "--labels", "labels.tsv"),
    "trend": (
        *("--method", "f-test", "--labels", "labels.tsv", "--label-type", "ordered,order=b,a"),
    ),
    "spec": ("--method", "spec,ranking=phi2", "--similarity", "file:S.csv"),
    "label graph": ("--method", "hsic", "--labels", "labels.tsv", "--similarity", "label"),
}
WEIGHTED = ("--sample-weights", "weights.tsv:weight")


def write_weights(path: Path, weights: np.ndarray, samples: list[str]) -> None:
    rows = [f"{s}\t{w:g}\tx\n" for s, w in zip(samples, weights)]
    path.write_text("sample\tweight\tnote\n" + "".join(rows))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A matrix with weights, and a folder with copies of its samples instead."""
    rng = np.random.default_rng(2)
    X = rng.normal(5, 2, (M, N)).round(4)
    X[:5] += np.arange(N) % 2 * 3
    S = rng.random((N, N))
    S = (S + S.T) / 2
    (tmp_path / "copies").mkdir()
    chosen = [(tmp_path, np.arange(N)), (tmp_path / "copies", COPIES)]
    for folder, index in chosen:
        ids = names("s", len(index))
        write_table(folder / "m.csv", X[:, index])
        write_table(folder / "S.csv", S[np.ix_(index, index)], ids, ids)
        write_labels(folder / "labels.tsv", [CLASSES[i] for i in index])
    write_weights(tmp_path / "weights.tsv", WEIGHTS, names("s", N))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_copies(method: str, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("m.csv", "--dtype", "float64", *METHODS[method])
    found = ranked(study / "a", *given, *WEIGHTED)
    recorded = facts(study / "a")["input"]
    assert recorded["n_samples"] == len(USED)
    assert recorded["sample_weights"] == {
        "from": "weights.tsv:weight",
        "sum": WEIGHTS.sum(),
        "zero": N - len(USED),
    }
    assert "Sample weights" in (study / "a" / "report.html").read_text()
    monkeypatch.chdir(study / "copies")
    expected = ranked(study / "b", *given)
    scale = np.abs(expected.score).max()
    np.testing.assert_allclose(
        found.by_feature(), expected.by_feature(), rtol=1e-10, atol=1e-10 * scale
    )
    assert found.feature == expected.feature


def test_samples_of_weight_0_need_nothing(study: Path) -> None:
    """No label, and no place in the graph; a class of theirs alone is no class."""
    left = ["odd" if w == 0 else c for w, c in zip(WEIGHTS, CLASSES)]
    write_labels(study / "labels.tsv", left)
    one = ranking_bytes(study / "a", "m.csv", *METHODS["fisher"], *WEIGHTED)
    write_labels(study / "labels.tsv", [left[i] for i in USED], [f"s{i}" for i in USED])
    assert ranking_bytes(study / "b", "m.csv", *METHODS["fisher"], *WEIGHTED) == one
    write_weights(study / "weights.tsv", WEIGHTS[USED], [f"s{i}" for i in USED])
    given = ("m.csv", *METHODS["fisher"], *WEIGHTED, "--samples", "intersect")
    assert ranking_bytes(study / "c", *given) == one


def test_weights_of_an_annotation(study: Path) -> None:
    plain = ranking_bytes(study / "a", "m.csv", *METHODS["variance"], *WEIGHTED)
    rows = [line.split(",") for line in (study / "m.csv").read_text().splitlines()[1:]]
    data = annotated(np.array([[float(v) for v in row[1:]] for row in rows]).T)
    data.obs["w"] = WEIGHTS
    data.write_h5ad(study / "m.h5ad")
    given = ("m.h5ad", *METHODS["variance"], "--sample-weights", "obs:w")
    assert ranking_bytes(study / "b", *given) == plain


def test_sparse_matrices_are_scored_by_their_nonzeros(study: Path) -> None:
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(3)
    values = np.where(rng.random((N, M)) < 0.7, 0, rng.random((N, M)))
    values[:, 0] = 1
    folder = study / "copies"
    for matrix, index in ((study / "m.h5ad", np.arange(N)), (folder / "m.h5ad", COPIES)):
        data = annotated(csr_matrix(values[index]))
        data.obs["w"] = WEIGHTS if len(index) == N else 1.0
        data.write_h5ad(matrix)
    given = ("--dtype", "float64", "--method", "variance", "--sample-weights", "obs:w")
    found = ranked(study / "a", study / "m.h5ad", *given)
    expected = ranked(study / "b", folder / "m.h5ad", *given)
    assert facts(study / "a")["method"]["scored_from"] == "non-zeros"
    np.testing.assert_allclose(found.by_feature(), expected.by_feature(), rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "kogs,members=fisher,variance", "--labels", "labels.tsv"),
        (
            *("--method", "msfs", "--weights", "1,1", "--dtype", "float64"),
            *("--source", "x=target:,similarity=correlation", "--source", "y=labels:labels.tsv"),
        ),
    ],
    ids=["kogs", "msfs"],
)
def test_sources_and_members_take_them(
    options: tuple[str, ...], study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ranked(study / "a", "m.csv", *options, *WEIGHTED)
    monkeypatch.chdir(study / "copies")
    expected = ranked(study / "b", "m.csv", *options)
    np.testing.assert_allclose(found.by_feature(), expected.by_feature(), rtol=1e-9)


@pytest.mark.parametrize("method", ["fisher", "f-test", "trend"])
def test_weights_have_no_p_values(
    method: str, study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ten times the weight is no ten times the samples; weights of 0 and 1 only leave some out."""
    given = ["rank", "m.csv", *METHODS[method], *WEIGHTED]
    done = run_here([*given, "--out", "a"], capfd)
    assert done.code == 0
    assert "has no p-values with --sample-weights" in done.err
    columns = (study / "a" / "ranking.tsv").read_text().splitlines()[0].split("\t")
    assert not {"p_value", "q_value"} & set(columns)
    assert "--sample-weights" in facts(study / "a")["significance"]["none"]
    cut = run_here(["select", "a", "--fdr", "0.05"], capfd)
    assert cut.code == 3
    assert "--sample-weights" in cut.err
    write_weights(study / "weights.tsv", (WEIGHTS > 0).astype(float), names("s", N))
    done = run_here([*given, "--out", "b"], capfd)
    assert done.code == 0
    assert "no p-values" not in done.err
    table = pd.read_csv(study / "b" / "ranking.tsv", sep="\t")
    kept = [CLASSES[i] for i in USED]
    values = pd.read_csv(study / "m.csv", index_col=0).to_numpy()[:, USED]
    groups = [values[:, [c == name for c in kept]].T for name in ("a", "b")]
    p = dict(zip(pd.read_csv(study / "m.csv").iloc[:, 0], f_oneway(*groups).pvalue))
    np.testing.assert_allclose(table.p_value, [p[f] for f in table.feature], rtol=1e-6)
    assert run_here(["select", "b", "--fdr", "0.05"], capfd).code == 0


def test_p_values_and_weights_contradict_each_other(study: Path) -> None:
    write_labels(study / "labels.tsv", CLASSES)
    labels = ("--labels", "labels.tsv", *WEIGHTED)
    for method in ("hsic", "fisher", "spec"):
        given = ("--method", method, "--pvalues", "moments")
        assert code_of("rank", "m.csv", *given, *labels) == 2
