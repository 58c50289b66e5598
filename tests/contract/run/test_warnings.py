"""Few warnings are shown, the most important first; all are kept, and none is lost to a failure."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pytest

import sfs_cli
from sfs_cli.errors import InputError
from sfs_cli.logs import AT_ONCE, FIRST, LAST, NORMAL, QUIET, VERBOSE, Messages
from sfs_cli.options.guards import GUARDS
from sfs_cli.ranking.prune import standardized
from sfs_cli.run.annotations import Annotation, explained, followed_by_top
from sfs_cli.run.columns import LIKE_BATCHES, LIKE_CLASSES
from tests.making import write_table
from tests.running import Sfs, run_here

N = 40
SAMPLES = [f"s{i}" for i in range(N)]
BATCH, TISSUE = ["p", "q"] * (N // 2), ["a"] * (N // 2) + ["b"] * (N // 2)


def shown(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("warning: ")]


@pytest.fixture
def accidents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a table with several things to warn of."""
    rng = np.random.default_rng(4)
    monkeypatch.chdir(tmp_path)
    values = rng.poisson(rng.gamma(1, 60, (80, N)))
    values[:, 3] = rng.poisson(20_000, 80)
    names = ["2-Sep", "N_unmapped", "1017.0", *(f"g{i}" for i in range(77))]
    write_table(tmp_path / "x.csv", values, names, SAMPLES)
    return tmp_path


WORDS = ["rank", "x.csv", "--method", "variance"]


def test_a_source_of_few_genes_is_among_those_that_are_shown(accidents: Path, sfs: Sfs) -> None:
    table = (accidents / "x.csv").read_text()
    (accidents / "x.csv").write_text(table.replace("\ng9,", "\ng8,"))  # a warning that comes before
    strange = "\t".join(f"z{i}" for i in range(60))
    (accidents / "s.gmt").write_text(f"A\t-\tg1\tg2\t{strange}\nB\t-\tg2\tg3\t{strange}\n")
    sources = ["--source", "t=terms:s.gmt", "--source", "e=target:"]
    done = sfs("rank", "x.csv", "--method", "msfs", *sources, "--out", "out")
    kept = json.loads((accidents / "out" / "run.json").read_text())["warnings"]
    assert len(kept) > 3
    assert any("3 of 63 ids found among the features" in line for line in shown(done.err))


def test_three_are_shown_and_all_are_kept(
    accidents: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run_here([*WORDS, "--out", "out"], capfd)
    assert done.code == 0, done.err
    kept = json.loads((accidents / "out" / "run.json").read_text())["warnings"]
    assert len(kept) > 3
    page = (accidents / "out" / "report.html").read_text()
    assert sum(text.rpartition(" [")[2] in page for text in kept) == len(kept)
    assert [line.removeprefix("warning: ") for line in shown(done.err)] == kept[:3]
    left = len(kept) - 3
    last = f"{left} more warning{'s' * (left > 1)}: in out/report.html"
    assert done.err.splitlines()[-1] == last
    names = [re.search(r" \[([a-z-]+)\]$", text)[1] for text in kept]  # type: ignore[index]
    weights = [GUARDS[name].weight for name in names]
    assert weights == sorted(weights)
    assert names[0] == "raw-values"
    verbose = run_here([*WORDS, "-v"], capfd)
    assert len(shown(verbose.err)) == len(kept)
    assert "more warning" not in verbose.err
    assert "-v shows all" in run_here(WORDS, capfd).err
    assert run_here([*WORDS, "-q"], capfd).err == ""


def test_none_is_lost_where_the_run_fails(
    accidents: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = len(shown(run_here([*WORDS, "-v"], capfd).err))

    def fails(*_: object, **__: object) -> None:
        raise InputError("no", hint="none")

    monkeypatch.setattr("sfs_cli.workflow.rank.pictures_of", fails)
    done = run_here([*WORDS, "--out", "out"], capfd)
    assert done.code == 3
    assert len(shown(done.err)) == everything > 3
    assert done.err.index("warning: ") < done.err.index("error: no")


def test_what_is_weighty_is_shown_at_once_and_first(capfd: pytest.CaptureFixture[str]) -> None:
    log = Messages(NORMAL)
    with log.few_warnings():
        for text, weight in (("d", LAST), ("a", AT_ONCE), ("c", LAST), ("b", FIRST)):
            log.warn(text, weight)
        assert capfd.readouterr().err == "warning: a\n"
    assert capfd.readouterr().err == "warning: b\nwarning: d\n1 more warning: -v shows all\n"
    assert log.warnings == ["a", "b", "d", "c"]
    log.warn("later")  # outside nothing is held back
    assert "later" in capfd.readouterr().err
    for level, expected in ((VERBOSE, 5), (QUIET, 0)):
        log = Messages(level)
        with log.few_warnings():
            for k in range(5):
                log.warn(str(k), AT_ONCE)
        assert capfd.readouterr().err.count("warning: ") == expected


def test_the_share_that_is_explained_is_that_of_the_definition(rng: np.random.Generator) -> None:
    codes = rng.integers(0, 3, N)
    vectors = rng.normal(size=(N, 2))
    vectors[:, 1] += 4 * codes
    v = vectors[:, 1]
    within = sum(((v[codes == k] - v[codes == k].mean()) ** 2).sum() for k in range(3)) / (N - 3)
    assert explained(vectors, codes) == pytest.approx(1 - within / v.var(ddof=1), rel=1e-12)
    assert explained(vectors[:, :1], codes) == 0
    few = np.arange(8) // 4  # which 1 of 35 orders separates as well
    assert explained((few + 0.1 * rng.normal(size=8))[:, None], few) == 0


def study(folder: Path, effect: float) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(8, 1, (300, N)) + effect * np.outer(
        np.where(np.arange(300) < 120, rng.choice([-1, 1], 300), 0), np.array(BATCH) == "q"
    )
    values[200:220] += 2.0 * (np.array(TISSUE) == "b")
    write_table(folder / "x.csv", values, None, SAMPLES)
    table = pd.DataFrame({"sample": SAMPLES, "tissue": TISSUE, "batch": BATCH})
    table.to_csv(folder / "y.tsv", sep="\t", index=False)
    data = ad.AnnData(X=values.T, obs=table.set_index("sample").rename(columns={"batch": "lane"}))
    data.obs["lane"] = np.array([1, 2] * (N // 2))  # numbers, of a column named like batches
    data.write_h5ad(folder / "x.h5ad")


@pytest.mark.parametrize(
    ("words", "column"),
    [
        (["x.csv", "--method", "spec", "--labels", "y.tsv:tissue"], "y.tsv:batch"),
        (["x.h5ad", "--method", "spec"], "obs:lane"),
    ],
)
def test_a_graph_that_follows_batches_is_told(
    words: list[str],
    column: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    study(tmp_path, 2.0)
    done = run_here(["rank", *words], capfd)
    (told,) = [line for line in shown(done.err) if "[batch]" in line]
    instead = re.search(r"give (--adjust \S+) \[", told)
    assert instead is not None
    assert instead[1] == f"--adjust {column}=categorical"
    again = run_here(["rank", *words, *instead[1].split()], capfd)
    assert again.code == 0
    assert "[batch]" not in again.err
    study(tmp_path, 0.0)
    assert "[batch]" not in run_here(["rank", *words], capfd).err


def test_the_share_of_the_first_features_is_the_mean_over_them(rng: np.random.Generator) -> None:
    codes = rng.integers(0, 3, N)
    values = rng.normal(size=(6, N)) + codes
    shares = [
        1 - sum(((f[codes == k] - f[codes == k].mean()) ** 2).sum() for k in range(3))
        / (N - 3) / f.var(ddof=1)
        for f in values
    ]  # fmt: skip
    assert explained(values.T, codes, all_of=True) == pytest.approx(np.mean(shares), rel=1e-12)
    few = np.arange(8) // 4
    assert explained((few + 0.1 * rng.normal(size=(3, 8))).T, few, all_of=True) == 0


def annotation(spec: str, codes: np.ndarray, *, batch: bool, named: bool) -> Annotation:
    return Annotation(spec, codes, len(np.unique(codes)), batch, named)


@pytest.mark.parametrize("n", [16, 300])
def test_random_columns_are_followed_by_chance_alone(n: int) -> None:
    """Features of a strong structure, which random columns have nothing to do with."""
    rng, told = np.random.default_rng(n), 0
    for _ in range(200):
        values = standardized(
            rng.normal(size=(50, n)) + np.outer(rng.normal(size=50), rng.normal(size=n))
        )
        columns = [
            annotation("batch", rng.integers(0, 3, n), batch=True, named=True),
            annotation("prep", rng.integers(0, 4, n), batch=True, named=True),
        ]
        told += bool(followed_by_top(columns, values, None))
    assert told <= 8  # of 400 columns, of which 0.5% are expected


def test_the_column_of_the_fewest_groups_and_no_classes_are_followed(
    rng: np.random.Generator,
) -> None:
    batch, kind = rng.integers(0, 2, N), rng.integers(0, 3, N)
    values = standardized(
        rng.normal(size=(50, N))
        + 2 * np.outer(rng.normal(size=50), batch)
        + np.outer(rng.normal(size=50), kind)
    )
    batches = annotation("obs:prep", batch, batch=True, named=True)
    donors = annotation("obs:donor", 2 * batch + rng.integers(0, 2, N), batch=True, named=True)
    lineages = annotation("obs:lineage", kind, batch=False, named=False)
    classes = annotation("obs:cell_type", kind, batch=False, named=True)
    own = followed_by_top([donors, batches, classes], values, None)
    assert [*own] == ["obs:prep", "obs:donor"]
    assert not followed_by_top([lineages, classes], values, None)
    some = np.flatnonzero(rng.random(N) < 0.7)
    own = followed_by_top([donors, batches, lineages], standardized(values[:, some]), some)
    assert next(iter(own)) == "obs:prep"


def test_the_first_features_that_follow_a_column_of_the_matrix_are_told(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
) -> None:
    """Beside one of donors within batches; a column that is no batch by its name is not."""
    monkeypatch.chdir(tmp_path)
    study(tmp_path, 2.0)
    data = ad.read_h5ad("x.h5ad")[:, 80:].copy()
    data.obs["donor"] = [f"{lane}{i % 4 // 2}" for i, lane in enumerate(data.obs["lane"])]
    data.obs["random_batch"] = rng.permutation(data.obs["lane"])
    data.write_h5ad("all.h5ad")
    told = run_here(["rank", "all.h5ad", "--method", "spec"], capfd).err
    assert "the first features follow obs:lane, which explains" in told
    assert told.count("[batch]") == 1
    data.obs["prep"] = [f"kit {lane}" for lane in data.obs["lane"]]
    data.obs = data.obs.drop(columns=["donor", "lane"])
    data.write_h5ad("prep.h5ad")
    told = run_here(["rank", "prep.h5ad", "--method", "spec"], capfd).err
    assert "obs:prep, which explains" in told
    assert "if it is technical, as a batch is, give --adjust obs:prep=categorical" in told
    data.obs = data.obs.rename(columns={"prep": "annotation"})
    data.write_h5ad("named.h5ad")
    assert "[batch]" not in run_here(["rank", "named.h5ad", "--method", "spec"], capfd).err
    for words in (["--adjust", "obs:prep"], ["--labels", "obs:prep"]):
        told = run_here(["rank", "prep.h5ad", "--method", "spec", *words], capfd).err
        assert "[batch]" not in told
    tests = ["--labels", "obs:tissue", "--method", "f-test"]
    assert "[batch]" not in run_here(["rank", "prep.h5ad", *tests], capfd).err


def inspected(words: list[str], capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    done = run_here(["inspect", *words, "--json"], capfd)
    assert done.code == 0, done.err
    facts: dict[str, Any] = json.loads(done.out)
    return facts


def test_inspect_says_what_rank_would(accidents: Path, capfd: pytest.CaptureFixture[str]) -> None:
    facts = inspected(["x.csv"], capfd)
    told = " ".join(facts["warnings"])
    assert all(f"[{name}]" in told for name in ("raw-values", "columns", "names"))
    assert "raw counts" in facts["values_look_like"]
    totals = pd.read_csv(accidents / "x.csv", index_col=0).sum()
    sizes = [totals.min(), int(totals.median()), totals.max()]
    assert [*facts["library_sizes"].values()] == sizes


def test_inspect_finds_batches_among_the_annotations(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study(tmp_path, 2.0)
    facts = inspected(["x.h5ad"], capfd)
    assert [*facts["batches"]] == ["obs:lane"]
    assert facts["sample_columns"]["obs:lane"].startswith("2 values: ")


def test_inspect_describes_what_rank_tells_of(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(rng.normal(8, 1, (57, N)), columns=SAMPLES)
    table["everything"] = table.sum(axis=1)
    table.to_csv(tmp_path / "results.csv", index_label="gene")
    done = run_here(["inspect", "results.csv"], capfd)
    assert done.code == 0
    assert "everything (it is the sum of the other columns) seems to be no sample" in done.err
    assert "remove from the table what is no sample" in done.err


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda c: np.log1p(c / c.sum(axis=0) * 1e4), "natural logarithms of 1 + x"),
        (lambda c: np.log2(c / c.sum(axis=0) * 1e6 + 1), "logarithms of base 2 of 1 + x"),
        (lambda c: np.log2(c + 1), "logarithms, of a base"),
        (lambda c: c / c.max(), "numbers from 0 to 1"),
        (lambda c: np.minimum(c, 5), "small whole numbers (up to 5)"),
    ],
)
def test_inspect_knows_logarithms_of_shares(
    make: object,
    expected: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    rng: np.random.Generator,
) -> None:
    counts = rng.poisson(rng.gamma(1, 40, (200, 1)) * rng.uniform(0.3, 3, N)) + 0.0
    table = write_table(tmp_path / "x.csv", make(counts))  # type: ignore[operator]
    assert expected in inspected([table], capfd)["values_look_like"]


def test_inspect_takes_what_is_known_of_features_with_gaps(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = np.tile(np.arange(6.0) * 300, (20, 1))
    table[:, 3] = np.nan  # every feature lacks a value
    facts = inspected([write_table(tmp_path / "x.csv", table)], capfd)
    assert (facts["smallest_value"], facts["largest_value"]) == (0, 1500)
    assert facts["share_of_zeros"] == 0.2
    assert facts["constant_features"] == 0
    assert facts["missing_values"] == 20
    sums = {"smallest": 0, "median": int(np.median(np.nansum(table, axis=0))), "largest": 30_000}
    assert facts["library_sizes"] == sums


def test_names_of_batches_and_of_what_is_known_of_donors() -> None:
    batches = (
        "batch Batch2 BatchID scan_batch donor patient_id tissue_source_site plate.1 run_date "
    )
    batches += "sample Sample_ID library.prep"
    others = "patient_sex donor_age library_size primary_site site_of_origin batch_size brunch "
    others += "body_site tumor_site tumour_site sample_type annotation majority_voting leiden"
    assert all(LIKE_BATCHES.search(name) for name in batches.split())
    assert not any(LIKE_BATCHES.search(name) for name in others.split())
    classes = "cell_type CellType clusters label tissue bulk_labels disease.stage"
    assert all(LIKE_CLASSES.search(name) for name in classes.split())


def test_the_bound_is_not_reached_by_the_structure_of_classes(rng: np.random.Generator) -> None:
    """A batch that is crossed with the classes explains nothing of what follows these."""
    classes = np.repeat([0, 1], N // 2)
    assert explained(classes[:, None] + 0.1 * rng.normal(size=(N, 1)), np.arange(N) % 2) == 0


def test_python_is_told_of_batches_in_its_own_words(tmp_path: Path) -> None:
    study(tmp_path, 2.0)
    with pytest.warns(sfs_cli.SfsWarning, match='give adjust="obs:lane=categorical"'):
        sfs_cli.rank(ad.read_h5ad(tmp_path / "x.h5ad"))
