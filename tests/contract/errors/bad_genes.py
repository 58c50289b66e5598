"""Sources about genes, and hierarchies, that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.making_commands import (
    FEATURES,
    SAMPLES,
    USAGE,
    bad,
    changed,
    kernel,
    table,
    text,
    values,
)
from tests.making_sources import file_of, on, square

GAF = "\t".join(["DB", "ID1", "gene1", "", "GO:1", "PMID:1", "IDA", *[""] * 8])


def gmt(genes: Sequence[str] = FEATURES[:4]) -> str:
    return "SET1\tfirst\t" + "\t".join(genes) + "\n"


def edges(pairs: Sequence[tuple[str, str]], score: str = "0.5") -> str:
    return "gene_a\tgene_b\tscore\n" + "".join(f"{a}\t{b}\t{score}\n" for a, b in pairs)


def not_symmetric(folder: Path) -> list[str]:
    S = changed(kernel(4), (0, 2), 0.9, both=False)
    return on(folder, f"x=feature-similarity:{square(folder, S, FEATURES[:4])}")


def with_map(folder: Path, content: str) -> list[str]:
    source = f"x=genes:{text(folder, 'P1' + chr(10) + 'P2' + chr(10), 'genes.txt')}"
    return on(folder, source, more=["--id-map", text(folder, content, "map.tsv")])


def few_found(folder: Path, *more: str) -> list[str]:
    genes = "\n".join(["gene1", *(f"X{i}" for i in range(30))])
    matrix = text(folder, table(values(20), [f"gene{i}" for i in range(20)]), "wide.csv")
    source = f"x=genes:{text(folder, genes, 'genes.txt')}"
    return ["rank", matrix, "--method", "msfs", "--source", source, *more]


GENES = [
    bad(
        "genes: a set without genes",
        file_of("genes", "SET1\tfirst\t\n", "s.gmt"),
        "s.gmt",
        "line 1; SET1; no genes",
    ),
    bad(
        "genes: a short line of GMT",
        file_of("genes", "SET1\tfirst\n", "s.gmt"),
        "s.gmt",
        "line 1; 2 fields",
    ),
    bad(
        "genes: unknown set",
        file_of("genes", gmt(), "s.gmt", part=":SET9"),
        "s.gmt",
        "'SET9'; SET1",
    ),
    bad(
        "genes: a name that ends as a weight does",
        file_of("genes", "SET@5\tx\tgene1\tgene2\n", "s.gmt", part=":SET@5"),
        "s.gmt",
        "'SET'; SET@5; NAME@5@1",
    ),
    bad(
        "genes: all in a single line",
        file_of("genes", "gene1, gene2, gene3\n", "g.txt"),
        "g.txt",
        "line 1; single line of 3 fields; one gene id in each line",
    ),
    bad(
        "genes: sets under another name",
        file_of("genes", "SET1\thttp://x\tgene1\tgene2\n", "s.txt"),
        "s.txt",
        "gene sets; ends in .gmt",
    ),
    bad(
        "terms: annotations under another name",
        file_of("terms", f"!gaf-version: 2.2\n{GAF}\n", "a.txt"),
        "a.txt",
        "annotations; ends in .gaf",
    ),
    bad(
        "genes: an empty column of GMX",
        file_of("genes", "S1\tS2\nna\tna\ngene1\t\n", "s.gmx"),
        "s.gmx",
        "column 2; 'S2'; no genes",
    ),
    bad(
        "genes: a short line of GAF",
        file_of("genes", f"!gaf-version: 2.2\n{GAF}\nDB\tID2\tgene2\n", "a.gaf"),
        "a.gaf",
        "line 3; 3 columns",
    ),
    bad(
        "terms: a short line of GAF",
        file_of("terms", f"{GAF}\nDB\tID2\n", "a.gaf"),
        "a.gaf",
        "line 2; 2 columns",
    ),
    bad(
        "genes: no annotation of that evidence",
        file_of("genes", GAF + "\n", "a.gaf", ",evidence=IMP"),
        "a.gaf",
        "IDA 1",
    ),
    bad(
        "genes: unknown evidence",
        file_of("genes", GAF + "\n", "a.gaf", ",evidence=XYZ"),
        "XYZ",
        "IDA|known",
        USAGE,
    ),
    bad(
        "genes: evidence of a GMT",
        file_of("genes", gmt(), "s.gmt", ",evidence=IDA"),
        "s.gmt",
        "evidence has no effect; GAF",
        USAGE,
    ),
    bad(
        "genes: ids of a list",
        file_of("genes", "gene1\n", "g.txt", ",ids=id"),
        "g.txt",
        "ids has no effect; GAF",
        USAGE,
    ),
    bad(
        "terms: evidence of a matrix",
        file_of("terms", table(np.eye(4), samples=list("abcd")), "t.csv", ",evidence=IDA"),
        "t.csv",
        "evidence has no effect; GAF",
        USAGE,
    ),
    bad(
        "genes: none is a feature",
        file_of("genes", "X1\nX2\n", "g.txt"),
        "g.txt",
        "source x: none of 2 ids; X1; gene1; --id-map",
    ),
    bad(
        "genes: another case",
        file_of("genes", "GENE1\nGENE2\n", "g.txt"),
        "g.txt",
        "2 would be found; case",
    ),
    bad(
        "genes: fewer than a tenth",
        few_found,
        "genes.txt",
        "1 of 31 ids; X0; --allow-unmatched",
    ),
    bad(
        "genes: none is a feature, though allowed",
        lambda f: [*file_of("genes", "X1\n", "g.txt")(f), "--allow-unmatched"],
        "g.txt",
        "none of 1 id",
    ),
    bad(
        "id-map: no feature in it",
        lambda f: with_map(f, "a\tP1\nb\tP2\n"),
        "map.tsv",
        "none of the 2 pairs; a = P1; gene1",
    ),
    bad(
        "id-map: no gene in it",
        lambda f: with_map(f, "gene1\tQ1\ngene2\tQ2\n"),
        "genes.txt",
        "none of 2 ids; with the map; P1",
    ),
    bad(
        "id-map: three columns",
        lambda f: with_map(f, "gene1\tQ1\tz\n"),
        "map.tsv",
        "not clear which column holds the gene symbols; map.tsv:COLUMN; Q1, z",
    ),
    bad(
        "id-map: no such file",
        lambda f: [*file_of("genes", "gene1\n", "g.txt")(f), "--id-map", str(f / "no.tsv")],
        "no.tsv",
        "no such file",
    ),
    bad(
        "id-map of a source: no such file",
        lambda f: file_of("genes", "gene1\n", "g.txt", f",id-map={f / 'no.tsv'}")(f),
        "no.tsv",
        "no such file",
    ),
    bad(
        "interactions: seeds in a single line",
        lambda f: file_of(
            "interactions",
            edges([("gene1", "gene2")]),
            "e.tsv",
            f",seeds={text(f, 'gene1,gene2' + chr(10), 'seeds.txt')}",
        )(f),
        "seeds.txt",
        "single line; one gene id",
    ),
    bad(
        "interactions: columns with unknown names",
        file_of("interactions", "id\tx\ty\tz\n1\tgene1\tgene2\tp\n", "e.tsv"),
        "e.tsv",
        "line 1; id, x, y, z; gene_a",
    ),
    bad(
        "interactions: a short line of SIF",
        file_of("interactions", "gene1\tpp\tgene2\ngene3\tpp\n", "n.sif"),
        "n.sif",
        "line 2; 2 fields; SIF",
    ),
    bad(
        "interactions: all edges dropped",
        file_of("interactions", edges([("gene1", "gene1"), ("gene2", "gene2")]), "e.tsv"),
        "e.tsv",
        "no edge joins two different ids; gene_a; gene_b",
    ),
    bad(
        "interactions: all scores too low",
        file_of("interactions", edges([("gene1", "gene2")]), "e.tsv", ",min-score=0.9"),
        "e.tsv",
        "none of 1 edge; 0.9; lower min-score",
    ),
    bad(
        "interactions: min-score without scores",
        file_of("interactions", "gene_a\tgene_b\ngene1\tgene2\n", "e.tsv", ",min-score=0.9"),
        "e.tsv",
        "no scores",
    ),
    bad(
        "interactions: no seed interacts",
        lambda f: file_of(
            "interactions",
            edges([("gene1", "gene2")]),
            "e.tsv",
            f",seeds={text(f, 'gene7' + chr(10), 'seeds.txt')}",
        )(f),
        "seeds.txt",
        "none of the 1 seed; gene7; gene1",
    ),
    bad(
        "interactions: no such seeds",
        lambda f: file_of(
            "interactions", edges([("gene1", "gene2")]), "e.tsv", f",seeds={f / 'no.txt'}"
        )(f),
        "no.txt",
        "no such file",
    ),
    bad("feature-similarity: not symmetric", not_symmetric, "S.csv", "not symmetric; gene1; gene3"),
    bad(
        "feature-similarity: no two are alike",
        lambda f: on(f, f"x=feature-similarity:{square(f, np.eye(4), FEATURES[:4])}"),
        "S.csv",
        "no two features",
    ),
    bad(
        "feature-similarity: no pair in the matrix",
        file_of("feature-similarity", edges([("gene1", "X1"), ("gene2", "X2")]), "e.tsv"),
        "e.tsv",
        "source x; no two features of the matrix are similar",
    ),
    bad(
        "feature-similarity: negative",
        lambda f: on(
            f, "x=feature-similarity:" + square(f, changed(kernel(4), (0, 1), -1.0), FEATURES[:4])
        ),
        "S.csv",
        "negative; gene1; gene2",
    ),
    bad(
        "terms: neither 0 nor 1",
        lambda f: on(f, f"x=terms:{square(f, 2 * kernel(4), FEATURES[:4])}"),
        "S.csv",
        "gene1; 0|1",
    ),
    bad(
        "terms: no shared term",
        lambda f: on(
            f, "x=terms:" + text(f, table(np.eye(4).astype(int), samples=list("abcd")), "t.csv")
        ),
        "t.csv",
        "no two features; share a term",
    ),
]

HIERARCHIES = [
    bad(
        "hierarchy: Newick that does not parse",
        file_of("hierarchy", "((s1,s2),(s3,s4);\n", "t.nwk"),
        "t.nwk, character 17",
        "parentheses",
    ),
    bad(
        "hierarchy: Newick after its end",
        file_of("hierarchy", "((s1,s2),(s3,s4)); more\n", "t.nwk"),
        "t.nwk, character 20",
        "'more'; give one tree",
    ),
    bad(
        "hierarchy: depth 0",
        file_of("hierarchy", "(" + ",".join(SAMPLES) + ");\n", "t.nwk"),
        "t.nwk",
        "no two samples; deeper",
    ),
    bad(
        "hierarchy: empty component",
        file_of("hierarchy", "sample\tpath\n" + "".join(f"{s}\ta//b\n" for s in SAMPLES), "h.tsv"),
        "h.tsv",
        "line 2; empty component",
    ),
    bad(
        "hierarchy: unknown column",
        file_of("hierarchy", "sample\tpath\ns1\ta/b\ns2\ta/c\n", "h.tsv", part=":lineage"),
        "h.tsv",
        "'lineage'; path",
    ),
]
