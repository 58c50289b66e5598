"""How samples are compared: in batches, by weights, by residuals of times, beside covariates.

The residuals of times are those of T. M. Therneau, P. M. Grambsch and T. R. Fleming,
"Martingale-based residuals for survival models", Biometrika 77, 1990.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfs_cli.compute.context import Survival
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.logs import Messages
from sfs_cli.methods.cox import fit_cox
from sfs_cli.options import RankConfig
from sfs_cli.options.testing import FEW, MODERATED, OF_COUNTS, adjusts
from sfs_cli.run.batches import choose_batches
from sfs_cli.run.cohort import Cohort, Part, taken_as
from sfs_cli.run.design import check_labels, design_of


def compared(cohort: Cohort, config: RankConfig, memory: int, log: Messages) -> Cohort:
    """Return how the samples are compared, as a configuration asks; the parts of a subset stay."""
    if config.sample_weights is not None:
        weights = cohort.columns.of("sample_weights", cohort.samples)
        cohort = replace(cohort, weights=weights)
    if config.batch is not None and cohort.whole:
        cohort = choose_batches(cohort, log)
    if config.events is not None:
        cohort = with_residuals(cohort, config, log)
    return with_design(cohort, memory, log) if adjusts(config) else cohort


def for_cohort(config: RankConfig, cohort: Cohort) -> RankConfig:
    """Return a configuration with what ``--voom`` and ``--moderate auto`` are for these samples."""
    if config.voom and config.transform is None:
        config = replace(config, transform=OF_COUNTS[0])
    able = config.scorer in MODERATED and cohort.weights is None
    if config.moderate != "auto" or not able:
        return config
    freedom = None if cohort.parts else cohort.freedom
    few = config.voom or (freedom is not None and 0 < freedom <= FEW)
    return replace(config, moderate="yes" if few else "no")


def with_residuals(cohort: Cohort, config: RankConfig, log: Messages) -> Cohort:
    """Return a cohort with the outcome of all samples, or of each part of them.

    Residuals are those of a model without features and covariates, in which every block has a
    hazard of its own. Raises InputError for a negative time, or where there is no event.
    """
    if cohort.labels is None:
        return cohort
    (column,), ids = cohort.columns["event"], cohort.samples
    events = np.array([column.values[sample] == 1 for sample in ids])
    strata, everyone = cohort.columns.of("block", ids), np.arange(len(ids))

    def outcome(part: Part) -> Part:
        labels = part.labels
        assert labels is not None
        time, samples = labels.numbers, part.samples
        if (time < 0).any():
            first = ids[int(samples[np.argmax(time < 0)])]
            raise InputError(
                f"{counted(int((time < 0).sum()), 'time')} below zero, such as that of sample "
                f"{first}",
                where=str(config.labels),
                hint="give times since the start of the observation",
                option="labels",
            )
        survival = Survival(time, events[samples])
        own = np.zeros(len(time)) if strata is None else strata[samples]
        try:
            model = fit_cox(*survival, strata=np.unique(own, return_inverse=True)[1])
        except InputError as error:
            error.where, error.options = column.where, (column.option,)
            raise
        return replace(part, labels=replace(labels, values=model.residuals, survival=survival))

    whole = outcome(Part("", "", everyone, cohort.labels))
    return replace(cohort, labels=whole.labels, parts=_of_each(cohort.parts, outcome, log))


def with_design(cohort: Cohort, memory: int, log: Messages) -> Cohort:
    """Return a cohort with the design of the samples, or of each part of them.

    A covariate that is the same in all samples of a part changes nothing there.

    Raises
    ------
    InputError
        When that is so in every part, or the covariates explain the classes.
    """
    covariates, everyone = cohort.columns.covariates, np.arange(len(cohort.samples))

    def designed(part: Part, *, lenient: bool = True) -> Part:
        samples = [cohort.samples[i] for i in part.samples.tolist()]
        design = design_of(covariates, samples, memory, log, lenient=lenient)
        what = f"{taken_as(design.columns)}: a design of rank {design.rank}"
        log.note(f"adjusting for {what}, with the intercept")
        if (blocks := cohort.columns.of("block", samples)) is not None:
            design = replace(design, blocks=np.unique(blocks, return_inverse=True)[1])
        labels = part.labels
        if labels is not None:
            check_labels(labels, design, covariates[0].where, log, covariates[0].option)
            labels = labels.adjusted(design.basis)
        return replace(part, design=design, labels=labels)

    if not cohort.parts:
        whole = designed(Part("", "", everyone, cohort.labels), lenient=not cohort.whole)
        return replace(cohort, design=whole.design, labels=whole.labels)
    cohort = replace(cohort, parts=_of_each(cohort.parts, designed, log))
    if not len(cohort.within):
        raise InputError(
            f"the covariates ({listed([each.name for each in covariates])}) are the same in "
            "all samples of each batch",
            where=covariates[0].where,
            hint="leave --adjust out, or leave --batch out",
            option=("adjust", "batch"),
        )
    return cohort


def _of_each(parts: list[Part], change: Callable[[Part], Part], log: Messages) -> list[Part]:
    """Return the parts as `change` makes them, which are named in messages and errors."""
    changed = []
    for part in parts:
        with part.located(log):
            changed.append(change(part))
    return changed
