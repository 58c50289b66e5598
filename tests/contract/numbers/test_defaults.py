"""What a run chooses for itself: it is said as options, and these options give the same bytes."""

from __future__ import annotations

import shlex
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest

from sfs_cli import RankConfig
from sfs_cli.cli.app import run
from sfs_cli.options.graph import MOST_PROFILES
from sfs_cli.options.source import parse_sources
from tests.docs.pages import DOCS, text_of
from tests.making import names, write_parquet
from tests.running import handlers_restored

PROFILES = "--method mrsf-rounds --similarity knn-correlation"
AMONG = "--method mrsf-rounds --similarity knn,components=50,variable-genes=all"
ON_CELLS = "--method mrsf-rounds --similarity"


def values(n: int, m: int) -> np.ndarray:
    """Return m x n values, of which the first fifth follow three groups of samples."""
    rng = np.random.default_rng(n)
    X = rng.normal(5, 1, (m, n))
    X[: m // 5] += 2 * (np.arange(n) % 3 == np.arange(m // 5)[:, None] % 3)
    return X


def table_and_choice(
    file: Path, capfd: pytest.CaptureFixture[str], *options: str
) -> tuple[str, list[str]]:
    """Rank on standard output; return the table, and the options that were chosen."""
    with handlers_restored():
        assert run(["rank", str(file), *options]) == 0
    said = capfd.readouterr()
    lines = [line for line in said.err.splitlines() if "defaults: --" in line]
    return said.out, shlex.split(lines[0].split("defaults:", 1)[1]) if lines else []


@pytest.mark.parametrize(
    ("n", "m", "options"),
    [
        (MOST_PROFILES, 120, PROFILES),
        (MOST_PROFILES + 1, 120, AMONG),
        (MOST_PROFILES + 1, 40, "--method mrsf-rounds --similarity knn"),
    ],
)
def test_of_a_matrix(
    n: int, m: int, options: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = write_parquet(tmp_path / "m.parquet", values(n, m))
    table, chosen = table_and_choice(file, capfd)
    assert chosen == options.split()
    assert table_and_choice(file, capfd, *chosen) == (table, [])


@pytest.mark.parametrize(("n", "method"), [(10_000, "mrsf-rounds"), (10_001, "spec")])
def test_method_of_many_samples(n: int, method: str) -> None:
    assert RankConfig("m.csv").for_samples(n).method == method


LABELS, NUMBERS = {"labels": "l.tsv"}, {"labels": "l.tsv", "label_type": "continuous"}
SELECT, GIVEN, TESTED = {"select": 9}, {"given_": "g.txt"}, {"pvalues": "moments"}
WEIGHTED, PLACES = {"sample_weights": "w.tsv"}, {"coordinates": "obsm:spatial"}
SPLIT = TESTED | {"split": "features"}
GRAPHS = ({"similarity": "rbf"}, PLACES, {"source": parse_sources(["x=target:"])})
OPTIONS = {
    "none of the options below": [{}],
    "`--select`, or `--given` (without `--max-correlation`)": [SELECT, GIVEN],
    "`--pvalues`, or `--sample-weights`": [TESTED, WEIGHTED],
    "`--labels` of two classes, or numbers": [LABELS, NUMBERS],
    "`--labels` of three classes or more": [LABELS],
    "`--labels`, with `--select` or `--given`": [
        labels | each for labels in (LABELS, NUMBERS) for each in (SELECT, GIVEN)
    ],
    "`--labels`, with `--pvalues`, `--sample-weights`, `--moderate` or `--voom`": [
        labels | each
        for labels in (LABELS, NUMBERS)
        for each in (TESTED, WEIGHTED, {"moderate": "yes"}, {"voom": True})
    ],
    "`--labels` and `--markers`": [LABELS | {"markers": "t"}],
    "`--labels` and `--event`": [LABELS | {"event": "e"}, LABELS | TESTED | {"event": "e"}],
    "`--similarity`, `--coordinates` or `--source`, with labels or without": [
        labels | each for labels in ({}, LABELS) for each in GRAPHS
    ],
    "`--pvalues` with `--split`, with labels or without": [SPLIT, LABELS | SPLIT],
    "`--coordinates` and `--pvalues`, with labels or without": [
        PLACES | TESTED,
        LABELS | PLACES | TESTED,
    ],
}
"""What is asked in each row of the table of the guide."""


def rows_of_the_guide() -> dict[str, str]:
    """Return the methods of the table of the guide, by what is asked for."""
    guide = text_of(DOCS / "guides" / "which-method.md")
    table = guide.split("| without `--method`, and with |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return dict(rows)


def test_the_guide_has_a_row_for_each_default_method() -> None:
    assert [*rows_of_the_guide()] == [*OPTIONS]


@pytest.mark.parametrize("row", OPTIONS)
def test_the_default_method_is_that_of_the_guide(row: str) -> None:
    chosen = set()
    two = "two classes" in row
    for asked in OPTIONS[row]:
        for classes in (2,) if two else (3,) if "three" in row else (2, 3):
            made = RankConfig("m.csv", **asked).for_samples(60, classes)
            response = f",response={made.response}" if made.response else ""
            chosen.add(f"`{made.method}{response}`")
    assert ", of numbers ".join(sorted(chosen)) == rows_of_the_guide()[row]


def test_more_samples_than_are_selected_together_keep_their_labels() -> None:
    chosen = RankConfig("m.csv", **LABELS, **SELECT).for_samples(10_001, 3)
    assert chosen.method == "f-test"
    assert "--select has no effect with --method f-test" in chosen.left_out


@pytest.mark.parametrize(
    ("held", "asked", "options"),
    [
        (("connectivities", "X_pca"), "", f"{ON_CELLS} obsp:connectivities"),
        (("X_pca", "X_umap"), "", f"{ON_CELLS} obsm:X_pca"),
        (("X_umap",), "", PROFILES),
        (("connectivities", "X_pca"), "--adjust obs:depth", PROFILES),
        (("connectivities", "X_pca"), "--batch obs:side", f"{ON_CELLS} obsm:X_pca"),
        (("connectivities",), "--batch obs:side", "--method mrsf-rounds"),
        (("connectivities", "X_pca"), "--similarity knn-correlation,neighbors=4", "--method spec"),
        (("connectivities", "X_pca"), "--method variance", ""),
    ],
    ids=["graph", "PCA", "neither", "adjusted", "batches", "batches, no PCA", "own", "no graph"],
)
def test_of_cells(
    held: tuple[str, ...],
    asked: str,
    options: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What an AnnData file holds is used, unless something is said of the graph or its values."""
    X = values(60, 80).T.astype(np.float32)
    known = {"depth": X.sum(axis=1), "side": ["left", "right"] * 30}
    cells = ad.AnnData(X, obs=pd.DataFrame(known, names("cell", 60)))
    near = np.corrcoef(X)
    inside = {
        "connectivities": (cells.obsp, np.where(near > 0.1, near, 0)),
        "X_pca": (cells.obsm, np.linalg.svd(X - X.mean(axis=0))[0][:, :5]),
        "X_umap": (cells.obsm, X[:, :2]),
    }
    for name in held:
        place, array = inside[name]
        place[name] = array
    file = tmp_path / "cells.h5ad"
    cells.write_h5ad(file)
    table, chosen = table_and_choice(file, capfd, *asked.split())
    assert chosen == options.split()
    assert table_and_choice(file, capfd, *asked.split(), *chosen) == (table, [])
