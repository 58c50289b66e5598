"""``--modules`` on the command line: the files, the report, and columns of the samples."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f as f_distribution
from scipy.stats import f_oneway, false_discovery_control, pearsonr

from sfs_cli.tables import header
from tests.cli.shard_study import make_study, sfs
from tests.making import write_table
from tests.oracles import modules as twin
from tests.oracles.prune import pearson
from tests.running import run_here

FILES = ("modules.tsv", "module_profiles.tsv", "module_eigengenes.tsv", "module_edges.tsv")
N, M = 30, 80
VARIANCE = ("--method", "variance")


def values() -> np.ndarray:
    """Features x samples: three modules with either sign among noise."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(M, N))
    for k, members in enumerate((range(0, 12), range(12, 18), range(18, 21))):
        factor = 3 * rng.normal(size=N)
        for i in members:
            X[i] += factor * (-1 if i % (4 + k) == 2 else 1)
    return X.round(4)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_study(tmp_path_factory.mktemp("study"))
    genes, samples = [f"g{i}" for i in range(M)], [f"s{i}" for i in range(N)]
    write_table(folder / "x.csv", values(), genes, samples)
    return folder


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_files_hold_the_modules_of_the_first_features(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("sfs_cli.parts.modules.GROUPED", 40)
    monkeypatch.setattr("sfs_cli.parts.modules.CORRELATION", 0.6)
    out = tmp_path / "out"
    done = run_here(["rank", "x.csv", *VARIANCE, "--modules", "--out", str(out)], capfd)
    assert done.code == 0, done.err
    first = [row["feature"] for row in table(out / "ranking.tsv")[:40]]
    X = values()[[int(name[1:]) for name in first]].T
    expected = twin.groups(X, 0.6)
    rows = table(out / "modules.tsv")
    assert [row["members"].split(";") for row in rows] == [[first[i] for i in g] for g in expected]
    assert [int(row["size"]) for row in rows][:3] == [12, 6, 3]
    assert [row["representative"] for row in rows] == [first[g[0]] for g in expected]
    assert [int(row["module"]) for row in rows] == list(range(1, len(rows) + 1))
    against = rows[0]["opposite"].split(";")
    assert set(against) < set(rows[0]["members"].split(";"))
    profiles = table(out / "module_profiles.tsv")
    assert list(profiles[0]) == ["module", *(f"s{i}" for i in range(N))]
    for row, members in zip(profiles, expected, strict=True):
        found = [float(row[f"s{i}"]) for i in range(N)]
        np.testing.assert_allclose(found, twin.profile(X, members), atol=1e-8)
    edges = table(out / "module_edges.tsv")
    number = {name: row["module"] for row in rows for name in row["members"].split(";")}
    assert list(edges[0]) == ["source", "target", "correlation", "module"]
    for edge in edges:
        i, j = first.index(edge["source"]), first.index(edge["target"])
        assert i < j
        assert float(edge["correlation"]) == pytest.approx(pearson(X[:, i], X[:, j]), rel=1e-8)
        assert abs(float(edge["correlation"])) > 0.6
        same = number.get(edge["source"]) == number.get(edge["target"], "none")
        assert edge["module"] == (number[edge["source"]] if same else "")
    r = np.corrcoef(X.T)
    above = {(first[i], first[j]) for i, j in zip(*np.nonzero(np.triu(np.abs(r) > 0.6, 1)))}
    assert {(edge["source"], edge["target"]) for edge in edges} == above
    for row, members in zip(rows, expected, strict=True):
        among = np.abs(r[np.ix_(members, members)])[np.triu_indices(len(members), 1)]
        assert float(row["mean_correlation"]) == pytest.approx(among.mean(), rel=1e-8)
        signs = [first[i] for i in members if r[members[0], i] < 0]
        assert row["opposite"] == ";".join(signs)
    record = json.loads((out / "run.json").read_text())
    facts = record["modules"]
    assert facts["features"] == 40
    assert facts["modules"] == len(rows)
    assert facts["edges"] == len(edges)
    assert facts["in_modules"] == sum(map(len, expected))
    assert set(FILES) < set(record["outputs"])
    page = (out / "report.html").read_text()
    assert "Modules" in page
    assert all(name in page for name in FILES)
    assert rows[0]["representative"] in page


def test_modules_are_of_what_was_scored(tmp_path):
    """After adjusting for what makes a module, there is none."""
    X = values()
    factor = "".join(f"s{i},{X[0, i]}\n" for i in range(N))
    (tmp_path / "c.csv").write_text("id,f\n" + factor)
    options = ("x.csv", *VARIANCE, "--modules")
    sfs("rank", *options, "--out", tmp_path / "a")
    sfs("rank", *options, "--adjust", f"{tmp_path / 'c.csv'}:f", "--out", tmp_path / "b")
    before, after = (table(tmp_path / name / "modules.tsv") for name in "ab")
    assert max(int(row["size"]) for row in before) == 12
    assert max(int(row["size"]) for row in after) == 6


# ---- columns of the samples ----------------------------------------------------------------------


def write_traits(path: Path) -> pd.DataFrame:
    """Write an age with gaps, three classes, ids, one value and nothing, and a sample too many."""
    rng = np.random.default_rng(3)
    eigengene = values()[0]
    age = np.where(rng.random(N) < 0.2, np.nan, eigengene + rng.normal(size=N))
    frame = pd.DataFrame(
        {
            "age": age.round(3),
            "stage": rng.choice(["a", "b", "c"], N),
            "id": [f"patient {i}" for i in range(N)],
            "same": "x",
            "empty": np.nan,
            "others": np.nan,
        },
        index=[f"s{i}" for i in range(N)],
    )
    frame.loc["another"] = [1.0, "a", "p", "x", np.nan, 7.0]
    frame.sample(frac=1, random_state=1).to_csv(path, sep="\t", index_label="sample")
    return frame


@pytest.mark.parametrize("spec", ["traits.tsv", "traits.tsv:age,stage,id,same"])
def test_eigengenes_are_tested_against_columns_as_by_scipy(spec, tmp_path, study, capfd):
    frame = write_traits(study / "traits.tsv")
    asked = ["--modules", "--module-traits", spec, "--out", str(tmp_path)]
    done = run_here(["rank", "x.csv", *VARIANCE, *asked], capfd)
    assert done.code == 0, done.err
    assert ("id, same, others" if spec == "traits.tsv" else "id, same") in done.err
    samples = [f"s{i}" for i in range(N)]
    E = pd.read_csv(tmp_path / "module_eigengenes.tsv", sep="\t", index_col="module")[samples]
    found = pd.read_csv(tmp_path / "module_traits.tsv", sep="\t")
    assert list(found.columns) == list(header("module_traits.tsv"))
    assert found.trait.unique().tolist() == ["age", "stage"]
    assert found.module.tolist() == np.repeat(E.index, 2).tolist()
    for row in found.itertuples():
        e, column = E.loc[row.module], frame.loc[samples, row.trait]
        e, column = e[column.notna().to_numpy()], column.dropna()
        assert row.samples == len(column)
        if row.trait == "age":
            r, p = pearsonr(e, column.astype(float))
            assert (row.taken_as, row.correlation) == ("numeric", pytest.approx(r, rel=1e-7))
        else:
            parts = [e[(column == level).to_numpy()] for level in "abc"]
            p = f_oneway(*parts).pvalue
            r = np.sqrt(sum(len(x) * (x.mean() - e.mean()) ** 2 for x in parts) / e.var(ddof=0) / N)
            assert row.taken_as == "categorical"
            assert np.isnan(row.correlation)
        assert row.r_squared == pytest.approx(r**2, rel=1e-7)
        assert row.p_value == pytest.approx(p, rel=1e-6)
    expected = false_discovery_control(found.p_value)
    np.testing.assert_allclose(found.q_value, expected, rtol=1e-8)
    assert found.q_value.min() < 0.01
    page = (tmp_path / "report.html").read_text()
    assert "Modules and traits" in page
    assert "module_traits.tsv" in page


def test_covariates_are_taken_out_of_traits_too(tmp_path, study, capfd):
    """As the linear models with and without the trait are compared (an F-test)."""
    frame = write_traits(study / "traits.tsv").iloc[:N]
    frame["batch"] = np.where(frame.age.fillna(0) + np.arange(N) % 3 > 1, "p", "q")
    frame.to_csv(study / "batches.tsv", sep="\t", index_label="sample")
    asked = ["--modules", "--module-traits", "batches.tsv:age,stage,batch", "--out", str(tmp_path)]
    done = run_here(["rank", "x.csv", *VARIANCE, "--adjust", "batches.tsv:batch", *asked], capfd)
    assert done.code == 0, done.err
    assert "follow from what is taken out of the features: batch" in done.err
    E = pd.read_csv(tmp_path / "module_eigengenes.tsv", sep="\t", index_col="module")
    found = pd.read_csv(tmp_path / "module_traits.tsv", sep="\t")
    assert found.trait.unique().tolist() == ["age", "stage"]
    for row in found.itertuples():
        known = frame[frame[row.trait].notna()]
        e = E.loc[row.module, known.index].to_numpy()
        base = np.column_stack([np.ones(len(e)), known.batch == "p"])
        added = known[["age"]] if row.trait == "age" else pd.get_dummies(known.stage).iloc[:, 1:]
        both = np.column_stack([base, added.astype(float)])
        less, more = (
            ((e - X @ np.linalg.lstsq(X, e, rcond=None)[0]) ** 2).sum() for X in (base, both)
        )
        freedom = added.shape[1], len(e) - both.shape[1]
        statistic = (less - more) / freedom[0] / (more / freedom[1])
        assert row.p_value == pytest.approx(f_distribution.sf(statistic, *freedom), rel=1e-6)
        assert row.r_squared == pytest.approx(1 - more / less, rel=1e-6, abs=1e-9)


def test_modules_that_do_not_vary_in_the_samples_of_a_trait_have_no_test(
    tmp_path, study, monkeypatch
):
    monkeypatch.setattr("sfs_cli.parts.modules.CORRELATION", 0.4)
    X = np.exp(values())
    X[:12, :6] = 0
    write_table(study / "zeros.csv", X, [f"g{i}" for i in range(M)], [f"s{i}" for i in range(N)])
    lines = ["sample\tage\tkind\n", *(f"s{i}\t{i * i}\t{'ab'[i % 2]}\n" for i in range(6))]
    (study / "few.tsv").write_text("".join(lines))
    asked = ("--modules", "--module-traits", "few.tsv")
    sfs("rank", "zeros.csv", *VARIANCE, *asked, "--out", tmp_path / "out")
    found = pd.read_csv(tmp_path / "out" / "module_traits.tsv", sep="\t")
    none = found.p_value.isna()
    assert set(found.trait[none]) == {"age", "kind"}
    assert not none.all()
    sfs("report", tmp_path / "out")  # the same page of the numbers in run.json


def test_traits_of_other_samples_are_refused_before_the_ranking(tmp_path, study, capfd):
    (study / "other.tsv").write_text("sample\tage\na\t1\nb\t2\n")
    asked = ["--modules", "--module-traits", "other.tsv", "--out", str(tmp_path / "out")]
    done = run_here(["rank", "x.csv", *VARIANCE, *asked], capfd)
    assert done.code == 3
    assert "none of the 30 samples has a value of age" in done.err
    assert not (tmp_path / "out").exists()
