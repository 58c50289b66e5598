"""Knowledge sources whose samples or files cannot be used."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.making import annotated
from tests.making_commands import (
    AB,
    FEATURES,
    SAMPLES,
    USAGE,
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
    table,
    text,
    values,
)
from tests.making_sources import TARGET, file_of, on, profile, square


def gmt(genes: Sequence[str] = FEATURES[:4]) -> str:
    return "SET1\tfirst\t" + "\t".join(genes) + "\n"


def nan_in_profile(folder: Path) -> list[str]:
    lines = table(values(4)).splitlines()
    lines[2] = "gene2,1,NA,3,4,5,6"
    return on(folder, f"x=profile:{text(folder, chr(10).join(lines), 'p.csv')}")


def damaged_gzip(folder: Path) -> list[str]:
    raw(folder, gzip.compress(gmt().encode() * 1), "sets.gmt.gz")
    return on(folder, f"x=genes:{cut(folder / 'sets.gmt.gz')}")


def quantile_of_sparse(folder: Path) -> list[str]:
    from scipy.sparse import csr_matrix

    annotated(csr_matrix(values().T), FEATURES, SAMPLES).write_h5ad(folder / "p.h5ad")
    return on(folder, f"x=profile:{folder / 'p.h5ad'},transform=quantile")


def partial_labels(mode: str, count: int = 4) -> Make:
    def make(folder: Path) -> list[str]:
        spec = labels(folder, AB[:count], SAMPLES[:count])
        return on(folder, f"x=labels:{spec}", more=["--samples", mode])

    return make


def learned_on_some(mode: str) -> Make:
    """Weights that are learned with labels, which two samples lack."""

    def make(folder: Path) -> list[str]:
        spec = labels(folder, AB[:4], SAMPLES[:4])
        more = ["--weights", "alignf", "--labels", spec, "--samples", mode]
        return on(folder, TARGET, f"x=profile:{profile(folder)}", more=more)

    return make


def array_of_other_size(folder: Path) -> list[str]:
    np.save(folder / "S.npy", kernel(4))
    return on(folder, f"x=similarity:{folder / 'S.npy'}")


SOURCES = [
    bad(
        "source: no common sample",
        lambda f: on(f, f"x=profile:{profile(f, [f'p{i}' for i in range(N)])}"),
        "p.csv",
        "source x; none of the 6 samples; p0; s1; rows=samples",
    ),
    bad(
        "source: some samples are not in it",
        lambda f: on(f, f"x=profile:{profile(f, SAMPLES[:4])}"),
        "p.csv",
        "2 of 6 samples have no place in source x; s5, s6; intersect; union",
    ),
    bad(
        "source: samples of no source under union",
        lambda f: on(f, f"x=profile:{profile(f, SAMPLES[:4])}", more=["--samples", "union"]),
        "s5, s6",
        "2 of 6 samples are in no source; target:",
    ),
    bad(
        "source: one common sample",
        lambda f: on(
            f,
            f"x=profile:{profile(f, ['s1', 's2'])}",
            f"y=profile:{profile(f, ['s2', 's3'], 'q.csv')}",
            more=["--samples", "intersect"],
        ),
        "in source x and a place in source y",
        "1 of the 6 samples can be used; too few",
    ),
    bad(
        "source: no such file",
        lambda f: on(f, f"x=profile:{f / 'no.csv'}"),
        "no.csv",
        "no such file",
    ),
    bad(
        "source: no such gene list",
        lambda f: on(f, f"x=genes:{f / 'no.txt'}"),
        "no.txt",
        "no such file",
    ),
    bad("source: a folder", lambda f: on(f, f"x=genes:{f}"), "folder", "not a list of genes"),
    bad("source: an empty file", file_of("genes", "", "g.txt"), "g.txt", "empty"),
    bad("source: an empty edge list", file_of("interactions", "", "e.tsv"), "e.tsv", "empty"),
    bad("source: empty labels", file_of("labels", "", "l.tsv"), "l.tsv", "empty"),
    bad("source: an empty hierarchy", file_of("hierarchy", "", "h.tsv"), "h.tsv", "empty"),
    bad("source: empty terms", file_of("terms", "", "t.csv"), "t.csv", "empty"),
    bad(
        "source: a binary file",
        lambda f: on(f, f"x=genes:{raw(f, bytes(range(256)) * 8, 'g.txt')}"),
        "g.txt",
        "binary; not a list of genes",
    ),
    bad(
        "source: another format",
        lambda f: on(f, f"x=interactions:{h5ad(f, 'e.h5ad')}"),
        "e.h5ad",
        "HDF5; list of edges",
    ),
    bad("source: damaged gzip", damaged_gzip, "sets.gmt.gz", "cut off or damaged"),
    bad(
        "source: missing value in a profile",
        nan_in_profile,
        "p.csv",
        "source x; gene2; ,missing=mean",
    ),
    bad(
        "source: negative values under log1p",
        lambda f: on(
            f,
            f"x=profile:{text(f, table(-values(4)), 'p.csv')},transform=log1p",
        ),
        "p.csv",
        "log1p; source x",
    ),
    bad(
        "source: label column that is not there",
        lambda f: on(f, f"x=labels:{labels(f, AB)}:tisue"),
        "labels.tsv",
        "'tisue'; tissue",
    ),
    bad(
        "source: obs of a CSV",
        lambda f: on(f, "x=labels:obs:tissue"),
        "good.csv",
        "obs:; h5ad",
    ),
    bad(
        "source: obs key that is not there",
        lambda f: ["rank", h5ad(f), "--method", "msfs", "--source", "x=labels:obs:organ"],
        "m.h5ad",
        "'organ'; tissue",
    ),
    bad(
        "source: obsp of a CSV",
        lambda f: on(f, "x=similarity:obsp:connectivities"),
        "good.csv",
        "obsp:; h5ad",
        USAGE,
    ),
    bad(
        "source: obsm of a CSV",
        lambda f: on(f, "x=profile:obsm:X_pca"),
        "good.csv",
        "obsm:; h5ad",
        USAGE,
    ),
    bad(
        "source: components of obsm",
        lambda f: on(f, "x=profile:obsm:X_pca,similarity=knn,components=2"),
        "x",
        "components; no effect; obsm:X_pca",
        USAGE,
    ),
    bad(
        "source: quantile of sparse cells",
        quantile_of_sparse,
        "source x",
        "quantile; dense; median",
    ),
    bad(
        "source: samples without a label, refused",
        partial_labels("error"),
        "labels.tsv",
        "2 of 6 samples have no place in source x; s5, s6",
    ),
    bad(
        "source: samples without a label, in no source",
        partial_labels("union"),
        "s5, s6",
        "in no source",
    ),
    bad(
        "source: a single label, intersected",
        partial_labels("intersect", 1),
        "source x",
        "1 of the 6 samples can be used",
    ),
    bad(
        "weights: samples without a label, refused",
        learned_on_some("error"),
        "labels.tsv",
        "2 of 6 samples have no label; s5, s6; intersect",
    ),
    bad(
        "weights: samples without a label under union",
        learned_on_some("union"),
        "labels.tsv",
        "2 of 6 samples have no label; s5, s6; intersect",
    ),
    bad(
        "source: similarity of other samples",
        lambda f: on(f, f"x=similarity:{square(f, kernel(), [f'p{i}' for i in range(N)])}"),
        "S.csv",
        "none of the 6 samples; p0; s1",
    ),
    bad(
        "source: similarity that is not symmetric",
        lambda f: on(
            f,
            f"x=similarity:{square(f, changed(kernel(), (1, 3), 9.0, both=False), SAMPLES)}",
        ),
        "S.csv",
        "source x; not symmetric; s2; s4",
    ),
    bad(
        "source: similarity that is a distance",
        lambda f: on(f, f"x=similarity:{square(f, -np.eye(N), SAMPLES)}"),
        "source x",
        "itself; distance",
    ),
    bad(
        "source: similarity of zeros",
        lambda f: on(f, f"x=similarity:{square(f, np.zeros((N, N)), SAMPLES)}"),
        "source x",
        "all similarities are 0",
    ),
    bad(
        "source: an isolated sample in the fused similarity",
        lambda f: on(f, f"x=similarity:{square(f, np.diag([1, 1, 1, 1, 1, 0]), SAMPLES)}"),
        "the fused similarity",
        "no positive degree; s6",
    ),
    bad(
        "source: another table for a similarity",
        lambda f: on(f, f"x=similarity:{good(f, 'S.csv')}"),
        "S.csv",
        "no id in common; gene1; s1",
    ),
    bad(
        "source: rows that are not samples",
        lambda f: on(f, f"x=profile:{profile(f)},rows=samples"),
        "p.csv",
        "none of the 6 samples; remove rows=samples",
    ),
    bad(
        "source: layer of a CSV",
        lambda f: on(f, f"x=profile:{profile(f)},layer=counts"),
        "p.csv",
        "layer; AnnData",
        USAGE,
    ),
    bad(
        "source: a damaged npz",
        lambda f: on(f, f"x=similarity:{raw(f, b'PK' + bytes(40), 'S.npz')}"),
        "S.npz",
        "cannot be read",
    ),
    bad(
        "source: a similarity without ids of another size",
        array_of_other_size,
        "S.npy",
        "(4, 4); 6 samples",
    ),
    bad(
        "source: more neighbours than samples",
        lambda f: on(f, "x=target:,similarity=knn,neighbors=6"),
        "source x",
        "neighbors 6; 6 samples; at most 5",
    ),
]
