"""What is said of sample ids that a table and the matrix write in other ways."""

from __future__ import annotations

import pytest

from sfs_cli.io.files.likeness import likely_change
from sfs_cli.run.sample_ids import without_common_ids


def hint(there: list[str], samples: list[str]) -> str:
    return without_common_ids("a label", "t.tsv", there, samples).hint


@pytest.mark.parametrize(
    ("there", "samples", "expected"),
    [
        (
            ["TCGA-A0-B000", "TCGA-A1-B001"],
            ["TCGA-A0-B000-01A-11R", "TCGA-A1-B001-01A"],
            "first 12",
        ),
        (["1-T-0", "2-T-1"], ["X1.T.0", "X2.T.1"], "signs"),
        (["1", "2", "10"], ["001", "002", "010"], "zeros"),
        (["s1", "S2"], ["S1", "s2"], "case"),
        (["pt-01", "pt-02"], ["PT01", "PT02"], "signs and upper and lower case"),
        (["Pat_7", "Pat_8"], ["pat.007", "pat.008"], "zeros"),
        (["a1", "b2", "c3"], ["a1.bam", "b2.bam", "c3.bam"], "end with"),
        (["P01fb", "P02fb"], ["P01", "P02"], "end with were cut off (fb)"),
        (["s1", "s2"], ["Xs1", "Xs2"], "begin with were cut off (X)"),
        (["p1", "p2", "p3"], ["s1", "s2", "s3"], None),
        (["gene1", "gene2"], ["s1", "s2"], None),
        (["sample", "sampleB", "sampleC"], ["sample1", "sample2", "sample3"], None),
        (["a-x", "b-x"], ["a", "c", "d", "e"], "1 would be found"),
        (["a-x", "b-x", "f-x"], ["a", "c", "d", "e"], None),
        (["a-x", "b-x", "f-x", "g-x"], ["a", "c", "d", "e"], None),
        ([f"ctrl.{i}" for i in range(1, 13)], [f"ctrl.{i}" for i in range(13, 25)], None),
        ([], ["s1"], None),
    ],
)
def test_a_simple_change_is_named(there, samples, expected):
    for one, other in ((there, samples), (samples, there)):
        found = hint(one, other)
        if expected is None:
            assert found == "check that both use the same sample ids, and --rows"
        else:
            assert expected in found
            assert "would be found if" in found


def test_the_first_change_that_finds_half_is_named():
    there = ["AB-CD-EF1", "AB-CD-EF2", "ab-cd-ef3"]
    found = hint(there, ["AB.CD.EF1", "AB.CD.EF2", "AB.CD.EF3"])
    assert found.startswith("2 would be found if signs were the same")


def test_samples_of_which_there_are_several_kinds_are_told():
    there, samples = ["S1", "S2", "S3"], ["S1_count", "S2_count", "S1_fpkm", "S2_fpkm", "S4_fpkm"]
    for one, other in ((there, samples), (samples, there)):
        assert hint(one, other).startswith("2 stand for several, as S1 for S1_count, S1_fpkm")


@pytest.mark.parametrize(
    "kinds",
    [
        ("{}.AVG_Signal", "{}.Detection Pval"),  # GenomeStudio
        ("Intensity {}", "LFQ intensity {}"),  # MaxQuant
    ],
)
def test_kinds_of_values_whose_names_are_two_words_are_told(kinds):
    samples = [kind.format(sample) for sample in ("S1", "S2") for kind in kinds]
    assert hint(["S1", "S2"], samples).startswith("2 stand for several, as S1 for ")
    assert "stand for" not in hint(["S1", "S2", "S3", "S4"], ["S1_count", "S1_fpkm", "x"])


@pytest.mark.parametrize(
    ("there", "samples", "expected"),
    [
        (["miR-21", "miR-7", "let-7"], ["hsa-miR-21", "hsa-miR-7", "hsa-let-7"], "begin with"),
        (["TP53", "MYC"], ["TP53|7157", "MYC|4609"], "follows a |"),
        (["HLA-A", "HLA-B", "TP53"], ["HLA.A", "HLA.B", "TP53"], "3 would be found if signs"),
        (
            ["S1", "S2"],
            ["/bam/S1.s.bam", "/bam/S2.s.bam"],
            "2 would be found if what all ids begin",
        ),
        (["a", "b", "c"], ["a", "b", "C"], None),  # most are found as they are
    ],
)
def test_ids_of_genes_and_samples_have_the_same_changes(there, samples, expected):
    for one, other in ((there, samples), (samples, there)):
        found = likely_change(one, other)
        assert found is None if expected is None else expected in found
