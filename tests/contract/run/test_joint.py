"""``--rank-sources``: features of several matrices, as if these were one file."""

from __future__ import annotations

import io
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, pearsonr

from sfs_cli import errors
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.source import parse_sources
from sfs_cli.run.load import loaded
from sfs_cli.run.part import prepared_on
from sfs_cli.workflow.rank import RankResult, rank, ranked
from tests.cli.shard_study import sfs
from tests.running import run_here

N, M, K = 30, 60, 20
SOURCES = ("x=target:", "mirna=profile:mirna.csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Genes and miRNAs that share a factor, in other units and another order of the samples."""
    folder, rng = tmp_path_factory.mktemp("joint"), np.random.default_rng(7)
    samples, factor = [f"s{i:02}" for i in range(N)], rng.normal(size=(3, N))
    genes = 5 + rng.normal(size=(M, 3)) @ factor * (rng.random((M, 1)) < 0.4)
    genes += rng.normal(size=(M, N))
    genes[3] = 2
    mirna = 40 + 30 * (rng.normal(size=(K, 3)) @ factor + rng.normal(size=(K, N)))
    ids = [f"m{i}" for i in range(K)]
    x = pd.DataFrame(genes.round(3), [f"g{i}" for i in range(M)], samples)
    y = pd.DataFrame(mirna.round(1), ids, samples)[rng.permutation(samples)]
    counts = pd.DataFrame(rng.poisson(50, (K, N)) + 1, ids, samples)
    x.to_csv(folder / "x.csv")
    y.to_csv(folder / "mirna.csv")
    counts.to_csv(folder / "counts.csv")
    pd.concat([x, y[samples]]).to_csv(folder / "both.csv")
    y.rename({"m0": "g0", "m5": "g9"}).to_csv(folder / "clash.csv")
    y.iloc[:, :20].to_csv(folder / "few.csv")
    y.mask(y == y.iloc[2, 2]).to_csv(folder / "gaps.csv")
    classes = pd.DataFrame({"group": np.where(factor[0] > 0, "a", "b")}, samples)
    classes.to_csv(folder / "labels.tsv", sep="\t", index_label="sample")
    return folder


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)


def made(*sources: str, matrix: str = "x.csv", **options: Any) -> RankResult:
    options = {"method": "msfs", "rank_sources": "all", "dtype": "float64"} | options
    return rank(RankConfig(matrix, source=parse_sources(sources or SOURCES), **options))


def scores(found: RankResult) -> pd.Series:
    return pd.Series(found.ranking.score, list(found.ranking.feature))


def similarity_of(tmp_path: Path, *sources: str, matrix: str = "x.csv", transform: str = "") -> str:
    words = [word for each in sources for word in ("--source", each)]
    words += ["--transform", transform] if transform else []
    sfs("fuse", matrix, *words, "--dtype", "float64", "--out", tmp_path / "s.npz")
    return str(tmp_path / "s.npz")


# ---- the oracle: one file with the features of both ----------------------------------------------


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("spec", {}),
        ("spec", {"ranking": "phi3", "clusters": 3}),
        ("gdcov", {"definition": 1, "gamma": "heat:1"}),
        ("mrsf", {"select": 20}),
        ("hsic", {}),
    ],
)
def test_scores_are_those_of_one_file_on_the_fused_similarity(method, options, tmp_path):
    """Features are standardized last, so `zscore` is what the file needs to be ranked so."""
    found = scores(made(method=method, **options))
    given = similarity_of(tmp_path, *SOURCES)
    one = rank(
        RankConfig(
            *("both.csv",),
            **{"method": method, "transform": "zscore", "dtype": "float64"} | options,
            similarity_file=given,
        )
    )
    assert list(found.index) == list(one.ranking.feature)
    np.testing.assert_allclose(found, scores(one), rtol=1e-10, atol=1e-12)
    assert len(found) == M + K


def test_each_source_has_its_own_transformation(tmp_path):
    sources = ("x=target:", "m=profile:counts.csv,transform=cpm,log1p,similarity=knn")
    found = scores(made(*sources, transform="quantile"))
    counts = pd.read_csv("counts.csv", index_col=0)
    x = pd.read_csv("x.csv", index_col=0)
    reference = np.sort(x.to_numpy(), axis=0).mean(axis=1)
    means = {}
    for name, values in x.items():
        placed = pd.Series(reference, values.sort_values(kind="stable").index)
        means[name] = placed.groupby(values).transform("mean")
    logs = np.log1p(counts / counts.sum() * 1e6)
    pd.concat([pd.DataFrame(means), logs[x.columns]]).to_csv(tmp_path / "one.csv")
    given = similarity_of(tmp_path, *sources, transform="quantile")
    config = RankConfig(
        *(str(tmp_path / "one.csv"),), method="spec", similarity_file=given, dtype="float64"
    )
    np.testing.assert_allclose(found, scores(rank(config))[found.index], rtol=1e-9)


def test_p_values_are_those_on_the_fused_similarity_and_their_doubts_are_told(tmp_path):
    """Whether the tested features have made the graph is told by the sources."""
    log = Messages(verbosity=-1)
    options: dict[str, Any] = {"pvalues": "moments"}
    found = rank(
        RankConfig("x.csv", method="msfs", source=parse_sources(SOURCES[1:]), **options), log
    )
    assert not any("[tested-graph]" in text for text in log.warnings)
    assert not found.facts["graph"]["of_tested_features"]
    given = similarity_of(tmp_path, SOURCES[1])
    one = rank(RankConfig("x.csv", method="spec", similarity_file=given, pvalues="moments"))
    for name in ("p_value", "q_value", "effect"):
        np.testing.assert_allclose(found.ranking.extra[name], one.ranking.extra[name], rtol=1e-5)
    circular = (
        made(*SOURCES[1:], pvalues="moments"),
        made(pvalues="moments", rank_sources=None, leave_one_out=True),
        made("x=profile:x.csv", pvalues="moments", rank_sources=None),
    )
    for each in circular:
        assert any("double dipping" in text for text in each.warnings)
        assert each.facts["graph"]["of_tested_features"]
    assert {"q_value", "rank_mirna"} <= set(circular[1].ranking.extra)


@pytest.mark.parametrize("transform", [None, "quantile"])
def test_a_part_of_the_samples_is_ranked_as_if_there_were_no_others(transform, tmp_path):
    some = np.arange(0, N, 2)
    sources = ("x=target:", "m=profile:counts.csv,transform=cpm,log1p")
    options: dict[str, Any] = {"rank_sources": "m", "dtype": "float64", "transform": transform}
    config = RankConfig("x.csv", method="msfs", source=parse_sources(sources), **options)
    with loaded(config, Messages(verbosity=-1)) as run:
        run.fit()
        part = ranked(prepared_on(run, some, Messages(verbosity=-1)))
    for name in ("x", "counts"):
        table = pd.read_csv(f"{name}.csv", index_col=0)
        table[[f"s{i:02}" for i in some]].to_csv(tmp_path / f"{name}.csv")
    own = ("x=target:", f"m=profile:{tmp_path}/counts.csv,transform=cpm,log1p")
    alone = made(*own, matrix=str(tmp_path / "x.csv"), **options).ranking
    assert list(part.feature) == list(alone.feature)
    np.testing.assert_allclose(part.score, alone.score, rtol=1e-10)


# ---- what is written -----------------------------------------------------------------------------


def test_the_columns_say_whose_a_feature_is(tmp_path, sfs):
    words = ["rank", "x.csv", "--method", "msfs", "--source", SOURCES[1], "--rank-sources", "all"]
    done = sfs(*words, "--out", str(tmp_path), "--max-correlation", "0.8")
    found = pd.read_csv(tmp_path / "ranking.tsv", sep="\t")
    expected = np.where(found.feature.str.startswith("m"), "mirna", "matrix")
    assert found.source.tolist() == expected.tolist()
    assert found.rank_in_source.tolist() == (found.groupby("source").cumcount() + 1).tolist()
    scored = found[found.score.notna()]
    counts = scored.source.value_counts()
    told = f"{counts['matrix']} of matrix, {counts['mirna']} of mirna"
    assert f"of the first {len(scored)} features: {told}" in done.err
    assert told in (tmp_path / "report.html").read_text()


def test_ids_of_two_matrices_stay_apart(capfd):
    words = ["rank", "x.csv", "--method", "spec", "--source", "mirna=profile:clash.csv"]
    done = run_here([*words, "--rank-sources", "mirna"], capfd)
    found = pd.read_csv(io.StringIO(done.out), sep="\t").set_index("feature").source
    assert (found["g0"], found["mirna:g0"], found["mirna:g9"]) == ("matrix", "mirna", "mirna")
    assert len(found) == M + K
    assert "the name of their source before them: 2 (g0, g9)" in done.err


def test_pairs_of_different_sources_are_those_of_scipy(tmp_path, monkeypatch):
    monkeypatch.setattr("sfs_cli.parts.joint.GROUPED", 15)
    monkeypatch.setattr("sfs_cli.parts.joint.CORRELATION", 0.5)
    words = ("x.csv", "--method", "msfs", "--source", SOURCES[1], "--rank-sources", "all")
    words += ("--source", "counts=profile:counts.csv,transform=log1p")
    sfs("rank", *words, "--modules", "--out", tmp_path)
    ranking = pd.read_csv(tmp_path / "ranking.tsv", sep="\t").dropna(subset="score")
    tables = {
        "matrix": pd.read_csv("x.csv", index_col=0),
        "mirna": pd.read_csv("mirna.csv", index_col=0),
    }
    log = np.log1p(pd.read_csv("counts.csv", index_col=0)).rename(lambda name: f"counts:{name}")
    tables["counts"] = log
    samples, expected = tables["matrix"].columns, []
    first = {name: ranking[ranking.source == name].feature[:15] for name in tables}
    for one, other in combinations(tables, 2):
        for a in first[one]:
            for b in first[other]:
                r, p = pearsonr(tables[one].loc[a, samples], tables[other].loc[b, samples])
                expected.append((a, one, b, other, r, p))
    frame = pd.DataFrame(
        expected, columns=["feature_1", "source_1", "feature_2", "source_2", "correlation", "p"]
    )
    frame["q"] = false_discovery_control(frame.p)
    frame = frame[frame.correlation.abs() > 0.5]
    found = pd.read_csv(tmp_path / "pairs.tsv", sep="\t")
    assert 0 < len(found) == len(frame)
    assert (found.correlation.abs().diff().dropna() <= 0).all()
    both = found.merge(frame, on=["feature_1", "source_1", "feature_2", "source_2"])
    assert len(both) == len(found)
    np.testing.assert_allclose(both.correlation_x, both.correlation_y, rtol=1e-6)
    np.testing.assert_allclose(both.p_value, both.p, rtol=1e-4)
    np.testing.assert_allclose(both.q_value, both.q, rtol=1e-4)
    page = (tmp_path / "report.html").read_text()
    assert "Correlated features of different sources" in page
    pairs = f"Of {len(expected):,} pairs of features of different sources (the first "
    assert pairs in page
    assert f"each), {len(found):,} have an absolute correlation above 0.5;" in page
    assert "pairs.tsv" in page


def test_filters_covariates_and_folds_take_features_of_all(sfs):
    found = made(include=("^m1", "^g1"), adjust=("labels.tsv:group",)).ranking
    used = [name for name, status in zip(found.feature, found.status) if "include" not in status]
    assert {name[:2] for name in used} == {"m1", "g1"}
    words = ["evaluate", "x.csv", "--method", "msfs", "--rank-sources", "all"]
    words += [word for each in SOURCES for word in ("--source", each)]
    words += ["--labels", "labels.tsv", "--lengths", "5", "--splits", "2", "--repeats", "1"]
    done = sfs(*words)
    assert f"all genes (in folds), {M + K - 1} features" in done.err


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "options", "expected"),
    [
        (SOURCES, {"rank_sources": "x"}, "x is no profile source"),
        (SOURCES, {"samples": "union"}, "--samples union"),
        (SOURCES, {"min_count": 10}, "--min-count"),
        (("mirna=profile:gaps.csv",), {}, "missing value"),
        (("matrix=profile:mirna.csv",), {}, "the same name: matrix"),
        (("mirna=profile:few.csv",), {}, "10 of 30 samples have no place"),
    ],
)
def test_what_cannot_be_ranked_together_is_refused(sources, options, expected):
    with pytest.raises(errors.SfsError, match=expected):
        made(*sources, **options)


def test_gaps_of_a_source_are_dealt_with_as_it_says():
    found = made("mirna=profile:gaps.csv,missing=drop").ranking
    assert found.unscored() == {"missing values": 1, "constant": 1}
    assert made("mirna=profile:gaps.csv,missing=mean").ranking.n_scored == M + K - 1


def test_one_file_is_not_cut(tmp_path, capfd):
    words = ["x.csv", "--method", "msfs", "--source", SOURCES[1], "--rank-sources", "all"]
    sfs("rank", *words, "--out", tmp_path / "a")
    cut = ["--top", "5", "--write-matrix", str(tmp_path / "w.csv"), "--out", str(tmp_path / "b")]
    done = run_here(["select", str(tmp_path / "a"), *cut], capfd)
    assert (done.code, "--rank-sources" in done.err) == (2, True)
