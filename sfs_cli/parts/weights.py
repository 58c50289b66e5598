"""The work of ``--sample-weights``: methods find the weights in `RunContext.sample_weights`."""

from __future__ import annotations

from typing import Any

from sfs_cli.report.model import Section
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult


def tell_weights(run: Run, found: RankResult) -> None:
    """Add the sum of the weights, and the number of samples of weight 0."""
    assert run.cohort.weights is not None
    facts: dict[str, Any] = {
        "from": run.config.sample_weights,
        "sum": float(run.cohort.weights.sum()),
        "zero": int(run.columns.idle(run.opened.matrix.ids.samples).sum()),
    }
    if "sample_weights" in run.taken:
        facts["column"] = run.taken["sample_weights"]
    found.facts["input"]["sample_weights"] = facts


def section(found: dict[str, Any]) -> Section:
    """Return what the page says of the weights: where they are from, and their sum."""
    zero = f"; {found['zero']:,} samples have weight 0" if found["zero"] else ""
    text = f"{found['from']}, sum {found['sum']:.6g}{zero}"
    return Section(input=[("Sample weights", text)])
