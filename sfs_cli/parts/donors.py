"""Tests that count samples of one donor as independent (pseudoreplication).

Donors are those of ``--donors``, or of a column that is called so.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfs_cli.report.model import Section
from sfs_cli.run.guards import Doubt, unnamed_donors
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult


def count_donors(run: Run, found: RankResult) -> None:
    """Add to the facts how the samples are spread over donors and classes, where donors are known.

    Of the design, `column` is that of donors that no option names, `of_several_classes` counts the
    donors with samples of more than one class (as in pairs), `donors_by_classes` the donors in each
    class, and `adjusted` says whether ``--adjust`` takes the differences between donors out.
    """
    column, donors = None, None if run.config.donors is None else run.donors
    if donors is None and (unnamed := unnamed_donors(run)):
        column, donors = unnamed
    if donors is None:
        return
    known = np.zeros(run.context.n, int)
    if run.labels is not None:
        labels = run.labels.take(run.matrix.samples)  # an outcome as it was before --adjust
        known = np.unique(np.nan_to_num(labels.target), return_inverse=True)[1]
    pairs, count = np.unique(np.column_stack([donors, known]), axis=0), int(donors.max()) + 1
    found.facts["input"] |= {
        "donors": count,
        "donor_design": {
            "column": column,
            "donors": count,
            "of_several_classes": int(np.count_nonzero(np.bincount(pairs[:, 0]) > 1)),
            "donors_by_classes": len(pairs),
            "adjusted": run.design is not None and _explains(run.design.basis, donors),
        },
    }


def _explains(basis: np.ndarray, groups: np.ndarray) -> bool:
    """Tell whether a basis (r, n), beside the mean, explains which group each sample is of (n,)."""
    if len(basis) < groups.max():
        return False
    sizes = np.bincount(groups)
    # the squares of an indicator around its mean, and those of its projection
    sums = np.array([np.bincount(groups, row) for row in basis])
    return bool(np.allclose((sums**2).sum(axis=0), sizes * (1 - sizes / len(groups)), rtol=1e-6))


def section(facts: Mapping[str, Any]) -> Section:
    """Return what the page says of the donors, by the facts of the input."""
    return Section(input=[("Donors", f"{facts['donors']:,}")])


def doubt(facts: Mapping[str, Any]) -> Doubt | None:
    """Return why a test does not hold, by the facts of the input; None where it does."""
    design, samples = facts["donor_design"], facts["n_samples"]
    repeated, adjusted = design["donors_by_classes"] < samples, design["adjusted"]
    if design["donors"] == samples or (adjusted and not repeated):
        return None
    column = design.get("column")
    seen = (
        f"by {column}, " * bool(column)
        + f"the {samples:,} samples are of {design['donors']:,} donors, and "
    )
    if repeated:
        seen += "samples of one donor are not independent (pseudoreplication)"
        effect = "p-values and q-values can be far too small"
    else:
        seen += "the classes vary within donors: the test counts donor differences as noise"
        effect = (
            "p-values and q-values are conservative (too large) in balanced designs such as "
            "pairs, and may be too small in others"
        )
    ways = []
    donor = "DONOR"
    if column and column.startswith("obs:"):  # tables of labels have no cells to add up
        donor = shlex.quote(column.removeprefix("obs:"))
    if facts.get("pseudobulk") and not design["of_several_classes"]:
        ways.append(
            f"add up all cells of each donor (--pseudobulk {donor}), or test the samples of each "
            "cluster by themselves (a table of their labels alone: --labels FILE:COLUMN --samples "
            "intersect)"
        )
    elif not design["of_several_classes"]:
        ways.append(
            f"add up the cells (--pseudobulk {donor}, of AnnData) or average the samples of each "
            "donor"
        )
    elif repeated:
        ways.append(
            "add up the cells (--pseudobulk DONOR,CLASS, of AnnData) or average the samples of "
            "each donor and class (not across classes)"
        )
    if design["of_several_classes"] and not adjusted:
        ways.append(
            "compare within donors: --block with the column of the donors and --method t-test "
            "or f-test, which of two classes is the paired test"
        )
    remedy = ", and ".join(ways)
    return Doubt("donors", f"{seen}: {effect}; {remedy}", seen, remedy)
