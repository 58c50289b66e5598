"""The work of ``--markers``: tests of each class against the rest, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.matrix import DOUBLE, Block, NonZeros
from sfs_cli.errors import listed
from sfs_cli.features import doubts_about_samples
from sfs_cli.features.classes.step import compared_classes
from sfs_cli.features.step import Step
from sfs_cli.methods.markers import MarkerTests
from sfs_cli.methods.shared import SIGNIFICANT
from sfs_cli.ranking.false_discovery import q_values
from sfs_cli.report.model import Table
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.needs import Shape
from sfs_cli.run.rank import RankResult
from sfs_cli.store.transforms import doublings
from sfs_cli.tables import header

if TYPE_CHECKING:
    import pandas as pd

MARKERS = "tests of classes, for --markers"
TABLE = "markers.tsv"
BEST = 10
"""Markers of each class that ``run.json`` and the report list."""
HELD = 120
"""Bytes of a feature and class that are held: what is measured, before and after it is joined."""
_LEAST = 1e-9
"""What scanpy adds to means before it divides them."""


class MarkerStep(Step):
    """Tests each class against all other samples, in one pass; zeros that are not stored stay so.

    Attributes
    ----------
    tests : MarkerTests
        The tests.
    classes, features : ndarray of str, shapes (c,) and (l,)
        The names of the classes, and of the features that take part.
    taken : ndarray of int, shape (l,)
        Their positions in the matrix.
    best_first : ndarray of int, shape (l, c)
        Which of them are the best of each class, the best first.
    numbers : dict of str to ndarray, shape (l, c)
        The other columns of markers.tsv.
    """

    downloads = ((TABLE, "the markers of each class"),)

    def held(self, shape: Shape) -> int:
        """Return the bytes of the tests of all features and classes."""
        return HELD * shape.m * shape.classes

    def check(self, run: Run) -> None:
        """Refuse classes that cannot be tested."""
        context = run.context
        codes = np.unique(context.required_labels.codes, return_inverse=True)[1]
        blocks = np.zeros(context.n) if context.blocks is None else context.blocks
        self.tests = MarkerTests(codes, str(self.config.markers), context.basis, blocks)

    def find(self, run: Run, found: RankResult) -> None:
        """Test all features that take part, and order them for each class.

        One that does not vary has the p-value 1 and counts among the tests, as in scanpy.
        """
        from scipy.sparse import csr_array

        tests = self.tests
        # the values as they are: the tests take covariates and blocks out, and zeros stay zeros
        view = run.matrix.adjusted(None)

        def task(block: Block | NonZeros) -> tuple[np.ndarray, ...]:
            values = csr_array(block.values) if isinstance(block, Block) else block.as_rows()
            measured = tests.measure(values)
            out = block.left_out
            return np.zeros(len(measured[0]), int) if out is None else out, *measured

        # shards do not share this pass: it comes when the scores are there
        engine = replace(run.context.engine.at(MARKERS), source=view, parts=None)
        engine = replace(engine, nonzeros=view.keeps_zeros)
        out, *measured = engine.columns(task, DOUBLE)
        self.taken = np.flatnonzero(out == 0)
        statistic, p, mean, rest, *shares = (each[self.taken] for each in measured)
        q = np.apply_along_axis(q_values, 0, p)
        steps = run.matrix.steps or ("log1p",) * ("log1p" in run.opened.facts)
        numbers = statistic, p, q, fold_changes(mean, rest, steps), mean, rest, *shares
        self.numbers = dict(zip(header(TABLE)[3:], numbers))
        if np.isnan(numbers[3]).all():
            run.log.note(
                "log2 fold changes of markers are NaN: neither --transform nor uns['log1p'] of X "
                "says that the values are logarithms (counts: --transform median,log1p)"
            )
        self.best_first = np.argsort(-statistic, axis=0, kind="stable")
        self.classes = np.array(compared_classes(run), object)
        self.features = np.array(list(run.matrix.ids.features), object)[self.taken]
        if "q_value" not in found.ranking.extra:  # whose test warns
            for doubt in doubts_about_samples(found.facts):
                tell(run, doubt.guard, doubt.text)
        significant = ((q <= SIGNIFICANT) & (statistic > 0)).sum(axis=0)
        best = self.features[self.best_first[:BEST]]
        found.facts["markers"] = {"test": self.config.markers, "features": len(self.taken)} | {
            "classes": {
                name: {"significant": int(significant[k]), "best": best[:, k].tolist()}
                for k, name in enumerate(self.classes)
            }
        }

    def written(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of each class that are written: all, or the first of ``--top``."""
        import pandas as pd

        for k, rows in enumerate(self.best_first[: self.config.top].T):
            texts = {"class": self.classes[k], "feature": self.features[rows]}
            numbers = {name: each[rows, k] for name, each in self.numbers.items()}
            yield pd.DataFrame({**texts, "rank": np.arange(1, len(rows) + 1), **numbers})

    def writers(self) -> dict[str, Callable[[Path], None]]:
        """Return what writes the table of all classes, one after the other."""
        from sfs_cli.io.results.writers import DIGITS

        how: Any = {"sep": "\t", "na_rep": "NaN", "float_format": f"%.{DIGITS}g"}

        def write(path: Path) -> None:
            with path.open("w", encoding="utf-8", newline="") as file:
                for k, table in enumerate(self.written()):
                    table.to_csv(file, index=False, header=not k, **how)

        return {TABLE: write}

    def members(self, names: Sequence[str]) -> dict[str, object]:
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

    @staticmethod
    def tables(facts: dict[str, Any]) -> list[Table]:
        """Return the best markers of each class."""
        rows = [
            (name, each["significant"], listed(each["best"], BEST))
            for name, each in facts["classes"].items()
        ]
        note = f"Each class against all other samples ({facts['test']}), {facts['features']:,} "
        note += f"features: how many are higher in it with a q-value of {SIGNIFICANT:g} or less."
        columns = ("class", "significant", "best")
        return [Table(heading="Markers of each class", columns=columns, rows=rows, note=note)]


STEP = MarkerStep


def fold_changes(mean: np.ndarray, rest: np.ndarray, steps: tuple[str, ...]) -> np.ndarray:
    """Return log2 fold changes of means of classes and rests, both of one shape.

    After ``log1p`` they are those of scanpy, ``log2((e^mean - 1 + 1e-9) / (e^rest - 1 + 1e-9))``;
    after other logarithms differences of the means. NaN where nothing says what the values are.
    """
    if steps and steps[-1] == "log1p":
        return np.log2((np.expm1(mean) + _LEAST) / (np.expm1(rest) + _LEAST))
    unit = doublings(steps)
    return (mean - rest) * (np.nan if unit is None else unit)
