"""The same command gives the same bytes, whatever the threads and wherever the values are.

A table of commands x settings: threads, a matrix on disk, a store. What a command writes with one
thread and the matrix in memory is what the others must write. Shards add up the sums of theirs, so
their numbers may differ in the last digits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from sfs_cli.catalog import METHODS
from sfs_cli.methods import centered_matrix
from sfs_cli.options.grammar import split
from sfs_cli.run import inputs
from sfs_cli.store import build
from tests.contract.numbers.commands import code_of, sfs
from tests.making import annotated, names, write_table
from tests.results import assert_same_numbers, bytes_of

N, M = 24, 150
CLASSES = ("--labels", "samples.tsv:tissue")
NUMBERS = ("--labels", "samples.tsv:age", "--label-type", "continuous")
ORDER = ("--label-type", "ordered,order=skin,liver,lung")
ADJUSTED = ("--adjust", "samples.tsv:depth")
F_TEST = ("--method", "f-test")
COUNTS = ("counts.h5ad", "--transform", "cpm,log1p")
SOURCES = (
    *("--source", "mirna=profile:mirna.csv", "--source", "all=target:"),
    *("--source", "tissue=labels:samples.tsv:tissue", "--source", "paths=terms:sets.gmt"),
)

COMMANDS: dict[str, tuple[str, ...]] = {
    # graph scores, and graphs
    "phi1": ("m.csv", "--method", "spec,ranking=phi1,gamma-power=2"),
    "phi2": ("m.csv", "--method", "spec", "--similarity", "rbf"),
    "phi3 of gaps": ("gaps.csv", "--method", "spec,ranking=phi3", "--missing", "mean"),
    "phi2 of counts": ("counts.h5ad", "--similarity", "knn,neighbors=4"),
    "components": (*COUNTS, "--similarity", "knn,neighbors=4,components=5,variable-genes=80"),
    "self-tuning": ("m.csv", "--similarity", "knn,bandwidth=self-tuning"),
    "geodesic": ("m.csv", "--method", "laplacian", "--similarity", "geodesic"),
    "diffusion": ("m.csv", "--method", "gdcov", "--similarity", "diffusion"),
    "relieff": ("m.csv", "--method", "relieff", *CLASSES),
    "outcome graph": ("m.csv", "--method", "spec", "--similarity", "outcome", *NUMBERS),
    "adjusted graph": ("m.csv", "--method", "spec", "--similarity", "knn", *ADJUSTED),
    "adjusted widths": ("m.csv", "--method", "spec", "--similarity", "rbf", *ADJUSTED),
    "scales of coordinates": (
        *("m.csv", "--coordinates", "places.tsv", "--pvalues", "moments"),
        *("--scales", "1.5,3,linear"),
    ),
    "sselect": ("m.csv", "--method", "sselect", *CLASSES),
    # what is done to values
    "quantile": ("m.csv", "--method", "variance", "--transform", "quantile"),
    "residuals of counts": ("counts.h5ad", "--transform", "pearson-residuals"),
    "deviance": ("counts.h5ad", "--transform", "deviance"),
    "samples of length one": ("m.csv", "--method", "spec", "--transform", "unit-samples"),
    "vst": ("counts.h5ad", "--method", "variance", "--transform", "vst"),
    "spec of batches": (
        *("m.csv", "--method", "spec", "--similarity", "rbf"),
        *("--batch", "samples.tsv:site", "--transform", "zscore"),
    ),
    "slides": ("counts.h5ad", "--spatial"),
    "probes": ("m.csv", "--id-map", "probes.tsv", "--collapse", "mean"),
    "highest probes": ("m.csv", "--id-map", "probes.tsv", "--collapse", "highest-mean"),
    # classes, numbers, times
    "fisher of counts": (*COUNTS, "--method", "fisher", "--labels", "obs:tissue"),
    "f-test with blocks": ("m.csv", "--method", "f-test", *CLASSES, "--block", "site"),
    "f-test adjusted": ("m.csv", "--method", "f-test", *CLASSES, "--adjust", "depth"),
    "moderated": ("m.csv", "--method", "f-test", *CLASSES, "--moderate", "yes"),
    "moderated by a trend": (*COUNTS, *F_TEST, "--labels", "obs:tissue", "--moderate", "trend"),
    "f-test of numbers": ("m.csv", *F_TEST, *NUMBERS),
    "f-test of an order": ("m.csv", *F_TEST, *CLASSES, *ORDER),
    "voom": ("counts.h5ad", "--method", "f-test", "--labels", "obs:tissue", "--voom"),
    "t-test of two": ("m.csv", "--method", "t-test", "--labels", "samples.tsv:sex"),
    "welch of batches": ("m.csv", "--method", "welch", *CLASSES, "--batch", "site"),
    "rank-test": (*COUNTS, "--method", "rank-test", "--labels", "obs:tissue"),
    "spearman": ("m.csv", "--method", "spearman", *NUMBERS),
    "mutual-info": ("m.csv", "--method", "mutual-info", *CLASSES),
    "hsic": ("m.csv", "--method", "hsic", *CLASSES, "--pvalues", "moments"),
    "hsic of numbers": ("m.csv", "--method", "hsic", *NUMBERS),
    "cox": ("m.csv", "--method", "cox", "--labels", "samples.tsv:time", "--event", "dead"),
    "weighted variance": (
        *("m.csv", "--method", "variance", "--sample-weights", "samples.tsv:weight"),
    ),
    # features together
    "mrsf": ("m.csv", "--method", "mrsf", "--similarity", "rbf", "--select", "10"),
    "mrsf of numbers": ("m.csv", "--method", "mrsf", *NUMBERS, "--select", "5"),
    "mrsf adjusted": ("m.csv", "--method", "mrsf", *ADJUSTED, "--select", "5"),
    "mrsf-rounds": ("m.csv", "--method", "mrsf-rounds", "--select", "20"),
    "l21": ("m.csv", "--method", "l21,lambda=1"),
    "rfs": ("m.csv", "--method", "rfs", *CLASSES),
    "rfs of numbers": ("m.csv", "--method", "rfs", *NUMBERS),
    "qalpha": ("m.csv", "--method", "qalpha,clusters=3"),
    "spca": ("m.csv", "--method", "spca", "--select", "5"),
    "gdcov-spca": ("m.csv", "--method", "gdcov-spca", "--select", "5"),
    "mrmr": ("m.csv", "--method", "mrmr", *CLASSES, "--select", "5"),
    "trace-ratio": ("m.csv", "--method", "trace-ratio", *CLASSES, "--select", "5"),
    "seper": ("m.csv", "--method", "seper", *CLASSES),
    "arom-svm": ("m.csv", "--method", "arom-svm", "--labels", "samples.tsv:sex"),
    # sources
    "msfs": ("m.csv", "--method", "msfs", *SOURCES, "--weights", "2,1,1,1"),
    "msfs learned": ("m.csv", "--method", "msfs", *CLASSES, *SOURCES, "--weights", "alignf"),
    "msfs of a compromise": ("m.csv", "--method", "msfs", *SOURCES, "--weights", "statis"),
    "kogs": ("m.csv", "--method", "kogs,members=spec,fisher,laplacian", *CLASSES),
    # what is made of a ranking
    "permutations": ("m.csv", "--method", "spec,ranking=phi1", "--pvalues", "permutation,draws=40"),
    "halves": ("m.csv", "--method", "spec", "--pvalues", "moments", "--split", "features"),
    "pruned": ("m.csv", "--max-correlation", "0.3"),
    "pruned counts": (*COUNTS, "--max-correlation", "0.3"),
    "permuted scales": (
        *("m.csv", "--coordinates", "places.tsv", "--pvalues", "permutation,draws=50"),
        *("--scales", "1.5,3,linear"),
    ),
    "given": ("m.csv", "--method", "mrmr", *CLASSES, "--select", "5", "--given", "panel.txt"),
    "pruned by given features": (
        *("m.csv", "--method", "variance", "--max-correlation", "0.5"),
        *("--given", "panel.txt"),
    ),
    "set of given features": ("m.csv", "--method", "gdcov-spca", "--given", "panel.txt"),
    "markers": (
        *(*COUNTS, "--method", "variance", "--labels", "obs:tissue"),
        *("--markers", "wilcoxon"),
    ),
    "ranks on sources": (
        "m.csv",
        "--method",
        "msfs",
        *SOURCES,
        "--rank-sources",
        "all",
        "--modules",
    ),
    "several files": ("first.h5ad", "rest.h5ad", "--method", "variance"),
    "modules": ("m.csv", "--method", "variance", "--modules", "--max-correlation", "0.5"),
    "modules of counts": (*COUNTS, "--method", "variance", "--modules"),
    "stability": ("m.csv", "--method", "spec", "--stability", "6"),
    "stability of donors": (
        *("m.csv", "--method", "fisher", *CLASSES, "--stability", "bootstrap,subsets=4"),
        *("--donors", "donor"),
    ),
    "sets": ("m.csv", "--method", "fisher", *CLASSES, "--sets", "sets.gmt", "--top", "12"),
}
"""A row for every method, and for every part of a ranking that works over blocks."""
IN_ONE_PIECE = (
    "relieff",
    "rfs",
    "qalpha",
    "rfs of numbers",
    "spca",
    "mrmr",
    "trace-ratio",
    "arom-svm",
    "given",
)
"""Rows whose methods cannot be split into shards."""
STORED = (
    *("phi2", "phi3 of gaps", "phi2 of counts", "voom", "mrsf"),
    *("pruned", "f-test adjusted", "modules", "vst"),
)
"""Rows that are ranked from a store, too."""


def write_study(folder: Path) -> None:
    """Write a matrix of constants, doubles and gaps, counts, and what is known of them."""
    rng = np.random.default_rng(11)
    samples, genes = names("s", N), names("g", M)
    tissue = ["liver", "lung", "skin"] * (N // 3)
    X = rng.normal(5, 2, (M, N)).round(3)
    X[:30] += np.arange(N) % 3
    X[35] = X[3]
    X[40] = 1.5
    write_table(folder / "m.csv", X, genes, samples)
    X[2, 3] = X[70, 1] = X[71, 1] = np.nan
    write_table(folder / "gaps.csv", X, genes, samples)
    mirna = rng.normal(size=(20, N)).round(3)
    write_table(folder / "mirna.csv", mirna, names("r", 20), samples)
    table = pd.DataFrame(
        {
            "tissue": tissue,
            "sex": ["f", "m"] * (N // 2),
            "site": ["a", "a", "b"] * 4 + ["b", "b", "a"] * 4,
            "donor": [f"d{i // 2}" for i in range(N)],
            "age": rng.integers(30, 80, N),
            "depth": rng.normal(size=N).round(3),
            "weight": rng.uniform(0.5, 2, N).round(3),
            "time": rng.exponential(20, N).round(1) + 1,
            "dead": rng.integers(0, 2, N),
        },
        index=pd.Index(samples, name="sample"),
    )
    table.to_csv(folder / "samples.tsv", sep="\t")
    places = pd.DataFrame(rng.random((N, 2)).round(4), table.index, ["x", "y"])
    places.to_csv(folder / "places.tsv", sep="\t")
    probes = [f"{gene}\tG{i // 2}" for i, gene in enumerate(genes)]
    (folder / "probes.tsv").write_text("\n".join(["probe\tgene", *probes]) + "\n")
    (folder / "panel.txt").write_text("g7\ng5\ng41\ng12\n")
    sets = ["\t".join([f"SET{i}", "", *genes[10 * i : 10 * i + 30]]) for i in range(6)]
    (folder / "sets.gmt").write_text("\n".join(sets) + "\n")
    counts = rng.poisson(3 * (1 + (np.arange(M) < 30) * (np.arange(N) % 3)[:, None]), (N, M))
    data = annotated(csr_matrix(counts.astype(np.float32)), genes, samples)
    data.obs["tissue"] = pd.Categorical(tissue)
    data.obs["library_id"] = pd.Categorical(["A1", "B1"] * (N // 2))
    data.obsm["spatial"] = rng.permutation(N * 2)[:, None].reshape(N, 2).astype(float)
    data.write_h5ad(folder / "counts.h5ad")
    data[:10].write_h5ad(folder / "first.h5ad")
    data[10:].write_h5ad(folder / "rest.h5ad")


def result(folder: Path) -> dict[str, Any]:
    """Return what a run has written, and what it says of its method and its ranking."""
    record = json.loads((folder / "run.json").read_text())
    facts = {key: record[key] for key in ("method", "graph", "result", "warnings")}
    files = {p.name: bytes_of(p) for p in sorted(folder.iterdir()) if p.name != "run.json"}
    assert "ranking.tsv" in files
    return facts | files


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bytes")
    write_study(folder)
    return folder


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[Path]]]:
    """Put matrices on disk, however small they are; the call returns where they were opened."""
    opened: list[Path] = []
    really = build.open_store

    def open_store(folder: Path, **given: Any) -> Any:
        opened.append(folder)
        return really(folder, **given)

    def begin() -> list[Path]:
        monkeypatch.setattr(inputs, "HELD_PART", 1 << 60)
        monkeypatch.setattr(build, "open_store", open_store)
        return opened

    return begin


def test_every_method_has_a_row() -> None:
    rows = COMMANDS.values()
    named = {split(row[row.index("--method") + 1])[0] for row in rows if "--method" in row}
    assert named | {"spec"} == set(METHODS)


@pytest.mark.any_python  # the order of sums is ours
@pytest.mark.parametrize("name", COMMANDS)
def test_no_setting_changes_a_byte(
    name: str,
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    spilled: Callable[[], list[Path]],
    set_blocks: Callable[[int], None],
) -> None:
    monkeypatch.chdir(study)
    matrix, *options = COMMANDS[name]
    monkeypatch.setattr("sfs_cli.parts.pruning.KEEP", 60)
    set_blocks(9)  # so that every thread and every shard has some
    sfs("rank", matrix, *options, "--threads", "1", "--out", tmp_path / "one")
    expected = result(tmp_path / "one")

    plan = ("shard", "init", tmp_path / "plan", matrix, *options, "--shards", "3")
    if name in IN_ONE_PIECE:
        capfd.readouterr()
        assert code_of(*plan) == 2
        assert "cannot be split into shards" in capfd.readouterr().err
    else:
        sfs(*plan)
        sfs("shard", "run", tmp_path / "plan", "2")
        sfs("shard", "merge", tmp_path / "plan", "--out", tmp_path / "shards")
        assert_same_numbers(tmp_path / "shards", tmp_path / "one")

    opened = spilled()
    monkeypatch.setattr(centered_matrix, "HOLD_BYTES", 0)
    sfs("rank", matrix, *options, "--threads", "3", "--out", tmp_path / "disk")
    assert opened
    assert result(tmp_path / "disk") == expected, "on disk, with three threads"


@pytest.mark.parametrize("name", STORED)
def test_a_store_gives_the_same_bytes(
    name: str, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    matrix, *options = COMMANDS[name]
    sfs("rank", matrix, *options, "--out", tmp_path / "file")
    sfs("convert", matrix, tmp_path / "m.store")
    sfs("rank", tmp_path / "m.store", *options, "--out", tmp_path / "stored")
    tables = [(tmp_path / made / "ranking.tsv").read_bytes() for made in ("file", "stored")]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "m.csv", "--method", "f-test", "--leaky"),
        ("evaluate", "gaps.csv", "--missing", "mean", "--method", "spec"),
        ("compare", "m.csv", "--method", "f-test", "--method", "spec"),
    ],
    ids=" ".join,
)
def test_no_setting_changes_a_judgement(
    words: tuple[str, ...],
    study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    set_blocks: Callable[[int], None],
) -> None:
    monkeypatch.chdir(study)
    set_blocks(9)
    made = []
    for how in ("1", "3"):
        out = tmp_path / how
        folds = ("--lengths", "5,20", "--splits", "3", "--repeats", "1")
        sfs(*words, *CLASSES, *folds, "--threads", how, "--out", out)
        made.append({p.name: drop_costs(p) for p in out.glob("*.tsv")})
        assert json.loads((out / "run.json").read_text())["threads"] == int(how)
    assert {"folds.tsv"} < set(made[0])
    assert made[0] == made[1]


def drop_costs(path: Path) -> str:
    """Return a table without its columns of seconds and memory."""
    table = pd.read_csv(path, sep="\t", dtype=str)
    return table.drop(columns=table.filter(regex="seconds|memory").columns).to_csv()
