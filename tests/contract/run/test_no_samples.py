"""Columns of numbers that are no samples are told of by name and scale."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfs_cli
from sfs_cli.errors import InputError
from sfs_cli.run.columns import look_at
from tests.running import Finished, Sfs

SAMPLES = [f"S{i}.bam" for i in range(1, 9)]


def counts(genes: int = 400, silent: int = 60) -> pd.DataFrame:
    """Counts of genes of very different means; the last ones are zero in all samples."""
    rng = np.random.default_rng(7)
    means = rng.lognormal(3, 2, genes) * (np.arange(genes) < genes - silent)
    made = rng.poisson(means[:, None] * rng.lognormal(0, 0.4, len(SAMPLES)))
    index = pd.Index([f"G{i}" for i in range(genes)], name="Geneid")
    return pd.DataFrame(made, index, SAMPLES)


def feature_counts() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    table = counts()
    length = rng.integers(200, 12_000, len(table))
    table.insert(0, "Length", length)
    return table


def results() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    m = 300
    p = rng.uniform(size=m)
    columns = {
        "logFC": rng.normal(size=m),
        "AveExpr": rng.normal(8, 2, m),
        "t": rng.normal(size=m),
        "P.Value": p,
        "adj.P.Val": np.sqrt(p),
        "B": rng.normal(-4, 1, m),
    }
    return pd.DataFrame(columns, pd.Index([f"G{i}" for i in range(m)], name="gene"))


def write(table: pd.DataFrame, folder: Path, kind: str) -> list[str]:
    """Write a table in a format, and return the arguments that read it."""
    path = folder / f"m.{kind.removesuffix('+')}"
    if kind == "csv":
        table.to_csv(path)
    elif kind == "csv+":  # cells x genes
        table.T.rename_axis("cell").to_csv(path)
        return [str(path), "--rows", "samples"]
    else:
        table.reset_index().to_parquet(path)
    return [str(path)]


def rows_of(done: Finished) -> pd.DataFrame:
    """Return the ranking that a command has printed."""
    assert done.code == 0, done.err
    return pd.read_csv(io.StringIO(done.out), sep="\t", index_col="feature")


def test_length_among_counts_is_an_annotation(tmp_path: Path, sfs: Sfs) -> None:
    table = feature_counts()
    done = sfs("rank", *write(table, tmp_path, "csv"), "--method", "variance")
    assert "annotations, not values: Length (name)" in done.err
    found = rows_of(done)
    expected = table[SAMPLES].var(axis=1).loc[found.index]
    np.testing.assert_allclose(found["score"][:300], expected[:300], rtol=1e-5)
    assert list(found["Length"]) == list(table["Length"].loc[found.index])


def test_length_among_rows_that_are_samples_is_told_of(tmp_path: Path, sfs: Sfs) -> None:
    done = sfs("rank", *write(feature_counts(), tmp_path, "csv+"), "--method", "variance")
    assert "Length (by the name) seems to be no sample; all are taken as samples" in done.err
    assert "remove from the table what is no sample" in done.err
    assert "[columns]" in done.err


@pytest.mark.parametrize(
    "asked",
    [
        ["--labels", "F:class", "--method", "f-test"],
        ["--batch", "F:class", "--method", "variance"],
    ],
)
def test_labels_are_not_asked_of_annotations(
    tmp_path: Path, asked: list[str], sfs: Sfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfs_cli.run.batches.SMALLEST", 4)
    given = write(feature_counts(), tmp_path, "csv")
    table = pd.DataFrame({"class": ["a", "b"] * 4, "weight": [1, 2] * 4})
    table.set_axis(SAMPLES).to_csv(tmp_path / "l.csv", index_label="sample")
    asked = [word.replace("F:", f"{tmp_path / 'l.csv'}:") for word in asked]
    done = sfs("rank", *given, *asked)
    assert "Length" in rows_of(done)
    assert "have no" not in done.err


def test_results_of_a_test(tmp_path: Path, sfs: Sfs) -> None:
    done = sfs("rank", *write(results(), tmp_path, "csv"), "--method", "variance", code=3)
    for name in results().columns:
        assert name in done.err
    assert "sfs aggregate" in done.err


def test_in_python() -> None:
    """A frame has no annotations: what is no sample is told of, or refused."""
    with pytest.warns(sfs_cli.SfsWarning, match="Length .by the name. seems to be no sample"):
        sfs_cli.rank(feature_counts(), rows="features", method="variance")
    with pytest.raises(InputError, match="logFC"):
        sfs_cli.rank(results(), rows="features", method="variance")


@pytest.mark.parametrize("verb", ["inspect", "convert", "evaluate"])
def test_other_commands_tell(tmp_path: Path, verb: str, sfs: Sfs) -> None:
    given = write(feature_counts().assign(start=range(400)), tmp_path, "csv")
    to = [str(tmp_path / "store")] if verb == "convert" else []
    done = sfs(verb, *given, *to)
    assert "annotations, not values: Length (name)" in done.err
    assert "warning: start (by the name" in done.err


def none_and_doubtful(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    found = look_at(table.to_numpy(np.float64), list(table.columns))
    return [name for name, _ in found.none], [name for name, _ in found.doubtful]


def test_sums_are_found_beside_what_stands_with_them(tmp_path: Path, sfs: Sfs) -> None:
    """Columns that are called before the samples stay where they are in the file."""
    table = np.log1p(counts())
    added = {"Gesamt": table.sum(axis=1), "Abweichung": table.std(axis=1)}
    assert none_and_doubtful(table.assign(**added)) == (["Gesamt", "Abweichung"], [])
    three = table[SAMPLES[:3]]
    assert none_and_doubtful(three.assign(all_three=three.sum(axis=1))) == (["all_three"], [])
    given = write(table.assign(**added), tmp_path, "csv")
    done = sfs("rank", *given, "--method", "variance")
    assert "Gesamt (it is the sum of the other columns); Abweichung (it stands beside" in done.err


def test_columns_by_scale_alone(rng: np.random.Generator) -> None:
    table = counts()
    table["width_of_it"] = rng.integers(200, 12_000, len(table))
    assert none_and_doubtful(table) == ([], ["width_of_it"])
    table = np.log1p(counts())
    table["effect"] = rng.normal(size=len(table))
    assert none_and_doubtful(table) == ([], ["effect"])
    table = np.log1p(counts())
    table["chance"] = rng.uniform(1e-6, 1, len(table))
    assert none_and_doubtful(table) == ([], ["chance"])
    table = np.log1p(counts())
    table["code"] = rng.integers(1, 90_000, len(table))
    assert none_and_doubtful(table) == ([], ["code"])


@pytest.mark.parametrize("how", ["sum", "mean"])
def test_a_column_of_sums(how: str) -> None:
    table = counts()
    table["all_of_them"] = getattr(table, how)(axis=1)
    assert none_and_doubtful(table) == (["all_of_them"], [])


def test_names_that_may_be_samples(rng: np.random.Generator) -> None:
    table = np.log1p(counts())
    start = table.rename(columns={SAMPLES[0]: "Start", SAMPLES[1]: "t", SAMPLES[2]: "end"})
    assert none_and_doubtful(start) == ([], [])  # they are like the others
    places = table.assign(Start=rng.integers(1, 1 << 27, len(table)))
    assert none_and_doubtful(places) == (["Start"], [])
    noise = pd.DataFrame(rng.normal(size=(300, 6)), columns=["t", *SAMPLES[:5]])
    assert none_and_doubtful(noise) == ([], ["t"])  # nothing tells
    letters = noise.set_axis([*"abfptx"], axis=1)
    assert none_and_doubtful(letters) == ([], [])


def test_names_of_samples_beside_an_annotation(rng: np.random.Generator) -> None:
    noise = pd.DataFrame(rng.normal(size=(300, 9)), columns=["Length", "B", "T", "end", *"1234W"])
    noise = noise.rename(columns={name: f"S{name}" for name in "1234W"})
    noise["Length"] = rng.integers(200, 12_000, 300)
    assert none_and_doubtful(noise) == (["Length"], ["B", "T", "end"])  # no evidence
    for name in ("B", "T", "end"):
        noise[name] = rng.integers(1, 1 << 27, 300)
    assert none_and_doubtful(noise) == (["Length", "B", "T", "end"], [])
    assert none_and_doubtful(results())[0] == list(results().columns)  # nothing else is there
    table = counts()
    table = table.rename(columns={SAMPLES[0]: "B", SAMPLES[1]: "T", SAMPLES[2]: "start"})
    table["Length"] = rng.integers(200, 12_000, len(table))
    assert none_and_doubtful(table) == (["Length"], [])  # like the others


def test_odd_samples_are_samples(rng: np.random.Generator) -> None:
    table = counts()
    failed = table.copy()
    failed["S1.bam"] = rng.poisson(0.02, len(table))
    deep = table.copy()
    deep["S1.bam"] *= 40
    other = table.copy()
    other["S1.bam"] = rng.permutation(table["S1.bam"].to_numpy())
    empty = table.copy()
    empty["S1.bam"] = 0
    for each in (table, failed, deep, other, empty):
        assert none_and_doubtful(each) == ([], [])
        assert none_and_doubtful(np.log1p(each)) == ([], [])
        names = [f"t{i}" for i in range(8)]
        assert none_and_doubtful(each.set_axis(names, axis=1)) == ([], [])


def test_columns_of_feature_counts_are_named_together(tmp_path: Path, sfs: Sfs) -> None:
    table, own = feature_counts(), ["Chr", "Start", "End", "Strand", "Length"]
    for at, name in enumerate(own[:-1]):
        table.insert(at, name, ["1;1"] * len(table))
    tables = []
    for kind in ("csv", "parquet"):
        done = sfs("rank", *write(table, tmp_path, kind), "--method", "variance")
        (note,) = (line for line in done.err.splitlines() if line.startswith("annotations"))
        assert all(name in note for name in own)
        tables.append(done.out)
    assert list(rows_of(done).columns)[-5:] == own
    assert tables[0] == tables[1]


def test_rows_that_count_reads_without_a_gene(tmp_path: Path, sfs: Sfs) -> None:
    table = counts()
    table.loc["__no_feature"] = 90_000 + np.arange(8)
    table.loc["N_unmapped"] = 80_000 - np.arange(8)
    given = [*write(table, tmp_path, "csv"), "--method", "variance", "--transform", "cpm,log1p"]
    done = sfs("rank", *given)
    assert "__no_feature" in done.err
    assert "[columns]" in done.err


def test_values_of_any_size_are_looked_at_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    for size in (1e-310, 1e-200, 1e140):
        assert none_and_doubtful(np.log1p(counts()) * size) == ([], [])
    same = pd.DataFrame(np.ones((100, 5)), columns=SAMPLES[:5]).assign(Length=range(100))
    assert none_and_doubtful(same) == (["Length"], [])
    assert none_and_doubtful(same.drop(columns="Length") * np.nan) == ([], [])
    assert not recwarn.list
