"""The batches of ``--batch``: which samples are in them, and which are large enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.errors import InputError, SfsError, counted, listed
from sfs_cli.io.knowledge.sample_columns import Covariate
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.run.covariates import Design, check_labels, design_of, log_design
from sfs_cli.store.adjust import orthonormal


@dataclass(frozen=True)
class Batch:
    """A batch that is ranked."""

    name: str
    samples: np.ndarray  # indices among the samples that are used, ascending
    labels: Labels | None = None  # where they are used
    design: Design | None = None  # of ``--adjust``, for its own samples


@dataclass(frozen=True)
class Batches:
    """The batches of a run, of which every used sample is in one."""

    column: str
    ranked: list[Batch]
    left_out: dict[str, str] = field(default_factory=dict)  # why, by the name

    @property
    def sizes(self) -> dict[str, int]:
        """The number of samples of each batch that is ranked."""
        return {batch.name: len(batch.samples) for batch in self.ranked}

    @property
    def basis(self) -> np.ndarray:
        """Orthonormal basis of the means of the batches, beside that of all, shape (B - 1, n)."""
        n = sum(self.sizes.values())
        columns = np.zeros((len(self.ranked), n))
        for row, batch in zip(columns, self.ranked):
            row[batch.samples] = 1
        return orthonormal(columns[1:])[0]

    @property
    def covariates(self) -> np.ndarray:
        """Orthonormal basis of the designs within the batches, shape (r, n)."""
        n = sum(self.sizes.values())
        parts = [np.empty((0, n))]
        for batch in self.ranked:
            if batch.design is not None:
                wide = np.zeros((len(batch.design.basis), n))
                wide[:, batch.samples] = batch.design.basis
                parts.append(wide)
        return np.concatenate(parts)


def choose_batches(
    config: RankConfig,
    column: Covariate,
    samples: Sequence[str],
    labels: Labels | None,
    log: Messages,
) -> tuple[Batches, np.ndarray]:
    """Return the batches to rank and the samples that are in them.

    `samples` are the ids of those that are used so far, and `labels` their classes where they are
    needed. The indices of the batches are among the samples that are returned, which are indices
    of `samples`.

    Raises
    ------
    InputError
        When fewer than two batches can be ranked.
    """
    names = np.array([str(column.values[sample]) for sample in samples], dtype=object)
    members: dict[str, np.ndarray] = {}
    left_out: dict[str, str] = {}
    for name in sorted(set(names.tolist())):
        found = np.flatnonzero(names == name)
        if len(found) < config.smallest_batch:
            left_out[name] = counted(len(found), "sample")
        elif labels is not None and (why := _lacking(labels, found)):
            left_out[name] = why
        else:
            members[name] = found
    if left_out:
        reasons = [f"{name} ({why})" for name, why in left_out.items()]
        log.warn(
            f"{counted(len(left_out), 'batch')} of {column.name} cannot be ranked and "
            f"{'is' if len(left_out) == 1 else 'are'} left out: {listed(reasons)}"
        )
    if len(members) < 2:
        raise InputError(
            f"{len(members)} of {counted(len(members) + len(left_out), 'batch')} of {column.name} "
            "can be ranked: there is nothing to aggregate",
            where=f"{column.where}: {listed([f'{k} ({v})' for k, v in left_out.items()])}"
            if left_out
            else column.where,
            hint=f"a batch needs {config.smallest_batch} samples (--min-batch-size) and, for a "
            "method with labels, two samples of each of its classes; --adjust takes the means of "
            "small batches out of the features instead",
            option=("batch", "min_batch_size"),
        )
    used = np.sort(np.concatenate(list(members.values())))
    batches = []
    for name, found in members.items():
        own = None if labels is None else compressed(labels, found)
        batches.append(Batch(name, np.searchsorted(used, found), own))
    return Batches(column.name, batches, left_out), used


@contextmanager
def located_in(batch: str) -> Iterator[None]:
    """Add the batch to the place of an error."""
    try:
        yield
    except SfsError as error:
        error.where = f"batch {batch}" + (f"; {error.where}" if error.where else "")
        raise


def design_batches(
    covariates: Sequence[Covariate],
    batches: Batches,
    samples: Sequence[str],
    memory: int,
    log: Messages,
) -> Batches:
    """Return the batches with the designs of covariates for their `samples`.

    A covariate that is the same in all samples of a batch changes nothing there.

    Raises
    ------
    InputError
        When that is so in every batch, or the covariates explain the classes of one.
    """
    made = []
    for batch in batches.ranked:
        ids = [samples[i] for i in batch.samples.tolist()]
        with located_in(batch.name), log.about(f"batch {batch.name}"):
            design = design_of(covariates, ids, memory, log, within_batch=True)
            log_design(design, log)
            if batch.labels is not None:
                check_labels(batch.labels, design, covariates[0].where, log)
        own = None if batch.labels is None else batch.labels.adjusted(design.basis)
        made.append(replace(batch, design=design, labels=own))
    if not any(batch.design is not None and len(batch.design.basis) for batch in made):
        raise InputError(
            f"the covariates ({listed([each.name for each in covariates])}) are the same in all "
            "samples of each batch",
            where=covariates[0].where,
            hint="leave --adjust out, or leave --batch out",
            option=("adjust", "batch"),
        )
    return replace(batches, ranked=made)


def _lacking(labels: Labels, samples: np.ndarray) -> str:
    """Return why a method with labels cannot rank a batch; empty if it can."""
    if labels.values is not None:
        return "" if np.ptp(labels.values[samples]) else "the same label in all samples"
    counts = compressed(labels, samples).counts()
    if len(counts) < 2:
        return f"all of class {next(iter(counts))}" if counts else "no labels"
    single = [name for name, count in counts.items() if count == 1]
    return f"one sample of class {listed(single, 2)}" if single else ""


def compressed(labels: Labels, samples: np.ndarray) -> Labels:
    """Return the labels of some samples, with the classes that these have."""
    if labels.values is not None:
        return labels.take(samples)
    codes = labels.codes[samples]
    present = np.unique(codes[codes >= 0])
    code = np.full(len(labels.classes) + 1, -1)
    code[present] = np.arange(len(present))
    return Labels(code[codes], [labels.classes[i] for i in present])
