"""Results of gseapy's prerank: makes ``preranked_values.tsv``.

``python -m tests.oracles.preranked_values`` writes the table again. It needs gseapy (1.3.1 made
it), which the tests do not: they read the table. A row holds the weight, the set, and gseapy's ES,
NES, p-value, FDR and leading edge (places in the list, from 0, with ``;`` between them). The list
and the sets are made by formulas, so that no generator of random numbers has to stay as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

TABLE = Path(__file__).with_name("preranked_values.tsv")
M, WEIGHTS, PERMUTATIONS = 1200, (0.5, 1.0, 2.0), 20_000
LEAST, MOST = 15, 500


class Row(NamedTuple):
    """What gseapy says of a set."""

    weight: float
    name: str
    es: float
    nes: float
    p_value: float
    q_value: float
    leading_edge: list[int]


def metric() -> np.ndarray:
    """Numbers from 4.2 down to -3, more of them above 0 than below."""
    u = (np.arange(M) + 0.5) / M
    return 2.2 * (0.55 - u) + 8 * (0.5 - u) ** 3 + 2 * (0.5 - u) ** 5


def sets() -> dict[str, list[int]]:
    """Sets of 15 to 300 genes: spread over the list, near one end, near both, in the middle."""
    made: dict[str, Iterable[int]] = {}
    for i, size in enumerate((15, 16, 25, 40, 40, 60, 90, 150, 220, 300)):
        # numbers of a linear congruence, which differ as long as there are fewer than M
        spread = [(7 + 31 * i + 421 * j) % M for j in range(size)]
        made[f"spread {i}"] = spread
        made[f"top {i}"] = {int(x**1.4 / M**0.4) for x in spread}
        made[f"bottom {i}"] = {M - 1 - int(x**1.3 / M**0.3) for x in spread}
        made[f"ends {i}"] = {x if x < M // 4 else M - 1 - x // 3 for x in spread}
        made[f"middle {i}"] = {M // 3 + 9 + x // 3 for x in spread}
    return {name: sorted(of) for name, of in made.items()}


def stored() -> list[Row]:
    """The rows of the table."""
    rows = []
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        weight, name, es, nes, p, q, edge = line.split("\t")
        places = [int(place) for place in edge.split(";")]
        rows.append(Row(float(weight), name, float(es), float(nes), float(p), float(q), places))
    return rows


def main() -> None:
    """Compute and write the table."""
    import gseapy
    import pandas as pd

    ranked = pd.Series(metric(), index=[f"g{i}" for i in range(M)])
    lines = []
    for weight in WEIGHTS:
        made = gseapy.prerank(
            rnk=ranked,
            gene_sets={name: [f"g{i}" for i in of] for name, of in sets().items()},
            min_size=LEAST,
            max_size=MOST,
            permutation_num=PERMUTATIONS,
            weight=weight,
            seed=1,
            threads=1,
            outdir=None,
            no_plot=True,
        )
        for _, row in made.res2d.sort_values("Term").iterrows():
            edge = row["Lead_genes"].replace("g", "")
            numbers = [row[of] for of in ("ES", "NES", "NOM p-val", "FDR q-val")]
            cells = [weight, row["Term"], *map(float, numbers)]
            lines.append("\t".join([*map(str, cells), edge]) + "\n")
    TABLE.write_text(
        "weight\tset\tes\tnes\tp_value\tq_value\tleading_edge\n" + "".join(lines), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
