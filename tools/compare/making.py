"""The inputs of the commands: a small simulated study with fixed seeds, made once for both sides.

The files that are wrong are made by `making_bad`, what is known of the study by `making_sources`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tools.compare import making_bad, making_sources
from tools.compare.writing import (
    Matrix,
    cells,
    columns,
    csv,
    gct,
    rows,
    tenx,
    text,
    texts,
)

N, M = 48, 240
SAMPLES = [f"s{i:02}" for i in range(N)]
GENES = [f"g{i:03}" for i in range(M)]
TISSUES = ["colon", "kidney", "liver", "lung"]
SEED = 20_260


def make_inputs(folder: Path) -> None:
    """Write all inputs into a folder, unless they are there."""
    done = folder / "made"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    obs = classes()
    study = expression(rng, obs)
    texts(folder, study)
    columns(folder, study)
    gct(folder, study)
    counted = counts(rng)
    tenx(folder, counted)
    csv(folder / "counts.csv", counted)
    cells(folder, counted, obs, neighbours(counted))
    variants(folder, study, rng)
    label_files(folder, obs)
    similarities(folder, study)
    rankings(folder, rng)
    configurations(folder)
    making_sources.make(folder, study, obs, rng)
    making_bad.make(folder / "bad")
    text(done, "all inputs are whole\n")


def classes() -> pd.DataFrame:
    """Return the classes of the samples."""
    made = {
        "tissue": [TISSUES[i % 4] for i in range(N)],
        "status": [["normal", "tumour"][(i // 4) % 2] for i in range(N)],
        "batch": ["AB"[i % 3 == 0] for i in range(N)],
    }
    return pd.DataFrame(made, index=pd.Index(SAMPLES, name="sample"))


def expression(rng: np.random.Generator, obs: pd.DataFrame) -> Matrix:
    """Return 240 features, of which 60 follow the classes, two are constant and two all zero."""
    tissue = np.array([TISSUES.index(t) for t in obs["tissue"]])
    status = (obs["status"] == "tumour").to_numpy().astype(float)
    X = 8 + rng.normal(0, 1, (M, N)) * rng.uniform(0.4, 1.6, (M, 1))
    X[:30] += 1.6 * rng.normal(size=(30, 4))[:, tissue]
    X[30:45] += np.outer(rng.normal(0, 1.2, 15), status)
    X[45:60] += X[:15] - 8 + rng.normal(0, 0.3, (15, N))
    X = np.clip(X, 0.05, None).round(4)
    X[100], X[101], X[150], X[151] = 3.5, 8.25, 0, 0
    return Matrix(X, GENES, SAMPLES)


def counts(rng: np.random.Generator) -> Matrix:
    """Return counts of which most are zero, and every sample has some."""
    tissue = np.arange(N) % 4
    rate = rng.gamma(0.8, 0.8, (160, 1)) * np.exp(0.8 * rng.normal(size=(160, 4)))[:, tissue]
    X = rng.poisson(rate).astype(np.float32)
    X[7] = 0
    return Matrix(X, [f"c{i:03}" for i in range(160)], SAMPLES)


def neighbours(m: Matrix, k: int = 6) -> np.ndarray:
    """Return a symmetric 0/1 graph of the nearest samples."""
    X = np.log1p(m.values.T.astype(float))
    apart = ((X[:, None] - X[None]) ** 2).sum(2)
    np.fill_diagonal(apart, np.inf)
    made = np.zeros_like(apart)
    np.put_along_axis(made, np.argsort(apart, axis=1, kind="stable")[:, :k], 1, axis=1)
    return np.maximum(made, made.T)


def variants(folder: Path, study: Matrix, rng: np.random.Generator) -> None:
    """Write matrices with gaps, without zeros, with names twice, and one of many samples."""
    X = study.values.copy()
    X[[3, 3, 40, 77], [5, 9, 0, 47]] = np.nan
    X[120, 6:] = np.nan
    csv(folder / "gaps.csv", Matrix(X, GENES, SAMPLES))
    X[121] = np.nan
    csv(folder / "gaps_all.csv", Matrix(X, GENES, SAMPLES))
    csv(folder / "positive.csv", Matrix(study.values[:100], GENES[:100], SAMPLES))
    names = [*GENES[:-2], GENES[3], GENES[4]]
    csv(folder / "repeated.csv", Matrix(study.values, names, SAMPLES))
    csv(folder / "centred.csv", Matrix((study.values - 8).round(4), GENES, SAMPLES))
    many = 2_050
    values = rng.normal(5, 1, (24, many)) + rng.normal(size=(24, 3))[:, np.arange(many) % 3]
    made = Matrix(values.round(3), [f"w{i}" for i in range(24)], [f"x{i}" for i in range(many)])
    made.frame().to_parquet(folder / "many.parquet")
    values = rng.gamma(2, 3, (3_000, N)).round(2)
    made = Matrix(values, [f"t{i}" for i in range(3_000)], SAMPLES)
    made.frame().to_parquet(folder / "tall.parquet")


def label_files(folder: Path, obs: pd.DataFrame) -> None:
    """Write the classes of all samples, of some, and of strangers too."""
    obs.to_csv(folder / "labels.tsv", sep="\t")
    obs.to_csv(folder / "labels.csv")
    obs[["tissue"]].to_csv(folder / "one.tsv", sep="\t")
    obs[["status"]].to_csv(folder / "two.tsv", sep="\t")
    obs.iloc[::2][["status"]].to_csv(folder / "half.tsv", sep="\t")
    obs.iloc[:40][["tissue"]].to_csv(folder / "some.tsv", sep="\t")
    strange = obs[["tissue"]].rename(index={SAMPLES[0]: "stranger"})
    pd.concat([obs[["tissue"]], strange.iloc[:1]]).to_csv(folder / "more.tsv", sep="\t")
    holes = obs[["tissue"]].copy()
    holes.iloc[[4, 9, 30]] = np.nan
    holes.to_csv(folder / "holes.tsv", sep="\t", na_rep="NA", index_label="sample")


def similarities(folder: Path, study: Matrix) -> None:
    """Write a kernel in every form, and one of other samples too, in another order."""
    X = study.values[:60].T
    apart = ((X[:, None] - X[None]) ** 2).sum(2)
    S = np.exp(-apart / np.median(apart)).round(12)
    frame = pd.DataFrame(S, index=pd.Index(SAMPLES, name="id"), columns=SAMPLES)
    mixed = frame.iloc[::-1, ::-1]
    mixed.to_csv(folder / "S.csv")
    mixed.to_csv(folder / "S.tsv", sep="\t")
    mixed.to_parquet(folder / "S.parquet")
    np.save(folder / "S.npy", S)
    np.savez(folder / "S.npz", samples=np.array(SAMPLES[::-1]), dense=S[::-1, ::-1])
    from scipy import sparse

    sparse.save_npz(folder / "S_sparse.npz", sparse.csr_matrix(np.where(S > 0.3, S, 0)))


def rankings(folder: Path, rng: np.random.Generator) -> None:
    """Write rankings of others for aggregate: by rank, score, p-value, partial, in every format."""
    names = [f"g{i:03}" for i in range(60)]
    where = folder / "rankings"
    where.mkdir(exist_ok=True)

    def ranks(count: int = 60) -> list[int]:
        return (rng.permutation(count) + 1).tolist()

    rows(where / "a.tsv", ["gene", "rank"], *zip(names, ranks()))
    rows(where / "b.csv", ["feature", "score"], *zip(names[5:], ranks(55)), delimiter=",")
    frame = pd.DataFrame({"gene": names[:40], "rank": ranks(40)})
    frame.to_parquet(where / "c.parquet", index=False)
    rows(where / "d.rnk", *zip(names[::-1], rng.normal(size=60).round(5)))
    frame.to_json(where / "e.json", orient="records")
    padj = (rng.random(60) ** 3).round(6)
    fold = rng.normal(size=60).round(4)
    rows(where / "f.csv", ["gene", "fold", "padj"], *zip(names, fold, padj), delimiter=",")
    tied = [i // 4 + 1 for i in range(60)]
    rows(where / "tied.tsv", ["gene", "rank"], *zip(names[::-1], tied))


def configurations(folder: Path) -> None:
    """Write configuration files; their paths are relative to them."""
    yaml = (
        "matrix: m.csv\nmethod: msfs\nsource:\n  all: {kind: target}\n"
        "  mirna: {kind: profile, path: mirna.csv, similarity: knn, neighbors: 6}\n"
        '  tissue: {kind: labels, path: "labels.tsv:tissue", weight: 2}\n'
        "ranking: phi3\nclusters: 4\ndigits: 8\n"
    )
    text(folder / "run.yaml", yaml)
    text(folder / "sources.yml", "matrix: m.csv\nsource:\n  all: 'target:'\nthen: gdcov\n")
    toml = (
        'matrix = "counts.csv"\ntransform = ["cpm", "log1p"]\nmethod = "fisher"\n'
        'labels = "labels.tsv:tissue"\nformat = "csv"\n'
    )
    text(folder / "run.toml", toml)
    members = '{"matrix": "m.csv", "method": "kogs", "members": ["spec", "fisher"],'
    text(folder / "run.json", members + '"labels": "labels.tsv:status", "how": "median"}\n')
    text(folder / "plain.yaml", "similarity: knn\nneighbors: 5\ngamma-power: 2\n")
    text(folder / "lambda.yaml", "matrix: m.csv\nmethod: l21\nlambda: 2.5\nresponse: pca\n")
