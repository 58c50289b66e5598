from __future__ import annotations

import pandas as pd
import pytest

from sfs_cli.io.knowledge.gene_sets import read_terms

TERMS = {"T1": ["A", "B"], "T2": ["B", "C"]}
MATRIX = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
FRAME = pd.DataFrame(MATRIX, index=["A", "B", "C", "D"], columns=["T1", "T2", "T3"])
GMT = "T1\t\tA\tB\nT2\t\tB\tC\nU\t\tD\tA\n"


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_tables(tmp_path, write_text, ending):
    path = tmp_path / f"t{ending}"
    if ending == ".parquet":
        FRAME.to_parquet(path)
    else:
        write_text(FRAME.to_csv(sep="\t" if "tsv" in ending else ","), path.name)
    found = read_terms(str(path))
    assert found == (TERMS, {"terms_without_genes": 1})


def test_sets(write_dialect):
    path = write_dialect(GMT, "s.gmt")
    assert read_terms(f"{path}:T1,T2").genes == TERMS
    assert read_terms(f"{path}:T?").genes == TERMS
    found = read_terms(str(path))
    assert found.genes == TERMS | {"U": ["D", "A"]}
    assert found.ids == ["A", "B", "C", "D"]


def test_annotations(write_text):
    rows = [("A", "T1", "IDA"), ("B", "T1", "IDA"), ("B", "T2", "IMP"), ("C", "T2", "IDA")]
    rows += [("D", "T2", "IEA")]
    text = "".join(f"DB\tid{g}\t{g}\t\t{t}\tREF\t{e}" + "\t" * 10 + "\n" for g, t, e in rows)
    path = write_text("!gaf-version: 2.2\n" + text, "a.gaf.gz")
    found = read_terms(str(path), "!IEA")
    assert found.genes == TERMS
    assert found.facts["other_evidence"] == 1
    assert read_terms(str(path), "IDA", "id").ids == ["idA", "idB", "idC"]


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("g,T1,T2\nA,1,0\nB,0,2\n", "the value 2 is not 0 or 1", "t.csv, row 'B', column 'T2'"),
        ("g,T1,T2\nA,1,0\nA,0,1\n", "rows have the same id: A", "t.csv"),
        ("g,T1,T2\nA,0,0\nB,0,0\n", "no gene has a term", "t.csv"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, what, where):
    path = write_text(text, "t.csv")
    check_refused(lambda: read_terms(str(path)), what, where)
