from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfs_cli.io.knowledge.gene_sets import read_terms

GENES, TERMS = ["A", "B", "C"], ["T1", "T2", "T3"]
MATRIX = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0]])
FRAME = pd.DataFrame(MATRIX, index=GENES, columns=TERMS)
GMT = "T1\t\tA\tB\nT2\t\tB\tC\nU\t\tD\tA\n"


def check(found, terms=("T1", "T2"), matrix=MATRIX[:, :2], genes=GENES):
    assert found.genes == list(genes)
    assert found.terms == list(terms)
    assert found.matrix.format == "csr"
    assert found.matrix.dtype == np.float64
    np.testing.assert_array_equal(found.matrix.toarray(), matrix)


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_tables(tmp_path, write_text, ending):
    path = tmp_path / f"t{ending}"
    if ending == ".parquet":
        FRAME.to_parquet(path)
    else:
        write_text(FRAME.to_csv(sep="\t" if "tsv" in ending else ","), path.name)
    found = read_terms(str(path))
    check(found)
    assert found.facts == {"terms_without_genes": 1}


def test_sets(write_dialect):
    path = write_dialect(GMT, "s.gmt")
    check(read_terms(f"{path}:T1,T2"))
    check(read_terms(f"{path}:T?"))
    whole = [[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 1]]
    check(read_terms(str(path)), ["T1", "T2", "U"], whole, [*GENES, "D"])


def test_annotations(write_text):
    rows = [("A", "T1", "IDA"), ("B", "T1", "IDA"), ("B", "T2", "IMP"), ("C", "T2", "IDA")]
    rows += [("D", "T2", "IEA")]
    text = "".join(f"DB\tid{g}\t{g}\t\t{t}\tREF\t{e}" + "\t" * 10 + "\n" for g, t, e in rows)
    path = write_text("!gaf-version: 2.2\n" + text, "a.gaf.gz")
    found = read_terms(str(path), "!IEA")
    check(found)
    assert found.facts["other_evidence"] == 1
    assert read_terms(str(path), "IDA", "id").genes == ["idA", "idB", "idC"]


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
