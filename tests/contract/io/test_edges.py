"""Lists of edges: what their columns hold, and what is left out and counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.errors import InputError
from sfs_cli.io.knowledge import edges
from sfs_cli.io.knowledge.edges import read_edges

SCORED = {("A", "B"): 0.5, ("B", "C"): 0.25, ("C", "D"): 1.0}
ROWS = [("A", "B", "0.5"), ("C", "B", "0.25"), ("D", "C", "1"), ("B", "C", "0.1"), ("D", "D", "9")]


def scored(found):
    assert np.all(found.a < found.b)
    assert len(set(zip(found.a.tolist(), found.b.tolist()))) == len(found.a)
    assert set(np.concatenate([found.a, found.b]).tolist()) == set(range(len(found.ids)))
    scores = [None] * len(found.a) if found.score is None else found.score.tolist()
    names = [tuple(sorted((found.ids[i], found.ids[j]))) for i, j in zip(found.a, found.b)]
    return dict(zip(names, scores, strict=True))


def lines(delimiter, rows=ROWS, width=3):
    return "".join(delimiter.join(row[:width]) + "\n" for row in rows)


def test_every_dialect(write_dialect):
    found = read_edges(write_dialect("gene_a\tgene_b\tscore\n" + lines("\t"), "e.tsv"))
    assert scored(found) == SCORED
    assert sorted(found.ids) == ["A", "B", "C", "D"]
    assert found.facts == {
        "format": "table",
        "columns": ["gene_a", "gene_b"],
        "self_loops": 1,
        "score_column": "score",
        "repeated_edges": 1,
    }


@pytest.mark.parametrize(
    ("delimiter", "header"),
    [
        *((each, "") for each in ["\t", ",", ";", " ", "   ", " \t", ", ", " , "]),
        *((",", each) for each in ["source,target,weight", "x,y,z", "# my\n#node1,node2,f"]),
    ],
)
def test_delimiters_and_headers(write_text, delimiter, header):
    head = header.replace(",", delimiter) + "\n" if header else ""
    found = read_edges(write_text(head + lines(delimiter), "e.txt"))
    assert scored(found) == SCORED


@pytest.mark.parametrize(
    "text",
    [
        lines("\t", width=2),
        "from\tto\n" + lines("\t", width=2),
        "# A\tZ\n" + lines("\t", width=2),
    ],
)
def test_without_scores(write_text, text):
    found = read_edges(write_text(text, "e.txt"))
    assert scored(found) == dict.fromkeys(SCORED)
    assert found.score is None


def test_named_columns_are_preferred_whatever_their_place(write_text):
    text = '"","evidence","score","Gene-A","Gene-B","n"\n' + "".join(
        f'"{i}","x",{s},"{a}","{b}",7\n' for i, (a, b, s) in enumerate(ROWS)
    )
    assert scored(read_edges(write_text(text, "e.csv"))) == SCORED
    shifted = "gene1 gene2 weight\n" + "".join(
        f"{i} {a} {b} {s}\n" for i, (a, b, s) in enumerate(ROWS)
    )
    assert scored(read_edges(write_text(shifted, "r.txt"))) == SCORED


STRING = "protein1 protein2 combined_score\n" + "".join(
    f"9606.ENSP{a} 9606.ENSP{b} {s}\n9606.ENSP{b} 9606.ENSP{a} {s}\n"
    for a, b, s in [(1, 2, 900), (2, 3, 150), (1, 3, 700)]
)


def test_string(write_text, ending):
    found = read_edges(write_text(STRING, f"9606.protein.links.txt{ending}"), 200)
    assert scored(found) == {("ENSP1", "ENSP2"): 900, ("ENSP1", "ENSP3"): 700}
    assert found.facts == {
        "format": "STRING",
        "columns": ["protein1", "protein2"],
        "self_loops": 0,
        "score_column": "combined_score",
        "lowest_score": 700.0,
        "below_min_score": 2,
        "repeated_edges": 2,
        "taxon": "9606",
    }


@pytest.mark.parametrize("ids", [["9606.", "9606.A"], ["7.1", "7.2"], ["9606.A", "10090.B"]])
def test_a_number_that_is_no_taxon_of_all_ids_stays(write_text, ids):
    found = read_edges(write_text(f"protein1 protein2\n{ids[0]} {ids[1]}\n", "links.txt"))
    assert sorted(found.ids) == sorted(ids)
    assert "taxon" not in found.facts


SIF = "1001\tpp\t1002\t1003\n\n1004\n1003\tinteracts with\t1004\n"


def test_sif(write_text, ending):
    found = read_edges(write_text(SIF, f"n.sif{ending}"))
    assert scored(found) == dict.fromkeys([("1001", "1002"), ("1001", "1003"), ("1003", "1004")])
    assert found.facts["format"] == "SIF"
    blanks = read_edges(write_text("A  pp B C\n# aside\nB pd C\nD\tpp\tx y\n", "n.SIF"))
    assert scored(blanks) == dict.fromkeys([("A", "B"), ("A", "C"), ("B", "C"), ("D", "x y")])


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (
            "Gene ID\tGene Symbol\tSpecies ID\tmiRNA Family\tUTR start\n"
            "E1\tTP53\t9606\tmiR-125\t1\n",
            ("TP53", "miR-125"),
        ),
        (
            "miRTarBase ID\tmiRNA\tSpecies (miRNA)\tTarget Gene\tTarget Gene (Entrez ID)\n"
            "M1\tmiR-20a\tHomo sapiens\tTP53\t7157\n",
            ("TP53", "miR-20a"),
        ),
    ],
    ids=["TargetScan", "miRTarBase"],
)
def test_tables_of_targets(write_text, text, ends):
    assert list(scored(read_edges(write_text(text, "t.txt")))) == [ends]


def test_string_by_display_names(write_text):
    head = "#node1\tnode2\tnode1_string_id\tnode2_string_id\tcoexpression\tcombined_score\n"
    text = head + "TP53\tMDM2\t9606.E1\t9606.E2\t0.1\t0.999\nMDM2\tTP53\t9606.E2\t9606.E1\t0\t0.9\n"
    found = read_edges(write_text(text, "string_interactions.tsv"))
    assert scored(found) == {("MDM2", "TP53"): 0.999}
    api = "stringId_A\tstringId_B\tpreferredName_A\tpreferredName_B\tncbiTaxonId\tscore\n"
    text = api + "9606.E1\t9606.E2\tTP53\tMDM2\t9606\t0.999\n"
    assert scored(read_edges(write_text(text, "network.tsv"))) == {("MDM2", "TP53"): 0.999}


BIOGRID_NAMES = (
    "#BioGRID Interaction ID\tEntrez Gene Interactor A\tEntrez Gene Interactor B\t"
    "Systematic Name Interactor A\tSystematic Name Interactor B\tOfficial Symbol Interactor A\t"
    "Official Symbol Interactor B\tExperimental System Type\tOrganism ID Interactor A\tScore\t"
    "Qualifications\n"
)


def biogrid(*rows):
    made = [f"1\t2\t3\t-\t-\t{a}\t{b}\tphysical\t9606\t{s}\t{q}\n" for a, b, s, q in rows]
    return BIOGRID_NAMES + "".join(made)


def test_biogrid(write_text):
    rows = [
        ("MAP2K4", "FLNC", "-", "-"),
        ("FLNC", "MAP2K4", "-4.5", 'said "so'),
        ("MYPN", "ACTN2", "0.8", '"unpaired'),
        ("-", "ACTN2", "0.9", "-"),
        ("TP53", "TP53", "-", "-"),
    ]
    path = write_text(biogrid(*rows), "BIOGRID-ALL.tab3.txt")
    found = read_edges(path)
    assert scored(found) == {("FLNC", "MAP2K4"): None, ("ACTN2", "MYPN"): None}
    assert found.facts == {
        "format": "BioGRID",
        "columns": ["Official Symbol Interactor A", "Official Symbol Interactor B"],
        "without_symbol": 1,
        "self_loops": 1,
        "repeated_edges": 1,
    }
    with pytest.raises(InputError, match="no scores that can be compared"):
        read_edges(path, 0.5)


def test_chunks_do_not_matter(write_text, monkeypatch):
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 40, (2, 400))
    text = "".join(f"g{i}\tg{j}\t{s:.3f}\n" for i, j, s in zip(a, b, rng.random(400)))
    path = write_text("# note\n\ngene1\tgene2\tscore\n" + text, "e.tsv")
    whole = read_edges(path)
    monkeypatch.setattr(edges, "CHUNK_BYTES", 64)
    parts = read_edges(path)
    assert (parts.ids, parts.facts) == (whole.ids, whole.facts)
    for name in ("a", "b", "score"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


names = st.sampled_from(["A", "B", "HLA-A", "9606.P1", "é", "NA", "x y"])
rows_of = st.lists(st.tuples(names, names, st.integers(0, 99)), min_size=1, max_size=30)


@settings(max_examples=30)
@given(rows_of)
def test_against_a_dictionary(tmp_path_factory, rows):
    expected: dict[tuple[str, str], float] = {}
    for a, b, score in rows:
        if a != b:
            key = tuple(sorted((a, b)))
            expected[key] = max(expected.get(key, 0), score)
    path = tmp_path_factory.mktemp("edges") / "e.tsv"
    path.write_text("gene_a\tgene_b\tscore\n" + "".join(f"{a}\t{b}\t{s}\n" for a, b, s in rows))
    if expected:
        found = read_edges(path)
        assert scored(found) == expected
        dropped = found.facts["self_loops"] + found.facts["repeated_edges"]
        assert len(rows) == len(found.a) + dropped
    else:
        with pytest.raises(Exception, match="no edge joins"):
            read_edges(path)


GOOD = "gene_a\tgene_b\tscore\nA\tB\t0.5\n"


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        (GOOD + "\nC\tD\t1\t2\n", "Expected 3 columns, got 4: C\tD", "e.tsv, lines 1 to 4"),
        (GOOD + "C\t\t1\n", "no id beside 'C'", "e.tsv"),
        (GOOD + "C\tD\t-1\n", "the score of C and D is negative", "e.tsv"),
        (GOOD + "C\tD\tNaN\n", "the score of C and D is missing", "e.tsv"),
        (GOOD + "C\tD\t1e999\n", "C and D is 1e+100 or more", "e.tsv"),
        (GOOD + "C\tD\t0,5\n", "invalid value '0,5'", "e.tsv, lines 1 to 3"),
        ("x\ty\tz\tw\nA\tB\t1\tD\n", "which of the columns x, y, z, w", "e.tsv, line 1"),
        ("#ID(s) interactor A\n" + "db:A\tdb:B" + "\t-" * 13 + "\n", "db:A", "e.tsv, line 2"),
        ("A\tA\nB\tB\n", "no edge joins two different ids", "e.tsv"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file, not a list of edges", "e.tsv"),
    ],
)
def test_what_is_wrong_is_named(write_text, check_refused, text, what, where):
    path = write_text(text, "e.tsv")
    check_refused(lambda: read_edges(path), what, where)


def test_edges_without_scores_have_no_least_one(write_text, check_refused):
    path = write_text("A\tB\nC\tD\n", "e.tsv")
    check_refused(lambda: read_edges(path, 0.5), "the edges have no scores", "e.tsv")


def test_the_ends_that_come_first_are_taken(tmp_path):
    path = tmp_path / "e.tsv"
    path.write_text("gene_a\tgene_b\tsource\ttarget\tscore\nA\tB\tdb1\tx\t0.5\n")
    assert read_edges(path).facts["columns"] == ["gene_a", "gene_b"]
    path.write_text("source\ttarget\tgene_a\tgene_b\nA\tB\tdb1\tx\n")
    assert read_edges(path).facts["columns"] == ["source", "target"]
