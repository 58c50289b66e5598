"""Each kind of accident is told with what mends it, and is not told any more of what is mended."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest

import sfs_cli
from sfs_cli.run import guards
from sfs_cli.run.columns import look_at, two_of_each
from sfs_cli.run.raw_values import coded_missing, like_logarithms
from tests.running import Sfs, run_here

SAMPLES = [f"s{i}" for i in range(24)]
CLASSES = ["a", "b"] * 12
GENES = [f"ENSG{i:05}" for i in range(200)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the classes of the samples."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"class": CLASSES, "patient": [f"p{i // 2}" for i in range(24)]}, SAMPLES)
    table.to_csv("y.csv", index_label="sample")
    return tmp_path


def counts() -> pd.DataFrame:
    """Counts of genes (rows) of very different means, with libraries of about one size."""
    rng = np.random.default_rng(3)
    means = rng.lognormal(4, 1.5, len(GENES))
    return pd.DataFrame(rng.negative_binomial(5, 5 / (5 + means), (24, 200)).T, GENES, SAMPLES)


def logarithms() -> pd.DataFrame:
    return np.log2(counts() + 1).round(4)


def warnings_of(words: list[str], capfd: pytest.CaptureFixture[str], kind: str) -> list[str]:
    done = run_here([*words, "-v"], capfd)
    assert done.code == 0, done.err
    return [line for line in done.err.splitlines() if line.endswith(f"[{kind}]")]


TEST = ["--method", "f-test", "--labels", "y.csv:class"]


def raw() -> list[str]:
    counts().to_csv("x.csv")
    return ["--method", "variance"]


def circular() -> list[str]:
    logarithms().to_csv("x.csv")
    return ["--method", "spec", "--pvalues", "moments"]


def known_of_samples() -> list[str]:
    """A class, an age and a number of the patient stand among the genes."""
    table = logarithms()
    table.loc["diagnosis"] = [int(name == "b") for name in CLASSES]
    table.loc["age at diagnosis"] = np.arange(24) + 40
    table.loc["patient_id"] = np.arange(24) + 1000
    table.to_csv("x.csv")
    return TEST


def summaries() -> list[str]:
    """Somebody has added sums, under any name, and means and deviations."""
    table = logarithms()
    mean, deviation = table.mean(), table.std()
    table.loc["everything"] = table.sum()
    table.loc["Mean"], table.loc["St.Dev."] = mean, deviation
    table.to_csv("x.csv")
    return TEST


def in_german() -> list[str]:
    """Rows of other names stand beside the sum, as none of the genes is called."""
    table = logarithms()
    rows = {"Gesamt": table.sum(), "Hoechster": table.max(), "Std Dev": table.std()}
    pd.concat([table, pd.DataFrame(rows).T]).to_csv("x.csv")
    return TEST


def depth() -> list[str]:
    rng = np.random.default_rng(4)
    sizes = np.where(np.array(CLASSES) == "a", 0.3, 3) * rng.lognormal(0, 0.1, 24)
    means = rng.lognormal(0.5, 1, 400)
    table = pd.DataFrame(
        rng.poisson(means[:, None] * sizes), [f"g{i}" for i in range(400)], SAMPLES
    )
    table.to_csv("x.csv")
    return [*TEST, "--transform", "cpm,log1p"]


def times() -> list[str]:
    """The time of each sample stands beside a column that says who had an event at it."""
    logarithms().to_csv("x.csv")
    table = pd.DataFrame({"OS time": np.arange(24) + 1, "vital status": [0, 1, 1] * 8}, SAMPLES)
    table.to_csv("y.csv", index_label="sample")
    words = ["--method", "spearman", "--labels", "y.csv:OS time"]
    return [*words, "--label-type", "continuous"]


def cells(**obs: np.ndarray) -> list[str]:
    """Counts of cells, most of them zero, on a grid of places."""
    rng = np.random.default_rng(7)
    obs_names = [f"c{i}" for i in range(240)]
    counts = rng.poisson(rng.gamma(0.1, 8, 200), (240, 200))
    made = ad.AnnData(counts.astype("f4"), pd.DataFrame(obs, obs_names))
    made.obsm["spatial"] = np.stack(np.divmod(np.arange(240) % 120, 12), axis=1).astype(float)
    made.write_h5ad("x.h5ad")
    return ["x.h5ad"]


def on_slides() -> list[str]:
    """Two slides with the same coordinates, in a column with a blank in its name."""
    return [*cells(**{"slide id": np.repeat(["l", "r"], 120)}), "--spatial"]


def few_counts() -> list[str]:
    return [*cells(), "--method", "variance", "--transform", "cpm,log1p"]


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("raw-values", raw),
        ("tested-graph", circular),
        ("columns", known_of_samples),
        ("columns", summaries),
        ("columns", in_german),
        ("depth", depth),
        ("survival", times),
        ("slides", on_slides),
        ("shallow", few_counts),
    ],
)
def test_the_option_that_is_proposed_ends_a_warning(
    kind: str, make: Callable[[], list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    words = make()
    words = ["rank", *["x.csv"] * words[0].startswith("-"), *words]
    (told,) = warnings_of(words, capfd, kind)
    proposed = re.search(r"give (--[\w-]+ (?:'[^']*'|[^ ,;)]+(?:,[^ ;)]+)*))", told)
    assert proposed is not None, told
    option, value = shlex.split(proposed[1])
    if option in words:
        words[words.index(option) + 1] = value
    else:
        words += [option, value]
    assert not warnings_of(words, capfd, kind)


def copied() -> tuple[list[str], list[str]]:
    """Labels as a feature of some name and coding, in a table that a user cannot look through."""
    table = logarithms()
    table.loc["X17"] = [2.5 if name == "b" else 1.5 for name in CLASSES]
    table.to_csv("x.csv")
    return TEST, [*TEST, "--exclude", "^(X17)$"]


def twice() -> tuple[list[str], list[str]]:
    """All samples of a class are copies of one."""
    table = logarithms()
    table.to_csv("once.csv")
    table.loc[:, np.array(CLASSES) == "a"] = np.tile(table[["s0"]], 12)
    table.to_csv("x.csv")
    words = ["--method", "welch", "--labels", "y.csv:class"]
    return words, ["once.csv", *words]


def crossed() -> tuple[list[str], list[str]]:
    """Each run has samples of one class, and then of both."""
    logarithms().to_csv("x.csv")
    runs = {"class": CLASSES, "of_class": ["r1", "r2", "r3", "r4"] * 6, "run": list("ppqq") * 6}
    table = pd.DataFrame(runs, SAMPLES).rename_axis("sample")
    table.drop(columns="of_class").to_csv("crossed.csv")
    table.drop(columns="run").rename(columns={"of_class": "run"}).to_csv("same.csv")
    words = ["--method", "f-test", "--labels"]
    return [*words, "same.csv:class"], [*words, "crossed.csv:class"]


def logged() -> tuple[list[str], list[str]]:
    logarithms().to_csv("x.csv")
    return [*TEST, "--transform", "cpm,log1p"], TEST


def dates() -> tuple[list[str], list[str]]:
    table = logarithms()
    names = ["01.Mrz", "02. Sep", "1-mars", "01/03/20", "2-sept.", "1-dic", "4-okt", *GENES[7:]]
    table.set_axis(names).to_csv("x.csv")
    table.to_csv("corrected.csv")
    return TEST, ["corrected.csv", *TEST]


def ids() -> tuple[list[str], list[str]]:
    logarithms().to_csv("x.csv")
    return ["--method", "f-test", "--labels", "y.csv:patient"], TEST


def lost() -> tuple[list[str], list[str]]:
    """A third class has no value of a covariate, so that no sample of it is left."""
    logarithms().to_csv("x.csv")
    classes = pd.DataFrame({"class": ["a", "b", "c"] * 8, "age": range(24)}, SAMPLES)
    classes.to_csv("all.csv", index_label="sample")
    classes.loc[classes["class"] == "c", "age"] = np.nan
    classes.to_csv("some.csv", index_label="sample")
    words = [
        "--method",
        "f-test",
        "--samples",
        "intersect",
        "--labels",
        "all.csv:class",
        "--adjust",
    ]
    return [*words, "some.csv:age"], [*words, "all.csv:age"]


def several_kinds() -> tuple[list[str], list[str]]:
    table, other = counts(), counts() / 7.3
    both = pd.concat([table.add_suffix("_count"), other.add_suffix("_fpkm")], axis=1)
    both.to_csv("x.csv")
    pd.DataFrame({"kind": "count"}, [f"{name}_count" for name in SAMPLES]).to_csv("k.csv")
    words = ["--method", "variance"]
    return words, [*words, "--labels", "k.csv:kind", "--samples", "intersect"]


def of_one_class() -> tuple[list[str], list[str]]:
    """Ten cells of each donor, who has one class."""
    donors = np.arange(240) // 10
    words = [*cells(group=np.array(["a", "b"])[donors % 2], donor=donors), "--donors", "obs:donor"]
    words += ["--method", "f-test", "--labels", "obs:group"]
    return words, [*words, "--pseudobulk", "donor"]


def of_one_class_unnamed() -> tuple[list[str], list[str]]:
    """Ten cells of each donor, whom no option names."""
    at = np.arange(240)
    obs = {"group": np.array(["a", "b"])[at // 10 % 2], "donor id": at // 10}
    words = [*cells(**obs), "--method", "f-test", "--labels", "obs:group"]
    return words, [*words, "--pseudobulk", "donor id"]


def of_one_class_in_a_table() -> tuple[list[str], list[str]]:
    """Two samples of each patient, of whom the table of the labels tells."""
    logarithms().to_csv("x.csv")
    patients = pd.Series(np.arange(24) // 2, SAMPLES)
    table = pd.DataFrame({"class": np.array(["a", "b"])[patients % 2], "patient": patients})
    table.to_csv("repeated.csv")
    table.assign(patient=range(24)).to_csv("single.csv")
    words = ["--method", "f-test", "--labels"]
    return [*words, "repeated.csv:class"], [*words, "single.csv:class"]


def of_one_mouse() -> tuple[list[str], list[str]]:
    """Each class is one mouse, and then a column called `sample` has the classes again."""
    side = np.array(["a", "b"])[np.arange(240) // 120]
    words = [*cells(group=side, sample=side, mouse=side == "a"), "--method", "f-test", "--labels"]
    made = ad.read_h5ad("x.h5ad")
    made.obs = made.obs.drop(columns="mouse")
    made.write_h5ad("again.h5ad")
    return [*words, "obs:group"], ["again.h5ad", *words[1:], "obs:group"]


def of_each_cluster() -> tuple[list[str], list[str]]:
    """The cells of each donor, who has one class, in two clusters."""
    at = np.arange(240)
    obs = {"group": np.array(["a", "b"])[at // 20 % 2], "donor": at // 20, "cluster": at // 10 % 2}
    words = [*cells(**obs), "--method", "f-test", "--labels", "obs:group", "--pseudobulk"]
    pd.Series(["a", "b"] * 6, [f"{k}_1" for k in range(12)], name="class").to_csv("one.csv")
    one = [word.replace("obs:group", "one.csv:class") for word in words]
    return [*words, "donor,cluster"], [*one, "donor,cluster", "--samples", "intersect"]


def unit_variance() -> tuple[list[str], list[str]]:
    """Logarithms as `raw`, and some of them scaled as X."""
    table = logarithms().T
    data = ad.AnnData(table)
    data.raw = data
    data = data[:, :80].copy()
    data.X = np.minimum((data.X - data.X.mean(axis=0)) / data.X.std(axis=0, ddof=1), 2.5)
    data.write_h5ad("x.h5ad")
    words = ["x.h5ad", "--method", "variance"]
    return words, [*words, "--layer", "raw.X"]


def visits() -> tuple[list[str], list[str]]:
    """Last visits of all, and the times of those who died."""
    logarithms().to_csv("x.csv")
    last = pd.Series(np.arange(24) + 100, SAMPLES)
    died = last.index[::2]
    dead = pd.Series(last.index.isin(died), SAMPLES)
    table = {"followup_days": last, "days_to_death": last[died] + 50, "dead": dead}
    pd.DataFrame(table).to_csv("d.csv")
    words = ["--event", "dead", "--labels"]
    return [*words, "d.csv:followup_days"], [*words, "d.csv:days_to_death,followup_days"]


def pairs() -> tuple[list[str], list[str]]:
    """Ten cells of each donor and class."""
    at = np.arange(240)
    obs = {"group": np.array(["a", "b"])[at // 10 % 2], "donor": at // 20}
    words = [*cells(**obs), "--donors", "obs:donor", "--method", "f-test", "--labels", "obs:group"]
    return words, [*words, "--pseudobulk", "donor,group", "--block", "obs:donor"]


@pytest.mark.parametrize(
    ("kind", "make", "said"),
    [
        ("columns", copied, "X17 (it tells the labels exactly)"),
        ("columns", twice, "s16 and 3 more (it has the values of another column"),
        ("batch", crossed, "same.csv:run is confounded with the classes"),
        ("columns", several_kinds, "48 columns are 24 samples with several kinds of values"),
        ("logarithms", logged, "takes cpm, log1p of values that look like logarithms already"),
        ("names", dates, "7 features (01.Mrz, 02. Sep, 1-mars, 01/03/20, 2-sept., 1-dic, 4-okt)"),
        ("labels", ids, "12 classes for 24 samples"),
        ("labels", lost, "all samples of c (8) are left out by"),
        ("raw-values", unit_variance, "X looks scaled"),
        ("survival", visits, "give --labels FILE:days_to_death,followup_days"),
        ("donors", of_one_class, "add up the cells (--pseudobulk DONOR, of AnnData)"),
        ("batch", of_one_mouse, "obs:mouse is confounded with the classes"),
        ("donors", of_one_class_unnamed, "by obs:donor id, the 240 samples are of 24 donors"),
        ("donors", of_one_class_unnamed, "--pseudobulk 'donor id', of AnnData"),
        ("donors", of_one_class_in_a_table, "(--pseudobulk DONOR, of AnnData) or average"),
        (
            "donors",
            of_each_cluster,
            "cells of each donor (--pseudobulk donor), or test the samples",
        ),
        ("donors", pairs, "add up the cells (--pseudobulk DONOR,CLASS, of AnnData)"),
    ],
)
def test_what_a_warning_says_to_do_ends_it(
    kind: str,
    make: Callable[[], tuple[list[str], list[str]]],
    said: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words, mended = make()
    before, after = (["rank", *["x.csv"] * w[0].startswith("-"), *w] for w in (words, mended))
    (told,) = warnings_of(before, capfd, kind)
    assert said in told
    assert not warnings_of(after, capfd, kind)


def patients() -> pd.DataFrame:
    """Noise with the class, the age and the donor of the patients as columns of the table."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(8, 1, (24, 200)), SAMPLES, GENES)
    table.insert(3, "class", [int(name == "b") for name in CLASSES])
    table["age"] = rng.integers(30, 80, 24)
    table["donor"] = np.arange(24) // 2
    return table


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "f-test", "--labels", "x.csv:class"],
        ["--method", "f-test", "--labels", "y.csv:class", "--adjust", "x.csv:age"],
        ["--method", "f-test", "--labels", "x.csv:age", "--label-type", "continuous"],
        ["--method", "t-test", "--labels", "x.csv:class", "--donors", "x.csv:donor"],
    ],
)
def test_columns_that_options_take_are_no_features(words: list[str], sfs: Sfs) -> None:
    table = patients()
    table.to_csv("x.csv")
    taken = [word.partition(":")[2] for word in words if word.startswith("x.csv:")]
    table.drop(columns=taken).to_csv("without.csv")
    words = [*words, "--rows", "samples", "--dtype", "float64"]
    rankings = []
    for matrix in ("x.csv", "without.csv"):
        done = sfs("rank", matrix, *words, "--out", matrix.removesuffix(".csv"))
        assert ("left out of the features" in done.err) == (matrix == "x.csv")
        rankings.append(pd.read_csv(f"{matrix.removesuffix('.csv')}/ranking.tsv", sep="\t"))
    kept = rankings[0][~rankings[0].feature.isin(taken)]
    kept = kept.reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, rankings[1], rtol=1e-10, check_dtype=False)
    left = rankings[0][rankings[0].feature.isin(taken)]
    assert set(left.status) == {"excluded"}
    assert left["rank"].min() > kept["rank"].max()


def test_every_command_leaves_them_out(sfs: Sfs) -> None:
    patients().to_csv("x.csv")
    patients()[["class"]].to_csv("classes.csv", index_label="sample")
    asked = ["--method", "f-test", "--labels", "classes.csv:class"]
    folds = ["--lengths", "1", "--splits", "2", "--repeats", "1"]
    sfs("evaluate", "x.csv", *asked, *folds, "--out", "e")
    found = pd.read_csv("e/evaluation.tsv", sep="\t")
    accuracy = found.value[(found["list"] == "f-test") & (found.measure == "accuracy")]
    assert accuracy.max() < 0.9  # by the class itself it would be 1
    for words in (["init", "p", "x.csv", *asked, "--shards", "2"], ["merge", "p", "--out", "m"]):
        sfs("shard", *words)
    assert pd.read_csv("m/ranking.tsv", sep="\t").feature[0] != "class"
    frame = patients()
    best = sfs_cli.rank(frame, labels=frame["class"], method="f-test").table
    assert best.status["class"] == "excluded"


@pytest.mark.parametrize(
    ("words", "told", "column"),
    [
        ([], False, "log2_fold_change"),
        (["--transform", "log1p"], True, "mean_difference"),
        (["--layer", "counts"], False, "mean_difference"),
        (["--layer", "counts", "--transform", "log1p"], False, "log2_fold_change"),
    ],
)
def test_fold_changes_are_those_of_logarithms_that_were_taken_once(
    words: list[str], told: bool, column: str, capfd: pytest.CaptureFixture[str]
) -> None:
    table = counts().T
    data = ad.AnnData(np.log1p(table), layers={"counts": table.to_numpy()})
    data.obs["class"] = CLASSES
    data.uns["log1p"] = {}
    data.write_h5ad("x.h5ad")
    asked = ["rank", "x.h5ad", "--labels", "obs:class", "--method", "t-test", "--dtype", "float64"]
    assert bool(warnings_of([*asked, *words], capfd, "logarithms")) == told
    run_here([*asked, *words, "--markers", "welch", "--out", "r"], capfd)
    found = pd.read_csv("r/ranking.tsv", sep="\t", index_col="feature")
    assert {"log2_fold_change", "mean_difference"} & {*found} == {column}
    logs = np.log1p(table)[np.array(CLASSES) == "b"].mean() - np.log1p(table)[::2].mean()
    if column == "log2_fold_change":
        np.testing.assert_allclose(found[column], (logs / np.log(2))[found.index], rtol=1e-8)
    markers = pd.read_csv("r/markers.tsv", sep="\t")
    assert markers.log2_fold_change.isna().all() == (column == "mean_difference")


@pytest.mark.parametrize(
    ("steps", "proposed"),
    [
        (None, "--transform is-log2 gives log2 fold changes"),
        ("center", "--transform is-log2,center gives log2 fold changes"),
        ("rank", None),
        ("is-log2", None),
        ("raw", None),
    ],
)
def test_values_that_look_like_logarithms_are_to_be_stated_for_fold_changes(
    steps: str | None, proposed: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    (counts() if steps == "raw" else logarithms()).to_csv("x.csv")
    given = [] if steps in (None, "raw") else ["--transform", steps]
    done = run_here(["rank", "x.csv", *TEST, *given, "--top", "1"], capfd)
    assert done.code == 0, done.err
    line = next(each for each in done.err.splitlines() if each.startswith("differences are"))
    assert ("look like logarithms" in line) == (proposed is not None)
    assert proposed is None or proposed in line


@pytest.mark.parametrize("said", ["is-log2", "is-ln", "is-log10"])
def test_another_base_than_that_of_the_file_is_told(
    said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    data = ad.AnnData(np.log1p(counts().T), uns={"log1p": {}})
    data.obs["class"] = CLASSES
    data.write_h5ad("x.h5ad")
    words = ["rank", "x.h5ad", "--labels", "obs:class", "--method", "t-test", "--transform", said]
    told = warnings_of(words, capfd, "logarithms")
    assert bool(told) == (said != "is-ln")
    assert not told or "natural logarithms" in told[0]


def test_logarithms_of_cells_show_their_base(capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    cells = counts() // 40 * (rng.random((200, 24)) < 0.6)
    np.log1p(cells / cells.sum() * 20_000).to_csv("x.csv")
    done = run_here(["rank", "x.csv", *TEST, "--top", "1"], capfd)
    assert "to base e, as counts in them show, --transform is-ln gives" in done.err


@pytest.mark.parametrize("code", [-999, -9])
def test_a_code_of_missing_values_is_no_measurement(
    code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    table = logarithms()
    table.iloc[::9, 3] = code
    table.to_csv("x.csv")
    words = ["rank", "x.csv", *TEST]
    (told,) = warnings_of(words, capfd, "raw-values")
    assert f"{code} stands for" in told
    table.replace(code, np.nan).to_csv("x.csv")
    assert not warnings_of([*words, "--missing", "mean"], capfd, "raw-values")


def test_the_smallest_of_many_values_is_no_code() -> None:
    values = np.array([[-9.0, -9, 3, 5]])
    assert coded_missing(values) is not None
    assert coded_missing(np.append(values, -7)) is None  # of log ratios
    assert coded_missing(values[:, 1:]) is None
    assert coded_missing(values - 1) is None
    assert coded_missing(np.full((2, 2), np.nan)) is None


def test_values_that_look_like_logarithms() -> None:
    rng = np.random.default_rng(1)
    values = counts().to_numpy(np.float64)
    assert like_logarithms(np.log2(values + 1)) is not None
    assert like_logarithms(np.log1p(1e4 * values / values.sum(axis=0))) is not None
    assert like_logarithms(values) is None
    assert like_logarithms(values / 1000 + 0.001) is None  # FPKM of few reads
    assert like_logarithms(rng.lognormal(0, 0.5, (200, 24))) is None  # ratios
    cells = rng.poisson(rng.gamma(0.2, 2, (400, 1)) * rng.lognormal(0, 0.3, 60))
    scaled = 1e4 * cells / np.maximum(cells.sum(axis=0), 1)
    assert like_logarithms(np.log1p(scaled)) is not None
    assert like_logarithms(scaled / 300) is None


def test_names_of_samples_that_end_alike_are_samples() -> None:
    pairs = [f"P{i}_{kind}" for i in range(6) for kind in ("tumor", "normal", "log_phase")]
    table = counts().iloc[:, :4]
    normal = [*table, *(f"{name}_norm" for name in table)]
    for names in (
        pairs,
        [f"S{i}_count" for i in range(9)],
        ["a", "b", "a_norm", "b_norm"] + [f"x{i}" for i in range(9)],
        normal,  # of values of the same kind: the tissue beside the tumour
    ):
        values = np.random.default_rng(0).normal(8, 1, (50, len(names)))
        assert two_of_each(names, values) is None
    both = pd.concat([table, (table * 1.7).add_suffix("_norm")], axis=1)
    both["total_reads"] = table.sum(axis=1)
    both["mean_norm"] = 1.7 * table.mean(axis=1)
    assert "8 columns are 4 samples" in str(two_of_each([*both], both.to_numpy()))
    sums = dict(look_at(both.to_numpy(np.float64), [*both]).none)
    assert {*sums} == {"total_reads", "mean_norm"}


def test_sums_below_the_genes_are_not_what_was_measured(capfd: pytest.CaptureFixture[str]) -> None:
    """A sum of logarithms is no intensity, whatever it is called."""
    in_german()
    assert not warnings_of(["rank", "x.csv", *TEST], capfd, "raw-values")


def test_conditions_called_samples_are_no_donors(capfd: pytest.CaptureFixture[str]) -> None:
    words = of_one_class_in_a_table()[0]
    table = pd.read_csv("repeated.csv", index_col=0)
    for name, told in {"sample": False, "animal": False, "subject": True}.items():
        table.rename(columns={"patient": name}).to_csv("repeated.csv")
        assert bool(warnings_of(["rank", "x.csv", *words], capfd, "donors")) is told


def test_donors_of_one_class_are_told_of_once(capfd: pytest.CaptureFixture[str]) -> None:
    words, _ = crossed()
    words = ["rank", "x.csv", *words, "--donors", "same.csv:run"]
    assert warnings_of(words, capfd, "donors")
    assert not warnings_of(words, capfd, "batch")


def test_a_sample_that_labels_name_is_one(capfd: pytest.CaptureFixture[str]) -> None:
    table = logarithms()
    table["P-Val"] = table["s0"] + np.arange(200) / 200
    table.to_csv("x.csv")
    labels = pd.Series([*CLASSES, "b"], [*table], name="class").rename_axis("sample")
    labels.to_csv("y.csv")
    assert not warnings_of(["rank", "x.csv", *TEST], capfd, "columns")
    pd.read_csv("y.csv").head(24).to_csv("y.csv", index=False)
    done = run_here(["rank", "x.csv", *TEST], capfd)
    assert "annotations, not values: P-Val (name)" in done.err


def test_a_table_of_patients_may_have_their_age(capfd: pytest.CaptureFixture[str]) -> None:
    """Names tell of a table of genes alone; also no gene is called like a sum or a class."""
    table = logarithms().iloc[:12].set_axis(["age", "sex", "bmi", *GENES[3:12]])
    table.to_csv("x.csv")
    assert not warnings_of(["rank", "x.csv", *TEST], capfd, "columns")
    genes = ["MAX", "SET", "REST", "CLASP1", "AGER", "SEC62", "TOTAL1", "ID1", "STAG2", "SAMPLE-X"]
    patterns = (*guards.SUSPICIOUS, *guards.NO_MEASUREMENTS)
    assert not any(guards.like(genes, pattern) for pattern in patterns)


def test_counts_beside_a_note_of_logarithms_are_counts(capfd: pytest.CaptureFixture[str]) -> None:
    """X of an AnnData was replaced by the counts, and `uns` says what it was before."""
    table = counts().T
    data = ad.AnnData(table.to_numpy("f4"), pd.DataFrame({"g": CLASSES}, table.index))
    data.var_names = [*table]
    data.uns["log1p"] = {"base": None}
    data.write_h5ad("x.h5ad")
    words = ["rank", "x.h5ad", "--method", "t-test", "--labels", "obs:g"]
    run_here([*words, "--out", "raw"], capfd)
    assert "log2_fold_change" not in pd.read_csv("raw/ranking.tsv", sep="\t")
    assert not warnings_of([*words, "--transform", "cpm,log1p"], capfd, "logarithms")


def test_ratios_to_the_middle_of_each_feature_are_no_logarithms() -> None:
    table = counts() + 1.5
    assert like_logarithms(np.log2(table.to_numpy())) is not None
    for middle in (table.mean(axis=1), table.median(axis=1)):
        assert like_logarithms(table.div(middle, axis=0).to_numpy()) is None


def test_presence_of_a_gene_that_follows_the_classes_is_a_finding(
    capfd: pytest.CaptureFixture[str],
) -> None:
    values = np.random.default_rng(3).integers(0, 2, (200, 24))
    values[7] = [int(name == "b") for name in CLASSES]
    pd.DataFrame(values, GENES[:200], SAMPLES).to_csv("x.csv")
    assert not warnings_of(["rank", "x.csv", *TEST], capfd, "columns")


def test_what_censored_names_is_no_feature(capfd: pytest.CaptureFixture[str]) -> None:
    table = patients()
    table.insert(0, "cens", [0, 0, 1] * 8)
    table.insert(0, "time", np.arange(24) + 0.5)
    table.to_csv("x.csv")
    words = ["rank", "x.csv", "--rows", "samples", "--method", "cox", "--labels", "x.csv:time"]
    words += ["--label-type", "continuous", "--censored", "x.csv:cens", "--out", "made"]
    done = run_here(words, capfd)
    assert "cens (--censored)" in done.err or "cens (--event)" in done.err, done.err
    found = pd.read_csv("made/ranking.tsv", sep="\t").set_index("feature")
    assert (found.status[["cens", "time"]] == "excluded").all()
