from __future__ import annotations

import pytest

from sfs_cli.io.knowledge.gene_sets import read_id_map

PAIRS = [("1_at", "TP53"), ("2_at", "A"), ("2_at", "B")]


def test_every_dialect(write_dialect):
    text = "Probe Set ID\tGene Symbol\n1_at\tTP53\n2_at\tA /// B\n1_at\tTP53\n3_at\t---\n"
    assert read_id_map(write_dialect(text, "m.tsv")) == PAIRS


@pytest.mark.parametrize(
    "text",
    [
        "1_at,TP53\n2_at,A\n2_at,B\n4_at,\n5_at,NA\n",
        '"x","gene"\n"1_at","TP53"\n"2_at","A///B"\n"---","B"\n',
        "# a map\n1_at ; TP53\n2_at;A /// B /// ---\n-;C\n",
    ],
)
def test_tables_of_many_kinds(write_text, text):
    assert read_id_map(write_text(text, "m.csv")) == PAIRS


def test_symbols_between_semicolons_as_illumina_writes_them(write_text):
    rows = "cg1\tTP53;TP53\tbody\ncg2\tA;B;A\tTSS\ncg3\t\t\nP1;P2\tC;\tx\n"
    path = write_text("ID\tUCSC_RefGene_Name\tUCSC_RefGene_Group\n" + rows, "GPL13534.txt")
    expected = [("cg1", "TP53"), ("cg2", "A"), ("cg2", "B"), ("P1;P2", "C")]
    assert read_id_map(path) == expected


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("a\tb\nc\td\te\n", "3 fields, but 2", "m.tsv, line 2"),
        ("a\nb\n", "1 field, but 2", "m.tsv, line 1"),
        ("probe_id\tsymbol\n1_at\t---\n", "no pair of ids", "m.tsv"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, what, where):
    path = write_text(text, "m.tsv")
    check_refused(lambda: read_id_map(path), what, where)
