from __future__ import annotations

import pytest

from sfs_cli.io.knowledge.gene_sets import read_gene_list

GENES = ["TP53", "BRCA1", "ID1"]


def test_every_dialect(write_dialect):
    path = write_dialect("TP53\nBRCA1\nTP53\nID1\n", "genes.txt")
    assert read_gene_list(path) == GENES


@pytest.mark.parametrize(
    "text",
    [
        "gene\nTP53\nBRCA1\nID1\n",
        "# of a paper\n#\nHGNC symbol\n TP53 \n BRCA1\nID1\n",
        "SYMBOL\trole\nTP53\tLoF\nBRCA1\tLoF\nID1\t\n",
        '"gene_id","x"\n"TP53",1\n"BRCA1",2\n"ID1",3\n',
        "gene\tname\tplace\nTP53\t\t17\nBRCA1\tx\t17\nID1\ty\tX\n",
        "TP53,1\nBRCA1,2\n# aside\nID1,3\n",
        "".join(f"{gene}\tx" + "\ty" * 14 + "\n" for gene in GENES),  # as wide as a GAF
        "rank\tfeature\tscore\n1\tTP53\t3\n2\tBRCA1\t2\n3\tID1\t1\n",  # selected.tsv
        "rank,feature,score\n1,TP53,3\n2,BRCA1,2\n3,ID1,1\n",
    ],
)
def test_headers_comments_and_further_columns(write_text, text):
    assert read_gene_list(write_text(text, "genes.csv")) == GENES


def test_a_header_is_one_only_in_the_first_line(write_text):
    assert read_gene_list(write_text("TP53\ngene\n", "g.txt")) == ["TP53", "gene"]


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("gene\n", "holds no ids", "g.txt"),
        ("TP53, MDM2, ATM\n", "single line of 3 fields", "g.txt, line 1"),
        ("S1\thttp://x\tA\tB\nS2\thttp://y\tC\tD\n", "looks like gene sets", "g.txt"),
        ("S1\tna\tA\tB\nS2\tna\tC\n", "looks like gene sets", "g.txt"),
        ("!gaf-version: 2.2\nDB\tID\n", "looks like annotations", "g.txt"),
        ("TP53\n\tBRCA1\n", "no id in field 1", "g.txt, line 2"),
        (b"PAR1....", "a Parquet table, not a list of genes", "g.txt"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, what, where):
    path = write_text(text, "g.txt")
    check_refused(lambda: read_gene_list(path), what, where)
