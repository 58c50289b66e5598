"""A matrix of which much is known, to rank through the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.making import annotated, table_text, write_labels
from tests.making_commands import text

N, M = 40, 160


SAMPLES = [f"s{i}" for i in range(N)]


GENES = [f"g{i}" for i in range(M)]


CLASSES = np.arange(N) % 3


def write_study(made: Path) -> None:
    """Write a matrix and what is known of it."""
    rng = np.random.default_rng(4)
    X = rng.normal(5, 2, (M, N)) + 2 * (rng.random((M, 1)) < 0.2) * CLASSES
    text(made, table_text(X.round(3), GENES, SAMPLES), "x.csv")
    annotated(X.round(3).T, GENES, SAMPLES).write_h5ad(made / "x.h5ad")
    P = rng.normal(size=(25, N)) + 2 * (rng.random((25, 1)) < 0.5) * CLASSES
    order = rng.permutation(N)
    names = [f"p{i}" for i in range(25)]
    text(made, table_text(P[:, order].round(3), names, [SAMPLES[i] for i in order]), "p.csv")
    some = np.sort(order[: N - 9])
    text(made, table_text(P[:, some].round(3), names, [SAMPLES[i] for i in some]), "some.csv")
    write_labels(made / "labels.tsv", CLASSES)
    text(made, "SET1\t\t" + "\t".join(GENES[:30]) + "\nSET2\t\t" + "\t".join(GENES[20:50]), "s.gmt")


def sources(folder: Path, *more: str, profile: str = "p.csv") -> list[str]:
    given = [
        "x=target:",
        f"p=profile:{folder / profile}",
        f"s=terms:{folder / 's.gmt'}",
        f"t=labels:{folder / 'labels.tsv'}",
        *more,
    ]
    return [word for source in given for word in ("--source", source)]
