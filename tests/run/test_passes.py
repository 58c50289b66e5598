"""The list of passes is the truth: a matrix that counts its reads agrees with all who read it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import catalog
from sfs_cli.compute import matrix as matrix_of
from sfs_cli.compute.checkpoints import ShardCheckpoints
from sfs_cli.compute.matrix import Span
from sfs_cli.compute.passes import PassList
from sfs_cli.features.stability import plan as of_stability
from sfs_cli.logs import Messages
from sfs_cli.methods import centered_matrix
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.run import estimate as estimate_of
from sfs_cli.run import load
from sfs_cli.run.checkpoints import NO_CHECKPOINTS, RunCheckpoints
from sfs_cli.run.estimate import Rates
from sfs_cli.run.rank import RankResult, rank
from sfs_cli.run.top import TOP
from sfs_cli.store.matrix import DenseMatrix, SparseMatrix, Stored
from tests.making import names, write_labels, write_table

N, M = 16, 70
SOURCES = {
    "profile": "p=profile:{folder}/p.csv",
    "target": "t=target:",
    "knn": "k=target:,similarity=knn,neighbors=3",
    "own": "o=target:,transform=cpm",
    "components": "c=target:,similarity=knn,neighbors=3,components=3,variable-genes=40",
    "genes": "g=genes:{folder}/genes.txt",
    "interactions": "i=interactions:{folder}/edges.tsv",
    "terms": "s=terms:{folder}/sets.gmt",
    "alike": "a=feature-similarity:{folder}/edges.tsv",
    "labels": "l=labels:{folder}/labels.tsv",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study: a matrix, classes, another measurement, genes, sets and edges."""
    folder = tmp_path_factory.mktemp("passes")
    rng = np.random.default_rng(5)
    classes = np.arange(N) % 2
    counts = rng.poisson(4 + 3 * classes * (np.arange(M)[:, None] % 5 == 0), (M, N)) + 1.0
    write_table(folder / "x.csv", counts + rng.random((M, N)) / 8)
    write_table(folder / "p.csv", rng.random((12, N)), names("p", 12))
    sparse = np.where(rng.random((M, N)) < 0.7, 0, counts)
    sparse[0] = 1
    write_table(folder / "sparse.csv", sparse)
    write_labels(folder / "labels.tsv", ["ab"[code] for code in classes])
    (folder / "genes.txt").write_text("\n".join(f"g{i}" for i in range(0, M, 2)) + "\n")
    (folder / "few.txt").write_text("g2\ng5\n")
    edges = [f"g{i}\tg{i + 1}\t0.5" for i in range(0, M - 1, 3)]
    (folder / "edges.tsv").write_text("\n".join(edges) + "\n")
    sets = [f"t{k}\tt\t" + "\t".join(f"g{i}" for i in range(k, M, 4)) for k in range(4)]
    (folder / "sets.gmt").write_text("\n".join(sets) + "\n")
    S = np.exp(-((np.arange(N)[:, None] - np.arange(N)) ** 2) / 9)
    write_table(folder / "S.csv", S, names("s", N))
    copies = counts + 0.25
    copies[:, 7] = copies[:, 2]
    write_table(folder / "copies.csv", copies)
    near = counts * 1.0
    near[:, 7] = near[:, 2]
    near[3, 7] += 1e-4
    write_table(folder / "near.csv", near)
    return folder


class Counted:
    """Features read of every matrix, by the name of its first feature."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.features: Counter[str] = Counter()
        for kind, method in [
            (DenseMatrix, "read"),
            (SparseMatrix, "read"),
            (SparseMatrix, "read_stored"),
        ]:
            patch.setattr(kind, method, self._counting(getattr(kind, method)))

    def _counting(self, read: Any) -> Any:
        def counting(matrix: DenseMatrix, span: Span, *rest: Any) -> Stored | None:
            self.features[matrix.ids.features[0]] += span.size
            return read(matrix, span, *rest)

        return counting


class Watched(Messages):
    """Messages that keep the totals and the progress of a bar."""

    def __init__(self) -> None:
        super().__init__(verbosity=-1)
        self.totals: list[int] = []
        self.done = 0

    def phase(self, title: str, total: int | None = None) -> None:
        if total is not None:
            self.totals.append(total)

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        def advance(count: int) -> None:
            self.done += count if title == "ranking" else 0

        yield advance


def case(folder: Path, matrix: str = "x.csv", **options: Any) -> RankConfig:
    sources = [parse_source(text.format(folder=folder)) for text in options.pop("source", ())]
    if options.pop("labelled", False):
        options["labels"] = str(folder / "labels.tsv")
    if options.get("given_"):
        options["given_"] = str(folder / options["given_"])
    if options.get("similarity_file"):
        options["similarity_file"] = str(folder / options["similarity_file"])
    return RankConfig(matrix=str(folder / matrix), source=tuple(sources), threads=2, **options)


GRAPHS: dict[str, dict[str, Any]] = {
    "rbf": {"similarity": "rbf"},
    "rbf-1": {"similarity": "rbf", "bandwidth": "4"},
    "knn": {"similarity": "knn", "neighbors": 3},
    "knn-pca": {"similarity": "knn", "neighbors": 3, "components": "3", "variable_genes": "all"},
    "knn-pca-genes": {
        "similarity": "knn",
        "neighbors": 3,
        "components": "3",
        "variable_genes": "40",
    },
    "geodesic": {"similarity": "geodesic", "neighbors": 4},
    "diffusion": {"similarity": "diffusion", "neighbors": 4},
    "correlation": {"similarity": "correlation"},
    "label": {"similarity": "label", "labelled": True},
    "relieff": {"similarity": "relieff", "labelled": True, "neighbors": 2},
    "file": {"similarity_file": "S.csv"},
}
TRANSFORMS: dict[str, dict[str, Any]] = {
    "none": {},
    "log1p": {"transform": "log1p"},
    "cpm": {"transform": "cpm,log1p"},
    "clr": {"transform": "clr"},
    "cpm twice": {"transform": "cpm,log1p,cpm"},
    "unit-samples": {"transform": "floor:2,unit-samples"},
    "residuals": {"transform": "deviance,unit-samples", "matrix": "sparse.csv"},
    "sparse cpm": {"transform": "cpm,log1p", "matrix": "sparse.csv"},
}
METHODS: dict[str, dict[str, Any]] = {
    "spec": {},
    "phi3": {"ranking": "phi3", "clusters": 2},
    "laplacian": {"method": "laplacian"},
    "hsic": {"method": "hsic"},
    "gdcov": {"method": "gdcov"},
    "gdcov-spca": {"method": "gdcov-spca", "select": 3},
    "trace-ratio": {"method": "trace-ratio", "variant": "laplacian", "select": 3},
    "mrsf": {"method": "mrsf", "select": 3},
    "l21": {"method": "l21", "lambda_": 0.5},
    "sselect": {"method": "sselect", "labelled": True, "variant": "cut-value"},
    "sselect-0.5": {"method": "sselect", "labelled": True, "lambda_": 0.5},
}
WITHOUT_GRAPH: dict[str, dict[str, Any]] = {
    "variance": {"method": "variance"},
    "fisher": {"method": "fisher", "labelled": True},
    "relieff": {"method": "relieff", "labelled": True, "neighbors": 2},
    "f-test": {"method": "f-test", "labelled": True},
    "t-test": {"method": "t-test", "labelled": True},
    "mutual-info": {"method": "mutual-info", "labelled": True},
    "mrmr": {"method": "mrmr", "labelled": True, "select": 3},
    "trace-ratio": {"method": "trace-ratio", "labelled": True, "select": 3},
    "seper": {"method": "seper"},
    "spca": {"method": "spca", "select": 3},
    "rfs": {"method": "rfs", "labelled": True},
    "qalpha": {"method": "qalpha"},
    "mrsf-pca": {"method": "mrsf", "select": 3, "response": "pca"},
    "mrsf-lda": {"method": "mrsf", "select": 3, "response": "lda", "labelled": True},
    "members": {"method": "kogs", "members": ("variance", "f-test"), "labelled": True},
    "members-graph": {
        "method": "kogs",
        "members": ("spec", "variance", "laplacian"),
        "similarity": "rbf",
    },
    "members-solvers": {
        "method": "kogs",
        "members": ("rfs", "mrmr"),
        "labelled": True,
    },
}
ON_SOURCES: dict[str, dict[str, Any]] = {
    "one": {"method": "msfs", "source": [SOURCES["target"]]},
    "profile": {"method": "msfs", "source": [SOURCES["profile"], SOURCES["target"]]},
    "knn": {"method": "msfs", "source": [SOURCES["knn"], SOURCES["labels"]], "labelled": True},
    "own": {"method": "msfs", "source": [SOURCES["own"], SOURCES["profile"]]},
    "components": {"method": "msfs", "source": [SOURCES["components"], SOURCES["target"]]},
    "genes": {"method": "msfs", "source": [SOURCES["genes"], SOURCES["interactions"]]},
    "terms": {"method": "msfs", "source": [SOURCES["terms"], SOURCES["alike"]]},
    "out": {
        "method": "msfs",
        "source": [SOURCES["target"], SOURCES["profile"], SOURCES["genes"]],
        "leave_one_out": True,
    },
    "then": {"method": "msfs", "source": [SOURCES["target"]], "then": "mrsf", "select": 3},
    "kogs": {"method": "kogs", "source": [SOURCES["target"], SOURCES["knn"], SOURCES["profile"]]},
    "kogs-out": {
        "method": "kogs",
        "source": [SOURCES["target"], SOURCES["profile"]],
        "leave_one_out": True,
    },
}

SPLIT: list[dict[str, Any]] = [
    {"split": "features", "method": "spec"} | GRAPHS["knn"],
    {"split": "features", "method": "hsic"} | GRAPHS["knn-pca-genes"] | TRANSFORMS["cpm"],
    {"split": "counts", "method": "gdcov"} | TRANSFORMS["sparse cpm"],
    {"split": "counts", "method": "spec"} | GRAPHS["rbf"] | TRANSFORMS["residuals"],
]
IMPOSSIBLE = [
    ("gdcov", "label"),
    ("gdcov-spca", "label"),
    ("trace-ratio", "relieff"),
]
"""Methods that refuse a graph of the study."""


def cases() -> list[dict[str, Any]]:
    """Every graph and every method, with every transformation; and every method on every graph."""
    spec = {"method": "spec"}
    found = [spec | g | t for g in GRAPHS.values() for t in TRANSFORMS.values()]
    found += [
        method | graph
        for method in METHODS.values()
        for graph in GRAPHS.values()
        if (method.get("method"), graph.get("similarity")) not in IMPOSSIBLE
    ]
    found += [method | t for method in WITHOUT_GRAPH.values() for t in TRANSFORMS.values()]
    found += [sources | t for sources in ON_SOURCES.values() for t in TRANSFORMS.values()]
    found += [{"pvalues": "moments"} | case for case in SPLIT]
    wrong = [
        # in the sparse matrix one sample is the miss of too many
        {"similarity": "relieff", "matrix": "sparse.csv"},
        # samples of residuals are negatively correlated
        {"similarity": "correlation"} | TRANSFORMS["residuals"],
    ]
    return [c for c in found if not any(each.items() <= c.items() for each in wrong)]


def name_of(options: dict[str, Any]) -> str:
    return "-".join(str(v) for k, v in options.items() if k not in ("source", "labelled"))


def ranked(
    config: RankConfig,
    patch: pytest.MonkeyPatch,
    checkpoints: RunCheckpoints = NO_CHECKPOINTS,
) -> tuple[RankResult, int, Watched]:
    """Rank; return the result, the features of the matrix that were read, and the progress."""
    log = Watched()
    counted = Counted(patch)
    result = rank(config, log, checkpoints=checkpoints)
    return result, counted.features["g0"], log


def check(result: RankResult, read: int, log: Watched) -> None:
    """Hold the list of a run against the reads of its matrix and the progress bar."""
    rows = result.facts["passes"]
    assert sum(row["features"] for row in rows if row["of_matrix"]) == read
    assert result.facts["plan"]["passes"] == sum(r["executed"] for r in rows if r["of_matrix"])
    for row in rows:
        assert not row["exact"] or row["planned"] == row["executed"], row["purpose"]
    # the bar leaves out what is over at once
    assert log.done == sum(row["features"] for row in rows if row["kind"] != "look")
    if all(row["exact"] for row in rows):
        assert log.totals[-1] == log.done


def check_plan(result: RankResult, plan: list[dict[str, Any]]) -> None:
    """Hold what a run has made against what `sfs plan` says of it."""
    made = [row for row in result.facts["passes"] if row["kind"] != "look"]
    exact = [(row["purpose"], row["times"]) for row in plan if row["exact"]]
    assert exact == [(row["purpose"], row["planned"]) for row in made if row["exact"]]
    assert {row["purpose"] for row in made} <= {row["purpose"] for row in plan}


def planned(config: RankConfig, patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return what `sfs plan` says of the passes."""
    patch.setattr(estimate_of, "_rates", lambda *_: Rates((0, 0), 0, 0, 0, 1, True))
    return json.loads(estimate_of.estimate(config, Watched(), None, True))["passes"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("options", cases(), ids=name_of)
def test_the_list_is_what_a_counting_matrix_sees(
    options: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = case(folder, **options)
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    check_plan(result, planned(config, monkeypatch))


@pytest.mark.parametrize(
    "options",
    [
        {"method": "variance", "max_correlation": 0.5, "keep": 10},
        {"method": "spec", "max_correlation": 0.2, "transform": "cpm,log1p"},
        {"method": "mrsf", "select": 5, "max_correlation": 0.2},
        {"method": "kogs", "source": [SOURCES["target"], SOURCES["knn"]], "max_correlation": 0.4},
        {"method": "spec", "similarity": "rbf", "max_correlation": 0.2, "given_": "few.txt"},
    ],
    ids=name_of,
)
def test_pruning_is_in_the_list(
    options: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = case(folder, **options)
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    row = result.facts["passes"][-1]
    assert (row["kind"], row["executed"], row["exact"]) == ("prune", 1, False)
    assert row["features"] >= result.facts["pruning"]["examined"]
    assert planned(config, monkeypatch)[-1]["purpose"] == row["purpose"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "options",
    [
        {"method": "spec"},
        {"method": "spec", "similarity": "rbf", "transform": "cpm,log1p"},
        {"method": "variance", "modules": True},
        {"method": "f-test", "labelled": True, "stability_how": "bootstrap"},
        {"method": "spec", "transform": "clr"},
        {"method": "spec", "transform": "cpm,zscore"},
        {"method": "spec", "similarity": "knn", "neighbors": 3, "components": "3"},
        {"method": "spec", "max_correlation": 0.5, "keep": 10},
        {"method": "sselect", "labelled": True, "variant": "cut-value"},
        {"method": "mrmr", "select": 3, "labelled": True},
        {"method": "mrsf", "select": 3},
        {"method": "qalpha"},
        {"method": "msfs", "source": [SOURCES["target"], SOURCES["profile"]]},
        {"method": "kogs", "source": [SOURCES["target"], SOURCES["own"]]},
        {"method": "kogs", "members": ("spec", "variance")},
        {"method": "spec", "transform": "cpm", "matrix": "sparse.csv"},
    ],
    ids=name_of,
)
def test_rankings_on_subsets_are_in_the_list(
    options: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = case(folder, **options, stability=4, stability_top=2)
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    check_plan(result, planned(config, monkeypatch))
    rows = [r for r in result.facts["passes"] if ", on 4 " in r["purpose"] and r["executed"]]
    assert rows
    assert result.facts["passes"][-1] in rows


def test_limited_memory_scores_subsets_in_groups(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_stability, "TOGETHER_SHARE", 1 << 28)
    config = case(folder, method="spec", stability=4, stability_top=2, memory="1G")
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    assert result.facts["passes"][-1]["executed"] == 4


@pytest.mark.parametrize("features", [7, 5000])
def test_modules_are_in_the_list(
    features: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = case(folder, method="variance", modules=True, module_features=features)
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    row = result.facts["passes"][-1]
    assert (row["kind"], row["executed"], row["exact"]) == ("modules", 1, True)
    assert row["features"] == min(features, M)
    assert planned(config, monkeypatch)[-1]["purpose"] == row["purpose"]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "variance"},
        {"method": "variance", "accept": ("spikes", "repeats")},
        {"method": "f-test", "labelled": True},
        {"method": "variance", "include": ("^g[0-6]$",)},  # fewer than warnings look at
        {"method": "spec", "similarity": "knn", "neighbors": 3, "transform": "cpm,log1p"},
        {"method": "kogs", "source": [SOURCES["target"], SOURCES["knn"]]},
        {"method": "msfs", "source": [SOURCES["target"], SOURCES["terms"]]},
    ],
    ids=name_of,
)
def test_the_pictures_of_a_report_look_at_the_best_features(
    options: dict[str, Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ("raw-values", "class-tests", "columns", "depth")  # which look at other features
    accept = (*others, *options.get("accept", ()))
    config = case(folder, out=str(tmp_path / "out"), **(options | {"accept": accept}))
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    assert result.pictures is not None
    looks = [row["features"] for row in result.facts["passes"] if row["kind"] == "look"]
    assert looks == [min(TOP, result.ranking.n_scored)]


def test_without_a_report_no_picture_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = case(
        folder, method="variance", accept=("spikes", "repeats", "raw-values", "columns", "batch")
    )
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    assert result.pictures is None
    assert not [row for row in result.facts["passes"] if row["kind"] == "look"]


SHARED = [*({"method": "spec"} | graph for graph in GRAPHS.values())]
SHARED += [*({"method": "spec"} | transform for transform in TRANSFORMS.values())]
SHARED += [{"similarity": "rbf"} | method for method in METHODS.values()]
SHARED += [*WITHOUT_GRAPH.values(), *ON_SOURCES.values()]


@pytest.mark.slow
@pytest.mark.parametrize("options", SHARED, ids=name_of)
def test_shards_share_as_many_passes_as_the_list_says(
    options: dict[str, Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = case(folder, block_size=16, **options)
    lists = []
    monkeypatch.setattr(load, "pass_list", kept(load.pass_list, lists))
    shards = ShardCheckpoints(tmp_path, 2, range(2), gather=True)
    check(*ranked(config, monkeypatch, RunCheckpoints(shards)))
    assert lists[0].shared in (None, shards.passes)
    if not config.source:
        assert lists[0].shared is not None
    again = ShardCheckpoints(tmp_path, 2, gather=True)  # what was made is counted, not made
    result, read, log = ranked(config, monkeypatch, RunCheckpoints(again))
    assert result.facts["passes"] == rank(config).facts["passes"]
    looks = sum(row["features"] for row in result.facts["passes"] if row["kind"] == "look")
    assert log.done == log.totals[-1] >= read - looks


def kept(make: Callable[..., PassList], lists: list[PassList]) -> Callable[..., PassList]:
    def keeping(*arguments: Any, **options: Any) -> PassList:
        lists.append(make(*arguments, **options))
        return lists[-1]

    return keeping


SOLVERS = [
    *(WITHOUT_GRAPH[name] for name in ("rfs", "qalpha", "mrmr", "spca", "mrsf-pca")),
    *(METHODS[name] | GRAPHS["rbf"] for name in ("mrsf", "l21", "gdcov-spca")),
    *({"method": "qalpha", "variant": v} for v in ("power", "ritz", "laplacian", "kernel")),
    {"method": "qalpha", "variant": "supervised", "labelled": True},
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("options", SOLVERS, ids=name_of)
def test_solvers_that_cannot_hold_the_matrix_count_what_they_read(
    options: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(centered_matrix, "HOLD_BYTES", 0)
    result, read, log = ranked(case(folder, block_size=16, **options), monkeypatch)
    check(result, read, log)
    last = result.facts["passes"][-1]
    assert (last["kind"], last["exact"]) == ("solve", False)
    assert last["executed"] > 1


@pytest.mark.parametrize("graph", ["knn", "geodesic", "knn-pca", "knn-pca-genes"])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("copies", [True, False])
def test_many_samples_are_searched_by_the_passes_of_the_list(
    graph: str,
    binary: bool,
    copies: bool,
    folder: Path,
    set_limits: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_limits(dense_distances=10, panel=5)
    matrix = "copies.csv" if copies else "x.csv"
    options = {} if graph == "geodesic" or not binary else {"edge_weights": "binary"}
    config = case(folder, matrix, block_size=16, **GRAPHS[graph], **options)
    result, read, log = ranked(config, monkeypatch)
    check(result, read, log)
    assert {row["kind"] for row in result.facts["passes"]} >= {"panels", "score"}
    compared = [row for row in result.facts["passes"] if "identical" in row["purpose"]]
    assert any(row["kind"] == "pairs" for row in compared) == copies


@pytest.mark.parametrize("how", ["samples", "features", "randomized"])
def test_components_are_found_by_the_passes_of_the_list(
    how: str, folder: Path, set_limits: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if how != "samples":
        set_limits(exact_samples=0, exact_features=0 if how == "randomized" else 1000)
    config = case(folder, block_size=16, **GRAPHS["knn-pca"])
    check(*ranked(config, monkeypatch))


def test_samples_that_nearly_coincide_take_another_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_of, "FLOAT64_BELOW", 0)
    result, read, log = ranked(case(folder, "near.csv", similarity="rbf"), monkeypatch)
    check(result, read, log)
    assert [row["executed"] for row in result.facts["passes"] if row["kind"] != "look"] == [1, 1, 1]
    result, read, log = ranked(case(folder, similarity="rbf"), monkeypatch)
    check(result, read, log)
    assert result.facts["plan"]["passes"] == 2


@pytest.mark.parametrize("name", sorted(catalog.METHODS))
def test_the_catalog_knows_which_methods_are_iterative(name: str) -> None:
    method = catalog.METHODS[name]
    assert method.iterative == (method.load("solve") is not None)
