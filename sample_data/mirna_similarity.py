"""Write a sample similarity made of the miRNA profile: an example of a graph of one's own.

usage: python sample_data/mirna_similarity.py FILE.tsv
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd


def main() -> None:
    profile = pd.read_csv(Path(__file__).parent / "mirna.csv", index_col=0)
    values = profile.to_numpy().T
    square = (values**2).sum(axis=1)
    distance = np.maximum(square[:, None] + square - 2 * values @ values.T, 0)
    np.fill_diagonal(distance, 0)
    delta = np.median(np.sqrt(distance[np.triu_indices(len(values), 1)]))
    similarity = np.exp(-(distance + distance.T) / (4 * delta**2))
    pd.DataFrame(similarity, profile.columns, profile.columns).to_csv(
        sys.argv[1], sep="\t", index_label="sample"
    )


if __name__ == "__main__":
    main()
