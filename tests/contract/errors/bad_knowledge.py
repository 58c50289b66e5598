"""Sample graphs and sources of knowledge that cannot be used."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfs_cli.cli.app import run
from tests.making_commands import (
    AB,
    EXISTS,
    FEATURES,
    MEMORY,
    SAMPLES,
    USAGE,
    Bad,
    Make,
    N,
    bad,
    changed,
    cut,
    good,
    h5ad,
    kernel,
    labels,
    raw,
    similarity,
    table,
    text,
    values,
)
from tests.making_sources import TARGET, file_of, on, profile, square

STRANGERS = [f"p{i}" for i in range(N)]


def crooked(n: int = N) -> np.ndarray:
    """Return similarities of which one pair has two."""
    return changed(kernel(n), (1, 3), 9.0, both=False)


def isolated() -> np.ndarray:
    S = kernel()
    S[2, :] = S[:, 2] = 0
    return S


# ---------------------------------------------------------------------------- graphs


def array_of_other_size(folder: Path) -> list[str]:
    np.save(folder / "S.npy", kernel(4))
    return ["rank", good(folder), "--similarity", f"file:{folder / 'S.npy'}"]


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
        "similarity: of some samples",
        lambda f: similarity(f, kernel(4), SAMPLES[:4]),
        "S.csv",
        "2 of 6 samples; s5, s6",
    ),
    bad(
        "similarity: of other samples",
        lambda f: similarity(f, kernel(), STRANGERS),
        "S.csv",
        "6 of 6 samples; s1; p0",
    ),
    bad("similarity: an array of another size", array_of_other_size, "S.npy", "(4, 4); 6"),
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
        "obsp: no such key",
        lambda f: ["rank", h5ad(f, obsp={"distances": kernel()}), "--similarity", "obsp:conn"],
        "m.h5ad",
        "conn; distances",
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
        "obsm: no such key",
        lambda f: ["rank", h5ad(f, obsm={"X_umap": np.eye(N)}), "--similarity", "obsm:X_pca"],
        "m.h5ad",
        "X_pca; X_umap",
    ),
    bad(
        "obsm: a missing value",
        lambda f: ["rank", h5ad(f, obsm={"X": np.full((N, 2), np.nan)}), "--similarity", "obsm:X"],
        "m.h5ad",
        "NaN or infinite; s1",
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
    asked("source: unknown option", "'neighbours'; neighbors", "x=profile:p.csv,neighbours=3"),
    asked("source: weight as option", "'weight'; PATH@WEIGHT", "x=profile:p.csv,weight=3"),
    asked("source: no kind", "NAME=KIND:PATH", "profile", name="--source 'profile'"),
    asked("source: no path", "path is missing", "x=profile:"),
    asked("source: a target with a path", "no path; profile", "x=target:p.csv"),
    asked(
        "source: option of another kind",
        "min-score has no effect; interactions",
        "x=profile:p.csv,min-score=3",
    ),
    asked("source: option of another graph", "beta has no effect; rbf", "x=target:,beta=2"),
    asked(
        "source: weight after the options",
        "neighbors='3@2'; PATH@WEIGHT",
        "x=target:,similarity=knn,neighbors=3@2",
    ),
    asked("source: two of one name", "named 'x'", "x=target:", "x=profile:p.csv", name="--source"),
    asked("source: labels that are not given", "needs --labels", "x=labels:"),
    asked(
        "sources and a graph",
        "two sample graphs; similarity:FILE",
        "x=target:",
        more=["--similarity", "rbf"],
        name="--source",
    ),
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
        "weights: unknown name",
        "'alignff'; did you mean alignf",
        "x=target:",
        more=["--weights", "alignff"],
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
        "weights: learned without labels",
        "needs --labels",
        "x=target:",
        LABELLED,
        more=["--weights", "alignf"],
        name="--weights alignf",
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


def damaged_gzip(folder: Path) -> list[str]:
    raw(folder, gzip.compress(GMT.encode()), "sets.gmt.gz")
    return on(folder, f"x=genes:{cut(folder / 'sets.gmt.gz')}")


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
        "profile: rows that are not samples",
        lambda f: on(f, f"x=profile:{profile(f)},rows=samples"),
        "p.csv",
        "none of the 6 samples; remove rows=samples",
    ),
    bad(
        "profile: of some samples",
        lambda f: on(f, f"x=profile:{profile(f, SAMPLES[:4])}"),
        "p.csv",
        "2 of 6 samples; source x; s5, s6; intersect; union",
    ),
    bad("profiles with one sample in common", two_halves, "source y", "1 of the 6 samples"),
    bad(
        "profile: no such file",
        lambda f: on(f, f"x=profile:{f / 'no.csv'}"),
        "no.csv",
        "no such file",
    ),
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
        "profile: logarithms of negative values",
        file_of("profile", table(-values(4)), "p.csv", ",transform=log1p"),
        "p.csv",
        "log1p; source x",
    ),
    bad(
        "source: more neighbours than samples",
        lambda f: on(f, "x=target:,similarity=knn,neighbors=6"),
        "source x",
        "neighbors=6; 6 samples; at most 5",
    ),
    bad(
        "labels of some samples as a source",
        lambda f: on(f, f"x=labels:{labels(f, AB[:4], SAMPLES[:4])}"),
        "labels.tsv",
        "2 of 6 samples; source x; s5, s6",
    ),
    bad(
        "obsp of a CSV as a source",
        lambda f: on(f, "x=similarity:obsp:connectivities"),
        "good.csv",
        "obsp:; h5ad",
        USAGE,
    ),
    bad(
        "similarity as a source: of other samples",
        lambda f: on(f, f"x=similarity:{square(f, kernel(), STRANGERS)}"),
        "S.csv",
        "none of the 6 samples; p0; s1",
    ),
    bad(
        "similarity as a source: not symmetric",
        lambda f: on(f, f"x=similarity:{square(f, crooked(), SAMPLES)}"),
        "S.csv",
        "source x; not symmetric; s2; s4",
    ),
    bad(
        "similarity as a source: an isolated sample",
        lambda f: on(f, f"x=similarity:{square(f, np.diag([1, 1, 1, 1, 1, 0]), SAMPLES)}"),
        "the fused similarity",
        "no positive degree; s6",
    ),
    bad(
        "similarity as a source: another table",
        lambda f: on(f, f"x=similarity:{good(f, 'S.csv')}"),
        "S.csv",
        "no id in common; gene1; s1",
    ),
    bad(
        "similarity as a source: a damaged npz",
        lambda f: on(f, f"x=similarity:{raw(f, b'PK' + bytes(40), 'S.npz')}"),
        "S.npz",
        "cannot be read",
    ),
    bad(
        "hierarchy: Newick that does not parse",
        file_of("hierarchy", "((s1,s2),(s3,s4);\n", "t.nwk"),
        "t.nwk, character 17",
        "parentheses",
    ),
    bad(
        "hierarchy: no groups",
        file_of("hierarchy", "(" + ",".join(SAMPLES) + ");\n", "t.nwk"),
        "t.nwk",
        "no two samples",
    ),
    bad(
        "hierarchy: no such column",
        file_of("hierarchy", "sample\tpath\ns1\ta/b\ns2\ta/c\n", "h.tsv", part=":lineage"),
        "h.tsv",
        "'lineage'; path",
    ),
]

# ---------------------------------------------------------------------------- sources of features

GMT = "SET1\tfirst\t" + "\t".join(FEATURES[:4]) + "\n"
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
    bad("genes: an empty file", file_of("genes", "", "g.txt"), "g.txt", "empty"),
    bad(
        "genes: a binary file",
        lambda f: on(f, f"x=genes:{raw(f, bytes(range(256)) * 8, 'g.txt')}"),
        "g.txt",
        "binary",
    ),
    bad("genes: a damaged gzip", damaged_gzip, "sets.gmt.gz", "cut off or damaged"),
    bad(
        "genes: all in one line",
        file_of("genes", "gene1, gene2, gene3\n", "g.txt"),
        "g.txt",
        "line 1; one gene id in each line",
    ),
    bad(
        "genes: sets under another name",
        file_of("genes", "SET1\thttp://x\tgene1\tgene2\n", "s.txt"),
        "s.txt",
        "gene sets; .gmt",
    ),
    bad(
        "genes: a set without genes",
        file_of("genes", "SET1\tfirst\t\n", "s.gmt"),
        "s.gmt",
        "line 1; SET1; no genes",
    ),
    bad(
        "genes: no such set", file_of("genes", GMT, "s.gmt", part=":SET9"), "s.gmt", "'SET9'; SET1"
    ),
    bad(
        "genes: a short line of GAF",
        file_of("genes", f"!gaf-version: 2.2\n{GAF}DB\tID2\tgene2\n", "a.gaf"),
        "a.gaf",
        "line 3; 3 columns",
    ),
    bad(
        "genes: no annotation of that evidence",
        file_of("genes", GAF, "a.gaf", ",evidence=IMP"),
        "a.gaf",
        "IDA 1",
    ),
    bad(
        "genes: unknown evidence",
        file_of("genes", GAF, "a.gaf", ",evidence=XYZ"),
        "XYZ",
        "IDA|known",
        USAGE,
    ),
    bad(
        "genes: of other ids",
        file_of("genes", "X1\nX2\n", "g.txt"),
        "g.txt",
        "source x; none of 2 ids; X1; gene1; --id-map",
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
        "id-map: three columns",
        mapped("gene1\tQ1\tz\n"),
        "map.tsv",
        "not clear; map.tsv:COLUMN; Q1, z",
    ),
    bad(
        "interactions: p-values as scores",
        file_of("interactions", "gene_a\tgene_b\tpval\ngene1\tgene2\t1e-9\n", "e.tsv"),
        "e.tsv",
        "'pval' holds p-values; -log10",
    ),
    bad(
        "interactions: another format",
        lambda f: on(f, f"x=interactions:{h5ad(f, 'e.h5ad')}"),
        "e.h5ad",
        "HDF5; list of edges",
    ),
    bad(
        "interactions: unknown columns",
        file_of("interactions", "id\tx\ty\tz\n1\tgene1\tgene2\tp\n", "e.tsv"),
        "e.tsv",
        "line 1; id, x, y, z; gene_a",
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
        "feature-similarity: not symmetric",
        lambda f: on(f, f"x=feature-similarity:{square(f, crooked(4), FEATURES[:4])}"),
        "S.csv",
        "not symmetric; gene2; gene4",
    ),
    bad(
        "feature-similarity: of other ids",
        file_of("feature-similarity", EDGES.replace("gene2", "X2"), "e.tsv"),
        "e.tsv",
        "source x; no two features",
    ),
    bad(
        "terms: neither 0 nor 1",
        lambda f: on(f, f"x=terms:{square(f, 2 * kernel(4), FEATURES[:4])}"),
        "S.csv",
        "gene1; 0|1",
    ),
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


def made_before(folder: Path) -> list[str]:
    assert run([*fused(folder, "S.npz"), "-q"]) == 0
    return fused(folder, "S.npz", "--weights", "uniform,normalize=frobenius")


def of_some(folder: Path) -> list[str]:
    source = f"x=profile:{profile(folder, SAMPLES[:4])}"
    words = fused(folder, "out.h5ad", "--samples", "intersect", matrix=h5ad(folder))
    return [*words, "--source", source]


FUSE = [
    bad("fuse: unknown suffix", lambda f: fused(f, "S.txt"), "S.txt", "'.txt'; .npz", USAGE),
    bad("fuse: an output that is there", made_before, "S.npz", "another run; --force", EXISTS),
    bad("fuse: h5ad of a CSV", lambda f: fused(f, "S.h5ad"), "S.h5ad", "h5ad input; .npz", USAGE),
    bad("fuse: h5ad of some samples", of_some, "out.h5ad", "4 of the 6 samples; .npz"),
]

KNOWLEDGE = [*GRAPHS, *ASKED, *SOURCES, *GENES, *FUSE]
