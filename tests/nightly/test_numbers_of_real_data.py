"""The two identities on every real matrix there is, through the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.contract.numbers.commands import Table, ranked

PARQUET = (
    "allaml/expression",
    "ar10p/expression",
    "colon/expression",
    "medulloblastoma/expression",
    "methylation/expression",
    "nci60/compounds",
    "nci60/transporters",
    "orl10p/expression",
    "pix10p/expression",
    "prostate_ge/expression",
    "relathe/expression",
    "rosmap/methylation",
    "rosmap/mirna",
    "rosmap/mrna",
    "tcga_brca/mirna",
    "tcga_brca/mrna",
    "tcga_brca/protein",
    "thyroid_paired/mirna",
    "thyroid_paired/mrna",
    "tox171/expression",
)
MATRICES = {
    **{name: f"{name}.parquet" for name in PARQUET},
    "leukemia": "leukemia/expression.gct",
    "pbmc68k_reduced": "pbmc68k_reduced/10x_pbmc68k_reduced.h5ad",
}
OPTIONS = {
    "nci60/compounds": ["--missing", "mean"],
    "nci60/transporters": ["--missing", "mean"],
}
CONSTANT_GENES = 5112


@pytest.fixture(params=MATRICES)
def case(request: pytest.FixtureRequest, shared_data: Path) -> tuple[Path, str, list[str]]:
    """A matrix, its labels, and the options that it needs."""
    matrix = shared_data / MATRICES[request.param]
    labels = str(matrix.parent / "labels.tsv")
    if matrix.suffix == ".h5ad":
        labels = "obs:bulk_labels"
    return matrix, labels, OPTIONS.get(request.param, [])


def check_same(first: Table, second: Table) -> None:
    assert first.status.count("ok") == second.status.count("ok") > 0
    assert dict(zip(first.feature, first.status)) == dict(zip(second.feature, second.status))
    np.testing.assert_allclose(
        first.by_feature(), second.by_feature(), rtol=1e-10, atol=1e-14, equal_nan=True
    )


def test_phi2_is_the_laplacian_score(case: tuple[Path, str, list[str]], tmp_path: Path) -> None:
    matrix, _, options = case
    given = ("--similarity", "rbf", *options)
    phi2 = ranked(tmp_path / "phi2", matrix, *given)
    laplacian = ranked(tmp_path / "laplacian", matrix, "--method", "laplacian", *given)
    check_same(phi2, laplacian)
    assert np.all(np.diff(phi2.score[: phi2.status.count("ok")]) >= 0)


def test_phi2_on_the_label_graph_is_the_fisher_score_in_disguise(
    case: tuple[Path, str, list[str]], tmp_path: Path
) -> None:
    matrix, labels, options = case
    given = ("--labels", labels, *options)
    phi2 = ranked(tmp_path / "phi2", matrix, "--similarity", "label", *given)
    fisher = ranked(tmp_path / "fisher", matrix, "--method", "fisher", *given)
    check_same(phi2, Table(fisher.feature, 1 / (1 + fisher.score), fisher.status))


@pytest.mark.parametrize("method", ["spec", "laplacian", "fisher", "variance"])
def test_the_constant_genes_of_the_thyroid_study_are_last_without_a_score(
    shared_data: Path, tmp_path: Path, method: str
) -> None:
    folder = shared_data / "thyroid_paired"
    labels = ("--labels", folder / "labels.tsv")
    table = ranked(tmp_path / "out", folder / "mrna.parquet", "--method", method, *labels)
    scored = len(table.feature) - CONSTANT_GENES
    assert not np.isnan(table.score[:scored]).any()
    assert np.isnan(table.score[scored:]).all()
    assert set(table.status[:scored]) == {"ok"}
    assert set(table.status[scored:]) <= {"constant", "all zero"}


def test_every_matrix_of_the_shared_data_is_tried(shared_data: Path) -> None:
    found = {str(p.relative_to(shared_data)) for p in shared_data.glob("*/*.parquet")}
    assert found == {f for f in MATRICES.values() if f.endswith(".parquet")}
