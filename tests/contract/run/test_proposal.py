"""The command that `sfs inspect` proposes: what it says, and that it runs without a complaint."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pytest

from tests.making import names
from tests.running import check_that_it_runs, proposal, run_here

N, M = 24, 80
SAMPLES, GENES = names("s", N), names("g", M)
HALVES = ["case", "control"] * (N // 2)
Rng = np.random.Generator


def write_values(values: np.ndarray, path: str = "x.csv", genes: list[str] = GENES) -> None:
    pd.DataFrame(values, genes, SAMPLES).to_csv(path, index_label="gene")


def write_samples(path: str = "labels.tsv", **columns: Any) -> None:
    table = pd.DataFrame(columns, SAMPLES)
    table.to_csv(path, sep="\t", index_label="sample")


def logs(rng: Rng) -> np.ndarray:
    """Logarithms, of which some differ between the halves."""
    values = rng.normal(8, 1, (M, N)) + np.linspace(-3, 3, M)[:, None]
    values[:8, ::2] += 3
    return values.round(3)


def bulk(rng: Rng) -> np.ndarray:
    depth = rng.uniform(0.5, 2, N)
    means = rng.gamma(2, 200, (M, 1)) * depth
    means[:8, ::2] *= 3
    return rng.negative_binomial(10, 10 / (10 + means))


def write_cells(rng: Rng, **obs: Any) -> None:
    """Write cells, four for each of the samples, most of whose values are zero."""
    means = np.repeat(rng.gamma(0.3, 4, (1, 6 * M)), 4 * N, axis=0)
    means[::2, :8] += 8
    obs = {name: np.repeat(each, 4) for name, each in obs.items()}
    cells = ad.AnnData(rng.poisson(means * rng.uniform(0.5, 2, (4 * N, 1))).astype("float32"))
    cells.obs = pd.DataFrame(obs, names("c", 4 * N))
    cells.write_h5ad("x.h5ad")


def classes_and_batches(rng: Rng) -> None:
    write_values(logs(rng), "my data.csv")
    write_samples(
        **{"cell type": HALVES, "sex": ["f", "m", "m", "f"] * 6, "batch": ["a"] * 12 + ["b"] * 12}
    )


def pairs_of_counts(rng: Rng) -> None:
    write_values(bulk(rng))
    write_samples("samples.tsv", status=HALVES, patient=np.arange(N) // 2)


def counts_alone(rng: Rng) -> None:
    write_values(bulk(rng))


def times(rng: Rng) -> None:
    write_values(logs(rng))
    write_samples("d.tsv", days=rng.permutation(N) * 10 + 30, died=[1, 1, 0] * (N // 3))


def events_beside(rng: Rng) -> None:
    times(rng)
    Path("d.tsv").rename("samples.tsv")


def times_of_counts(rng: Rng) -> None:
    times(rng)
    write_values(bulk(rng))


def outcomes(rng: Rng) -> None:
    times(rng)
    write_samples("d.tsv", relapse=[0, 1, 1] * (N // 3), died=[1, 0] * (N // 2))


def ages(rng: Rng) -> None:
    write_values(logs(rng))
    write_samples("d.tsv", age=30 + np.arange(N))


def ids(rng: Rng) -> None:
    write_values(logs(rng))
    write_samples("d.tsv", patient=[f"p{i // 2}" for i in range(N)], group=[*"aab"] * 8)


def intensities(rng: Rng) -> None:
    values = 2 ** logs(rng)
    values[0, 0] = -5
    write_values(values)


def repeated(rng: Rng) -> None:
    write_values(logs(rng), genes=[f"g{i // 2}" for i in range(M)])


def repeated_counts(rng: Rng) -> None:
    write_values(bulk(rng), genes=[f"g{i // 2}" for i in range(M)])


def few_missing(rng: Rng) -> None:
    values = logs(rng)
    values[3, 4] = np.nan
    write_values(values)


def many_missing(rng: Rng) -> None:
    values = logs(rng)
    values[np.arange(M), np.arange(M) % N] = np.nan
    write_values(values)


def some_labels(rng: Rng) -> None:
    write_values(logs(rng))
    write_samples("d.tsv", group=HALVES)
    Path("d.tsv").write_text("".join(Path("d.tsv").read_text().splitlines(keepends=True)[:-3]))


def sums(rng: Rng) -> None:
    values = bulk(rng)
    values[-1] = values[:-1].sum(axis=0)
    write_values(values, genes=[*GENES[:-1], "all (reads)"])


def coarse(rng: Rng) -> None:
    values = logs(rng)
    values[5] = 8 + 1e-6 * rng.normal(size=N)
    write_values(values)


def batches_alone(rng: Rng) -> None:
    values = logs(rng)
    values[:, :12] += rng.normal(0, 4, (M, 1))
    cells = ad.AnnData(values.T, pd.DataFrame({"lane": ["a"] * 12 + ["b"] * 12}, SAMPLES))
    cells.write_h5ad("x.h5ad")


def cells(rng: Rng) -> None:
    write_cells(rng)
    data = ad.read_h5ad("x.h5ad")
    data.obs["cell_type"] = ["T", "B"] * (2 * N)
    data.write_h5ad("x.h5ad")


def donors(rng: Rng) -> None:
    write_cells(
        rng,
        donor=[f"d{i // 4}" for i in range(N)],
        condition=["sick"] * 12 + ["well"] * 12,
    )


def few_cells(rng: Rng) -> None:
    write_cells(
        rng, donor=[f"d{i // 2}" for i in range(N)], condition=["sick"] * 12 + ["well"] * 12
    )


def scaled(rng: Rng) -> None:
    write_cells(rng, condition=["sick", "well"] * 12)
    data = ad.read_h5ad("x.h5ad")
    data.X = np.log1p(data.X)
    data.raw = data
    data.X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0).clip(0.1)
    data.write_h5ad("x.h5ad")


def pairs_but_one(rng: Rng) -> None:
    pairs_of_counts(rng)
    known = Path("samples.tsv").read_text().splitlines()
    Path("samples.tsv").write_text("\n".join([*known[:-2], ""]))


def deaths(rng: Rng) -> None:
    write_values(logs(rng))
    days = [f"{100 + 7 * i}" for i in range(N)]
    death = [day if i % 2 else "" for i, day in enumerate(days)]
    last = ["" if i % 2 else day for i, day in enumerate(days)]
    died = ["yes" if i % 2 else "no" for i in range(N)]
    write_samples("d.tsv", days_to_death=death, days_to_last_follow_up=last, died=died)


def with_counts_in_a_layer() -> None:
    """Make the counts of the file a layer, and X their logarithms."""
    data = ad.read_h5ad("x.h5ad")
    data.layers["counts"] = data.X.copy()
    data.X = np.log1p(data.X)
    data.write_h5ad("x.h5ad")


def counts_in_a_layer(rng: Rng) -> None:
    donors(rng)
    with_counts_in_a_layer()


def tissue(rng: Rng) -> None:
    write_cells(rng)
    data = ad.read_h5ad("x.h5ad")
    data.obsm["spatial"] = np.column_stack(np.divmod(np.arange(4 * N), 10)).astype(float)
    data.write_h5ad("x.h5ad")


def tissue_with_layers(rng: Rng) -> None:
    tissue(rng)
    with_counts_in_a_layer()


def several(rng: Rng) -> None:
    cells(rng)
    data = ad.read_h5ad("x.h5ad")
    data[:48].write_h5ad("a.h5ad")
    data[48:].write_h5ad("b.h5ad")


CASES: dict[Callable[[Rng], None], tuple[str, str]] = {
    classes_and_batches: (
        "'my data.csv'",
        "--labels 'labels.tsv:cell type' --adjust labels.tsv:batch=categorical",
    ),
    pairs_of_counts: (
        "x.csv",
        "--labels samples.tsv:status --method t-test --block samples.tsv:patient --voom "
        "--min-count 10",
    ),
    pairs_but_one: (
        "x.csv --labels samples.tsv:status",
        "--samples intersect --method t-test --block samples.tsv:patient --voom --min-count 10",
    ),
    deaths: (
        "x.csv --labels d.tsv:days_to_death",
        "--event died --labels d.tsv:days_to_death,days_to_last_follow_up",
    ),
    counts_in_a_layer: (
        "x.h5ad",
        "--labels obs:condition --layer counts --pseudobulk donor --method t-test "
        "--transform log2cpm",
    ),
    counts_alone: ("x.csv", "--transform cpm,log1p"),
    times: ("x.csv --labels d.tsv:days", "--event died"),
    events_beside: ("x.csv", "--labels samples.tsv:days --event died"),
    times_of_counts: (
        "x.csv --labels d.tsv:days",
        "--event died --transform log2cpm:tmm --min-count 10",
    ),
    outcomes: ("x.csv --labels d.tsv:relapse", ""),
    ages: ("x.csv --labels d.tsv:age", "--label-type continuous"),
    ids: ("x.csv --labels d.tsv:patient", "--labels d.tsv:group"),
    intensities: ("x.csv", "--transform floor:20,log2"),
    repeated: ("x.csv", "--collapse highest-mean"),
    repeated_counts: ("x.csv", "--transform cpm,log1p --collapse sum"),
    few_missing: ("x.csv", "--missing drop"),
    many_missing: ("x.csv", "--missing mean"),
    some_labels: ("x.csv --labels d.tsv:group", "--samples intersect"),
    sums: ("x.csv", r"--transform cpm,log1p --exclude '^(all\ \(reads\))$'"),
    coarse: ("x.csv", "--dtype float64"),
    batches_alone: ("x.h5ad", "--adjust obs:lane=categorical"),
    cells: ("x.h5ad", "--labels obs:cell_type --markers wilcoxon --transform median,log1p"),
    donors: (
        "x.h5ad",
        "--labels obs:condition --pseudobulk donor --method t-test --transform log2cpm",
    ),
    few_cells: (
        "x.h5ad",
        "--labels obs:condition --pseudobulk donor --method t-test --min-cells 8 "
        "--transform log2cpm",
    ),
    scaled: ("x.h5ad", "--labels obs:condition --layer raw.X"),
    tissue: ("x.h5ad", "--spatial"),
    tissue_with_layers: ("x.h5ad", "--spatial --layer counts"),
    several: (
        "a.h5ad b.h5ad",
        "--labels obs:cell_type --markers wilcoxon --transform median,log1p",
    ),
}


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_what_is_proposed_runs(
    make: Callable[[Rng], None],
    rng: Rng,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    make(rng)
    asked, added = CASES[make]
    facts = proposal(shlex.split(asked), capfd)
    given = asked.partition(" --labels")[0] if "--labels" in added else asked
    expected = " ".join(filter(None, ["sfs rank", given, added, "--out results"]))
    assert facts["next_command"] == expected
    check_that_it_runs(facts["next_command"], capfd)


def test_the_last_lines_are_the_proposal_and_what_else_is_possible(
    rng: Rng, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    classes_and_batches(rng)
    *_, others, following = run_here(["inspect", "my data.csv"], capfd).out.splitlines()
    assert others == "others: labels.tsv:sex"
    assert following == f"next: {proposal(['my data.csv'], capfd)['next_command']}"


def test_events_in_use_are_no_other_labels(
    rng: Rng, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    events_beside(rng)
    assert "other_labels" not in proposal(["x.csv"], capfd)


def test_three_samples_of_each_class_are_enough(
    rng: Rng, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(bulk(rng)[:, :6], GENES, SAMPLES[:6]).to_csv("x.csv", index_label="gene")
    labels = pd.DataFrame({"group": HALVES[:6]}, SAMPLES[:6])
    labels.to_csv("labels.tsv", sep="\t", index_label="sample")
    command = proposal(["x.csv"], capfd)["next_command"]
    added = "--labels labels.tsv:group --method t-test --voom --min-count 10"
    assert command == f"sfs rank x.csv {added} --out results"
    check_that_it_runs(command, capfd)


def test_a_table_of_other_samples_is_none_of_the_matrix(
    rng: Rng, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_values(logs(rng))
    write_samples(group=HALVES)
    table = Path("labels.tsv").read_text()
    Path("labels.tsv").write_text(table.replace("\ns3\t", "\nz3\t"))
    assert proposal(["x.csv"], capfd)["next_command"] == "sfs rank x.csv --out results"


def test_nothing_is_proposed_where_a_run_would_be_refused(
    rng: Rng, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    results = {"logFC": rng.normal(size=M), "pvalue": rng.random(M), "padj": rng.random(M)}
    pd.DataFrame(results, GENES).to_csv("x.csv", index_label="gene")
    facts = proposal(["x.csv", "--rows", "features"], capfd)
    assert "sfs rank refuses this" in " ".join(facts["warnings"])
    assert "next_command" not in facts
