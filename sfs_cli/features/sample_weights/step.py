"""The work of ``--sample-weights``: methods find the weights in `RunContext.sample_weights`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.features.step import Pairs, Step
from sfs_cli.logs import Messages
from sfs_cli.run.cohort import Cohort
from sfs_cli.run.load import Run
from sfs_cli.run.rank import RankResult


class WeightStep(Step):
    """Says where the weights are from, and how many samples take no part."""

    graph_copies = 1  # the weighted graph

    def prepare(self, cohort: Cohort, memory: int, log: Messages) -> Cohort:
        """Give the samples their weights."""
        (column,) = cohort.columns["sample_weights"]
        return replace(cohort, weights=np.array([column.values[s] for s in cohort.samples]))

    def find(self, run: Run, found: RankResult) -> None:
        """Add the sum of the weights, and the number of samples of weight 0."""
        assert run.cohort.weights is not None
        facts: dict[str, Any] = {
            "from": self.config.sample_weights,
            "sum": float(run.cohort.weights.sum()),
            "zero": int(run.columns.idle(run.opened.matrix.ids.samples).sum()),
        }
        if "sample_weights" in run.taken:
            facts["column"] = run.taken["sample_weights"]
        found.facts["input"]["sample_weights"] = facts

    @staticmethod
    def input(found: dict[str, Any]) -> Pairs:
        """Return where the weights are from, and their sum."""
        zero = f"; {found['zero']:,} samples have weight 0" if found["zero"] else ""
        return [("Sample weights", f"{found['from']}, sum {found['sum']:.6g}{zero}")]


STEP = WeightStep
