"""ReliefF by scikit-rebate: makes ``rebate_values.json``.

``python -m tests.oracles.rebate_values`` writes the file again. It needs skrebate (0.8.4 made it),
which the tests do not: they read the file. scikit-rebate weights all classes of misses alike, as
ReliefF does where classes are equal or where there are two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

VALUES = Path(__file__).with_name("rebate_values.json")
NEIGHBORS = 4
SIZES = (12, 12), (7, 17), (8, 8, 8)


def data(sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Classes of these sizes, and eight features, two of which follow them."""
    rng = np.random.default_rng(7)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(5, 2, (len(codes), 8))
    X[:, :2] += codes[:, None]
    return X.round(4), codes


def main() -> None:
    """Write the file."""
    from skrebate import ReliefF

    made: list[dict[str, Any]] = []
    for sizes in SIZES:
        X, codes = data(sizes)
        scores = ReliefF(n_neighbors=NEIGHBORS).fit(X.copy(), codes).feature_importances_
        made.append({"X": X.tolist(), "codes": codes.tolist(), "scores": scores.tolist()})
    VALUES.write_text(json.dumps(made).replace("], [", "],\n[") + "\n")


if __name__ == "__main__":
    main()
