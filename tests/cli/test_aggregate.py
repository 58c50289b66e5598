"""``sfs aggregate``: any tables of rankings through the real entry point."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.workflow.outputs import FOR_MULTIQC
from tests.making_commands import FEATURES, good, text, values
from tests.running import run_here, snapshot

GENES = [f"g{i}" for i in range(12)]


def shuffled(seed: int, m: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).permutation(m) + 1


def ranks_file(folder: Path, seed: int, name: str, header: str = "gene\trank\n") -> str:
    rows = "".join(f"{g}\t{r}\n" for g, r in zip(GENES, shuffled(seed)))
    return text(folder, header + rows, name)


def rows_of(content: str, delimiter: str = "\t") -> list[dict[str, str]]:
    return list(csv.DictReader(content.splitlines(), delimiter=delimiter))


def rankings(folder: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Rank a matrix by two methods, one feature of which is constant."""
    X = values()
    X[4] = 1.0
    matrix = good(folder)
    lines = Path(matrix).read_text().splitlines()
    lines[5] = ",".join(["gene5", *["1"] * X.shape[1]])
    Path(matrix).write_text("\n".join(lines) + "\n")
    for method in ("spec", "variance"):
        done = run_here(["rank", matrix, "--method", method, "--out", str(folder / method)], capfd)
        assert done.code == 0
    return [str(folder / method / "ranking.tsv") for method in ("spec", "variance")]


def test_our_own_tables_leave_out_what_has_no_score(tmp_path, capfd):
    done = run_here(["aggregate", *rankings(tmp_path, capfd)], capfd)
    rows = rows_of(done.out)
    assert list(rows[0])[-2:] == ["rank_spec", "rank_variance"]
    assert (rows[-1]["feature"], rows[-1]["score"], rows[-1]["status"]) == (
        *("gene5", "NaN", "not ranked"),
    )
    assert {row["feature"] for row in rows} == set(FEATURES)
    assert "8 of 9 features ('feature') ranked by 'rank'" in done.err


def test_equal_scores_of_our_own_tables_share_their_rank(tmp_path, capfd):
    rows = "1\ta\t5\tok\n2\tb\t3\tok\n3\tc\t3\tok\n4\td\tNaN\tconstant\n5\te\t9\tall zero\n"
    own = "rank\tfeature\tscore\tstatus\n" + rows
    paths = [text(tmp_path, own, "one.tsv"), text(tmp_path, own, "two.tsv")]
    found = rows_of(run_here(["aggregate", *paths], capfd).out)
    assert [(r["feature"], r["score"]) for r in found] == [
        *(("a", "1"), ("b", "2.5"), ("c", "2.5"), ("d", "NaN"), ("e", "NaN")),
    ]


@pytest.mark.parametrize(
    ("column", "options", "best", "said"),
    [
        ("p_val", [], "a", "('gene') ranked by 'p_val', smallest-first"),
        ("p_val", ["--order", "largest-first"], "c", "begins with the worst"),
        ("log2FC", [], "b", "'log2FC', largest-first by absolute value"),
        ("log2FC", ["--order", "largest-first"], "a", "'log2FC', largest-first"),
        ("v", [], "a", "have both signs (-9 to 5)"),
        ("v", ["--order", "absolute"], "b", "'v', largest-first by absolute value"),
        ("w", [], "c", "of p-values give --order smallest-first"),
        ("w", ["--order", "absolute"], "c", "'w', largest-first"),
        ("w", ["--order", "smallest-first"], "a", "'w', smallest-first"),
        ("Rank", [], "b", "ranked by 'Rank'\n"),
        ("w", ["--feature-column", "u"], "z", "('u') ranked by 'w', largest-first"),
    ],
)
def test_columns_are_ordered_by_what_they_are(column, options, best, said, tmp_path, capfd):
    rows = "a,1e-6,5,5,1e-6,2,x\nb,0.01,-9,-9,0.01,1,y\nc,1,0.1,0.1,1,3,z\n"
    path = text(tmp_path, "gene,p_val,log2FC,v,w,Rank,u\n" + rows, "markers.csv")
    done = run_here(["aggregate", f"{path}:{column}", f"{path}:{column}", *options], capfd)
    assert done.code == 0, done.err
    assert rows_of(done.out)[0]["feature"] == best
    assert said in done.err


def test_every_list_has_its_own_column(tmp_path, capfd):
    """A result beside a table that is ordered by its p-values, of which two columns are lists."""
    ours = ranks_file(tmp_path, 3, "ours.tsv")
    rows = "".join(f"{g},{13 - r},{r / 100}\n" for g, r in zip(GENES, shuffled(4)))
    theirs = text(tmp_path, "gene,stat,padj\n" + rows, "deseq2.csv")
    done = run_here(["aggregate", ours, f"{theirs}:padj", f"{theirs}:stat"], capfd)
    assert done.code == 0, done.err
    table = rows_of(done.out)
    names = ["rank_ours", "rank_deseq2_padj", "rank_deseq2_stat"]
    assert list(table[0])[-3:] == names
    assert [row[names[1]] for row in table] == [row[names[2]] for row in table]
    expected = dict(zip(GENES, shuffled(4)))
    assert all(float(row[names[1]]) == expected[row["feature"]] for row in table)
    assert "no column 'p'" in run_here(["aggregate", ours, f"{theirs}:p"], capfd).err


def test_row_names_of_r_and_pandas_name_the_features(tmp_path, capfd):
    rows = "".join(f'"{g}",{r},x\n' for g, r in zip(GENES, shuffled(4)))
    with_r = text(tmp_path, '"rank","note"\n' + rows, "r.csv")
    with_pandas = text(tmp_path, ",rank,note\n" + rows, "pandas.csv")
    done = run_here(["aggregate", with_r, with_pandas], capfd)
    assert done.code == 0, done.err
    assert rows_of(done.out)[0]["feature"] == GENES[int(np.argmin(shuffled(4)))]


def test_compressed_text_is_read_and_named_without_its_suffixes(tmp_path, capfd):
    path = tmp_path / "one.tsv.gz"
    path.write_bytes(gzip.compress(Path(ranks_file(tmp_path, 1, "two.tsv")).read_bytes()))
    rows = rows_of(run_here(["aggregate", str(path), str(tmp_path / "two.tsv")], capfd).out)
    assert list(rows[0])[-2:] == ["rank_one", "rank_two"]
    assert [row["rank_one"] for row in rows] == [str(i) for i in range(1, 13)]


def test_partial_lists_and_top(tmp_path, capfd):
    one = text(tmp_path, "gene\trank\na\t1\nb\t2\nc\t3\nd\t4\n", "one.tsv")
    two = text(tmp_path, "gene\trank\nc\t1\ne\t2\n", "two.tsv")
    rows = rows_of(run_here(["aggregate", one, two], capfd).out)
    scores = {row["feature"]: float(row["score"]) for row in rows}
    # five features: list two leaves ranks 3, 4 and 5 to a, b and d, list one rank 5 to e
    assert scores == {"a": 2.5, "b": 3.0, "c": 2.0, "d": 4.0, "e": 3.5}
    assert {row["feature"]: row["n_lists"] for row in rows} == dict(zip("abcde", "11211"))
    done = run_here(["aggregate", one, two, "--top", "1"], capfd)
    cut = rows_of(done.out)
    assert {row["feature"] for row in cut[:2]} == {"a", "c"}
    # each list leaves ranks 2 to 5 to the four others, though no list ranks three of them now
    assert [float(row["score"]) for row in cut[:2]] == [(1 + 3.5) / 2] * 2
    assert {row["status"] for row in cut[2:]} == {"below the top of every list"}
    assert "3 below the top" in done.err


@pytest.fixture
def into(tmp_path: Path) -> list[str]:
    paths = [ranks_file(tmp_path, seed, f"{seed}.tsv") for seed in (1, 2, 3)]
    return ["aggregate", *paths, "--out", str(tmp_path / "out")]


def test_folder_holds_ranking_report_and_provenance(into, tmp_path, capfd):
    assert run_here(into, capfd).code == 0
    files = snapshot(tmp_path / "out")
    own = {"ranking.tsv", "report.html", "page.json", "run.json", "sfs_mqc.json"}
    assert set(files) == own | {*FOR_MULTIQC}
    run = json.loads(files["run.json"])
    assert [entry["name"] for entry in run["lists"]] == ["1", "2", "3"]
    assert [entry["n_ranked"] for entry in run["lists"]] == [12] * 3
    assert np.array(run["agreement"]["kendall"]).shape == (3, 3)
    assert run["result"]["n_scored"] == 12
    alone = run_here([word for word in into if word not in into[-2:]], capfd)
    assert files["ranking.tsv"] == alone.out.encode()


def test_a_list_of_another_name_is_another_run(into, tmp_path, capfd):
    """Its name is that of a column, and of a row of the report."""
    assert run_here(into, capfd).code == 0
    renamed = (tmp_path / "1.tsv").rename(tmp_path / "renamed.tsv")
    assert run_here([into[0], str(renamed), *into[2:]], capfd).code == 4


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda name: name.upper(), "12 would be found if upper and lower case"),
        (lambda name: f"x{name}", "same kind of ids"),
        (lambda name: name if name == "g3" else name.upper(), None),
    ],
)
def test_lists_without_a_feature_in_common_are_told(tmp_path, capfd, other, said):
    first = ranks_file(tmp_path, 1, "first.tsv")
    rows = "".join(f"{other(g)}\t{r}\n" for g, r in zip(GENES, shuffled(2)))
    second = text(tmp_path, "gene\trank\n" + rows, "second.tsv")
    done = run_here(["aggregate", first, second], capfd)
    assert done.code == 0
    assert ("has no feature in common with any other" in done.err) == (said is not None)
    assert (said or "") in done.err


def test_folders_of_results_and_lists_of_ids_are_rankings(tmp_path, capfd):
    tables = rankings(tmp_path, capfd)
    expected = run_here(["aggregate", *tables], capfd)
    folders = [str(Path(table).parent) for table in tables]
    assert run_here(["aggregate", *folders], capfd).out == expected.out
    ranked = ranks_file(tmp_path, 1, "ranked.tsv")
    ordered = sorted(zip(shuffled(1).tolist(), GENES))
    ids = "# of a paper\ngene\n" + "".join(f"{gene}\n" for _, gene in ordered)
    other = ranks_file(tmp_path, 2, "other.tsv")
    expected = run_here(["aggregate", ranked, other], capfd)
    (tmp_path / "ids").mkdir()
    for name, content in (("ranked.txt", ids), ("ranked.csv", ids.split("gene\n")[1])):
        done = run_here(["aggregate", text(tmp_path / "ids", content, name), other], capfd)
        assert done.code == 0, done.err
        assert done.out == expected.out


@pytest.mark.parametrize("how", ["borda", "median", "geometric", "rra"])
def test_ties_of_aggregated_lists_are_in_the_order_of_ids(how, tmp_path, capfd) -> None:
    rows = [f"g{i}\t{rank}\n" for i, rank in enumerate((1, 2, 3, 4, 5, 6))]
    turned = [f"g{i}\t{rank}\n" for i, rank in enumerate((2, 1, 4, 3, 6, 5))]
    for a, b in ((rows, turned), (turned[::-1], rows[::-1])):
        one = text(tmp_path, "gene\trank\n" + "".join(a), "a.tsv")
        two = text(tmp_path, "gene\trank\n" + "".join(b), "b.tsv")
        done = run_here(["aggregate", one, two, "--how", how], capfd)
        assert [row["feature"] for row in rows_of(done.out)] == [f"g{i}" for i in range(6)]


@pytest.mark.parametrize("rank", ["0", "1.3", "inf"])
def test_what_is_no_rank_is_refused(rank, tmp_path, capfd) -> None:
    whole = text(tmp_path, "gene\trank\na\t1\nb\t2\nc\t3\n", "good.tsv")
    bad = text(tmp_path, f"gene\trank\na\t1\nb\t{rank}\nc\t3\n", "bad.tsv")
    done = run_here(["aggregate", whole, bad], capfd)
    assert done.code == 3
    assert "bad.tsv, line 3" in done.err
    assert repr(rank) in done.err
