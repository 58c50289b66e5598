"""Rankings without a source, and rankings of many sources, against those made one by one."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

from tests.contract.numbers.commands import facts, rank_to, ranking_bytes, sfs
from tests.contract.numbers.source_study import GENES, SAMPLES, sources
from tests.making import table_text
from tests.making_commands import text


def read_ranks(out: Path) -> dict[str, float]:
    with (out / "ranking.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row["feature"]: float(k) for k, row in enumerate(rows, 1)}


@pytest.mark.parametrize("weights", ["2,1,0.5,1", "statis"])
def test_leaving_a_source_out_is_ranking_without_it(folder, tmp_path, weights):
    from scipy.stats import spearmanr

    given = sources(folder)
    asked = [] if weights is None else ["--weights", weights]
    left = ("--method", "msfs", "--leave-one-out")
    ranking_bytes(tmp_path / "all", folder / "x.csv", *left, *given, *asked)
    whole = read_ranks(tmp_path / "all")
    told = facts(tmp_path / "all")["knowledge"]["leave_one_out"]
    assert [row["without"] for row in told] == ["x", "p", "s", "t"]
    for k, row in enumerate(told):
        rest = given[: 2 * k] + given[2 * k + 2 :]
        if weights is not None and "," in weights:
            asked = ["--weights", ",".join(np.delete(weights.split(","), k))]
        out = tmp_path / str(k)
        ranking_bytes(out, folder / "x.csv", "--method", "msfs", *rest, *asked)
        alone = read_ranks(out)
        pairs = np.array([(whole[g], alone[g]) for g in GENES])
        assert row["rank_correlation"] == pytest.approx(spearmanr(*pairs.T)[0], abs=1e-12)
        kept = {g for g in GENES if whole[g] <= 100} & {g for g in GENES if alone[g] <= 100}
        assert row["overlap"] == pytest.approx(len(kept) / 100)


@pytest.mark.parametrize("count", [2, 4])
def test_ranks_on_each_source_are_those_of_a_ranking_on_it_alone(folder, tmp_path, count):
    given = sources(folder)[: 2 * count]
    out = rank_to(tmp_path / "all", folder / "x.csv", "--leave-one-out", "--method", "msfs", *given)
    with (out / "ranking.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    whole = read_ranks(out)
    for k, row in enumerate(facts(out)["knowledge"]["leave_one_out"]):
        one = rank_to(tmp_path / str(k), folder / "x.csv", "--method", "msfs", *given[2 * k :][:2])
        with (one / "ranking.tsv").open() as file:
            scores = {r["feature"]: float(r["score"]) for r in csv.DictReader(file, delimiter="\t")}
        expected = rankdata([scores[r["feature"]] for r in rows], "average")  # smaller is better
        ranks = np.array([float(r[f"rank_{row['without']}"]) for r in rows])
        np.testing.assert_allclose(ranks, expected, atol=0.6)
        same = {g for g, r in zip(whole, ranks) if r <= 100} & {g for g in GENES if whole[g] <= 100}
        assert row["overlap_alone"] == pytest.approx(len(same) / 100)
    assert set(rows[0]) == {
        "rank",
        "feature",
        "score",
        "status",
        *(f"rank_{n}" for n in "xpst"[:count]),
    }


def test_noise_and_a_copy_of_a_source_are_said_to_add_nothing(folder, tmp_path):
    rng = np.random.default_rng(1)
    noise = text(
        tmp_path,
        table_text(rng.normal(size=(300, 40)).round(3), [f"n{i}" for i in range(300)], SAMPLES),
        "noise.csv",
    )
    p = f"profile:{folder / 'p.csv'}"
    given = [
        w
        for n, s in (("p", p), ("q", p), ("r", f"profile:{noise}"))
        for w in ("--source", f"{n}={s}")
    ]
    out = rank_to(tmp_path / "out", folder / "x.csv", "--leave-one-out", "--method", "msfs", *given)
    page = (out / "report.html").read_text()
    assert page.count("Each of the sources p, q repeats the others: leave one of them out.") == 1
    assert "The source r adds nothing" in page
    assert page.count("It is noise here, or outweighed: leave it out") == 1


def test_half_of_a_short_list_is_compared(folder, tmp_path):
    """All of it would be kept, whatever a source changes."""
    lines = (folder / "x.csv").read_text().splitlines(keepends=True)
    short = tmp_path / "short.csv"
    short.write_text("".join(lines[:41]))
    given = ["--source", "x=target:", "--source", f"p=profile:{folder / 'some.csv'}"]
    out = tmp_path / "out"
    rank_to(out, short, "--leave-one-out", "--method", "msfs", *given, "--samples", "intersect")
    told = facts(out)["knowledge"]["leave_one_out"]
    assert [row["first"] for row in told] == [20, 20]
    assert "top 100" not in (out / "report.html").read_text()


def test_leaving_out_the_only_source_of_some_samples_is_told_and_no_end(folder, tmp_path):
    given = ["--source", f"p=profile:{folder / 'some.csv'}", "--source", "x=target:"]
    out = tmp_path / "out"
    given += ["--samples", "union", "--leave-one-out"]
    rank_to(out, folder / "x.csv", "--method", "msfs", *given)
    told = facts(out)["knowledge"]["leave_one_out"]
    assert [row["rank_correlation"] is None for row in told] == [False, True]


@pytest.mark.parametrize("how", ["geometric", "rra"])
def test_kogs_aggregates_the_rankings_of_its_sources(folder, tmp_path, how):
    given = sources(folder)
    matrix = folder / "x.csv"
    for k in range(0, len(given), 2):
        name = given[k + 1].partition("=")[0]
        ranking_bytes(tmp_path / name, matrix, "--method", "msfs", *given[k : k + 2])
    check_kogs(tmp_path, matrix, given, list("xpst"), how)


@pytest.mark.parametrize("how", ["borda", "median"])
def test_kogs_aggregates_the_rankings_of_its_members(folder, tmp_path, how):
    matrix, members = folder / "x.csv", ["spec", "variance", "fisher"]
    labels = ["--labels", str(folder / "labels.tsv")]
    for name in members:
        ranking_bytes(tmp_path / name, matrix, "--method", name, *labels)
    check_kogs(tmp_path, matrix, labels, members, how, f",members={','.join(members)}")


def check_kogs(
    folder: Path, matrix: Path, given: list[str], names: list[str], how: str, of: str = ""
) -> None:
    """Compare one command with the aggregate of the tables of several."""
    weights = [] if how == "rra" else ["2", "1", "1", "0.5"][: len(names)]
    listed = ",".join(weights)
    made, wanted = folder / "kogs", folder / "aggregate"
    asked = ["--weights", listed] if weights else []
    ranking_bytes(made, matrix, "--method", f"kogs{of},how={how}", *given, *asked)
    files = [folder / name / "ranking.tsv" for name in names]
    asked = ["--list-weights", listed] if weights else []
    sfs("aggregate", *files, "--how", how, *asked, "--out", wanted)
    found, expected = ({r["feature"]: r for r in rows_of(f)} for f in (made, wanted))
    scores = [[float(r["score"]) for r in rows.values()] for rows in (found, expected)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)  # ties are in another order
    for gene, row in found.items():
        assert float(row["score"]) == pytest.approx(float(expected[gene]["score"]), rel=1e-9)
        for name in names:
            position = [r["feature"] for r in rows_of(folder / name)].index(gene) + 1
            assert float(row[f"rank_{name}"]) == position
    told = facts(made)["knowledge"]["aggregation"]
    assert told["how"] == how
    assert told["names"] == names
    check_agreement(told, folder, names)


def check_agreement(told: dict, folder: Path, names: list[str]) -> None:
    from scipy.stats import kendalltau

    ranks = [read_ranks(folder / name) for name in names]
    for i, one in enumerate(ranks):
        for j, other in enumerate(ranks):
            pairs = np.array([(one[g], other[g]) for g in GENES])
            wanted = kendalltau(*pairs.T, variant="b")[0]
            assert told["kendall_tau"][i][j] == pytest.approx(wanted, abs=1e-12)
    for top, matrix in told["overlap"].items():
        best = [{g for g in GENES if r[g] <= int(top)} for r in ranks]
        wanted = [[len(a & b) / int(top) for b in best] for a in best]
        np.testing.assert_allclose(np.array(matrix, float), wanted)


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "ranking.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))
