"""Genes that follow a known number, in real data."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from tests.contract.numbers.commands import ranked
from tests.contract.numbers.test_outcome import METHODS


def test_genes_of_the_cell_cycle_follow_its_score(shared_data: Path, tmp_path: Path) -> None:
    """pbmc68k_reduced: the S phase score is made of genes of DNA replication, PCNA among them."""
    path = shared_data / "pbmc68k_reduced" / "10x_pbmc68k_reduced.h5ad"
    shutil.copy(path, tmp_path / "m.h5ad")
    labels = ("--labels", "obs:S_score", "--label-type", "continuous")
    for method in ("f-test", "relieff", "hsic", "mrsf", "spec"):
        found = ranked(tmp_path / method, tmp_path / "m.h5ad", *labels, *METHODS[method])
        assert {"PCNA", "STMN1"} <= set(found.feature[:4]), method


def test_genes_follow_the_estrogen_receptor(shared_data: Path, tmp_path: Path) -> None:
    """tcga_brca: STC2, of the 200 genes, is a target of the receptor."""
    table = pq.read_table(shared_data / "tcga_brca" / "protein.parquet").to_pylist()
    protein = next(row for row in table if row["feature_id"] == "ER-alpha")
    rows = [f"{sample}\t{level}\n" for sample, level in list(protein.items())[1:]]
    (tmp_path / "er.tsv").write_text("sample\tlevel\n" + "".join(rows))
    labels = ("--labels", tmp_path / "er.tsv", "--label-type", "continuous")
    matrix = shared_data / "tcga_brca" / "mrna.parquet"
    for method in ("f-test", "relieff", "hsic", "spec"):
        found = ranked(tmp_path / method, matrix, *labels, *METHODS[method])
        assert "STC2" in found.feature[:10], method
