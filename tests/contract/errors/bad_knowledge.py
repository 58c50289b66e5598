"""Sample graphs and sources of knowledge that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.making_commands import (
    MEMORY,
    SAMPLES,
    USAGE,
    Bad,
    Make,
    N,
    bad,
    changed,
    good,
    h5ad,
    kernel,
    similarity,
    table,
    text,
    values,
)
from tests.making_sources import TARGET, file_of, on, profile

STRANGERS = [f"p{i}" for i in range(N)]


def crooked(n: int = N) -> np.ndarray:
    """Return similarities of which one pair has two."""
    return changed(kernel(n), (1, 3), 9.0, both=False)


def isolated() -> np.ndarray:
    S = kernel()
    S[2, :] = S[:, 2] = 0
    return S


# ---------------------------------------------------------------------------- graphs


def constant_samples(folder: Path) -> list[str]:
    X = values()
    X[:, :2] = [3.0, 4.0]
    return ["rank", text(folder, table(X)), "--similarity", "correlation"]


def dense_graph(folder: Path) -> list[str]:
    names = [f"s{i}" for i in range(1500)]
    path = text(folder, table(values(4, 1500), samples=names), "wide.csv")
    return ["rank", path, "--similarity", "rbf", "--memory", "32M"]


GRAPHS = [
    bad(
        "similarity: of other samples",
        lambda f: similarity(f, kernel(), STRANGERS),
        "S.csv",
        "6 of 6 samples; s1; p0",
    ),
    bad(
        "similarity: not symmetric",
        lambda f: similarity(f, crooked()),
        "S.csv",
        "not symmetric; s2; s4",
    ),
    bad(
        "similarity: an isolated sample",
        lambda f: similarity(f, isolated()),
        "S.csv",
        "no positive degree; 1 of 6; s3",
    ),
    bad(
        "similarity: a missing value",
        lambda f: similarity(f, changed(kernel(), (0, 5), np.nan)),
        "S.csv",
        "2 entries; NaN",
    ),
    bad(
        "obsp: distances",
        lambda f: [
            *("rank", h5ad(f, obsp={"knn_distances": kernel()})),
            *("--similarity", "obsp:knn_distances"),
        ],
        "m.h5ad",
        "distances; obsp:knn_connectivities",
    ),
    bad(
        "coordinates: of other ids",
        lambda f: ["rank", good(f), "--coordinates", good(f, "z.csv")],
        "z.csv",
        "6 of 6 samples; s1; gene1",
    ),
    bad("correlation of constant samples", constant_samples, "s1, s2", "2 samples; rbf"),
    bad(
        "linear similarities that sum to nothing",
        lambda f: ["rank", good(f), "--similarity", "linear"],
        "linear",
        "degree; another|rbf",
    ),
    bad("a dense graph beyond --memory", dense_graph, "--memory", "32; knn", MEMORY),
]

# ---------------------------------------------------------------------------- options of sources


def asked(
    id: str,
    words: str,
    *sources: str,
    method: str = "msfs",
    more: Sequence[str] = (),
    name: str = "--source x",
) -> Bad:
    """Return a row for sources that are refused before a file is looked at."""
    return bad(id, lambda f: on(f, *sources, method=method, more=more), name, words, USAGE)


LABELLED = "y=labels:l.tsv"

ASKED = [
    asked("source: unknown kind", "'profil'; did you mean profile", "x=profil:p.csv"),
    asked("source: weight as option", "'weight'; PATH@WEIGHT", "x=profile:p.csv,weight=3"),
    asked("source: no kind", "NAME=KIND:PATH", "profile", name="--source 'profile'"),
    asked("source: a target with a path", "no path; profile", "x=target:p.csv"),
    asked(
        "source: option of another kind",
        "min-score has no effect; interactions",
        "x=profile:p.csv,min-score=3",
    ),
    asked(
        "source: weight after the options",
        "neighbors='3@2'; PATH@WEIGHT",
        "x=target:,similarity=knn,neighbors=3@2",
    ),
    asked("source: two of one name", "named 'x'", "x=target:", "x=profile:p.csv", name="--source"),
    asked("source: labels that are not given", "needs --labels", "x=labels:"),
    asked("msfs without sources", "source", name="--source"),
    asked(
        "then: a method without a graph",
        "'fisher'; spec",
        "x=target:",
        method="msfs,then=fisher",
        name="then= of --method",
    ),
    asked(
        "weights: one too many",
        "3 numbers for 2 sources",
        "x=target:",
        LABELLED,
        more=["--weights", "1,2,3"],
        name="--weights",
    ),
    asked(
        "weights: twice",
        "has a weight; --weights uniform",
        "x=target:@2",
        more=["--weights", "uniform"],
        name="source x",
    ),
    asked(
        "weights: snf of some samples",
        "every sample in every source",
        "x=target:",
        more=["--weights", "snf", "--samples", "union"],
        name="snf",
    ),
]

# ---------------------------------------------------------------------------- sources of samples


def two_halves(folder: Path) -> list[str]:
    """Return a command on two sources that have one sample in common."""
    halves = profile(folder, ["s1", "s2"]), profile(folder, ["s2", "s3"], "q.csv")
    sources = [f"{name}=profile:{path}" for name, path in zip("xy", halves)]
    return on(folder, *sources, more=["--samples", "intersect"])


SOURCES = [
    bad(
        "profile: of other samples",
        lambda f: on(f, f"x=profile:{profile(f, STRANGERS)}"),
        "p.csv",
        "source x; none of the 6 samples; p0; s1; rows=samples",
    ),
    bad(
        "profile: of some samples",
        lambda f: on(f, f"x=profile:{profile(f, SAMPLES[:4])}"),
        "p.csv",
        "2 of 6 samples; source x; s5, s6; intersect; union",
    ),
    bad("profiles with one sample in common", two_halves, "source y", "1 of the 6 samples"),
    bad(
        "profile: a missing value",
        file_of(
            "profile",
            "id," + ",".join(SAMPLES) + "\ngene1,1,2,3,4,5,6\ngene2,1,NA,3,4,5,7\n",
            "p.csv",
        ),
        "p.csv",
        "source x; gene2; missing=mean",
    ),
    bad(
        "similarity as a source: another table",
        lambda f: on(f, f"x=similarity:{good(f, 'S.csv')}"),
        "S.csv",
        "no id in common; gene1; s1",
    ),
]

# ---------------------------------------------------------------------------- sources of features

GAF = "\t".join(["DB", "ID1", "gene1", "", "GO:1", "PMID:1", "IDA", *[""] * 8]) + "\n"
EDGES = "gene_a\tgene_b\tscore\ngene1\tgene2\t0.5\n"


def mapped(content: str) -> Make:
    """Return a command on genes of other ids and a map of this content."""
    genes = file_of("genes", "P1\nP2\n", "g.txt")
    return lambda f: [*genes(f), "--id-map", text(f, content, "map.tsv")]


def seeded(folder: Path) -> list[str]:
    seeds = text(folder, "gene7\n", "seeds.txt")
    return file_of("interactions", EDGES, "e.tsv", f",seeds={seeds}")(folder)


GENES = [
    bad(
        "genes: unknown evidence",
        file_of("genes", GAF, "a.gaf", ",evidence=XYZ"),
        "XYZ",
        "IDA|known",
        USAGE,
    ),
    bad(
        "genes: in another case",
        file_of("genes", "GENE1\nGENE2\n", "g.txt"),
        "g.txt",
        "2 would be found; case",
    ),
    bad(
        "id-map: of other ids",
        mapped("a\tP1\nb\tP2\n"),
        "map.tsv",
        "none of the 2 pairs; a = P1; gene1",
    ),
    bad(
        "interactions: p-values as scores",
        file_of(
            "interactions",
            "gene_a\tgene_b\tpval\ngene1\tgene2\t1e-9\ngene1\tgene3\tNA\n",
            "e.tsv",
        ),
        "e.tsv",
        "'pval' holds p-values; -log10",
    ),
    bad(
        "interactions: a short line of SIF",
        file_of("interactions", "gene1\tpp\tgene2\ngene3\tpp\n", "n.sif"),
        "n.sif",
        "line 2; 2 fields",
    ),
    bad(
        "interactions: low scores alone",
        file_of("interactions", EDGES, "e.tsv", ",min-score=0.9"),
        "e.tsv",
        "none of 1 edge; 0.9; min-score",
    ),
    bad("interactions: no seed interacts", seeded, "seeds.txt", "none of the 1 seed; gene7; gene1"),
    bad(
        "terms: none is shared",
        file_of("terms", table(np.eye(4).astype(int), samples=list("abcd")), "t.csv"),
        "t.csv",
        "no two features; share a term",
    ),
]

# ---------------------------------------------------------------------------- sfs fuse


def fused(folder: Path, out: str, *more: str, matrix: str | None = None) -> list[str]:
    return ["fuse", matrix or good(folder), "--source", TARGET, "--out", str(folder / out), *more]


def of_some(folder: Path) -> list[str]:
    source = f"x=profile:{profile(folder, SAMPLES[:4])}"
    words = fused(folder, "out.h5ad", "--samples", "intersect", matrix=h5ad(folder))
    return [*words, "--source", source]


FUSE = [
    bad("fuse: unknown suffix", lambda f: fused(f, "S.txt"), "S.txt", "'.txt'; .npz", USAGE),
    bad("fuse: h5ad of a CSV", lambda f: fused(f, "S.h5ad"), "S.h5ad", "h5ad input; .npz", USAGE),
    bad("fuse: h5ad of some samples", of_some, "out.h5ad", "4 of the 6 samples; .npz"),
]

KNOWLEDGE = [*GRAPHS, *ASKED, *SOURCES, *GENES, *FUSE]
