"""A matrix of which much is known, to rank through the command line."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd

from tests.cli.making import table, text

N, M = 40, 160


SAMPLES = [f"s{i}" for i in range(N)]


GENES = [f"g{i}" for i in range(M)]


CLASSES = np.arange(N) % 3


def write_study(made: Path) -> None:
    """Write a matrix and what is known of it."""
    rng = np.random.default_rng(4)
    X = rng.normal(5, 2, (M, N)) + 2 * (rng.random((M, 1)) < 0.2) * CLASSES
    text(made, table(X.round(3), GENES, SAMPLES), "x.csv")
    obs, var = pd.DataFrame(index=SAMPLES), pd.DataFrame(index=GENES)
    ad.AnnData(X.round(3).T, obs=obs, var=var).write_h5ad(made / "x.h5ad")
    P = rng.normal(size=(25, N)) + 2 * (rng.random((25, 1)) < 0.5) * CLASSES
    order = rng.permutation(N)
    names = [f"p{i}" for i in range(25)]
    text(made, table(P[:, order].round(3), names, [SAMPLES[i] for i in order]), "p.csv")
    some = np.sort(order[: N - 9])
    text(made, table(P[:, some].round(3), names, [SAMPLES[i] for i in some]), "some.csv")
    rows = "".join(f"{s}\tc{c}\n" for s, c in zip(SAMPLES, CLASSES))
    text(made, "sample\ttissue\n" + rows, "labels.tsv")
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
