"""The commands that write, each with the files it finds and those it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from tests.making import annotated, write_table

N, M = 48, 1200
SCRATCH = ("--scratch", "scratch")
SLOW = ("--transform", "cpm,rank", "--block-size", "40", "--threads", "1")
LABELS = ("--labels", "labels.tsv:tissue")


@dataclass(frozen=True)
class Job:
    """A command that is killed, and run again.

    Attributes
    ----------
    name : str
    words : tuple of str
        The command.
    before : tuple of tuples of str
        Commands that run first, undisturbed.
    keeps : bool
        Whether a command that is stopped keeps what it has done.
    reads : str
        An h5ad that it reads; empty if it reads none.
    """

    name: str
    words: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    keeps: bool = False
    reads: str = ""


PLAN = ("shard", "init", "plan", "m.csv", *SLOW, "--shards", "2")
SHARDS = tuple(("shard", "run", "plan", i, *SCRATCH) for _ in range(3) for i in "12")
RANKED = ("rank", "m.csv", "--method", "variance", "--out", "ranked")
FOLDS = ("--lengths", "5,10", "--splits", "2", "--repeats", "1")

JOBS = (
    Job("rank", ("rank", "m.csv", *SLOW, *SCRATCH, "--out", "out")),
    Job("rank --resume", ("rank", "m.csv", *SLOW, *SCRATCH, "--out", "out", "--resume"), (), True),
    Job(
        "rank --prefix",
        ("rank", "m.csv", *SLOW, *SCRATCH, "--out", "out", "--prefix", "a"),
        (("rank", "m.csv", "--method", "variance", "--out", "out", "--prefix", "b"),),
    ),
    Job(
        "rank --force",
        ("rank", "m.csv", *SLOW, *SCRATCH, "--out", "out", "--force", "--format", "csv"),
        (("rank", "m.csv", "--method", "variance", "--out", "out"),),
    ),
    Job(
        "rank --write-h5ad",
        ("rank", "m.h5ad", *SLOW, *SCRATCH, "--out", "deep/out", "--write-h5ad", "scored.h5ad"),
        reads="m.h5ad",
    ),
    Job(
        "rank --weights-out",
        (
            *("rank", "m.csv", "--method", "mrsf", "--select", "10", *LABELS, *SCRATCH),
            *("--out", "out", "--weights-out", "weights.parquet"),
        ),
    ),
    Job(
        "rank --stability",
        (
            *("rank", "m.csv", "--method", "spec", "--pvalues", "moments", "--stability", "4"),
            *(*SCRATCH, "--out", "out"),
        ),
    ),
    Job(
        "fuse",
        (
            *("fuse", "m.csv", "--source", "a=target:", "--source", "b=profile:m.h5ad"),
            *(*SCRATCH, "--out", "fused.npz"),
        ),
        reads="m.h5ad",
    ),
    Job("aggregate", ("aggregate", "a.tsv", "b.tsv", "--how", "rra", "--out", "out")),
    Job(
        "select",
        (
            *("select", "ranked", "--top", "30", "--matrix", "m.csv", "--write-matrix"),
            *("chosen.csv", "--out", "chosen"),
        ),
        (RANKED,),
    ),
    Job(
        "select of an h5ad",
        (
            *("select", "ranked", "--top", "30", "--matrix", "m.h5ad", "--write-matrix"),
            *("chosen.h5ad", "--out", "chosen"),
        ),
        (RANKED,),
        reads="m.h5ad",
    ),
    Job(
        "report",
        ("report", "ranked", "--title", "again", "--force", *SCRATCH),
        (RANKED,),
    ),
    Job(
        "report of an h5ad",
        ("report", "ranked", *SCRATCH, "--out", "deep/page.html"),
        (("rank", "m.h5ad", "--method", "spec", "--transform", "cpm,log1p", "--out", "ranked"),),
        reads="m.h5ad",
    ),
    Job(
        "evaluate",
        ("evaluate", "m.h5ad", *LABELS, "--method", "variance", *FOLDS, *SCRATCH, "--out", "out"),
        reads="m.h5ad",
    ),
    Job(
        "compare",
        (
            *("compare", "m.csv", *LABELS, "--method", "variance", "--method", "f-test"),
            *(*FOLDS, *SCRATCH, "--out", "out"),
        ),
    ),
    Job("convert", ("convert", "m.csv", "made.store", *SCRATCH)),
    Job("convert of an h5ad", ("convert", "m.h5ad", "made.store", *SCRATCH), reads="m.h5ad"),
    Job(
        "robustness",
        ("robustness", "m.csv", "--noise", "0.1,0.3", "--draws", "2", *SCRATCH, "--out", "out"),
    ),
    Job("shard init", PLAN, keeps=True),
    Job(
        "shard init of an h5ad",
        ("shard", "init", "plan", "m.h5ad", "--method", "variance", "--shards", "2"),
        reads="m.h5ad",
    ),
    Job("shard run", SHARDS[0], (PLAN,), True),
    Job("shard run of a later pass", SHARDS[2], (PLAN, *SHARDS[:2]), True),
    Job("shard merge", ("shard", "merge", "plan", *SCRATCH, "--out", "out"), (PLAN, *SHARDS)),
)


def write_inputs(folder: Path) -> None:
    """Write the files that the commands find."""
    rng = np.random.default_rng(5)
    X = rng.gamma(2.0, 3.0, (M, N)).round(2)
    write_table(folder / "m.csv", X)
    tissue = ["liver", "lung", "skin"] * (N // 3)
    rows = "".join(f"s{i}\t{t}\n" for i, t in enumerate(tissue))
    (folder / "labels.tsv").write_text(f"sample\ttissue\n{rows}")
    counts = rng.poisson(0.7, (N, M)).astype(np.float32)
    data = annotated(sp.csr_matrix(counts))
    data.obs = pd.DataFrame({"tissue": pd.Categorical(tissue)}, index=data.obs.index)
    data.write_h5ad(folder / "m.h5ad")
    for name in ("a.tsv", "b.tsv"):
        order = rng.permutation(M)
        lines = "".join(f"g{g}\t{M - i}\n" for i, g in enumerate(order))
        (folder / name).write_text(f"feature\tscore\n{lines}")


def led_in_a_circle(path: Path, made: Callable[[Path], Path], size: int) -> None:
    """Replace an h5ad by one in which the library loops, so large that it may do so for long."""
    made(path)
    with path.open("ab") as file:
        file.truncate(size)
