from __future__ import annotations

import pytest

from sfs_cli.io.knowledge.hierarchy import read_hierarchy

PATHS = {
    "s1": ("epithelial", "colon", "tumor"),
    "s2": ("epithelial", "colon", "normal"),
    "s3": ("blood",),
}
TEXT = (
    "sample\tpath\ns1\tepithelial/colon/tumor\ns2\tepithelial / colon/normal\ns3\tblood\ns4\tNA\n"
)


def test_paths_of_a_table(write_text):
    found = read_hierarchy(str(write_text(TEXT, "h.tsv.gz")))
    assert found.paths == PATHS
    assert found.depth == 3


def test_columns_are_named_or_told_by_their_name(write_text):
    text = "id,age,Path,other\ns1,4,a/b,x/y/z\ns2,5,a/c,x/y/w\n"
    path = write_text(text, "h.csv")
    assert read_hierarchy(str(path)).depth == 2
    assert read_hierarchy(f"{path}:other").paths["s2"] == ("x", "y", "w")


def test_newick_counts_edges_from_the_root(write_dialect):
    text = "[of a clustering]\n(\n((s1:1,s2:1)tumor:2,s3)epithelial,\ns4);\n"
    found = read_hierarchy(str(write_dialect(text, "tree.nwk")))
    depths = {name: len(path) for name, path in found.paths.items()}
    assert depths == {"s1": 3, "s2": 3, "s3": 2, "s4": 1}
    assert found.depth == 3
    s1, s2, s3, s4 = found.paths.values()
    assert s1[:2] == s2[:2]
    assert s1[2] != s2[2]
    assert s1[0] == s3[0] != s4[0]


@pytest.mark.parametrize(
    ("text", "spec", "what", "where"),
    [
        ("s\tp\na\tx//y\nb\tx\n", "", "'x//y' has an empty component", "h.tsv, line 2, column 'p'"),
        ("s\tp\na\tx/y\na\tx/z\n", "", "'a' has two paths, 'x/y' and 'x/z'", "h.tsv, line 3"),
        ("s\tp\na\tNA\nb\t\n", "", "no sample has a path", "column 'p'"),
        ("s\tp\na\tx/y\nb\tz/y\n", "", "no two samples", "h.tsv"),
        ("((a,b),c);", ":p", "a Newick tree, which has no column 'p'", "h.tsv"),
        (b"\x89HDF\r\n\x1a\n", "", "an HDF5 file", "h.tsv"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, spec, what, where):
    path = write_text(text, "h.tsv")
    check_refused(lambda: read_hierarchy(f"{path}{spec}"), what, where)
