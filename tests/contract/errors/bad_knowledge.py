"""Labels and sample graphs that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.making_commands import (
    AB,
    MEMORY,
    SAMPLES,
    N,
    bad,
    changed,
    fisher,
    good,
    h5ad,
    kernel,
    labels,
    similarity,
    table,
    text,
    values,
)


def two_columns(folder: Path) -> list[str]:
    rows = "".join(f"{s}\t{c}\t{c}\n" for s, c in zip(SAMPLES, AB))
    return fisher(folder, text(folder, "sample\tage\tsex\n" + rows, "labels.tsv"))


def two_labels(folder: Path) -> list[str]:
    return fisher(folder, labels(folder, [*AB, "b"], [*SAMPLES, "s1"]))


LABELS = [
    bad("labels: no such file", lambda f: fisher(f, str(f / "no.tsv")), "no.tsv", "no such file"),
    bad(
        "labels: empty file", lambda f: fisher(f, text(f, "", "labels.tsv")), "labels.tsv", "empty"
    ),
    bad(
        "labels: one column",
        lambda f: fisher(f, text(f, "class\na\nb\n", "labels.tsv")),
        "labels.tsv, line 1",
        "one column; sample ids",
    ),
    bad(
        "labels: classes of GSEA",
        lambda f: fisher(f, text(f, "6 2 1\n# a b\na a a b b b\n", "y.cls")),
        "y.cls",
        "no sample ids; two columns",
    ),
    bad(
        "labels: an annotation without obs:",
        lambda f: ["rank", h5ad(f), "--method", "fisher", "--labels", "tissue"],
        "tissue",
        "no such file; obs:tissue",
    ),
    bad("labels: an HDF5 file", lambda f: fisher(f, h5ad(f, "labels.h5ad")), "labels.h5ad", "HDF5"),
    bad(
        "labels: no sample matches",
        lambda f: fisher(f, labels(f, AB, [f"p{i}" for i in range(N)])),
        "labels.tsv",
        "none of the 6 samples; p0; s1; --rows",
    ),
    bad(
        "labels: some samples have none",
        lambda f: fisher(f, labels(f, AB[:4], SAMPLES[:4])),
        "labels.tsv",
        "2 of 6; s5, s6; --samples intersect",
    ),
    bad(
        "labels: a class of one",
        lambda f: fisher(f, labels(f, ["a", "a", "a", "b", "b", "odd"])),
        "labels.tsv",
        "only one sample; odd",
    ),
    bad(
        "labels: a class of one among the chosen samples",
        lambda f: [
            *fisher(f, labels(f, ["a", "a", "a", "b"], SAMPLES[:4])),
            *("--samples", "intersect"),
        ],
        "labels.tsv",
        "only one sample; b",
    ),
    bad(
        "labels: a single class among the chosen samples",
        lambda f: [
            *fisher(f, labels(f, AB)),
            *("--donors", text(f, "id,donor\ns1,x\ns3,y\ns5,z\n", "d.csv") + ":donor"),
            *("--samples", "intersect"),
        ],
        "labels.tsv",
        "one class; 'a'",
    ),
    bad(
        "labels: a class of one among the samples with a donor",
        lambda f: [
            *fisher(f, labels(f, AB)),
            *("--donors", text(f, "id,donor\ns1,x\ns3,y\ns4,z\n", "d.csv") + ":donor"),
            *("--samples", "intersect"),
        ],
        "labels.tsv",
        "only one sample; b",
    ),
    bad(
        "labels: a single class",
        lambda f: fisher(f, labels(f, ["a"] * N)),
        "labels.tsv",
        "one class; 'a'",
    ),
    bad(
        "labels: nothing but missing values",
        lambda f: fisher(f, labels(f, ["NA"] * N)),
        "labels.tsv",
        "no sample has a label; tissue",
    ),
    bad(
        "labels: unknown column",
        lambda f: fisher(f, labels(f, AB) + ":tisue"),
        "labels.tsv",
        "'tisue'; tissue",
    ),
    bad("labels: ambiguous column", two_columns, "labels.tsv", "which column; age, sex"),
    bad("labels: two for one sample", two_labels, "labels.tsv", "'s1'; two; 'a'; 'b'"),
    bad(
        "labels: no line of column names",
        lambda f: fisher(f, text(f, "".join(f"{s}\t{c}\n" for s, c in zip(SAMPLES, AB)), "l.tsv")),
        "l.tsv",
        "line 1; column names is missing; 's1'",
    ),
    bad(
        "labels: ragged row",
        lambda f: fisher(f, text(f, "sample\ttissue\ns1\ta\ns2\n", "labels.tsv")),
        "labels.tsv",
        "line 3; 1 field",
    ),
    bad(
        "labels: obs key that is not there",
        lambda f: ["rank", h5ad(f), "--method", "fisher", "--labels", "obs:organ"],
        "m.h5ad",
        "'organ'; tissue",
    ),
    bad("labels: obs of a CSV", lambda f: fisher(f, "obs:tissue"), "good.csv", "obs:; h5ad"),
]


def isolated() -> np.ndarray:
    S = kernel()
    S[2, :] = S[:, 2] = 0
    return S


def numpy_of_other_size(folder: Path) -> list[str]:
    np.save(folder / "S.npy", kernel(4))
    return ["rank", good(folder), "--similarity-file", str(folder / "S.npy")]


def linear(folder: Path) -> list[str]:
    return ["rank", good(folder), "--similarity", "linear"]


def constant_samples(folder: Path) -> str:
    X = values()
    X[:, :2] = [3.0, 4.0]
    return text(folder, table(X))


def dense_graph(folder: Path) -> list[str]:
    n = 1500
    names = [f"s{i}" for i in range(n)]
    path = text(folder, table(values(4, n), samples=names), "wide.csv")
    return ["rank", path, "--similarity", "rbf", "--memory", "32M"]


GRAPHS = [
    bad(
        "similarity: no such file",
        lambda f: ["rank", good(f), "--similarity-file", str(f / "no.csv")],
        "no.csv",
        "no such file",
    ),
    bad(
        "similarity: fewer samples",
        lambda f: similarity(f, kernel(4), SAMPLES[:4]),
        "S.csv",
        "2 of 6 samples; s5, s6",
    ),
    bad("similarity: an array of another size", numpy_of_other_size, "S.npy", "(4, 4); 6"),
    bad(
        "similarity: not symmetric",
        lambda f: similarity(f, changed(kernel(), (1, 3), 9.0, both=False)),
        "S.csv",
        "not symmetric; s2; s4; transpose",
    ),
    bad(
        "similarity: negative degree",
        lambda f: similarity(f, changed(kernel(), (0, 5), -50.0)),
        "S.csv",
        "no positive degree; 2 of 6; 2 negative; s1, s6",
    ),
    bad(
        "similarity: isolated sample",
        lambda f: similarity(f, isolated()),
        "S.csv",
        "no positive degree; 1 of 6; 1 zero; s3",
    ),
    bad(
        "similarity: missing value",
        lambda f: similarity(f, changed(kernel(), (0, 5), np.nan)),
        "S.csv",
        "2 entries; NaN",
    ),
    bad(
        "similarity: other ids",
        lambda f: similarity(f, kernel(), [f"p{i}" for i in range(N)]),
        "S.csv",
        "6 of 6 samples; s1; p0",
    ),
    bad(
        "similarity: repeated ids",
        lambda f: similarity(f, kernel(7), [*SAMPLES, "s1"]),
        "S.csv",
        "repeated; s1",
    ),
    bad(
        "obsp key that is not there",
        lambda f: ["rank", h5ad(f, obsp={"distances": kernel()}), "--similarity", "obsp:conn"],
        "m.h5ad",
        "conn; distances",
    ),
    bad(
        "distances of obsp as similarities",
        lambda f: [
            *("rank", h5ad(f, obsp={"knn_distances": kernel()})),
            *("--method", "spec", "--similarity", "obsp:knn_distances"),
        ],
        "m.h5ad",
        "distances; obsp:knn_connectivities",
    ),
    bad(
        "obsm key that is not there",
        lambda f: ["rank", h5ad(f, obsm={"X_umap": np.eye(N)}), "--similarity", "obsm:X_pca"],
        "m.h5ad",
        "X_pca; X_umap",
    ),
    bad(
        "obsm with a gap",
        lambda f: ["rank", h5ad(f, obsm={"X": np.full((N, 2), np.nan)}), "--similarity", "obsm:X"],
        "m.h5ad",
        "NaN or infinite: 12; s1",
    ),
    bad(
        "coordinates: other ids",
        lambda f: ["rank", good(f), "--coordinates", good(f, "z.csv")],
        "z.csv",
        "6 of 6 samples; s1; gene1",
    ),
    bad(
        "coordinates: no such file",
        lambda f: ["rank", good(f), "--coordinates", str(f / "no.csv")],
        "no.csv",
        "no such file",
    ),
    bad(
        "constant samples have no correlation",
        lambda f: ["rank", constant_samples(f), "--similarity", "correlation"],
        "m.csv",
        "2 samples; s1, s2; rbf",
    ),
    bad("linear similarity has zero degrees", linear, "linear", "degree; another|rbf"),
    bad("dense graph beyond --memory", dense_graph, "--memory", "32; knn", code=MEMORY),
    bad(
        "CAR kernel beyond --memory",
        lambda f: [*dense_graph(f)[:2], *("--similarity", "car", "--memory", "32M")],
        "--memory",
        "32; knn",
        code=MEMORY,
    ),
    bad(
        "dry run: dense graph beyond --memory",
        lambda f: [*dense_graph(f), "--dry-run"],
        "--memory",
        "32; knn",
        code=MEMORY,
    ),
]
