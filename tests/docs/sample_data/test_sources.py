"""What sources of knowledge find in the simulated study, and how they are weighed there."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.contract.numbers.commands import ranked, sfs
from tests.making import table_text
from tests.making_commands import text

PLANTED = {"tissue", "tumour", "redundant"}
LABELLED = ("alignf", "rkda")


@pytest.fixture(scope="module")
def roles(sample_data: Path) -> dict[str, str]:
    with (sample_data / "truth.tsv").open() as file:
        return {row["gene"]: row["role"] for row in csv.DictReader(file, delimiter="\t")}


def planted(out: Path, sample_data: Path, roles: dict[str, str], *sources: str) -> int:
    """Count planted genes among the 50 that rank first."""
    given = [word for source in sources for word in ("--source", source)]
    method = ["--method", "msfs"] if sources else []
    found = ranked(out, sample_data / "expression.csv", *method, *given)
    return sum(roles[gene] in PLANTED for gene in found.feature[:50])


MIXES = {
    "mirna": ["mirna=profile:DATA/mirna.csv"],
    "mirna and expression": ["mirna=profile:DATA/mirna.csv", "expression=target:"],
    "terms": ["go=terms:DATA/go_terms.csv"],
    "interactions": ["ppi=interactions:DATA/interactions.tsv"],
    "pathways": ["sets=genes:DATA/pathways.gmt:SIMPATH03,SIMPATH06,SIMPATH07,SIMPATH13,SIMPATH18"],
    "hierarchy": ["tree=hierarchy:DATA/hierarchy.tsv"],
}


def test_expression_alone_finds_few_planted_genes(sample_data, roles, tmp_path):
    assert planted(tmp_path / "alone", sample_data, roles) <= 35


@pytest.mark.parametrize("name", MIXES)
def test_knowledge_finds_what_expression_alone_does_not(sample_data, roles, tmp_path, name):
    sources = [text.replace("DATA", str(sample_data)) for text in MIXES[name]]
    assert planted(tmp_path / "msfs", sample_data, roles, *sources) >= 45


@pytest.fixture(scope="module")
def noise(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A profile of as many features as the miRNA profile has, that says nothing of the samples."""
    with (sample_data / "expression.csv").open() as file:
        samples = file.readline().strip().split(",")[1:]
    X = np.random.default_rng(2010).normal(8.0, 1.5, size=(150, len(samples))).round(3)
    names = [f"noise{i}" for i in range(len(X))]
    return text(tmp_path_factory.mktemp("noise"), table_text(X, names, samples), "noise.csv")


def weights(
    folder: Path, sample_data: Path, noise: str, learner: str, options: str = ""
) -> dict[str, float]:
    """Return the weights of the expression matrix, the miRNA profile, and noise."""
    mirna = sample_data / "mirna.csv"
    sources = f"expression=target:{options}", f"mirna=profile:{mirna}{options}"
    given = [
        word
        for source in (*sources, f"noise=profile:{noise}{options}")
        for word in ("--source", source)
    ]
    labels = ["--labels", f"{sample_data / 'labels.tsv'}:tissue"] if learner in LABELLED else []
    out = folder / "fused.npz"
    sfs("fuse", sample_data / "expression.csv", *given, "--weights", learner, *labels, "--out", out)
    found = json.loads((folder / "fused.npz.run.json").read_text())["sources"]
    return {source["name"]: source["weight"] for source in found}


@pytest.mark.parametrize("options", ["", ",similarity=knn"])
@pytest.mark.parametrize("learner", ["alignf", "rkda", "naml"])
def test_learned_weights_are_on_what_tells_samples_apart(
    sample_data, noise, tmp_path, learner, options
):
    """The tissue is in the miRNA profile; expression follows the batch before it."""
    found = weights(tmp_path, sample_data, noise, learner, options)
    assert found["mirna"] == max(found.values())
    assert found["mirna"] > 0.5
    assert found["noise"] <= 0.05


def test_statis_trusts_noise_less_where_similarities_are_sparse(sample_data, noise, tmp_path):
    """Dense similarities of many features are near to I, and noise agrees with I best of all."""
    dense = weights(tmp_path / "dense", sample_data, noise, "statis")
    sparse = weights(tmp_path / "sparse", sample_data, noise, "statis", ",similarity=knn")
    assert sparse["noise"] < 0.1 < 0.3 < dense["noise"]
    assert sparse["mirna"] > 0.4
