"""Which batches of ``--batch`` are ranked: those that are large enough, and have the classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.logs import Messages
from sfs_cli.run.cohort import Cohort, Part, compressed

SMALLEST = 10
"""Samples of the smallest batch that is ranked: rankings of fewer are mostly noise."""


def choose_batches(cohort: Cohort, log: Messages) -> Cohort:
    """Return the samples that are in the batches to rank, of `SMALLEST` samples or more.

    Raises
    ------
    InputError
        When fewer than two batches can be ranked.
    """
    (column,), labels = cohort.columns["batch"], cohort.labels
    names = np.array([str(column.values[sample]) for sample in cohort.samples], dtype=object)
    members = {name: np.flatnonzero(names == name) for name in sorted(set(names.tolist()))}
    left_out = {name: why for name, own in members.items() if (why := _lacking(labels, own))}
    members = {name: own for name, own in members.items() if name not in left_out}
    reasons = [f"{name} ({why})" for name, why in left_out.items()]
    count = len(members) + len(left_out)
    if len(members) < 2:
        raise InputError(
            f"{len(members)} of {counted(count, 'batch')} of {column.name} can be ranked: there is "
            "nothing to aggregate",
            where=column.where + (f": {listed(reasons)}" if reasons else ""),
            hint=f"a batch needs {SMALLEST} samples and, for a method with "
            "labels, two samples of each of its classes; --adjust takes the means of small batches "
            "out of the features instead",
            option="batch",
        )
    if reasons:
        log.warn(f"batches of {column.name} that cannot be ranked are left out: {listed(reasons)}")
    used = np.sort(np.concatenate(list(members.values())))
    parts = [
        Part(
            *(name, f"batch {name}", np.searchsorted(used, own)),
            labels=None if labels is None else compressed(labels, own),
        )
        for name, own in members.items()
    ]
    return replace(
        cohort,
        samples=[cohort.samples[i] for i in used.tolist()],
        labels=None if labels is None else labels.take(used),
        kept=used,
        parts=parts,
        left_out=left_out,
    )


def _lacking(labels: Labels | None, samples: np.ndarray) -> str:
    """Return why a batch cannot be ranked, with labels where they are used; empty if it can."""
    if len(samples) < SMALLEST:
        return counted(len(samples), "sample")
    if labels is None:
        return ""
    if labels.values is not None:
        return "" if np.ptp(labels.values[samples]) else "the same label in all samples"
    counts = compressed(labels, samples).counts()
    if len(counts) < 2:
        return f"all of class {next(iter(counts))}" if counts else "no labels"
    single = [name for name, count in counts.items() if count == 1]
    return f"one sample of class {listed(single, 2)}" if single else ""
