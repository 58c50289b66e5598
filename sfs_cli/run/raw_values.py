"""Whether values look as they were measured: counts, or intensities without logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.features.significance import tests
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag
from sfs_cli.run.load import Run
from sfs_cli.store.matrix import look
from sfs_cli.store.transforms import kind, parse

COUNTS_ABOVE, SPARSE_COUNTS_ABOVE = 50, 12
"""Whole numbers are counts if they go beyond this, and beyond the second where more than half are
zero, as in single cells: genotypes and scores do not."""
LARGEST_EXACT = 2**53
LOG_SPAN = 64.0
"""Logarithms of base 2 of what is measured do not span more than this."""
LOGARITHMS = ("log1p", "log2", "log2cpm", "vst", "clr")
TAMING = (*LOGARITHMS, "rank", "pearson-residuals", "deviance")
"""Steps after which large values of counts or intensities do not dominate."""
FOR_COUNTS, FOR_TESTS = "cpm,log1p", "pearson-residuals"
"""What raw counts need, and what tests of them need: logarithms of few counts follow depth."""


class Raw(NamedTuple):
    """Values that nobody has transformed."""

    what: str  # what they look like
    transform: str  # that they need
    hint: str = ""  # about the transformation

    def warning(self, values: str, of: str) -> str:
        """Return what is wrong with the `values`, which make `of`."""
        dominate = "a few high-valued features or outlier samples dominate"
        return f"{values} look like {self.what}: {dominate} {of}"

    def after(self, asked: str | None) -> str:
        """Return the transformation that they need, with the other steps that were asked for."""
        steps = parse(asked)
        if self.transform == FOR_TESTS:  # which takes the counts as they are
            steps = tuple(s for s in steps if kind(s) not in ("cpm", "floor"))
        floors = [step for step in steps if step.startswith("floor:")]
        needs = [s for s in self.transform.split(",") if not (floors and s.startswith("floor:"))]
        others = [step for step in steps if step not in (*floors, *needs)]
        return ",".join([*floors, *needs, *others]) + self.hint


def is_tame(transform: str | None) -> bool:
    """Tell whether a transformation has a step after which large values do not dominate."""
    return any(kind(step) in TAMING for step in parse(transform))


def swapped(asked: str | None) -> str | None:
    """Tell whether a transformation takes counts per million of logarithms."""
    steps = parse(asked)
    first = next((i for i, step in enumerate(steps) if kind(step) in LOGARITHMS), len(steps))
    after = [step for step in steps[first + 1 :] if kind(step) in ("cpm", "log2cpm")]
    if not after:
        return None
    others = [step for step in steps if step not in after]
    return (
        f"--transform {asked} computes counts per million from logarithms, not from counts; "
        f"give --transform {','.join([*after[:1], *others])}"
    )


def looked(run: Run) -> np.ndarray:
    """Return the values of some features in the samples that are used, as they are stored."""
    values, used = look(run.opened.matrix), run.matrix.samples
    run.passes.look(len(values))
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
        zeros = np.count_nonzero(values == 0) / values.size
        what = (
            f"raw counts (whole numbers, up to {high:,.0f} in a sample of values, {zeros:.0%} zero)"
        )
        return Raw(what, FOR_TESTS if config is not None and tests(config) else FOR_COUNTS)
    if high - low <= LOG_SPAN:
        return None
    what = f"intensities without logarithms (from {low:,.6g} to {high:,.6g})"
    if low >= 0:
        return Raw(what, "log1p")
    return Raw(what, "floor:20,log2", ", with a floor that suits the noise")


def is_counts(values: np.ndarray) -> bool:
    """Tell whether values, NaN for missing ones, are whole numbers that go as far as counts do."""
    values = values[np.isfinite(values)]
    if not values.size or values.min() < 0 or not values.max() < LARGEST_EXACT:
        return False
    sparse = 2 * np.count_nonzero(values == 0) > values.size
    above = SPARSE_COUNTS_ABOVE if sparse else COUNTS_ABOVE
    return bool(values.max() > above and (values == np.rint(values)).all())
