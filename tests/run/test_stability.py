"""``--stability``: subsets of the samples, rankings on them, and what is said of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import RankConfig, rank
from sfs_cli.errors import InputError
from sfs_cli.logs import Messages
from sfs_cli.options import parse_source
from sfs_cli.run import stability as stability_of
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.passes import ranks_together
from sfs_cli.run.rank import RankResult, ranked
from sfs_cli.run.stability import (
    SubsetScorers,
    _distances,
    constant_among,
    rank_in_turn,
    rank_together,
    scorer_on,
)
from sfs_cli.run.subsets import draw_subsets, run_on_subset
from tests.making import names, table_text, write_labels, write_table
from tests.oracles import stability as slow

N, M = 26, 90


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two classes and two batches, with other knowledge of its samples."""
    folder = tmp_path_factory.mktemp("stability")
    rng = np.random.default_rng(11)
    y = np.arange(N) % 2
    counts = rng.poisson(6 + 8 * y * (np.arange(M)[:, None] < 12), (M, N)).astype(float)
    counts[-3] = 0
    counts[-3, 4] = 7  # constant in most subsets
    counts[-2] = 3
    write_table(folder / "x.csv", counts + rng.random((M, N)) * (np.arange(M) < M - 3)[:, None])
    write_table(folder / "counts.csv", counts)
    write_table(folder / "p.csv", rng.random((12, N)) + y, names("p", 12))
    S = np.exp(-((np.arange(N)[:, None] - np.arange(N)) ** 2) / 9)
    write_table(folder / "S.csv", S, names("s", N))
    write_labels(folder / "y.tsv", ["ab"[code] for code in y])
    rows = [f"s{i}\t{a:.4f}\t{b:.4f}\n" for i, (a, b) in enumerate(rng.normal(size=(N, 2)))]
    (folder / "at.tsv").write_text("sample\ta\tb\n" + "".join(rows))
    column(folder / "age.tsv", (40 + 5 * y + rng.normal(size=N)).round(3))
    column(folder / "donor.tsv", [f"d{i // 3}" for i in range(N)])
    column(folder / "plate.tsv", ["one" if i < 14 else "two" for i in range(N)])
    column(folder / "w.tsv", (1 + rng.random(N)).round(3))
    (folder / "few.txt").write_text("g2\ng5\n")
    return folder


def column(path: Path, values: Iterable[object]) -> None:
    rows = [f"s{i}\t{value}\n" for i, value in enumerate(values)]
    path.write_text("sample\tvalue\n" + "".join(rows))


def config_of(folder: Path, **given: Any) -> RankConfig:
    options: dict[str, Any] = {"stability": 8, "threads": 2, "stability_top": 10}
    options |= {
        name: str(folder / value) if isinstance(value, str) and value.endswith(FILES) else value
        for name, value in given.items()
    }
    options["adjust"] = tuple(str(folder / each) for each in options.get("adjust", ()))
    options["source"] = tuple(
        parse_source(text.format(folder=folder)) for text in options.get("source", ())
    )
    matrix = str(folder / options.pop("matrix", "x.csv").rpartition("/")[2])
    return RankConfig(matrix, **options)


FILES = (".tsv", ".csv", ".txt")
LABELED: dict[str, Any] = {"labels": "y.tsv"}

TOGETHER: list[dict[str, Any]] = [
    {"method": "spec"},
    {"method": "spec", "matrix": "counts.csv", "transform": "cpm,log1p"},
    {"method": "spec", "similarity": "rbf"},
    {"method": "spec", "similarity": "rbf", "ranking": "phi1", "gamma_power": 2},
    {"method": "spec", "similarity": "rbf", "ranking": "phi3", "clusters": 3},
    {"method": "spec", "similarity": "rbf", "gamma": "exp"},
    {"method": "spec", "similarity": "rbf", "bandwidth": "self-tuning"},
    {"method": "spec", "similarity": "knn", "neighbors": 4, "transform": "log1p"},
    {"method": "spec", "similarity": "label", **LABELED},
    {"method": "spec", "similarity": "rbf", "sample_weights": "w.tsv"},
    {"method": "spec", "exclude": ("^g1",)},
    {"method": "spec", "stability_how": "bootstrap"},
    {"method": "spec", "donors": "donor.tsv"},
    {"method": "laplacian", "similarity": "geodesic", "neighbors": 6},
    {"method": "laplacian", "similarity": "diffusion", "neighbors": 4},
    {"method": "hsic", **LABELED},
    {"method": "hsic", "labels": "age.tsv", "label_type": "continuous"},
    {"method": "gdcov", "similarity": "car", "neighbors": 4},
    {"method": "sselect", **LABELED},
    {"method": "fisher", "sample_weights": "w.tsv", **LABELED},
    {"method": "f-test", **LABELED},
    {"method": "f-test", "labels": "age.tsv", "label_type": "continuous"},
    {"method": "t-test", **LABELED},
    {"method": "mutual-info", **LABELED},
    {"method": "seper"},
    {"method": "variance"},
]
IN_TURN: list[dict[str, Any]] = [
    {},
    LABELED,
    {"method": "spec", "transform": "log1p,zscore"},
    {"method": "spec", "transform": "quantile"},
    {"method": "spec", "matrix": "counts.csv", "transform": "clr"},
    {"method": "hsic", "similarity": "linear"},
    {"method": "spec", "similarity": "correlation"},
    {"method": "spec", "similarity": "knn", "components": "4", "neighbors": 4},
    {"method": "spec", "similarity_file": "S.csv"},
    {"method": "spec", "coordinates": "at.tsv"},
    {"method": "spec", "similarity": "rbf", "pvalues": "gaussian"},
    {"method": "spec", "min_samples": 3, "matrix": "counts.csv"},
    {"method": "spec", "max_correlation": 0.5, "keep": 12},
    {"method": "spec", "adjust": ("plate.tsv",)},
    {"method": "mrsf", "response": "outcome", "labels": "age.tsv", "label_type": "continuous"}
    | {"adjust": ("plate.tsv",)},
    {"method": "spec", "batch": "plate.tsv", "min_batch_size": 4},
    {"method": "t-test", "batch": "plate.tsv", "adjust": ("age.tsv",)} | LABELED
    | {"min_batch_size": 4},
    {"method": "sselect", "variant": "cut-value", **LABELED},
    {"method": "relieff", "neighbors": 3, **LABELED},
    {"method": "mrmr", "select": 12, **LABELED},
    {"method": "mrsf", "select": 12, "given_": "few.txt"},
    {"method": "l21", "lambda_": 0.5},
    {"method": "rfs", **LABELED},
    {"method": "qalpha"},
    {"method": "trace-ratio", "select": 12, **LABELED},
    {"method": "gdcov-spca", "select": 12},
    {"method": "spca", "select": 12},
    {"method": "arom-svm", "select": 12, **LABELED},
    {"method": "msfs", "source": ("p=profile:{folder}/p.csv", "t=target:")},
    {"method": "kogs", "source": ("p=profile:{folder}/p.csv", "t=target:,similarity=knn")},
    {"method": "kogs", "members": ("spec", "f-test"), **LABELED},
]


def name_of(given: dict[str, Any]) -> str:
    return "-".join(str(value) for value in given.values()) or "default"


class Parts:
    """The run of a configuration whose features were scored, and its subsets."""

    def __init__(self, run: Run) -> None:
        self.run = run
        ranked(run)
        self.subsets = draw_subsets(run).samples


def quiet() -> Messages:
    return Messages(verbosity=-1)


# ---- the rankings on the subsets -----------------------------------------------------------------


@pytest.mark.parametrize("given", TOGETHER, ids=name_of)
def test_subsets_that_are_scored_together_are_scored_as_alone(given, folder):
    config = config_of(folder, **given)
    assert ranks_together(config, N, M)
    with loaded(config, quiet()) as run:
        parts = Parts(run)
        engine = run.context.engine
        distances = _distances(run, engine, parts.subsets)
        scorers = SubsetScorers(
            [
                (own, scorer_on(run, own, distances(k), k, parts.subsets, quiet()))
                for k, own in enumerate(parts.subsets)
            ]
        )
        found = engine.columns(lambda block: (scorers.score_block(block),), scorers.dtype)[0]
        for own, scores in zip(parts.subsets, found.T):
            alone = ranked(run_on_subset(run, own, quiet()))
            wanted = np.empty(M)
            wanted[alone.order] = alone.score
            np.testing.assert_array_equal(np.isnan(scores), np.isnan(wanted))
            np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-12)
        together = rank_together(run, parts.subsets, 10)
        in_turn = rank_in_turn(run, parts.subsets, 10, ranked)
        for one, other in zip(together, in_turn):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("given", [*TOGETHER, *IN_TURN], ids=name_of)
def test_a_subset_is_ranked_as_a_matrix_of_its_samples(given, folder, tmp_path):
    """The frequencies are those of `sfs rank` on files that hold the samples of each subset."""
    config = config_of(folder, **given)
    result = rank(config, quiet())
    with loaded(config, quiet()) as run:
        subsets = draw_subsets(run).samples
    counts = dict.fromkeys((f"g{i}" for i in range(M)), 0)
    for own in subsets:
        for feature in first_on(config, own, folder, tmp_path):
            counts[feature] += 1
    found = dict(zip(result.ranking.feature, result.ranking.extra["frequency"]))
    assert found == {feature: count / len(subsets) for feature, count in counts.items()}
    assert not [p for p in result.facts["passes"] if p["exact"] and p["planned"] != p["executed"]]


def first_on(config: RankConfig, own: np.ndarray, folder: Path, where: Path) -> list[str]:
    """Rank a copy of the study with some of its samples; return the first features."""
    wanted = {f"s{i}" for i in own.tolist()}
    copies: dict[str, str] = {}
    for path in folder.iterdir():
        text = path.read_text()
        if path.suffix == ".tsv":
            head, *rows = text.splitlines()
            text = "\n".join([head, *(r for r in rows if r.split("\t")[0] in wanted)]) + "\n"
        elif path.name == "S.csv":
            text = cut(text, wanted, both=True)
        elif path.suffix == ".csv":
            text = cut(text, wanted)
        (where / path.name).write_text(text)
        copies[str(path)] = str(where / path.name)

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        return copies.get(value, value) if isinstance(value, str) else value

    options = {name: moved(value) for name, value in vars(config).items()}
    options |= {"stability": None, "stability_how": None, "stability_top": None, "donors": None}
    options["source"] = tuple(
        parse_source(str(source).replace(str(folder), str(where))) for source in config.source
    )
    ranking = rank(RankConfig(**options), quiet()).ranking
    return ranking.feature[: min(config.stability_top or 0, ranking.n_scored)]


def cut(text: str, wanted: set[str], *, both: bool = False) -> str:
    """Return a table with some of its columns, and of its rows if these are samples too."""
    rows = [line.split(",") for line in text.splitlines()]
    kept = [0] + [j for j, name in enumerate(rows[0]) if name in wanted]
    return "".join(
        ",".join(row[j] for j in kept) + "\n"
        for i, row in enumerate(rows)
        if i == 0 or not both or row[0] in wanted
    )
