"""What lists are called, and which columns rank them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfs_cli.io.results.rankings import smaller_is_better
from sfs_cli.run.aggregate import list_names


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a.tsv", "b.csv.gz", "c.d.parquet"], ["a", "b", "c.d"]),
        (["mirna/ranking.tsv", "mrna/ranking.parquet"], ["mirna", "mrna"]),
        (["x/a.tsv", "y/a.tsv", "a_2.tsv", "z/a.csv"], ["a", "a_2", "a_2_2", "a_3"]),
        (["x/ranking.tsv", "x/ranking.csv"], ["x", "x_2"]),
    ],
)
def test_lists_are_named_by_files_or_folders_and_apart(paths: list[str], names: list[str]) -> None:
    assert list_names([Path(path) for path in paths]) == names


def test_a_ranking_in_the_working_folder_has_the_name_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list_names([Path("ranking.tsv")]) == [tmp_path.name]


@pytest.mark.parametrize(
    "name",
    ["pvalue", "p_value", "P.Value", "padj", "adj.P.Val", "q_value", "qval", "FDR", "pvals_adj"],
)
def test_columns_of_p_values_are_known(name: str) -> None:
    assert smaller_is_better(name)


@pytest.mark.parametrize("name", ["score", "stat", "logFC", "weight", "power", "quality", "n_p"])
def test_other_columns_are_scores(name: str) -> None:
    assert not smaller_is_better(name)
