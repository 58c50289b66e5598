"""Files that are little on the disk and much in memory."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import partial

import numpy as np

from tools.fuzz.cases import Case
from tools.fuzz.hostile_words import (
    RANK,
    TOO_MUCH,
    npy_header,
    npy_of,
    write_made,
    zip_of,
)


def bombs() -> Iterator[Case]:
    """Little on the disk, much in memory."""
    line = b"id," + b"a" * (300 << 20)
    header = b"id,s1,s2,s3\n"
    rows = b"".join(b"g%d,%d,2,7\n" % (i, i) for i in range(50))
    for name, files, command in (
        (
            "a line of 300 MB",
            {"m.csv.gz": partial(gzip.compress, line, 1)},
            RANK.format("m.csv.gz"),
        ),
        (
            "a row of 300 MB",
            {"m.csv.gz": lambda: gzip.compress(header + rows + b"g,1,2," + b"1" * (300 << 20), 1)},
            RANK.format("m.csv.gz"),
        ),
        (
            "an id of 20 MB",
            {"m.csv": lambda: header + rows + b"x" * (20 << 20) + b",1,2,3\n"},
            RANK.format("m.csv") + " --out out",
        ),
        (
            "a sample of 20 MB",
            {"m.csv": lambda: header.replace(b"s2", b"x" * (20 << 20)) + rows},
            RANK.format("m.csv"),
        ),
        (
            "an npz of zeros",
            {"S.npz": lambda: zip_of({"dense.npy": npy_of(np.zeros((14000, 14000)))})},
            "rank clean.csv --method spec --similarity-file S.npz",
        ),
        (
            "an npy that declares 8 TB",
            {"S.npy": lambda: npy_header("(1000000, 1000000)")},
            "rank clean.csv --method spec --similarity-file S.npy",
        ),
        (
            "a set of 300 MB",
            {"g.gmt": lambda: b"A\tx\t" + b"gene1\t" * (50 << 20)},
            "rank clean.csv --method msfs --source x=genes:g.gmt",
        ),
        (
            "labels of 300 MB",
            {"l.tsv.gz": lambda: gzip.compress(b"sample\tx\ns1\t" + b"a" * (300 << 20), 1)},
            "rank clean.csv --method f-test --labels l.tsv.gz",
        ),
        (
            "300,000 classes",
            {
                "l.tsv": lambda: (
                    b"sample\tx\n" + b"".join(b"s%d\tc%d\n" % (i, i) for i in range(300_000))
                )
            },
            "rank clean.csv --method f-test --labels l.tsv",
        ),
        (
            "an exponential list of aliases",
            {"run.yaml": _laughs},
            "rank --config run.yaml",
        ),
        (
            "a configuration of 100 MB",
            {"run.yaml": lambda: b"matrix: clean.csv\ntitle: " + b"x" * (100 << 20)},
            "rank --config run.yaml",
        ),
        (
            "a ranking of 200 MB in one line",
            {"a.json.gz": lambda: gzip.compress(b'[{"feature": "' + b"x" * (200 << 20), 1)},
            "aggregate a.json.gz ranking.tsv",
        ),
        (
            "a tree 200,000 deep",
            {"h.nwk": lambda: b"(" * 200_000 + b"s1" + b",x)" * 200_000 + b";"},
            "rank clean.csv --method msfs --source x=hierarchy:h.nwk",
        ),
        (
            "a path 100,000 deep",
            {"h.tsv": lambda: b"sample\tpath\ns1\t" + b"a/" * 100_000 + b"x\ns2\ta/b\n"},
            "rank clean.csv --method msfs --source x=hierarchy:h.tsv",
        ),
        (
            "mtx that declares a matrix of 10^18",
            {
                "matrix.mtx": lambda: (
                    b"%%MatrixMarket matrix coordinate integer general\n"
                    b"1000000000 1000000000 1000000000000\n1 1 1\n"
                ),
                "features.tsv": lambda: b"g1\n",
                "barcodes.tsv": lambda: b"c1\n",
            },
            RANK.format("matrix.mtx"),
        ),
        (
            "gct that declares 10^12 rows",
            {
                "m.gct": lambda: (
                    b"#1.2\n1000000000000\t3\nName\tDescription\ta\tb\tc\ng\tx\t1\t2\t3\n"
                )
            },
            RANK.format("m.gct"),
        ),
    ):
        yield Case(
            f"bomb: {name}",
            "bombs",
            command,
            partial(write_made, files),
            codes=TOO_MUCH,
            apart=True,
        )


def _laughs() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    return "\n".join([*lines, "matrix: clean.csv"]).encode()
