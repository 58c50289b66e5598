"""What is planted in the simulated study can be found, by plain dense formulas."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tests.docs.sample_data.conftest import Study

Floats = NDArray[np.float64]

TOP = 50
SOURCES = ("expression", "mirna", "fusion", "pathways", "interactions", "terms")
ENRICHED = ("SIMPATH03", "SIMPATH06", "SIMPATH07", "SIMPATH13", "SIMPATH18")


def squared_distances(X: Floats) -> Floats:
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def rbf(D2: Floats) -> Floats:
    """Eq. 1.1 with the median distance over pairs as bandwidth."""
    delta = np.median(np.sqrt(D2[np.triu_indices(len(D2), 1)]))
    return np.exp(-D2 / (2 * delta**2))


def phi2(X: Floats, S: Floats) -> Floats:
    """Eq. 2.7 with gamma = lambda; infinite for a constant feature."""
    d = S.sum(axis=1)
    N = np.eye(len(S)) - S / np.sqrt(np.outer(d, d))
    F = np.sqrt(d)[:, None] * (X - d @ X / d.sum())
    length = (F**2).sum(axis=0)
    varying = np.ptp(X, axis=0) > 0
    score = np.full(X.shape[1], np.inf)
    np.divide((F * (N @ F)).sum(axis=0), length, out=score, where=varying)
    return score


def fisher(X: Floats, y: NDArray[np.str_]) -> Floats:
    """Eq. 3.12; minus one for a constant feature."""
    groups = [X[y == label] for label in np.unique(y)]
    between = sum(len(g) * (g.mean(axis=0) - X.mean(axis=0)) ** 2 for g in groups)
    within = sum(len(g) * g.var(axis=0) for g in groups)
    varying = np.ptp(X, axis=0) > 0
    return np.divide(between, within, out=np.full(X.shape[1], -1.0), where=varying)


def profile_similarity(frame: pd.DataFrame) -> Floats:
    return rbf(squared_distances(frame.to_numpy()))


def term_similarity(study: Study) -> Floats:
    """Mahalanobis distance of Prop. 4 with the graph Laplacian of shared terms, then rbf."""
    T = study.terms.to_numpy(dtype=float)
    X = study.expression[study.terms.index].to_numpy()
    shared = T @ T.T
    laplacian = np.diag(shared.sum(axis=1)) - shared
    K = X @ laplacian @ X.T
    D2 = np.add.outer(np.diag(K), np.diag(K)) - 2 * K
    return rbf(np.maximum(D2, 0))


def similarity(study: Study, source: str) -> Floats:
    if source == "mirna":
        return profile_similarity(study.mirna.loc[study.expression.index])
    if source == "terms":
        return term_similarity(study)
    if source == "fusion":
        return (similarity(study, "expression") + similarity(study, "mirna")) / 2
    genes = {
        "expression": list(study.expression),
        "interactions": sorted({*study.edges["gene_a"], *study.edges["gene_b"]}),
        "pathways": sorted(set().union(*(study.pathways[p] for p in ENRICHED))),
    }
    return profile_similarity(study.expression[genes[source]])


def top_of(study: Study, scores: Floats, n: int = TOP) -> list[str]:
    """The n genes of smallest score."""
    return list(study.expression.columns[np.argsort(scores, kind="stable")[:n]])


def spec_top(study: Study, source: str) -> list[str]:
    return top_of(study, phi2(study.expression.to_numpy(), similarity(study, source)))


def nearest_neighbour_accuracy(study: Study, genes: list[str]) -> float:
    D2 = squared_distances(study.expression[genes].to_numpy())
    np.fill_diagonal(D2, np.inf)
    tissue = study.labels.loc[study.expression.index, "tissue"].to_numpy()
    return float((tissue[D2.argmin(axis=1)] == tissue).mean())


def test_each_block_is_one_tissue_gene_and_its_noisy_copies(study: Study) -> None:
    blocks = study.truth[study.truth["block"] != ""]
    assert sorted(blocks["block"].unique()) == ["B1", "B2", "B3", "B4", "B5"]
    for _, block in blocks.groupby("block"):
        assert block["role"].value_counts().to_dict() == {"redundant": 8, "tissue": 1}
        C = np.abs(np.corrcoef(study.expression[block.index].to_numpy().T))
        original = block["role"].to_numpy() == "tissue"
        assert C[original].min() > 0.8
        assert C[~original][:, original].max() < 0.999


def test_strength_is_signal_over_noise(study: Study) -> None:
    """Variance between groups over variance within is about strength^2."""
    X = study.expression
    tissue = study.labels.loc[X.index, "tissue"]
    for roles, y in ((["tissue", "redundant"], tissue), (["tumour"], study.labels["status"])):
        genes = study.truth[study.truth["role"].isin(roles)]
        ratio = fisher(X[genes.index].to_numpy(), y.loc[X.index].to_numpy())
        expected = genes["strength"].to_numpy() ** 2
        assert np.median(ratio / expected) == pytest.approx(1, abs=0.25)
        assert np.corrcoef(np.sqrt(ratio), genes["strength"])[0, 1] > 0.8


def test_batch_genes_follow_the_batch_and_not_the_tissue(study: Study) -> None:
    genes = sorted(study.genes("batch"))
    X = study.expression[genes].to_numpy()
    labels = study.labels.loc[study.expression.index]
    batch = fisher(X, labels["batch"].to_numpy())
    tissue = fisher(X, labels["tissue"].to_numpy())
    assert np.median(batch) > 3 * np.median(tissue)


def test_variance_ranks_the_batch_genes_first(study: Study) -> None:
    scores = -study.expression.to_numpy().var(axis=0)
    batch = study.genes("batch")
    assert set(top_of(study, scores, 20)) <= batch
    assert len(batch.intersection(top_of(study, scores, 100))) >= 80


def test_mirna_variance_is_mostly_tissue_and_hardly_batch(study: Study) -> None:
    Z = study.mirna.loc[study.expression.index]
    labels = study.labels.loc[study.expression.index]
    total = Z.var(ddof=0).sum()
    share = {c: Z.groupby(labels[c]).transform("mean").var(ddof=0).sum() / total for c in labels}
    assert share["tissue"] > 0.5
    assert share["batch"] < 0.05


def test_expression_alone_is_fooled_by_the_batch(study: Study) -> None:
    top = spec_top(study, "expression")
    assert 10 <= len(study.planted.intersection(top)) <= 25
    assert len(study.genes("batch").intersection(top)) >= 25
    assert nearest_neighbour_accuracy(study, top) < 0.8


@pytest.mark.parametrize("source", SOURCES[1:])
def test_other_sources_find_the_planted_genes(study: Study, source: str) -> None:
    top = spec_top(study, source)
    assert len(study.planted.intersection(top)) >= 40
    assert nearest_neighbour_accuracy(study, top) > 0.95


def test_readme_reports_what_each_source_gives(study: Study, sample_data: Path) -> None:
    readme = (sample_data / "README.md").read_text()
    rows = re.findall(r"^\| the .* \| (\d+)\b.* \| ([\d.]+) \|$", readme, re.MULTILINE)
    for source, (hits, accuracy) in zip(SOURCES, rows, strict=True):
        top = spec_top(study, source)
        assert len(study.planted.intersection(top)) == int(hits), source
        assert f"{nearest_neighbour_accuracy(study, top):.2f}" == accuracy, source


def test_fisher_finds_the_tissue_genes(study: Study) -> None:
    tissue = study.labels.loc[study.expression.index, "tissue"].to_numpy()
    top = top_of(study, -fisher(study.expression.to_numpy(), tissue), 80)
    assert len(study.genes("tissue").intersection(top)) >= 36


def test_terms_are_binary_and_shared_by_planted_genes(study: Study) -> None:
    T = study.terms
    assert T.shape == (600, 68)
    assert set(np.unique(T)) == {0, 1}
    assert T.to_numpy().any(axis=1).all()
    planted = T.index.isin(list(study.planted))
    assert planted.sum() == 90
    shared = T.to_numpy() @ T.to_numpy().T
    np.fill_diagonal(shared, 0)
    assert shared[np.ix_(planted, planted)].mean() > 2 * shared[np.ix_(~planted, ~planted)].mean()


def test_interactions_are_simple_and_denser_among_planted_genes(study: Study) -> None:
    edges = study.edges
    pairs = {frozenset(pair) for pair in zip(edges["gene_a"], edges["gene_b"])}
    assert len(pairs) == len(edges) == 3000
    assert all(len(pair) == 2 for pair in pairs)
    assert edges["score"].between(0, 1).all()
    planted = study.planted
    inner = edges["gene_a"].isin(planted) & edges["gene_b"].isin(planted)
    nodes = {*edges["gene_a"], *edges["gene_b"]}
    n_genes, n_planted = len(nodes), len(planted & nodes)
    assert n_planted == 90
    density = inner.sum() / (n_planted * (n_planted - 1) / 2)
    assert density > 5 * len(edges) / (n_genes * (n_genes - 1) / 2)
    assert edges["score"][inner].mean() > edges["score"][~inner].mean()
