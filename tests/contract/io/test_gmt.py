from __future__ import annotations

from pathlib import Path

import pytest

from sfs_cli.io.knowledge.gene_sets import Study, choose_sets, read_gmt, split_set_spec

TEXT = "S1\tfirst\tA\tB\tA\nS2\t\tB\t C \t\t\nT[1]\tthird\tD\n"
SETS = {"S1": ["A", "B"], "S2": ["B", "C"], "T[1]": ["D"]}


def test_every_dialect(write_dialect):
    assert read_gmt(write_dialect(TEXT, "s.gmt")) == SETS


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["S*"], ["S1", "S2"]),
        (["T[1]"], ["T[1]"]),
        (["*"], list(SETS)),
    ],
)
def test_sets_are_chosen_by_name_or_pattern(patterns, names):
    assert choose_sets(SETS, ",".join(patterns), Path("s.gmt")) == {
        name: SETS[name] for name in names
    }


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [("s1", "S1"), ("zzzz", "S1, S2"), ("T1*", "T[1]")],
)
def test_a_pattern_that_fits_nothing_gets_the_nearest(check_refused, pattern, hint):
    def choose():
        choose_sets(SETS, pattern, Path("s.gmt"))

    check_refused(choose, f"no set {pattern!r} among 3 sets", "s.gmt")
    with pytest.raises(Exception, match="to do") as caught:
        choose()
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("a/s.gmt", ("a/s.gmt", "")),
        ("s.gmt:S1,S2", ("s.gmt", "S1,S2")),
        ("go.gmt.gz:GO:0000002", ("go.gmt.gz", "GO:0000002")),
        ("C:\\s.gmt:S1", ("C:\\s.gmt", "S1")),
    ],
)
def test_files_and_sets_are_told_apart(spec, expected):
    path, sets = split_set_spec(spec)
    assert (str(path), sets) == expected


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("S1\td\tA\nS2\td\n", "'S2' has no genes", "s.gmt, line 2"),
        ("S1\td\tA\n\nS1\td\tB\n", "'S1'", "s.gmt, line 3"),
        ("\td\tA\n", "no name", "s.gmt, line 1"),
        ("# nothing\n", "no gene sets", "s.gmt"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, what, where):
    path = write_text(text, "s.gmt")
    check_refused(lambda: read_gmt(path), what, where)


REACTOME = {"Cell Cycle, Mitotic": ["A"], "Cell Cycle": ["B"], "G2, M, late": ["C"]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Cell Cycle,Cell Cycle, Mitotic", ["Cell Cycle, Mitotic", "Cell Cycle"]),
        ("G2, M, late , Cell*", list(REACTOME)),
        (" Cell Cycle  ,G2 , M, late", ["Cell Cycle", "G2, M, late"]),
    ],
)
def test_names_may_hold_commas(text, names):
    assert list(choose_sets(REACTOME, text, Path("r.gmt"))) == names


GMX = "S1\tS2\tT[1]\n\t\t\nA\tB\tD\nB\t C\nA\n"


def test_sets_in_columns(write_text, ending):
    assert read_gmt(write_text(GMX, f"s.gmx{ending}")) == SETS
    assert read_gmt(write_text(GMX.replace("\n", "\r\n"), "s.GMX")) == SETS


@pytest.mark.parametrize(
    ("text", "features", "sets", "n"),
    [
        ("S1\tna\tA\tB\nS2\tB\tC\nS3\tX\tD\n", "XYZ", ["AB", "BC", "XD"], 2),
        ("S1\tC\tA\tB\nS2\tB\tC\nS3\tan aim\tA\n", "", ["AB", "C", "A"], 0),  # one describes
        ("of C\tC\tA\tB\nS2\tB\tC\n", "", ["AB", "C"], 0),  # the name says what the gene is
        ("S1\tA\tA\tB\nS2\tB\tB\tC\n", "", ["AB", "BC"], 0),
        ("S1\tX\tA\nS2\tX\tB\nS3\tX\tC\n", "X", ["A", "B", "C"], 0),  # a word that is a gene
    ],
)
def test_descriptions_that_are_genes(write_text, text, features, sets, n):
    told = []
    found = read_gmt(write_text(text, "s.gmt"), Study(features, told.append))
    assert ["".join(genes) for genes in found.values()] == sets
    assert [f"the second field of {n} sets is a gene" in each for each in told] == [True] * (n > 0)
