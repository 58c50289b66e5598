from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfs_cli.io.knowledge.similarity import read_feature_similarity

IDS = ["A", "B", "C", "D"]
VALUES = np.array([[1, 0.5, 0, 0], [0.5, 1, 0.25, 0], [0, 0.25, 1, 2], [0, 0, 2, 1]])
OFF = VALUES - np.eye(4)
FRAME = pd.DataFrame(VALUES, index=IDS, columns=IDS)


def check(found, expected=OFF, ids=IDS):
    names, matrix, _ = found
    order = [names.index(name) for name in ids]
    assert len(names) == len(ids)
    assert matrix.format == "csr"
    assert matrix.dtype == np.float64
    assert matrix.nnz == np.count_nonzero(expected)
    np.testing.assert_array_equal(matrix.toarray()[np.ix_(order, order)], expected)


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_matrices(tmp_path, write_text, ending):
    path = tmp_path / f"s{ending}"
    shuffled = FRAME[["C", "A", "D", "B"]]
    if ending == ".parquet":
        shuffled.to_parquet(path)
    else:
        write_text(shuffled.to_csv(sep="\t" if "tsv" in ending else ","), path.name)
    check(read_feature_similarity(path))
    _, matrix, facts = read_feature_similarity(path, 0.5)
    np.testing.assert_array_equal(matrix.toarray(), np.where(OFF >= 0.5, OFF, 0))
    assert facts == {
        "format": "matrix",
        "below_min_score": 1,
        "lowest_score": OFF[OFF >= 0.5].min(),
    }


def test_edges_with_and_without_scores(write_text):
    text = "gene_a\tgene_b\tscore\nA\tB\t0.5\nC\tB\t0.25\nD\tC\t2\nA\tD\t0\n"
    found = read_feature_similarity(write_text(text, "e.tsv"))
    check(found)
    assert found[2]["format"] == "table"
    check(read_feature_similarity(write_text("A\tB\nC\tB\nD\tC\n", "p.tsv")), (OFF > 0) * 1.0)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x\tA\tB\nA\t1\t0.5\nB\t0.5\t1\n", "matrix"),
        ("10\t20\t0.5\n20\t30\t0.5\n", "table"),
        ("gene1,gene2,score,n\n7157,4193,0.9,2\n4193,672,0.8,1\n", "table"),
    ],
)
def test_matrices_and_edges_are_told_apart(write_text, text, kind):
    assert read_feature_similarity(write_text(text, "f.csv"))[2]["format"] == kind


def test_rounding_is_evened_out(tmp_path):
    values = VALUES + np.triu(np.full((4, 4), 1e-12), 1) * (VALUES > 0)
    pd.DataFrame(values, IDS, IDS).to_csv(tmp_path / "s.csv")
    matrix = read_feature_similarity(tmp_path / "s.csv")[1]
    assert abs(matrix - matrix.T).max() == 0
    np.testing.assert_allclose(matrix.toarray(), OFF, atol=1e-11)


def spoilt(row, column, value):
    made = FRAME.astype(object).copy()
    made.loc[row, column] = value
    return made.to_csv()


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        (
            spoilt("B", "D", 0.75),
            "row 'B' has 0.75 in column 'D', and row 'D' has 0 in column 'B'",
            "s.csv",
        ),
        (spoilt("B", "C", -1), "the similarity -1 is negative", "s.csv, row 'B', column 'C'"),
        (spoilt("B", "C", ""), "is missing", "s.csv, row 'B', column 'C'"),
        (
            FRAME.rename(index={"B": "E"}).to_csv(),
            "other ids: 2 ids in one of them alone (B, E)",
            "s.csv",
        ),
        ((FRAME * np.eye(4)).to_csv(), "no two features", "s.csv"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, what, where):
    path = write_text(text, "s.csv")
    check_refused(lambda: read_feature_similarity(path), what, where)
