"""Whether values look as they were measured: counts, or intensities without logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag
from sfs_cli.options.testing import tested
from sfs_cli.run.columns import ADDED, LEAST_FEATURES
from sfs_cli.run.load import Run
from sfs_cli.run.top import from_all_over, stored_of
from sfs_cli.store.matrix import LOOK_FEATURES, LOOK_VALUES, look, mostly_zero
from sfs_cli.store.transforms import (
    LOGARITHMS,
    MEDIAN,
    PER_TOTAL,
    STATED,
    doublings,
    kind,
    of_measured,
    parse,
    stated,
    target_of,
)

COUNTS_ABOVE, SPARSE_COUNTS_ABOVE = 50, 12
"""Whole numbers are counts if they go beyond this, and beyond the second where more than half are
zero, as in single cells: genotypes and scores do not."""
LARGEST_EXACT = 2**53
LOG_SPAN = 64.0
"""Logarithms of base 2 of what is measured do not span more than this."""
SMALLEST_LOG, GROWS = 3.0, 0.6
"""Values that reach no further than the first may be ratios. The standard deviations of measured
values grow with the means (rank correlations over features of 0.93 and more on nine real
matrices), and those of their logarithms do not (0.57 and less on ten, without single cells)."""
ALIKE, RATIOS = 1.2, 3.0
"""Features of which nine in ten differ by less than this factor in their means were scaled each by
itself; the second is for means about 1."""
VALUES_OF_A_FEATURE, FEWEST_FEATURES = 5, 20
"""Values other than zero, and features of so many, that tell how deviations grow."""
UNIT, MOST = 0.15, 0.8
"""How far means and deviations of scaled features are from 0 and 1, of so many of them."""
SAME = 0.01
"""Relative difference of sums that are the same."""
MISSING_CODES = (-9, -99, -999, -9999, -99999)
"""What SPSS, PLINK and instruments write for a missing value."""
TAMING = (*LOGARITHMS, "rank", "pearson-residuals", "deviance")
"""Steps after which large values of counts or intensities do not dominate."""
FOR_COUNTS, FOR_CELLS, FOR_TESTS = "cpm,log1p", "median,log1p", "pearson-residuals"
"""What raw counts need, those of which most are zero, and what tests of them need: logarithms of
few counts follow depth."""
SHALLOW = 10
"""Counts, most of them zero, that are scaled to more than so many times their median total lose
what logarithms would show: 1 is nearly as far above 0 as 10 is (``tools/benchmarks/markers.py``).
"""


class Raw(NamedTuple):
    """Values that nobody has transformed."""

    what: str  # what they look like
    transform: str  # that they need
    hint: str = ""  # about the transformation
    counts: bool = False  # whether they are counts
    sparse: bool = False  # of which most are zero

    def warning(self, values: str, of: str) -> str:
        """Return what is wrong with the `values`, which make `of`."""
        dominate = "a few high-valued features or outlier samples dominate"
        return f"{values} look like {self.what}: {dominate} {of}"

    def after(self, asked: str | None) -> str:
        """Return the transformation that they need, with the other steps that were asked for."""
        steps = parse(asked)
        if self.counts:  # one total is enough, and residuals take the counts as they are
            none = (*PER_TOTAL, "floor" * (self.transform == FOR_TESTS))
            steps = tuple(s for s in steps if kind(s) not in none)
        floors = [step for step in steps if step.startswith("floor:")]
        needs = [s for s in self.transform.split(",") if not (floors and s.startswith("floor:"))]
        others = [step for step in steps if step not in (*floors, *needs)]
        return ",".join([*floors, *needs, *others]) + self.hint


class Logged(NamedTuple):
    """Values that are logarithms already."""

    why: str  # what says so
    doublings: float | None = None  # that a difference of 1 is, where the base is known
    said: str = "is-log2"  # what --transform would say of them


def logged(run: Run) -> Logged | None:
    """Tell whether the values of a run are logarithms before any step; looked at once a matrix."""
    noticed = run.opened.noticed
    if "logged" not in noticed:
        values = looked(run)
        noticed["logged"] = logged_by_file(run.opened.facts, values) or like_logarithms(values)
    found: Logged | None = noticed["logged"]
    return found


def logged_by_file(facts: dict[str, Any], values: np.ndarray) -> Logged | None:
    """Return what AnnData says of its values (b, n), unless others took their place since.

    Standardized values may be below zero, and counts are whole numbers.
    """
    base, known = facts.get("log1p"), values[np.isfinite(values)]
    if base is None or not known.size or known.min() < 0:
        return None
    if raw_kind(values) is not None or (known == np.rint(known)).all():
        return None
    units = 1 / np.log(2) if base is True else float(np.log2(base))
    name = "natural logarithms" if base is True else f"logarithms of base {base:g}"
    return Logged(f"are {name}, as uns['log1p'] of AnnData says", units)


def like_logarithms(values: np.ndarray) -> Logged | None:
    """Tell whether values (b, n) look like logarithms of counts or intensities.

    Whole numbers do not, nor do values of which some are below zero, which no step after them
    would take. Single cells are told by their counts: of a cell, these are multiples of one number.
    Ratios to the mean or the median of each feature do not either: those are all alike.
    """
    known = values[np.isfinite(values)]
    if not known.size or known.min() < 0 or not SMALLEST_LOG < known.max() <= LOG_SPAN:
        return None
    if (known == np.rint(known)).all():
        return None
    span = f"(from {known.min():.3g} to {known.max():.3g})"
    if mostly_zero(values) and counts_inside(values):
        return Logged(f"look like logarithms of counts {span}", said="is-ln")
    some = np.where(values == 0, np.nan, values.astype(np.float64))
    some = some[np.isfinite(some).sum(axis=1) >= VALUES_OF_A_FEATURE]
    if len(some) < FEWEST_FEATURES:
        return None
    for center in (np.nanmean(some, axis=1), np.nanmedian(some, axis=1)):
        low, middle, high = np.percentile(center, (10, 50, 90))
        if high < (RATIOS if 0.5 < middle < 2 else ALIKE) * low:
            return None
    # a rank correlation; scipy.stats takes a second to import
    ranks = [each.argsort().argsort() for each in (np.nanmean(some, 1), np.nanstd(some, 1))]
    growth = float(np.corrcoef(ranks)[0, 1])
    if not growth < GROWS:
        return None
    return Logged(
        f"look like logarithms already {span}: their deviations do not grow with the means, as "
        f"those of counts and intensities do (rank correlation {growth:.2f})"
    )


def coded_missing(values: np.ndarray) -> str | None:
    """Warn of a code of missing values, far below all other values (b, n)."""
    known = values[np.isfinite(values)]
    low = known.min(initial=0)
    coded = known == low
    if low not in MISSING_CODES or coded.sum() < 2 or known[~coded].min(initial=0) < low / 2:
        return None
    return (
        f"{low:g} stands for {coded.mean():.2g} of the values, far below all others: it looks like "
        "a code of missing values, and counts as measured; write NA in its place, and give "
        "--missing mean or drop"
    )


def scaled(values: np.ndarray, facts: Mapping[str, Any], layer: str | None) -> str | None:
    """Warn of X of an AnnData (b, n) that was scaled to unit variance, where `raw` is there, too.

    Of cells that are left out since, or of values cut off at 10, the variance is about 1.
    """
    known = values[np.isfinite(values).all(axis=1)]
    if layer is not None or "raw" not in facts.get("matrices", ()) or not len(known):
        return None
    means, deviations = known.mean(axis=1), known.std(axis=1)
    unit = (np.abs(means) < UNIT) & (np.abs(deviations - 1) < UNIT)
    if known.min() >= 0 or unit.mean() < MOST:
        return None
    return (
        "X looks scaled (each feature to mean 0 and variance 1, as by scanpy.pp.scale): zeros, "
        "variances and fold changes are lost, and it may have a part of the features of raw alone; "
        "give --layer raw.X"
    )


def counts_inside(values: np.ndarray) -> bool:
    """Tell whether `exp(x) - 1` of values (b, n) are counts, in each sample times some number.

    The smallest value of a sample is that of one count.
    """
    for column in values[:, :: max(1, values.shape[1] // 20)].T.astype(np.float64):
        found = np.expm1(column[column > 0])
        times = found / found.min() if len(found) else found
        if (np.abs(times - np.rint(times)) > SAME * times).any() or not (times > 1.5).any():
            return False
    return True


def taken_again(
    asked: str | None, already: Logged | None, option: str = "--transform "
) -> str | None:
    """Warn of steps that take logarithms, or totals, of values that are logarithms already."""
    steps = parse(asked)
    again = of_measured(steps)
    if already is None or not again:
        return None
    others = ",".join(step for step in steps if step not in again)
    instead = f"give {option}{others}" if others else f"leave {option.rstrip(' =')} out"
    return (
        f"{option}{asked} takes {listed(again)} of values that {already.why}: differences "
        "between samples shrink, most where values are high, and are no fold changes; "
        f"{instead}, or give the counts (as by --layer of an AnnData)"
    )


def doublings_of(run: Run) -> float | None:
    """Return how many doublings a difference of 1 is in the values as they are scored.

    None where nothing says it, also of logarithms of logarithms.
    """
    steps, said = run.matrix.steps, stated(run.config.transform)
    if said is not None:
        return doublings(steps, STATED[said])
    already = logged(run)
    if already is not None and of_measured(steps):
        return None
    return doublings(steps, None if already is None else already.doublings)


def to_state(run: Run) -> str | None:
    """Return how to have fold changes: of values that look like logarithms by saying that they are.

    Of values that are known to be logarithms it is without the step that takes their unit away.
    None where they do not look so, where `doublings_of` is known, and where no base would make it
    so.
    """
    steps, already, said = run.matrix.steps, logged(run), stated(run.config.transform)
    before = STATED[said] if said else already.doublings if already else None
    for at, step in enumerate(steps):
        if doublings(steps[:at], before) and not doublings(steps[: at + 1], before):
            return f"after {step} they are no log2 fold changes: leave {step} out to have these"
    if doublings_of(run) is not None or already is None or already.doublings is not None:
        return None
    if of_measured(steps) or doublings(steps, 1.0) is None:
        return None
    base = "e, as counts in them show" if already.said == "is-ln" else "2"
    others = " and ".join(each for each in STATED if each != already.said)
    return (
        f"the values look like logarithms: if they are to base {base}, --transform "
        f"{','.join([already.said, *steps])} gives log2 fold changes ({others} those of other "
        "bases)"
    )


def contradicted(asked: str | None, already: Logged | None) -> str | None:
    """Warn of another base of the logarithms than that which the file says."""
    said = stated(asked)
    if said is None or already is None or already.doublings is None:
        return None
    if np.isclose(already.doublings, STATED[said]):
        return None
    return (
        f"--transform {asked} says another base than the file, whose values {already.why}: log2 "
        f"fold changes are those of {said}; leave {said} out if the file is right"
    )


def is_tame(transform: str | None) -> bool:
    """Tell whether a transformation has a step after which large values do not dominate."""
    return any(kind(step) in TAMING for step in parse(transform))


def swapped(asked: str | None) -> str | None:
    """Tell whether a transformation takes counts per million of logarithms."""
    steps = parse(asked)
    first = next((i for i, step in enumerate(steps) if kind(step) in LOGARITHMS), len(steps))
    after = [step for step in steps[first + 1 :] if kind(step) in (*PER_TOTAL, "log2cpm")]
    if not after:
        return None
    others = [step for step in steps if step not in after]
    return (
        f"--transform {asked} divides logarithms by their totals, not counts; "
        f"give --transform {','.join([*after[:1], *others])}"
    )


def shallow(asked: str | None, values: np.ndarray, n_features: int) -> str | None:
    """Tell of counts (b, n) that are scaled to far more than they add up to, before logarithms.

    The totals are those of these features, times `n_features` by their number b.
    """
    steps = parse(asked)
    target = None if len(steps) < 2 or steps[1] not in LOGARITHMS else target_of(steps[0])
    raw = raw_kind(values)
    if target is None or raw is None or not raw.sparse:
        return None
    depth = float(np.median(np.nansum(values, axis=0, dtype=np.float64)) * n_features / len(values))
    if target < SHALLOW * depth:
        return None
    return (
        f"the samples have about {depth:,.0f} counts, most of them zero, and --transform {asked} "
        f"scales them to {target:,.0f}: logarithms then tell hardly more than whether there is a "
        f"count, and markers are missed; give --transform {','.join([MEDIAN, *steps[1:]])}"
    )


def looked(run: Run) -> np.ndarray:
    """Return the values of some features in the samples that are used, as they are stored.

    The last ones are none of them, which may be sums of the others.
    """
    values, used = look(run.opened.matrix), run.matrix.samples
    by_id = run.matrix.features.by_id
    if by_id is not None and not by_id.all() and len(by_id) == run.opened.matrix.n_features:
        most = max(1, min(LOOK_FEATURES, LOOK_VALUES // run.matrix.n_samples))
        return stored_of(run, from_all_over(np.flatnonzero(by_id == 0), most))
    run.passes.look(len(values))
    values = values[:-ADDED] if len(values) > LEAST_FEATURES else values
    return values if used is None else values[:, used]


def refuse_logarithms(run: Run, option: str) -> None:
    """Raise an InputError if values look like logarithms, where an option needs raw counts."""
    values = looked(run)
    values = values[np.isfinite(values)]
    if raw_kind(values) is None and (values != np.rint(values)).any():
        raise InputError(
            f"{flag(option)} needs raw counts; the values look like logarithms, or are "
            "standardized",
            where=run.config.matrix,
            hint=f"give the counts, or leave {flag(option)} out",
            option=option,
        )


def raw_kind(values: np.ndarray, config: RankConfig | None = None) -> Raw | None:
    """Tell whether values (b, n) are raw counts or intensities, as they seem, or neither.

    Counts need another transformation where `config` tests them.
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    if is_counts(values):
        zeros, sparse = np.count_nonzero(values == 0) / values.size, mostly_zero(values)
        what = (
            f"raw counts (whole numbers, up to {high:,.0f} in a sample of values, {zeros:.0%} zero)"
        )
        needed = FOR_CELLS if sparse else FOR_COUNTS
        if config is not None and tested(config):
            needed = FOR_TESTS
        return Raw(what, needed, counts=True, sparse=sparse)
    if high - low <= LOG_SPAN:
        return None
    what = f"intensities without logarithms (from {low:,.6g} to {high:,.6g})"
    if low >= 0:
        return Raw(what, "log1p")
    return Raw(what, "floor:20,log2", ", with a floor that suits the noise")


def what_values(
    raw: Raw | None, low: float, high: float, sums: np.ndarray, *, whole: bool = False
) -> str:
    """Return what values look like, by their range and the sums of each sample, (3, n).

    They are those of the values, of ``exp(x) - 1`` and of ``2^x - 1``: counts per million, or per
    10,000, have the same sum in each sample. `whole` says that all are whole numbers.
    """
    if raw is not None:
        return raw.what
    for base, total in zip(("natural logarithms", "logarithms of base 2"), sums[1:]):
        if np.isfinite(total).all() and np.ptp(sums[0]) > 0 and np.ptp(total) < SAME * total.mean():
            return f"{base} of 1 + x, of which each sample has the sum {total.mean():,.0f}"
    if whole:
        what = "such as counts of few reads, genotypes or scores"
        return f"small whole numbers (up to {high:,.0f}), {what}"
    if low < 0:
        return "log ratios, or centered or standardized values (some are negative)"
    if high <= 1:
        return "numbers from 0 to 1, such as beta values of methylation"
    return "logarithms, of a base that the values do not show, or other values of a small range"


def is_counts(values: np.ndarray) -> bool:
    """Tell whether values, NaN for missing ones, are whole numbers that go as far as counts do."""
    values = values[np.isfinite(values)]
    if not values.size or values.min() < 0 or not values.max() < LARGEST_EXACT:
        return False
    above = SPARSE_COUNTS_ABOVE if mostly_zero(values) else COUNTS_ABOVE
    return bool(values.max() > above and (values == np.rint(values)).all())
