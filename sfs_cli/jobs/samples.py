"""Which samples a run uses: those that the labels and the sources know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfs_cli.config import RankConfig
from sfs_cli.errors import InputError, listed
from sfs_cli.jobs.inputs import Labels
from sfs_cli.sources.base import Source


@dataclass(frozen=True)
class Coverage:
    """The samples of the matrix that something knows.

    Attributes
    ----------
    what : str
        Who knows them, as in ``have no label`` and ``are not in source mirna``.
    lacking : str
        How a message says that it does not know some.
    where : str
        Its file.
    has : ndarray of bool, shape (n,)
        Which samples it knows.
    is_source : bool
        Whether pairs can be averaged over the others (``--samples union``).
    """

    what: str
    lacking: str
    where: str
    has: np.ndarray
    is_source: bool = False


def of_labels(config: RankConfig, labels: Labels) -> Coverage:
    """Return the samples that have a label."""
    return Coverage("a label", "have no label", str(config.labels), labels.codes >= 0)


def of_source(source: Source, samples: Sequence[str]) -> Coverage:
    """Return the samples that a source knows.

    Raises
    ------
    InputError
        When it knows none.
    """
    spec = source.spec
    where = spec.path or spec.kind
    known = set(samples if source.samples is None else source.samples)
    has = np.array([sample in known for sample in samples])
    if not has.any():
        raise InputError(
            f"source {spec.name} has none of the {len(samples):,} samples",
            where=f"{where}: samples there are {listed(list(source.samples or ()), 3)}; those of "
            f"the matrix are {listed(list(samples), 3)}",
            hint="check that both use the same sample ids" + _about_rows(source),
        )
    name = f"source {spec.name}"
    return Coverage(name, f"are not in {name}", where, has, is_source=True)


def _about_rows(source: Source) -> str:
    """Return what else may be wrong where no sample of a profile is known."""
    if source.spec.kind != "profile":
        return ""
    if source.spec.rows == "samples":
        return ", and leave rows=samples out if features are its rows"
    return ", and give rows=samples if samples are its rows, --rows samples if those of the matrix"


def of_file(path: str, samples: Sequence[str]) -> list[Coverage]:
    """Return the samples that a similarity file has, where it has ids."""
    from sfs_cli.io.sample_matrix import open_similarity

    known = open_similarity(path).samples
    if known is None:
        return []
    has = np.isin(np.array(samples, dtype=object), list(known))
    return [Coverage("a similarity", "are not in the similarity", path, has)]


def choose_samples(
    config: RankConfig, samples: Sequence[str], coverages: Sequence[Coverage]
) -> np.ndarray | None:
    """Return which samples to use, None for all.

    Parameters
    ----------
    config : RankConfig
        Its ``--samples`` says what becomes of samples that something does not know.
    samples : sequence of str, length n
        Ids of the samples of the matrix.
    coverages : sequence of Coverage
        Who knows which of them.

    Raises
    ------
    InputError
        When some are unknown, under ``--samples error``; when labels lack, or no source knows a
        sample, under ``union``; when none is left.
    """
    for coverage in coverages:
        averaged = config.samples == "union" and coverage.is_source
        if config.samples != "intersect" and not averaged and not coverage.has.all():
            raise _lacking(config, samples, coverage)
    if config.samples == "union":
        _check_known(samples, [c for c in coverages if c.is_source])
        return None
    common = np.ones(len(samples), bool)
    for coverage in coverages:
        common &= coverage.has
    if common.all():
        return None
    if common.sum() < 2:
        raise InputError(
            f"{int(common.sum())} of the {len(samples):,} samples can be used: too few",
            where="samples that have " + " and ".join(c.what for c in coverages),
            hint="check the sample ids of each, or leave one out",
        )
    return np.flatnonzero(common)


def _lacking(config: RankConfig, samples: Sequence[str], coverage: Coverage) -> InputError:
    without = [samples[int(i)] for i in np.flatnonzero(~coverage.has)]
    hint = "leave them out with --samples intersect"
    if coverage.is_source:
        hint += ", or average over the sources that have them with --samples union"
    else:
        hint = "label them, or " + hint
    return InputError(
        f"{len(without):,} of {len(samples):,} samples {coverage.lacking}",
        where=f"{coverage.where}: {listed(without)}",
        hint=hint,
    )


def _check_known(samples: Sequence[str], coverages: Sequence[Coverage]) -> None:
    """Check that some source knows each sample."""
    known = np.logical_or.reduce([c.has for c in coverages])
    if not known.all():
        without = [samples[int(i)] for i in np.flatnonzero(~known)]
        raise InputError(
            f"{len(without):,} of {len(samples):,} samples are in no source",
            where=listed(without),
            hint="add --source expression=target:, which knows all, or leave them out with "
            "--samples intersect",
        )
