"""The tests of each class against all other samples, as tables (``--markers``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.options import RankConfig

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Markers:
    """The tests of each class against all other samples.

    Attributes
    ----------
    config : RankConfig
        Of the run.
    classes, features : ndarray of str, shapes (c,) and (l,)
        The names of the classes, and of the features that take part.
    taken : ndarray of int, shape (l,)
        Their positions in the matrix.
    best_first : ndarray of int, shape (l, c)
        Which of them are the best of each class, the best first.
    numbers : dict of str to ndarray, shape (l, c)
        The other columns of markers.tsv.
    """

    config: RankConfig
    classes: np.ndarray
    features: np.ndarray
    taken: np.ndarray
    best_first: np.ndarray
    numbers: dict[str, np.ndarray]

    def written(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of each class that are written: all, or the first of ``--top``."""
        import pandas as pd

        for k, rows in enumerate(self.best_first[: self.config.top].T):
            texts = {"class": self.classes[k], "feature": self.features[rows]}
            numbers = {name: each[rows, k] for name, each in self.numbers.items()}
            yield pd.DataFrame({**texts, "rank": np.arange(1, len(rows) + 1), **numbers})

    def write(self, path: Path) -> None:
        """Write the table of all classes, one after the other."""
        from sfs_cli.io.results.writers import DIGITS

        how: Any = {"sep": "\t", "na_rep": "NaN", "float_format": f"%.{DIGITS}g"}
        with path.open("w", encoding="utf-8", newline="") as file:
            for k, table in enumerate(self.written()):
                table.to_csv(file, index=False, header=not k, **how)

    def to_uns(self, names: Sequence[str]) -> dict[str, object]:
        """Return ``rank_genes_groups`` as ``scanpy.tl.rank_genes_groups`` writes it."""
        import pandas as pd

        config, named = self.config, np.array(names, object)[self.taken]
        order = self.best_first[: config.top]

        def records(values: np.ndarray, kind: str) -> Any:
            kinds = [(str(name), kind) for name in self.classes]
            return np.rec.array(list(map(tuple, values)), dtype=kinds)

        columns = {"statistic": "f4", "p_value": "f8", "q_value": "f8", "log2_fold_change": "f4"}
        keys = "scores", "pvals", "pvals_adj", "logfoldchanges"
        found: dict[str, Any] = {
            key: records(np.take_along_axis(self.numbers[column], order, axis=0), kind)
            for key, (column, kind) in zip(keys, columns.items())
        }
        shares = {"pts": "share", "pts_rest": "share_rest"}
        found |= {
            key: pd.DataFrame(self.numbers[column], named, self.classes)
            for key, column in shares.items()
        }
        params = {
            "groupby": str(config.labels).rpartition(":")[2],
            "reference": "rest",
            "method": {"welch": "t-test"}.get(str(config.markers), config.markers),
            "use_raw": config.of_raw,
            "corr_method": "benjamini-hochberg",
        }
        params |= {} if config.layer is None or config.of_raw else {"layer": config.layer}
        return {
            "rank_genes_groups": {"params": params, "names": records(named[order], "O"), **found}
        }
