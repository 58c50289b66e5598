"""The work of ``--adjust``: designs, and how much of the best features covariates explain."""

from __future__ import annotations

from typing import Any

from sfs_cli.errors import listed
from sfs_cli.parts.explained import explained_by, pairs, words
from sfs_cli.report.model import Section, Table
from sfs_cli.run.cohort import SHOWN
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult
from sfs_cli.store.adjust import Adjustment


def tell_unadjusted(run: Run) -> None:
    """Say which graphs come from other data and are not adjusted."""
    others = [s.spec.name for s in run.sources if s.spec.kind in ("profile", "similarity")]
    if run.coordinates is not None:
        others.append("the coordinates of the samples")
    if others:
        run.log.note(
            "--adjust takes the covariates out of the ranked features only, not out of the "
            f"similarities of samples by {listed(others)}"
        )
    if run.config.graph in ("file", "obsp"):
        where = run.config.similarity_file or run.config.similarity
        run.log.warn(
            "--adjust takes the covariates out of the features, but not out of a given graph: "
            f"the sample graph of {where}"
        )


def tell_explained(run: Run, found: RankResult) -> None:
    """Find how much of the best features the covariates explain, before and after.

    Of the facts, `rank` is that of the design matrix with its intercept, within batches the
    largest.
    """
    cohort = run.cohort
    before = run.matrix.adjusted(Adjustment(cohort.between) if cohort.parts else None)
    explained = explained_by(cohort.within, run, found.ranking, before, run.matrix)
    designs = [part.design for part in cohort.parts] or [cohort.design]
    found.facts["covariates"] = {
        "columns": cohort.covariates,
        "rank": max(design.rank for design in designs if design is not None),
        "explained": explained,
    }
    within = " within batches" if cohort.parts else ""
    run.log.note(
        f"{'the covariates' if run.config.adjust else 'the blocks'} explain {words(explained)}"
        f"{within} before adjusting, {explained['after']:.1%} after (as many random columns: "
        f"{explained['by_chance']:.1%})"
    )


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of covariates: what they are, and how much they explain."""
    rows = []
    for column in facts["columns"]:
        name = f"{column['name']} in {column['batch']}" if "batch" in column else column["name"]
        levels = "" if column["levels"] is None else listed(column["levels"], SHOWN)
        rows.append((name, column["taken_as"], levels, column["columns"], column["used"]))
    table = [
        Table(
            heading="Covariates",
            columns=("covariate", "taken as", "levels", "columns", "used"),
            rows=rows,
            note="Their linear effect was taken out of every feature: of a category a column "
            "for each level but the first. Columns that are not used follow from those before "
            "them.",
        )
    ]
    return Section(heading="Covariates", pairs=pairs(facts["explained"]), tables=table)
