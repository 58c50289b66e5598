"""``sfs report``: the page of a ranking again, with the same bytes, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.cli.app import run
from sfs_cli.io.results.writers import as_written, ranking_bytes
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.run.rank import rank
from tests.cli.shard_study import CASES, make_study, sfs
from tests.making import annotated, table_text
from tests.making_commands import text
from tests.running import run_here

SAMPLES = [f"s{i}" for i in range(60)]
F_TEST = ("m.csv", "--method", "f-test", "--labels", "labels.tsv:tissue")
MORE: dict[str, tuple[str, ...]] = {
    "f-test": F_TEST,
    "t-test": ("m.csv", "--method", "t-test", "--labels", "two.tsv:side"),
    "labels that are not used": ("m.csv", "--labels", "labels.tsv:tissue", "--method", "spec"),
    "outcome": (
        *("m.csv", "--method", "f-test", "--labels", "age.tsv:age"),
        *("--label-type", "continuous"),
    ),
    "links and a title": (*F_TEST, "--title", "Colon & co", "--gene-links", "ensembl"),
    "modules": ("m.csv", "--method", "variance", "--modules", "--module-correlation", "0.3"),
    "embedding": ("embedded.h5ad", "--method", "spec", "--similarity", "obsm:X_pca"),
    "coordinates": ("m.csv", "--method", "spec", "--coordinates", "./places.tsv"),
    "kernel": ("m.csv", "--method", "qalpha"),
    "weights": (
        *("m.csv", "--method", "spec", "--similarity", "rbf"),
        *("--sample-weights", "weights.tsv:w"),
    ),
    "gene sets": (
        *("m.csv", "--method", "msfs", "--source", "x=target:"),
        *("--source", "t=terms:sets.gmt"),
    ),
    "csv": (*F_TEST, "--format", "csv"),
    "json": (*F_TEST, "--format", "json"),
    "parquet": (*CASES["pruned kogs"], "--format", "parquet"),
    "float64": (*CASES["stability"], "--dtype", "float64"),
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
    places = rng.normal(size=(24, 3)).round(3)
    write("places.tsv", "sample\tx\ty\tz", lambda i: "\t".join(map(str, places[i].tolist())))
    sets = [f"SET{k}\tna\t" + "\t".join(f"g{g}" for g in range(k, 149, 9)) for k in range(5)]
    (folder / "sets.gmt").write_text("\n".join(sets) + "\n")
    data = annotated(rng.normal(size=(24, 60)).round(3), obsm={"X_pca": rng.normal(size=(24, 4))})
    data.write_h5ad(folder / "embedded.h5ad")
    return folder


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)


@pytest.fixture
def ranked(tmp_path: Path) -> Path:
    """A ranking with a folder of its own for everything that it read."""
    for name in ("m.csv", "labels.tsv"):
        shutil.copy(name, tmp_path)
    os.chdir(tmp_path)
    sfs("rank", *F_TEST, "--out", "results")
    return tmp_path / "results"


@pytest.mark.parametrize(
    "case",
    [
        *("f-test", "outcome", "links and a title", "modules", "embedding", "weights"),
        *("gene sets", "parquet", "float64", "some genes"),
    ],
)
def test_the_page_has_the_bytes_of_the_one_that_rank_wrote(case, tmp_path, monkeypatch):
    """From another folder, with other threads and less memory."""
    sfs("rank", *MORE[case], "--out", tmp_path / "of")
    monkeypatch.chdir(tmp_path)
    sfs("report", "of", "--out", "page.html", "--threads", 1, "--memory", "300M")
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "of/report.html").read_bytes()


def test_the_page_of_merged_shards_is_the_one_that_is_there(tmp_path):
    sfs("shard", "init", tmp_path / "plan", *CASES["msfs"], "--shards", 2)
    for i in (1, 2, 1, 2, 1, 2):
        sfs("shard", "run", tmp_path / "plan", i)
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
    sfs("rank", *F_TEST, "--out", "again", "--title", "Colon <1>", "--gene-links", "symbol")
    wanted = Path("again/report.html").read_text()
    # the next runs are those of the ranking, which had no title
    assert made.partition("What to do next")[0] == wanted.partition("What to do next")[0]
    assert made.count("Colon &lt;1&gt;") >= 2
    assert "genecards" in made
    assert "genecards" not in before
    assert (ranked / "run.json").read_bytes() == record
    sfs("report", "results", "--force")
    assert page.read_text() == before


def test_sets_are_tested_among_the_first_features(study, ranked, capfd):
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
    p = hypergeom.sf(len(chosen) - 1, len(order), len(chosen), first)
    assert f"{p:#.3g}" in page  # as it is shown
    sfs("report", "results", "--sets", "sets.gmt:LOW", "--out", "low.html")
    assert "HIGH" not in Path("low.html").read_text()
    assert run_here(["report", "results", "--sets", "sets.gmt"], capfd).code == 4
    os.chdir(study)
    sfs("rank", *MORE["gene sets"], "--out", ranked.parent / "sourced")
    os.chdir(ranked.parent)
    sfs("report", "sourced", "--sets", "sets.gmt", "--out", "both.html")
    both = Path("both.html").read_text()
    assert both.count("took part in the ranking") == 1
    assert "Gene sets of t among" in both
    assert "Gene sets of sets.gmt among" in both
    Path("strange.gmt").write_text("A\tna\tx\ty\n")
    done = run_here(["report", "results", "--sets", "strange.gmt", "--force"], capfd)
    assert done.code == 3
    assert "same kind of ids" in done.err


def test_an_equal_page_is_up_to_date_and_another_one_stays(ranked, capfd):
    page, before = ranked / "report.html", (ranked / "report.html").stat().st_ino
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
    for target in ("m.csv", "results/run.json", "results/ranking.tsv"):
        before = Path(target).read_bytes()
        assert run_here(["report", "results", "--out", target, "--force"], capfd).code == 2
        assert Path(target).read_bytes() == before


def test_inputs_that_have_moved_are_named_or_lie_beside_the_ranking(ranked, capfd):
    page = (ranked / "report.html").read_bytes()
    Path("away").mkdir()
    Path("m.csv").rename("away/n.csv")
    done = run_here(["report", "results", "--out", "p.html"], capfd)
    assert done.code == 3
    assert "--matrix" in done.err
    sfs("report", "results", "--out", "p.html", "--matrix", "away/n.csv")
    assert Path("p.html").read_bytes() == page
    Path("labels.tsv").rename("results/labels.tsv")
    Path("away/n.csv").rename("results/m.csv")
    ranked.rename("away/of")
    sfs("report", "away/of", "--out", "q.html")
    assert Path("q.html").read_bytes() == page
    Path("away/of/labels.tsv").unlink()
    done = run_here(["report", "away/of", "--out", "r.html"], capfd)
    assert done.code == 3
    assert "labels.tsv" in done.err
    assert not Path("r.html").exists()


def test_a_list_of_genes_that_is_gone_is_no_pattern(study, tmp_path, capfd):
    for name in ("m.csv", "panel.txt"):
        shutil.copy(name, tmp_path)
    os.chdir(tmp_path)
    sfs("rank", *MORE["some genes"], "--method", "variance", "--out", "results")
    Path("panel.txt").rename("results/panel.txt")
    sfs("report", "results")
    Path("results/panel.txt").unlink()
    done = run_here(["report", "results", "--force"], capfd)
    assert done.code == 3
    assert "include" in done.err


@pytest.mark.parametrize("name", ["m.csv", "labels.tsv"])
def test_inputs_that_have_changed_are_refused(name, ranked, capfd):
    text = Path(name).read_text()
    Path(name).write_text(text.replace("s1", "s1 ", 1) if name == "m.csv" else text + "x\tlung\n")
    done = run_here(["report", "results", "--out", "page.html"], capfd)
    assert done.code == 3
    assert "changed" in done.err
    assert name in done.err
    assert not Path("page.html").exists()


def edited(path: Path, edit: Callable[[dict], object]) -> None:
    record = json.loads(path.read_text())
    edit(record)
    path.write_text(json.dumps(record))


DAMAGE: dict[str, Callable[[dict], object]] = {
    "inputs": lambda r: r.update(inputs=[{}]),
    "result": lambda r: r.update(result=[]),
    "columns": lambda r: r["result"]["columns"].update(p_value="integer"),
    "page": lambda r: r.update(page="page"),
    "command": lambda r: r["page"].pop("command"),
    "knowledge": lambda r: r.update(knowledge=7),
    "option": lambda r: r["config"].update(surprise=1),
    "options": lambda r: r.update(config=[]),
    "no matrix": lambda r: r["config"].pop("matrix"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_refused(damage, ranked, capfd):
    edited(ranked / "run.json", DAMAGE[damage])
    done = run_here(["report", "results", "--out", "page.html"], capfd)
    assert done.code == 3, done.err
    assert "Traceback" not in done.err
    assert "to do:" in done.err
    assert sorted(path.name for path in Path().iterdir()) == ["labels.tsv", "m.csv", "results"]


def test_eigenvalues_of_another_graph_are_refused(tmp_path, capfd):
    sfs("rank", *CASES["knn"], "--out", tmp_path / "of")
    edited(tmp_path / "of/run.json", lambda r: r["result"]["eigenvalues"].__setitem__(1, 0.5))
    done = run_here(["report", str(tmp_path / "of"), "--out", str(tmp_path / "p.html")], capfd)
    assert done.code == 3
    assert "eigenvalues" in done.err


def test_what_is_no_ranking_of_ours_is_refused(ranked, capfd):
    def refused(words: list[str], *said: str) -> None:
        done = run_here(["report", *words, "--out", "page.html"], capfd)
        assert done.code == 3, done.err
        assert all(word in done.err for word in (*said, "to do:")), done.err
        assert not Path("page.html").exists()

    folds = ("--labels", "labels.tsv:tissue", "--splits", "2", "--repeats", "1", "--lengths", "5")
    sfs("evaluate", "m.csv", *folds, "--method", "variance", "--out", "worth")
    sfs("compare", "m.csv", "--method", "variance", "--method", "spec", "--out", "compared")
    sfs("select", "results", "--top", "3", "--out", "chosen")
    sfs("aggregate", "results/ranking.tsv", "results/ranking.tsv", "--out", "joined")
    sfs("rank", *F_TEST, "--format", "rnk", "--out", "rnk")
    for folder in ("worth", "compared", "chosen"):
        refused([folder], folder, "no ranking")
    refused(["joined"], "sfs rank")
    refused(["rnk"], "rnk")
    refused(["nothing"], "nothing")
    shutil.copy("results/ranking.tsv", "alone.ranking.tsv")
    refused(["alone.ranking.tsv"], "alone.run.json", "missing")
    Path("alone.run.json").write_text("{")
    refused(["alone.ranking.tsv"], "alone.run.json", "cannot be read")
    shutil.copy("joined/run.json", "alone.run.json")
    refused(["alone.ranking.tsv"], "another result")
    table = ranked / "ranking.tsv"
    table.write_text(table.read_text().replace("\tok\t", "\tok \t", 1))
    refused(["results"], "not the one")
    edited(ranked / "run.json", lambda record: record.pop("page"))
    refused(["results"], "run.json", "rank again")


def test_an_earlier_page_is_there_until_the_new_one_is_whole(ranked, monkeypatch):
    """A page that cannot be made leaves the one that is there, and nothing beside it."""
    from sfs_cli.report import page

    def stops(_data: object) -> str:
        raise MemoryError

    before = sorted((path.name, path.read_bytes()) for path in ranked.iterdir())
    monkeypatch.setattr(page, "render", stops)
    assert run(["report", "results", "--force", "--title", "new", "-q"]) == 137
    assert sorted((path.name, path.read_bytes()) for path in ranked.iterdir()) == before


@pytest.mark.parametrize("digits", [3, 10])
@pytest.mark.parametrize("format", ["tsv", "json", "parquet"])
def test_numbers_as_written_are_those_that_are_read(digits, format, tmp_path):
    from sfs_cli.io.results.rankings import read_rank_table

    config = RankConfig("m.csv", method="f-test", labels="labels.tsv:tissue", dtype="float64")
    ranking = rank(config, Messages(-1)).ranking
    score = ranking.score.copy()
    score[:8] = [1e300, 123456789.5, 99999.999999999999, 0.5, 2.5e-5, 1e-300, 0.0, -0.0]
    ranking = as_written(type(ranking)(**vars(ranking) | {"score": score}), format, digits)
    path = tmp_path / f"ranking.{format}"
    path.write_bytes(ranking_bytes(ranking, format, digits))
    table = read_rank_table(path)
    for name in ("score", "p_value", "q_value"):
        found = ranking.score if name == "score" else ranking.extra[name]
        read = [float(text or "nan") for text in table.columns[name]]
        assert np.array(read).tobytes() == np.asarray(found, np.float64).tobytes()


TITLES = {
    "f-test": "between the 3 classes of tissue (f-test)",
    "t-test": "right hand against left (t-test)",
    "outcome": "association with age (f-test)",
    "labels that are not used": "ranked without labels on a knn-correlation graph (spec)",
    "embedding": "ranked without labels on a knn graph (spec)",
    "gene sets": "ranked without labels on the sources x, t (msfs)",
    "modules": "ranked without labels (variance)",
    "links and a title": "",
    "adjusted": "right hand against left (t-test, adjusted for age)",
}


@pytest.mark.parametrize("case", TITLES)
def test_the_title_says_what_was_asked(case, tmp_path):
    adjusted = {"adjusted": (*MORE["t-test"], "--adjust", "age.tsv:age")}
    arguments = (MORE | adjusted)[case]
    sfs("rank", *arguments, "--out", tmp_path)
    title = f"{arguments[0]}: {TITLES[case]}" if TITLES[case] else "Colon &amp; co"
    page = (tmp_path / "report.html").read_text()
    assert f"<title>{title}</title>" in page
    assert f"<h1><bdi>{title}</bdi></h1>" in page
    (row,) = json.loads((tmp_path / "sfs_mqc.json").read_text())["data"].values()
    assert row["title"] == title


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
    quiet = ("--accept", "raw-values") if "--voom" not in options else ()
    sfs("rank", tmp_path / "x.csv", *asked, *quiet, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"<title>x.csv: b against a ({method})</title>" in page
    assert f"<strong>Cite:</strong> {cited}" in page
    assert ("Moderated t statistic ranked" in page) == ("moderated" in method)


def test_figures_are_files_in_place_of_the_page_or_beside_it(ranked, capfd):
    pytest.importorskip("matplotlib")
    page = (ranked / "report.html").read_bytes()
    (ranked / "report.html").write_bytes(b"another page")
    sfs("report", "results", "--figures", "drawn/here", "--figure-format", "svg")
    names = {path.name for path in Path("drawn/here").iterdir()}
    charts = {"heatmap", "features", "p-values", "plane", "score-curve"}
    assert names >= {f"{name}.svg" for name in charts}
    assert (ranked / "report.html").read_bytes() == b"another page"
    before = Path("drawn/here/heatmap.svg").read_bytes()
    Path("drawn/here/heatmap.svg").write_bytes(b"mine")
    Path("drawn/here/plane.svg").unlink()
    asked = ["report", "results", "--figures", "drawn/here", "--figure-format", "svg"]
    found = run_here([*asked, "--out", "p.html"], capfd)
    assert found.code == 4
    assert "heatmap.svg exists, and is another figure" in found.err
    assert not Path("drawn/here/plane.svg").exists()
    assert not Path("p.html").exists()
    sfs(*asked, "--out", "p.html", "--force")
    assert Path("drawn/here/heatmap.svg").read_bytes() == before
    assert Path("p.html").read_bytes() == page
    Path("file").write_text("x")
    assert run_here(["report", "results", "--figures", "file"], capfd).code == 3
    assert run_here(["report", "results", "--figure-format", "pdf"], capfd).code == 2


def test_figures_without_matplotlib_name_the_extra(ranked, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = run_here(["report", "results", "--figures", "drawn"], capfd)
    assert found.code == 6
    assert "sfs-cli[plots]" in found.err
    assert not Path("drawn").exists()


SETS: dict[str, tuple[int, float, str, bool]] = {
    # groups, how far apart they are, what the page says, and whether the picture shows them
    "clear": (3, 2.0, "The samples form 3 groups, of 20 samples each.", True),
    "close": (2, 0.9, "The samples form 2 groups, of 30 samples each.", True),
    "very close": (2, 0.3, "In the picture of the samples no groups are clearly apart.", False),
    "noise": (1, 0.0, "In the picture of the samples no groups are clearly apart.", False),
}


@pytest.mark.parametrize("graph", ["rbf", "knn-correlation"])
@pytest.mark.parametrize("name", SETS)
def test_sentences_about_groups_agree_with_the_picture(name, graph, tmp_path):
    count, away, words, shown = SETS[name]
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 60))
    X[:150] += away * rng.normal(size=(150, count))[:, np.arange(60) % count]
    text(tmp_path, table_text(X.round(3), [f"g{i}" for i in range(600)], SAMPLES), "x.csv")
    asked = ("--method", "spec", "--similarity", graph, "--accept", "graph")
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
