"""What is planted in the simulated study is found by the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.contract.numbers.commands import Table, ranked
from tests.oracles import similarities

PLANTED = {"tissue", "tumour", "redundant"}


def roles(sample_data: Path) -> dict[str, str]:
    with (sample_data / "truth.tsv").open() as file:
        return {row["gene"]: row["role"] for row in csv.DictReader(file, delimiter="\t")}


def count(table: Table, role_of: dict[str, str], wanted: set[str], first: int) -> int:
    return sum(role_of[gene] in wanted for gene in table.feature[:first])


@pytest.fixture(scope="module")
def mirna_similarity(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of sample similarities from the miRNA profile, in the profile's own order."""
    with (sample_data / "mirna.csv").open() as file:
        header, *rows = list(csv.reader(file))
    X = np.array([row[1:] for row in rows], np.float64).T
    path = tmp_path_factory.mktemp("mirna") / "similarity.csv"
    lines = [
        ",".join([name, *map(repr, row)])
        for name, row in zip(header[1:], similarities.rbf(X).tolist())
    ]
    path.write_text("\n".join([",".join(["sample", *header[1:]]), *lines]) + "\n")
    return path


def test_the_mirna_graph_finds_what_expression_alone_does_not(
    sample_data: Path, mirna_similarity: Path, tmp_path: Path
) -> None:
    role_of = roles(sample_data)
    matrix = sample_data / "expression.csv"
    alone = ranked(tmp_path / "alone", matrix)
    assert 25 <= count(alone, role_of, PLANTED, 50) <= 40
    paper = ranked(tmp_path / "paper", matrix, "--similarity", "rbf", "--method", "spec")
    assert count(paper, role_of, PLANTED, 50) == 15
    assert count(paper, role_of, {"batch"}, 50) > 30
    guided = ranked(tmp_path / "guided", matrix, "--similarity", f"file:{mirna_similarity}")
    assert count(guided, role_of, PLANTED, 50) == 50


def test_the_fisher_score_finds_the_tissue_genes(sample_data: Path, tmp_path: Path) -> None:
    labels = f"{sample_data / 'labels.tsv'}:tissue"
    table = ranked(
        tmp_path / "out", sample_data / "expression.csv", "--method", "fisher", "--labels", labels
    )
    assert count(table, roles(sample_data), {"tissue"}, 80) == 39


@pytest.mark.parametrize("method", ["spec", "laplacian", "variance"])
def test_constant_genes_are_last(sample_data: Path, tmp_path: Path, method: str) -> None:
    table = ranked(tmp_path / "out", sample_data / "expression.csv", "--method", method)
    role_of = roles(sample_data)
    assert [role_of[g] == "constant" for g in table.feature] == [False] * 1988 + [True] * 12
    assert table.status.count("all zero") == 4
    assert table.status.count("constant") == 8
