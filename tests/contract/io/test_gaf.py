from __future__ import annotations

import pytest

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.knowledge.gene_sets import kept_codes, read_gaf


def line(symbol, term, code="EXP", qualifier="", uid="", columns=17):
    fields = ["UniProtKB", uid or f"id{symbol}", symbol, qualifier, term, "PMID:1", code, "", "P"]
    fields += ["", "", "gene", "taxon:9606", "20200101", "UniProt", "", ""]
    return "\t".join(fields[:columns])


LINES = [
    line("A", "GO:1", "IDA"),
    line("B", "GO:1", "IEA", "involved_in"),
    line("A", "GO:2", "IEA"),
    line("A", "GO:2", "IMP"),
    line("C", "GO:2", "IDA", "NOT|enables"),
    line("D", "GO:3", "TAS", "NOTHING", columns=15),
]
TEXT = "!gaf-version: 2.2\n!comment\n" + "\n".join(LINES) + "\n"


def test_every_dialect(write_dialect):
    found = read_gaf(write_dialect(TEXT, "a.gaf"))
    assert found.genes == {"GO:1": ["A", "B"], "GO:2": ["A"], "GO:3": ["D"]}
    assert found.facts == {
        "annotations": 5,
        "negated_annotations": 1,
        "other_evidence": 0,
        "without_data": 0,
    }


@pytest.mark.parametrize(
    ("evidence", "genes", "other"),
    [
        ("IDA,IMP", {"GO:1": ["A"], "GO:2": ["A"]}, 3),
        ("!IEA", {"GO:1": ["A"], "GO:2": ["A"], "GO:3": ["D"]}, 2),
    ],
)
def test_evidence_is_kept_or_left_out(write_text, evidence, genes, other):
    found = read_gaf(write_text(TEXT, "a.gaf"), evidence)
    assert found.genes == genes
    assert found.facts["other_evidence"] == other


@pytest.mark.parametrize(
    ("evidence", "what", "hint"),
    [
        ("IDA,!IEA", "keeps some codes and leaves others out", "not both"),
        ("IEX", "'IEX'", "did you mean"),
        ("", "''", "choose from EXP"),
    ],
)
def test_evidence_that_is_not_understood(evidence, what, hint):
    with pytest.raises(UsageError, match=what) as caught:
        kept_codes(evidence)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("\n" + line("", "GO:1"), "no term or no symbol", "a.gaf, line 2"),
        ("!gaf-version: 2.1\n", "no annotations", "a.gaf"),
        (LINES[4], "the qualifier NOT", "a.gaf"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, what, where):
    path = write_text(text, "a.gaf")
    check_refused(lambda: read_gaf(path), what, where)


def test_genes_without_biological_data_are_left_out_unless_asked_for(write_text):
    path = write_text(TEXT + line("E", "GO:1", "ND") + "\n", "a.gaf")
    found = read_gaf(path)
    assert "E" not in found.genes["GO:1"]
    assert (found.facts["annotations"], found.facts["without_data"]) == (5, 1)
    assert "E" not in read_gaf(path, "!IEA").genes["GO:1"]
    assert read_gaf(path, "ND").genes == {"GO:1": ["E"]}
    assert read_gaf(path, "ND").facts["without_data"] == 0


def test_where_no_annotation_is_kept_the_evidence_of_the_file_is_named(write_text):
    with pytest.raises(InputError) as caught:
        read_gaf(write_text(TEXT + line("E", "GO:1", "IBA") + "\n", "a.gaf"), "EXP")
    assert "IBA 1" in caught.value.hint
