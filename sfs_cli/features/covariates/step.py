"""The work of ``--adjust``: designs, and how much of the best features covariates explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.errors import InputError, listed
from sfs_cli.features.covariates.design import check_labels, design_of
from sfs_cli.features.covariates.explained import Explained, explained_by
from sfs_cli.features.step import Pairs, Step
from sfs_cli.logs import Messages
from sfs_cli.report.model import Table
from sfs_cli.run.cohort import SHOWN, Cohort, Design, taken_as
from sfs_cli.run.load import Run
from sfs_cli.run.rank import RankResult
from sfs_cli.store.adjust import Adjustment


class CovariateStep(Step):
    """Takes covariates out of the features, and says how much of the best ones they explain."""

    def prepare(self, cohort: Cohort, memory: int, log: Messages) -> Cohort:
        """Make the design of the samples, or of each part of them.

        A covariate that is the same in all samples of a part changes nothing there.

        Raises
        ------
        InputError
            When that is so in every part, or the covariates explain the classes.
        """
        blocks = cohort.columns.get("block", [])
        covariates = cohort.columns.covariates

        def designed(
            samples: Sequence[str], labels: Labels | None, *, lenient: bool
        ) -> tuple[Design, Labels | None]:
            design = design_of(covariates, samples, memory, log, lenient=lenient)
            what = f"{taken_as(design.columns)}: a design of rank {design.rank}"
            log.note(f"adjusting for {what}, with the intercept")
            if blocks:
                levels = [blocks[0].values[sample] for sample in samples]
                design = replace(design, blocks=np.unique(levels, return_inverse=True)[1])
            if labels is not None:
                check_labels(labels, design, covariates[0].where, log, covariates[0].option)
                labels = labels.adjusted(design.basis)
            return design, labels

        if not cohort.parts:
            design, labels = designed(cohort.samples, cohort.labels, lenient=not cohort.whole)
            return replace(cohort, design=design, labels=labels)
        parts = []
        for part in cohort.parts:
            with part.located(log):
                samples = [cohort.samples[i] for i in part.samples.tolist()]
                design, labels = designed(samples, part.labels, lenient=True)
            parts.append(replace(part, design=design, labels=labels))
        prepared = replace(cohort, parts=parts)
        if not len(prepared.within):
            raise InputError(
                f"the covariates ({listed([each.name for each in covariates])}) are the same in "
                "all samples of each batch",
                where=covariates[0].where,
                hint="leave --adjust out, or leave --batch out",
                option=("adjust", "batch"),
            )
        return prepared

    def check(self, run: Run) -> None:
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

    def find(self, run: Run, found: RankResult) -> None:
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
            "explained": explained.to_json(),
        }
        within = " within batches" if cohort.parts else ""
        run.log.note(
            f"{'the covariates' if run.config.adjust else 'the blocks'} explain {explained.words}"
            f"{within} before adjusting, {explained.after:.1%} after (as many random columns: "
            f"{explained.by_chance:.1%})"
        )

    @staticmethod
    def section(facts: dict[str, Any]) -> Pairs:
        """Return how much they explain."""
        return Explained(**facts["explained"]).pairs()

    @staticmethod
    def tables(facts: dict[str, Any]) -> list[Table]:
        """Return the table of what was taken out of the features."""
        rows = []
        for column in facts["columns"]:
            name = f"{column['name']} in {column['batch']}" if "batch" in column else column["name"]
            levels = "" if column["levels"] is None else listed(column["levels"], SHOWN)
            rows.append((name, column["taken_as"], levels, column["columns"], column["used"]))
        return [
            Table(
                heading="Covariates",
                columns=("covariate", "taken as", "levels", "columns", "used"),
                rows=rows,
                note="Their linear effect was taken out of every feature: of a category a column "
                "for each level but the first. Columns that are not used follow from those before "
                "them.",
            )
        ]


STEP = CovariateStep
