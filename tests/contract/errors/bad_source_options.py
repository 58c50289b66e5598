"""Options about knowledge sources that are wrong or do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfs_cli.cli.app import run
from tests.making_commands import (
    AB,
    EXISTS,
    SAMPLES,
    USAGE,
    Bad,
    bad,
    good,
    h5ad,
    labels,
    text,
)
from tests.making_sources import TARGET, on, profile


def asked(
    id: str, words: str, *sources: str, more: Sequence[str] = (), name: str = "--source x"
) -> Bad:
    """Return a row for sources that are refused before a file is looked at."""
    return bad(id, lambda f: on(f, *sources, more=more), name, words, USAGE)


ASKED = [
    asked("source: unknown kind", "'profil'; did you mean profile", "x=profil:p.csv"),
    asked("source: unknown option", "'neighbours'; neighbors", "x=profile:p.csv,neighbours=3"),
    asked("source: no kind", "NAME=KIND:PATH", "profile", name="--source 'profile'"),
    asked("source: no path", "the path is missing", "x=profile:"),
    asked("source: no name", "not one word", "=profile:p.csv", name="source name"),
    asked("source: target with a path", "target takes no path; profile", "x=target:p.csv"),
    asked(
        "source: option of another kind",
        "min-score has no effect; profile; interactions",
        "x=profile:p.csv,min-score=3",
    ),
    asked(
        "source: transform of labels",
        "transform has no effect; labels",
        "x=labels:l.tsv,transform=log1p",
    ),
    asked("source: unknown transform", "'log3'; log2", "x=target:,transform=log3"),
    asked(
        "source: linear of Mahalanobis distances",
        "'linear'; similarity; rbf",
        "x=terms:t.csv,similarity=linear",
    ),
    asked(
        "source: option of another similarity",
        "beta has no effect; similarity=rbf",
        "x=target:,beta=2",
    ),
    asked(
        "source: components of Mahalanobis distances",
        "components has no effect; terms; profile",
        "x=terms:t.csv,similarity=knn,components=3",
    ),
    asked(
        "source: components of rbf",
        "components has no effect; similarity=rbf; knn",
        "x=target:,components=3",
    ),
    asked(
        "source: components of a word",
        "components; 'few'; none",
        "x=target:,similarity=knn,components=few",
    ),
    asked(
        "source: variable genes of no components",
        "variable-genes has no effect; components=none",
        "x=target:,similarity=knn,components=none,variable-genes=9",
    ),
    asked("source: option given twice", "twice", "x=target:,similarity=knn,similarity=rbf"),
    asked(
        "source: neighbors of a fraction",
        "neighbors='2.5'; whole number",
        "x=target:,similarity=knn,neighbors=2.5",
    ),
    asked(
        "source: weight after the options",
        "neighbors='3@2'; PATH@WEIGHT",
        "x=target:,similarity=knn,neighbors=3@2",
    ),
    asked("source: bandwidth of nothing", "bandwidth; 'wide'", "x=target:,bandwidth=wide"),
    asked(
        "source: two of one name",
        "two sources are named 'x'",
        "x=target:",
        "x=profile:p.csv",
        name="--source",
    ),
    asked("source: weight below zero", "-1; 0 or more", "x=target:@-1"),
    asked(
        "weights: below zero",
        "-2; from 0",
        "x=target:",
        "y=labels:l.tsv",
        more=["--weights", "1,-2"],
        name="weight",
    ),
    asked("weights: sum to zero", "sum to zero", "x=target:@0", "y=labels:l.tsv@0", name="weight"),
    asked(
        "weights: zeros",
        "sum to zero",
        "x=target:",
        "y=labels:l.tsv",
        more=["--weights", "0,0"],
        name="weight",
    ),
    asked(
        "weights: wrong number",
        "3 numbers for 2 sources",
        "x=target:",
        "y=labels:l.tsv",
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
        "no effect; --weights uniform",
        "x=target:@2",
        more=["--weights", "uniform"],
        name="source x",
    ),
    asked(
        "weights: alignf without labels",
        "needs --labels",
        "x=target:",
        "y=labels:l.tsv",
        more=["--weights", "alignf"],
        name="--weights alignf",
    ),
    asked(
        "weights: rkda without labels",
        "needs --labels",
        "x=target:",
        more=["--weights", "rkda"],
        name="--weights rkda",
    ),
    asked(
        "source: labels of the run that are not given",
        "needs --labels",
        "x=labels:",
        name="--source x",
    ),
    asked(
        "source: relieff without labels",
        "needs --labels",
        "x=target:,similarity=relieff",
        name="--source x",
    ),
    asked(
        "weights: snf and union",
        "every sample in every source",
        "x=target:",
        more=["--weights", "snf", "--samples", "union"],
        name="snf",
    ),
    asked(
        "fusion option of another learner",
        "no effect; --weights uniform; rkda, naml",
        "x=target:",
        more=["--fusion-lambda", "1"],
        name="--fusion-lambda",
    ),
    asked(
        "normalize by another norm",
        "'max'; frobenius",
        "x=target:",
        more=["--normalize", "max"],
        name="--normalize",
    ),
    asked(
        "source and similarity",
        "two sample graphs; similarity:FILE",
        "x=target:",
        more=["--similarity", "rbf"],
        name="--source",
    ),
    asked(
        "source and similarity file",
        "two sample graphs; similarity:FILE",
        "x=target:",
        more=["--similarity-file", "S.csv"],
        name="--source",
    ),
    asked(
        "source and neighbors",
        "no effect",
        "x=target:",
        more=["--neighbors", "3"],
        name="--neighbors",
    ),
    asked(
        "id-map without genes",
        "no effect; --collapse; sources about genes; interactions",
        "x=target:",
        more=["--id-map", "map.tsv"],
        name="--id-map",
    ),
    asked("msfs without sources", "source; --similarity-file", name="--source"),
    asked(
        "weights without sources",
        "no effect without --source",
        more=["--weights", "uniform", "--similarity-file", "S.csv"],
        name="--weights",
    ),
    asked(
        "then of another method",
        "'fisher'; spec",
        "x=target:",
        more=["--then", "fisher"],
        name="--then",
    ),
    *[
        bad(
            f"kogs: {id}",
            lambda f, s=sources, m=more: on(f, *s, more=m, method="kogs"),
            name,
            words,
            USAGE,
        )
        for id, sources, more, name, words in (
            ("one source", ["x=target:"], [], "ranking", "only one ranking; --source"),
            ("neither", [], [], "--method kogs", "either sources or members"),
            (
                "both",
                ["x=target:"],
                ["--members", "spec,variance"],
                "--method kogs",
                "either sources or members",
            ),
            ("one member", [], ["--members", "spec"], "ranking", "only one ranking"),
            (
                "learned weights",
                ["x=target:", "y=labels:l.tsv"],
                ["--weights", "statis"],
                "--weights statis",
                "no effect; --method kogs",
            ),
            (
                "union",
                ["x=target:", "y=labels:l.tsv"],
                ["--samples", "union"],
                "--samples union",
                "no effect; kogs; intersect; msfs",
            ),
            (
                "members and a learner",
                [],
                ["--members", "spec,variance", "--weights", "statis"],
                "--weights statis",
                "no effect; 2,1,1",
            ),
            (
                "unknown how",
                ["x=target:", "y=labels:l.tsv"],
                ["--how", "mean"],
                "--how",
                "'mean'; borda",
            ),
        )
    ],
    *[
        bad(
            f"sources: no graph in {method}",
            lambda f, m=method: on(f, "x=target:", method=m, more=["--labels", labels(f, AB)]),
            "--source",
            f"no effect; {method}; uses no graph",
            USAGE,
        )
        for method in ("variance", "fisher", "rfs")
    ],
]


def fused(folder: Path, out: str, *more: str, matrix: str | None = None) -> list[str]:
    return ["fuse", matrix or good(folder), "--source", TARGET, "--out", str(folder / out), *more]


def made_before(folder: Path) -> list[str]:
    assert run([*fused(folder, "S.npz"), "-q"]) == 0
    return fused(folder, "S.npz", "--normalize", "frobenius")


def of_some(folder: Path) -> list[str]:
    source = f"x=profile:{profile(folder, SAMPLES[:4])}"
    words = fused(folder, "out.h5ad", "--samples", "intersect", matrix=h5ad(folder))
    return [*words, "--source", source]


def under_a_file(folder: Path) -> list[str]:
    text(folder, "x", "file")
    return fused(folder, "file/S.npz")


FUSE = [
    bad("fuse: unknown suffix", lambda f: fused(f, "S.txt"), "S.txt", "'.txt'; .npz", USAGE),
    bad("fuse: output of another run", made_before, "S.npz", "exists; --force", EXISTS),
    bad("fuse: h5ad of a CSV", lambda f: fused(f, "S.h5ad"), "S.h5ad", "h5ad input; .npz", USAGE),
    bad(
        "fuse: over its input",
        lambda f: fused(f, "m.h5ad", "--force", matrix=h5ad(f)),
        "m.h5ad",
        "replace an input",
        USAGE,
    ),
    bad("fuse: h5ad of fewer samples", of_some, "out.h5ad", "4 of the 6 samples; .npz"),
    bad("fuse: below a file", under_a_file, "S.npz", "file, not a folder"),
    bad(
        "fuse: no sources",
        lambda f: ["fuse", good(f), "--out", str(f / "S.npz")],
        "source",
        "--source",
        USAGE,
    ),
    bad(
        "fuse: no such source",
        lambda f: [*fused(f, "S.npz"), "--source", f"x=genes:{f / 'no'}"],
        "no",
        "no such file",
    ),
]
