"""The subsets of the samples that ``--stability`` ranks on: which they are, and their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from sfs_cli.errors import InputError, SfsError, counted, listed, within
from sfs_cli.evaluation.classify import with_every_class
from sfs_cli.logs import Messages
from sfs_cli.options.fields import flag
from sfs_cli.run.load import Run
from sfs_cli.run.part import prepared_on
from sfs_cli.run.together import on_subsets

FEWEST = 4
"""Units (donors, or samples) that are divided: of fewer, there are hardly two ways to do it."""
EVEN, TRIES = 0.45, 100
"""Donors of different sizes are divided again, up to so many times, until the smaller half has that
part of the samples; else the most even halves are taken."""


@dataclass(frozen=True)
class Subsets:
    """Subsets of the samples, drawn from `--seed` alone.

    Attributes
    ----------
    samples : list of ndarray
        Indices among the samples that are used, ascending; complementary halves follow each other.
    strata : list of str
        What each subset has its share of.
    donors : int, optional
        Number of donors, where whole ones are taken.
    """

    samples: list[np.ndarray]
    strata: list[str]
    donors: int | None = None

    @contextmanager
    def located(self, run: Run, number: int) -> Iterator[None]:
        """Add a subset, by its index, to the place of an error, and what may be done about it."""
        size, count = len(self.samples[number]), len(self.samples)
        try:
            with within(f"--stability, subset {number + 1:,} of {count:,} ({size:,} samples)"):
                yield
        except SfsError as error:
            error.options = ("stability", *error.options)
            if isinstance(error, InputError) and run.config.subset_kind == "half":
                error.hint = (
                    "a half of so few samples may lack what the method needs: give --stability "
                    "bootstrap, whose subsets are larger, or leave out --stability"
                )
            raise


def draw_subsets(run: Run) -> Subsets:
    """Draw the subsets of a run, stratified by its classes and batches, of whole donors if asked.

    Raises InputError where there are too few samples or donors to divide.
    """
    config, n = run.config, run.matrix.n_samples
    strata: list[str] = []
    kinds = np.zeros((0, n), np.int64)
    # also where no method needs the classes
    codes = None if run.labels is None else run.labels.take(run.matrix.samples).codes
    if codes is not None and (codes < 0).all():
        codes = None
    if codes is not None:
        strata.append("classes")
        kinds = np.vstack([kinds, codes])
    if run.cohort.parts:
        strata.append("batches")
        part = np.empty(n, np.int64)
        for number, each in enumerate(run.cohort.parts):
            part[each.samples] = number
        kinds = np.vstack([kinds, part])
    column, donors = run.columns.donors, run.donors
    units = np.arange(n) if donors is None else donors
    count = int(units.max()) + 1
    if count < FEWEST:
        what = "samples" if column is None else f"donors in {column.name}"
        raise InputError(
            f"--stability divides {what}, and there are only {count}",
            where=config.matrix if column is None else column.where,
            hint=f"it needs {FEWEST} or more; leave out --stability"
            + ("" if column is None else f", or {flag(column.option)}"),
            option=("stability",) if column is None else (column.option, "stability"),
        )
    groups, samples = _groups(units, count, kinds), list[np.ndarray]()
    if config.subset_kind == "half":
        has = None
        if column is not None and codes is not None and run.context.labels and not config.numeric:
            has = np.zeros((count, codes.max() + 1), np.int64)
            has[units[codes >= 0], codes[codes >= 0]] = 1
        drawn = _halves(groups, np.bincount(units), config.subset_count, config.seed, has)
    else:
        has, drawn = None, _bootstrap(groups, config.subset_count, config.seed)
    if has is not None:
        alone = "with a single donor cannot be in both halves of --stability"
        _refuse_classes(run, has.sum(axis=0) == 1, alone)
    for chosen in drawn:
        if has is not None:
            shared = "of donors that have other classes, too: no way was found to divide these so "
            shared += "that both halves of --stability have every class"
            _refuse_classes(run, _lacking(has, chosen), shared)
        samples.append(np.flatnonzero(np.isin(units, chosen)))
    return Subsets(samples, strata, None if column is None else count)


def _refuse_classes(run: Run, refused: np.ndarray, why: str) -> None:
    """Refuse some of the classes, a mask (c), of which only one of two halves may have donors."""
    column = run.columns.donors
    assert run.labels is not None
    assert column is not None
    if names := [run.labels.classes[code] for code in np.flatnonzero(refused)]:
        raise InputError(
            f"{counted(len(names), 'class')} {why}: {listed(names)}",
            where=f"{run.config.labels}, {column.where}",
            hint="each half needs a donor of each class: merge small classes, leave their samples "
            "out of the labels (--samples intersect), or give --stability bootstrap",
            option=(column.option, "stability", "labels"),
        )


def _lacking(has: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return which classes some units have, and none of those in a half, (c,)."""
    return has.any(axis=0) & ~has[half].any(axis=0)


def _groups(units: np.ndarray, count: int, kinds: np.ndarray) -> list[np.ndarray]:
    """Return the units of each stratum: those whose samples are of the same kinds, (s, n)."""
    own: list[set[tuple[int, ...]]] = [set() for _ in range(count)]
    for unit, kind in zip(units.tolist(), kinds.T.tolist()):
        own[unit].add(tuple(kind))
    found = defaultdict[tuple[tuple[int, ...], ...], list[int]](list)
    for unit, has in enumerate(own):
        found[tuple(sorted(has))].append(unit)
    return [np.array(found[key]) for key in sorted(found)]


def _halves(
    groups: Sequence[np.ndarray], size: np.ndarray, count: int, seed: int, has: np.ndarray | None
) -> Iterator[np.ndarray]:
    """Yield pairs of halves without a common unit, each of half of the units (rounded down).

    Of every stratum each half has half of the units; of odd strata one is left, and these go to
    the two halves in turn. So no more than one unit is in neither. `size` is that of each unit, in
    samples, and `has` which classes it has, (u, c), where both halves are to have all of them.
    """
    tries = 1 if (size == size[0]).all() else TRIES
    for pair in range(count // 2):
        rng = np.random.default_rng([seed, pair])
        most, best = (False, -1), list[np.ndarray]()
        for _ in range(tries):
            halves = _divided(groups, rng, has)
            whole = has is None or not any(_lacking(has, half).any() for half in halves)
            found = (whole, min(int(size[half].sum()) for half in halves))
            if found > most:
                most, best = found, halves
            if most >= (True, EVEN * size.sum()):
                break
        yield from best


def _divided(
    groups: Sequence[np.ndarray], rng: np.random.Generator, has: np.ndarray | None
) -> list[np.ndarray]:
    """Return two halves of the units of all strata, drawn at random."""
    place = np.full(sum(map(len, groups)), -1)
    left: list[int] = []
    for group in groups:
        mixed, size = rng.permutation(group), len(group) // 2
        place[mixed[:size]], place[mixed[size : 2 * size]] = 0, 1
        left.extend(mixed[2 * size :].tolist())
    mixed = rng.permutation(left).astype(int)
    even = mixed[: len(mixed) // 2 * 2]
    place[even[::2]], place[even[1::2]] = 0, 1
    if has is not None:  # strata of two units or more are in both halves, and stay there
        place = with_every_class(place, has, 2, rng, mixed)
    return [np.flatnonzero(place == half) for half in range(2)]


def _bootstrap(groups: Sequence[np.ndarray], count: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the units that draws with replacement find, as many draws as units in each stratum.

    A unit that is drawn more than once is there once: copies of a sample would be each other's
    nearest neighbors in a sample graph. Of a stratum of several units two different ones are
    drawn at least, because many methods need two samples of each class.
    """
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        drawn = []
        for group in groups:
            found = np.unique(rng.choice(group, len(group)))
            while len(found) < min(2, len(group)):
                found = np.unique(rng.choice(group, len(group)))
            drawn.append(found)
        yield np.concatenate(drawn)


def run_on_subset(run: Run, samples: np.ndarray, log: Messages) -> Run:
    """Return the run of some samples, as a matrix of these alone would be ranked.

    Labels, batches, covariates and weights are theirs; `log` receives its messages. What does not
    change the order of the features is left out.
    """
    config = replace(run.config, leave_one_out=False, **run.config.unset("pvalues"))
    part = prepared_on(replace(run, config=config), samples, log)
    context = replace(part.context, log=log)
    engine = context.engine.of(on_subsets(run.config))
    engine = replace(engine, parts=None)
    return replace(part, context=replace(context, engine=engine))
