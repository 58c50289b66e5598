"""The simulated study, read once for the tests of this room."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

PLANTED = ("tissue", "tumour", "redundant")


@dataclass(frozen=True)
class Study:
    """Everything in the folder, samples in rows in the order of the expression matrix."""

    expression: pd.DataFrame
    mirna: pd.DataFrame
    labels: pd.DataFrame
    truth: pd.DataFrame
    terms: pd.DataFrame
    edges: pd.DataFrame
    pathways: dict[str, list[str]]

    def genes(self, *roles: str) -> set[str]:
        return set(self.truth.index[self.truth["role"].isin(roles)])

    @property
    def planted(self) -> set[str]:
        return self.genes(*PLANTED)


@pytest.fixture(scope="module")
def study(sample_data: Path) -> Study:
    expression = pd.read_csv(sample_data / "expression.csv", index_col="gene").T
    lines = (sample_data / "pathways.gmt").read_text().splitlines()
    return Study(
        expression=expression,
        mirna=pd.read_csv(sample_data / "mirna.csv", index_col="mirna").T,
        labels=pd.read_csv(sample_data / "labels.tsv", sep="\t", index_col="sample"),
        truth=pd.read_csv(
            sample_data / "truth.tsv", sep="\t", index_col="gene", keep_default_na=False
        ),
        terms=pd.read_csv(sample_data / "go_terms.csv", index_col="gene"),
        edges=pd.read_csv(sample_data / "interactions.tsv", sep="\t"),
        pathways={line.split("\t")[0]: line.split("\t")[2:] for line in lines},
    )
