"""``sfs report``: the page of a ranking again, with the same bytes, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.cli.app import run
from sfs_cli.ranking.table import rank_features
from sfs_cli.workflow.report_data import best_named, downsample, evidence, ranking_page
from tests.cli.shard_study import make_study, sfs
from tests.making import annotated, table_text
from tests.making_commands import text
from tests.running import run_here

pytestmark = pytest.mark.figures

SAMPLES = [f"s{i}" for i in range(60)]
F_TEST = ("m.csv", "--method", "f-test", "--labels", "labels.tsv:tissue")
CASES: dict[str, tuple[str, ...]] = {
    "t-test": ("m.csv", "--method", "t-test", "--labels", "two.tsv:side"),
    "adjusted": (
        *("m.csv", "--method", "t-test", "--labels", "two.tsv:side"),
        *("--adjust", "age.tsv:age"),
    ),
    "labels that are not used": ("m.csv", "--labels", "labels.tsv:tissue", "--method", "spec"),
    "outcome": (
        *("m.csv", "--method", "f-test", "--labels", "age.tsv:age"),
        *("--label-type", "continuous"),
    ),
    "modules": ("m.csv", "--method", "variance", "--modules"),
    "embedding": ("embedded.h5ad", "--method", "spec", "--similarity", "obsm:X_pca"),
    "weights": (
        *("m.csv", "--method", "spec", "--similarity", "rbf"),
        *("--sample-weights", "weights.tsv:w"),
    ),
    "gene sets": (
        *("m.csv", "--method", "msfs", "--source", "x=target:"),
        *("--source", "t=terms:sets.gmt"),
    ),
    "parquet": (
        *("m.csv", "--method", "kogs,members=fisher,variance"),
        *("--labels", "labels.tsv:tissue", "--max-correlation", "0.4", "--format", "parquet"),
    ),
    "some genes": ("m.csv", "--include", "panel.txt", "--include", "g1*", "--exclude", "g13"),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_study(tmp_path_factory.mktemp("study"))
    rng = np.random.default_rng(5)
    samples = [f"s{i}" for i in range(24)]

    def write(name: str, head: str, row: Callable[[int], str]) -> None:
        lines = [f"{sample}\t{row(i)}\n" for i, sample in enumerate(samples)]
        (folder / name).write_text(f"{head}\n{''.join(lines)}")

    write("two.tsv", "sample\tside", lambda i: "left" if i % 2 else "right hand")
    write("age.tsv", "sample\tage", lambda i: f"{20 + 2.5 * i}")
    write("weights.tsv", "sample\tw", lambda i: f"{1 + i % 3}")
    sets = [f"SET{k}\tna\t" + "\t".join(f"g{g}" for g in range(k, 149, 9)) for k in range(5)]
    (folder / "sets.gmt").write_text("\n".join(sets) + "\n")
    data = annotated(rng.normal(size=(24, 60)).round(3), obsm={"X_pca": rng.normal(size=(24, 4))})
    data.write_h5ad(folder / "embedded.h5ad")
    return folder


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)
    monkeypatch.setattr("sfs_cli.parts.modules.CORRELATION", 0.3)
    monkeypatch.setattr("sfs_cli.parts.pruning.KEEP", 40)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory, study: Path) -> Callable[[str], Path]:
    """Rank a case where no test has done so."""
    made: dict[str, Path] = {}

    def folder_of(case: str) -> Path:
        if case not in made:
            made[case] = tmp_path_factory.mktemp("case") / "of"
            sfs("rank", *CASES[case], "--out", made[case])
        return made[case]

    return folder_of


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, study: Path) -> Path:
    folder = tmp_path_factory.mktemp("template")
    for name in ("m.csv", "labels.tsv"):
        shutil.copy(study / name, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        sfs("rank", *F_TEST, "--out", "results")
    return folder


@pytest.fixture
def ranked(template: Path, tmp_path: Path) -> Path:
    """A ranking with a folder of its own for everything that it read."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    os.chdir(tmp_path)
    return tmp_path / "results"


@pytest.mark.parametrize(
    "case", ["outcome", "modules", "embedding", "weights", "gene sets", "parquet", "some genes"]
)
def test_the_page_has_the_bytes_of_the_one_that_rank_wrote(case, once, tmp_path, monkeypatch):
    """From the ranking and what the page shows alone."""
    of = once(case)
    monkeypatch.chdir(tmp_path)
    (table,) = of.glob("ranking.*")
    for path in (table, of / "page.json"):
        shutil.copy(path, tmp_path)
    sfs("report", tmp_path)
    assert (tmp_path / "report.html").read_bytes() == (of / "report.html").read_bytes()


def test_the_page_of_an_aggregate_is_made_again(ranked):
    sfs("aggregate", "results", "results/ranking.tsv:p_value", "--out", "joined")
    written = Path("joined/report.html").read_bytes()
    Path("joined/report.html").unlink()
    sfs("report", "joined")
    assert Path("joined/report.html").read_bytes() == written


def test_the_page_of_merged_shards_is_the_one_that_is_there(tmp_path):
    sfs("shard", "init", tmp_path / "plan", *CASES["gene sets"], "--shards", 2)
    sfs("shard", "merge", tmp_path / "plan", "--out", tmp_path / "out")
    page = tmp_path / "out" / "report.html"
    written = page.read_bytes()
    page.unlink()
    sfs("report", tmp_path / "out")
    assert page.read_bytes() == written


def test_title_and_links_change_only_those(ranked, capfd):
    page = ranked / "report.html"
    before, record = page.read_text(), (ranked / "run.json").read_bytes()
    assert run_here(["report", "results", "--title", "Colon <1>"], capfd).code == 4
    assert page.read_text() == before
    sfs("report", "results", "--title", "Colon <1>", "--gene-links", "symbol", "--force")
    made = page.read_text()
    assert made.count("Colon &lt;1&gt;") >= 2
    assert "genecards" in made
    assert "genecards" not in before
    assert (ranked / "run.json").read_bytes() == record
    assert "up to date" in run_here(["rank", *F_TEST, "--out", "results"], capfd).err
    sfs("report", "results", "--force")
    assert page.read_text() == before


def test_sets_are_tested_among_the_first_features(study, once, ranked, capfd):
    """As SciPy has the tail of the hypergeometric distribution, and beside the sets of sources."""
    from scipy.stats import hypergeom

    rows = [line.split("\t") for line in (ranked / "ranking.tsv").read_text().splitlines()[1:]]
    order = [row[1] for row in rows if row[3] == "ok"]
    first = len(order) // 4
    chosen, rest = order[: first - 7], order[-12:]
    Path("sets.gmt").write_text(
        "\t".join(["HIGH", "na", *chosen, "stranger"]) + "\n" + "\t".join(["LOW", "na", *rest])
    )
    sfs("report", "results", "--sets", "sets.gmt", "--out", "page.html")
    page = Path("page.html").read_text()
    assert "HIGH" in page
    assert "took part in the ranking" not in page
    assert page.index("P-values</h2>") < page.index("Gene sets of") < page.index("Score against")
    sfs("report", "results/page.json", "--sets", "sets.gmt", "--out", "same.html")
    assert Path("same.html").read_text() == page
    p = hypergeom.sf(len(chosen) - 1, len(order), len(chosen), first)
    assert f"{p:#.3g}" in page  # as it is shown
    sfs("report", "results", "--sets", "sets.gmt:LOW", "--out", "low.html")
    assert "HIGH" not in Path("low.html").read_text()
    assert run_here(["report", "results", "--sets", "sets.gmt"], capfd).code == 4
    os.chdir(study)
    sourced = once("gene sets")
    os.chdir(ranked.parent)
    sfs("report", sourced, "--sets", "sets.gmt", "--out", "both.html")
    both = Path("both.html").read_text()
    assert both.count("took part in the ranking") == 1
    assert "Gene sets of t among" in both
    assert "Gene sets of sets.gmt among" in both
    Path("strange.gmt").write_text("A\tna\tx\ty\n")
    done = run_here(["report", "results", "--sets", "strange.gmt", "--force"], capfd)
    assert done.code == 3
    assert "same kind of ids" in done.err


def test_the_numbers_of_the_page_are_those_of_the_table(ranked):
    """Digits that the table leaves out depend on the machine and the number of threads."""
    best = next(p for p in json.loads((ranked / "page.json").read_text())["parts"] if p["of_best"])
    at = [name for name, *_ in best["grid"][0]].index("score")
    rows = [line.split("\t") for line in (ranked / "ranking.tsv").read_text().splitlines()]
    in_table = [float(row[rows[0].index("score")]) for row in rows[1:]]
    keys = [float(cells[at][1]) for cells in best["grid"][1]]
    assert keys == in_table[: len(keys)]


def test_an_equal_page_is_up_to_date_and_another_one_stays(ranked, capfd):
    page = ranked / "report.html"
    before = page.stat().st_ino
    assert "<title>m.csv: between the 3 classes of tissue (f-test)</title>" in page.read_text()
    done = run_here(["report", "results/ranking.tsv"], capfd)
    assert (done.code, done.out) == (0, "")
    assert "up to date" in done.err
    assert page.stat().st_ino == before
    Path("mine.html").write_text("mine")
    done = run_here(["report", "results", "--out", "mine.html"], capfd)
    assert done.code == 4
    assert "--force" in done.err
    assert Path("mine.html").read_text() == "mine"
    assert run_here(["report", "results", "--out", "results"], capfd).code == 3
    for _ in range(2):  # a page of its own beside those of the result
        assert run_here(["report", "results", "--out", "results/own.html"], capfd).code == 0
    for target in ("m.csv", "results/run.json", "results/ranking.tsv", "results/report.html"):
        before = Path(target).read_bytes()
        assert run_here(["report", "results", "--out", target, "--force"], capfd).code == 2
        assert Path(target).read_bytes() == before


def test_what_has_no_page_is_refused(ranked, capfd):
    def refused(words: list[str], *said: str) -> None:
        done = run_here(["report", *words, "--out", "page.html"], capfd)
        assert done.code == 3, done.err
        assert all(word in done.err for word in said), done.err
        assert not Path("page.html").exists()

    sfs("select", "results", "--top", "3", "--out", "chosen")
    refused(["chosen"], "page.json", "chosen")
    refused(["nothing"], "nothing")
    page, table = ranked / "page.json", ranked / "ranking.tsv"
    whole, content = page.read_text(), table.read_text()
    damages = ("heading", "head"), ("heatmap", "map"), ("cells", "squares")
    others = [whole.replace(f'"{old}"', f'"{new}"') for old, new in damages]
    for damaged in ("{", "[]", '{"title":"x"}', *others):
        page.write_text(damaged)
        refused(["results"], "page.json", "--force")
    page.write_text(whole)
    Path("sets.gmt").write_text("A\tna\tg1\tg2\tg3\n")
    head, *rows = content.splitlines(keepends=True)
    for other in ([head, *sorted(rows, reverse=True)], [head, *rows[:40]]):
        table.write_text("".join(other))
        refused(["results", "--sets", "sets.gmt"], "ranking.tsv", "rank again")
        assert run_here(["report", "results"], capfd).code == 0
    page.unlink()
    refused(["results"], "page.json", "earlier versions", "--force")


@pytest.mark.parametrize("end", [("--format", "rnk"), ("--top", "9")])
def test_a_page_needs_no_table(end, ranked):
    sfs("rank", *F_TEST, *end, "--out", "other")
    written = Path("other/report.html").read_bytes()
    Path("other/report.html").unlink()
    sfs("report", "other")
    assert Path("other/report.html").read_bytes() == written


@pytest.mark.parametrize("verb", ["compare", "evaluate"])
def test_the_page_of_judged_lists_is_made_again(verb, ranked):
    words = (
        "m.csv",
        "--labels",
        "labels.tsv:tissue",
        "--method",
        "f-test",
        "--splits",
        "3",
        "--repeats",
        "1",
    )
    other = ("--method", "variance") if verb == "compare" else ()
    sfs(verb, *words, *other, "--lengths", "3,5", "--out", "judged")
    written = Path("judged/report.html").read_bytes()
    Path("judged/report.html").unlink()
    sfs("report", "judged")
    assert Path("judged/report.html").read_bytes() == written
    sfs("report", "judged", "--figures", "drawn", "--figure-format", "svg")
    assert [path.name for path in Path("drawn").iterdir()] == ["curves.svg"]
    kind = "comparison of rankings" if verb == "compare" else "evaluation of feature lists"
    assert f"<title>m.csv – {kind}</title>" in written.decode()


def test_an_earlier_page_is_there_until_the_new_one_is_whole(ranked, monkeypatch):
    """A page that cannot be made leaves the one that is there, and nothing beside it."""
    from sfs_cli.report import page

    def stops(*_: object) -> str:
        raise MemoryError

    before = sorted((path.name, path.read_bytes()) for path in ranked.iterdir())
    monkeypatch.setattr(page, "render", stops)
    assert run(["report", "results", "--force", "--title", "new", "-q"]) == 137
    assert sorted((path.name, path.read_bytes()) for path in ranked.iterdir()) == before


TITLES = {
    "t-test": "m.csv: right hand against left (t-test)",
    "adjusted": "m.csv: right hand against left (t-test, adjusted for age)",
    "outcome": "m.csv: association with age (f-test)",
    "labels that are not used": "m.csv: ranked without labels on a knn-correlation graph (spec)",
    "embedding": "embedded.h5ad: ranked without labels on a knn graph (spec)",
    "gene sets": "m.csv: ranked without labels on the sources x, t (msfs)",
    "modules": "m.csv: ranked without labels (variance)",
}


@pytest.mark.parametrize("case", TITLES)
def test_the_title_says_what_was_asked(case, once):
    out = once(case)
    page = (out / "report.html").read_text()
    assert f"<title>{TITLES[case]}</title>" in page
    assert f"<h1><bdi>{TITLES[case]}</bdi></h1>" in page
    (row,) = json.loads((out / "sfs_mqc.json").read_text())["data"].values()
    assert row["title"] == TITLES[case]


@pytest.mark.parametrize(
    ("options", "method", "cited"),
    [
        (("--moderate", "no"), "t-test", "Welch, Biometrika 34, 1947"),
        (("--moderate", "yes"), "moderated t-test", "Smyth, Stat. Appl. Genet. Mol. Biol. 3"),
        (("--voom",), "moderated t-test of voom", "Law, Chen, Shi and Smyth, Genome Biology 15"),
    ],
)
def test_what_to_cite_is_the_test_that_was_made(options, method, cited, tmp_path):
    rng = np.random.default_rng(2)
    counts = rng.poisson(rng.gamma(2, 40, size=(80, 1)), size=(80, 12))
    text(tmp_path, table_text(counts, [f"g{i}" for i in range(80)], SAMPLES[:12]), "x.csv")
    labels = "".join(f"{s}\t{'ab'[i % 2]}\n" for i, s in enumerate(SAMPLES[:12]))
    labels = f"sample\tthe/class\n{labels}"
    asked = ("--labels", text(tmp_path, labels, "labels.tsv"), "--method", "t-test", *options)
    sfs("rank", tmp_path / "x.csv", *asked, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"<title>x.csv: b against a ({method})</title>" in page
    assert f"<strong>Cite:</strong> {cited}" in page
    assert ("Moderated t statistic ranked" in page) == ("moderated" in method)


def test_figures_are_files_in_place_of_the_page_or_beside_it(ranked, capfd):
    names = {"heatmap", "features", "plane", "p-values", "volcano"}  # soon drawn without these
    text = json.loads((ranked / "page.json").read_text())
    text["parts"] = [part for part in text["parts"] if part["figure"] not in names]
    (ranked / "page.json").write_text(json.dumps(text))
    sfs("report", "results", "--force")
    written = (ranked / "report.html").read_bytes()
    (ranked / "report.html").write_bytes(b"another page")
    asked = ["report", "results", "--figures", "drawn/here", "--figure-format", "svg"]
    sfs(*asked)
    (drawn,) = Path("drawn/here").iterdir()
    before = drawn.read_bytes()
    assert (ranked / "report.html").read_bytes() == b"another page"
    drawn.write_bytes(b"mine")
    found = run_here([*asked, "--out", "p.html"], capfd)
    assert found.code == 4
    assert f"{drawn.name} exists, and is another figure" in found.err
    assert drawn.read_bytes() == b"mine"
    assert not Path("p.html").exists()
    sfs(*asked, "--out", "p.html", "--force")
    assert drawn.read_bytes() == before
    assert Path("p.html").read_bytes() == written
    Path("file").write_text("x")
    assert run_here(["report", "results", "--figures", "file"], capfd).code == 3


APART: dict[str, tuple[int, float, str, str, bool]] = {
    # groups, how far apart they are, the graph, what the page says, whether the picture shows them
    "clear": (3, 2.0, "rbf", "The samples form 3 groups, of 20 samples each.", True),
    "very close": (
        2,
        0.3,
        "rbf",
        "In the picture of the samples no groups are clearly apart.",
        False,
    ),
}


@pytest.mark.parametrize("name", APART)
def test_sentences_about_groups_agree_with_the_picture(name, tmp_path):
    count, away, graph, words, shown = APART[name]
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 60))
    X[:150] += away * rng.normal(size=(150, count))[:, np.arange(60) % count]
    text(tmp_path, table_text(X.round(3), [f"g{i}" for i in range(600)], SAMPLES), "x.csv")
    asked = ("--method", "spec", "--similarity", graph)
    sfs("rank", tmp_path / "x.csv", *asked, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert words in page
    assert ("Colors are the groups of samples." in page) == shown
    assert (">group 1 (" in page) == shown


def test_groups_of_the_picture_that_no_gap_confirms_are_said_to_be_there(sample_data, tmp_path):
    mirna = f"m=profile:{sample_data / 'mirna.csv'}"
    given = ("--method", "msfs", "--source", "x=target:", "--source", mirna)
    sfs("rank", sample_data / "expression.csv", *given, "--out", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "In their picture the samples lie in 3 groups, of 30, 15, 15 samples." in page
    assert "do not confirm a number of groups: no gap stands out." in page
    assert ">group 3 (15)<" in page


def test_features_that_were_not_selected_are_not_said_to_have_failed():
    score = np.array([3.0, 2.0, np.nan, np.nan, np.nan])
    status = ["ok", "not selected", "constant"]
    ranking = rank_features(
        [*"abcde"], score, np.array([0, 0, 1, 1, 2]), status, larger_is_better=True
    )
    page = ranking_page(ranking, "", "", method="X", title="x", command="y")
    assert "2 features were not selected. 1 feature could not be scored." in page.summary[0]
    assert any("others were better" in part.text for part in page.parts)
    assert "best features are a and b." in page.summary[0]


def test_names_from_right_to_left_do_not_turn_the_sentence():
    names = ["A", "שלום", "x\u202ey", "B"]
    found = best_named([{"feature": name} for name in names])
    assert "A, \u2068שלום\u2069, \u2068x\u202ey\u2069 and B." in found[0]


def test_the_evidence_counts_every_p_value_and_thins_the_points():
    m = 100_000
    rng = np.random.default_rng(1)
    p = np.sort(rng.random(m))
    p[0], p[-1] = 0.0, np.nan  # whose logarithm is infinite
    extra = {"p_value": p, "log2_fold_change": rng.normal(size=m)}
    names = [f"GENE{i}" for i in range(m)]
    score = -np.arange(m, dtype=float)
    ranking = rank_features(
        names, score, np.zeros(m, int), ["ok"], larger_is_better=True, extra=extra
    )
    counted, volcano = evidence(ranking, "b less a")
    assert counted.facts["counts"].sum() == m - 1
    assert volcano.facts["names"] == names[:50]
    assert 100 < len(volcano.facts["others"]) < 10_000
    assert np.isfinite(volcano.facts["best"]).all()
    assert volcano.facts["xlabel"] == "log2 fold change (b less a)"


@pytest.mark.parametrize(("log", "direction"), [(False, 1), (True, -1)])
def test_downsampling_keeps_ends_and_shape(log: bool, direction: int) -> None:
    m = 200_000
    x = np.arange(m)
    scores = direction * np.where(x < 777, 5 - x / 5000, np.exp(-x / 20_000))
    kept = downsample(scores, log=log)
    assert {0, m - 1, 776, 777} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= 610
    drawn = np.interp(np.log1p(x) if log else x, np.log1p(kept) if log else kept, scores[kept])
    assert np.abs(drawn - scores).max() < 0.01 * np.ptp(scores)
