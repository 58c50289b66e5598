"""Transformations of the values, applied in order as blocks pass.

A step works on each feature by itself, or on each sample: the latter needs a factor for each sample
(from its total, or its mean logarithm), which an earlier pass over the matrix finds. Totals of
features need no pass: a block holds whole features.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from sfs_cli.compute.limits import TOO_LARGE
from sfs_cli.compute.matrix import row_by_row
from sfs_cli.errors import InputError, UsageError, nearest

Step = Callable[[np.ndarray], np.ndarray]
"""From a block (b, n) of float64 values to one of the same shape; may work in place."""


_BELOW_ZERO = (
    "values below zero may be logarithms or standardized already: then leave --transform out; of "
    "intensities of MAS4 give floor:20,log2"
)
_ZEROS = (
    "zeros have no logarithm: of counts or intensities use log1p; of others, such as ratios, "
    "floor:V,log2 raises lower values to V first (the smallest above 0, say)"
)


def _log1p(block: np.ndarray) -> np.ndarray:
    _refuse(block <= -1, block, "needs values above -1", _BELOW_ZERO)
    return np.log1p(block, out=block)


def _log2(block: np.ndarray) -> np.ndarray:
    bad = block <= 0
    hint = _BELOW_ZERO if bad.any() and block.min() < 0 else _ZEROS
    _refuse(bad, block, "needs positive values", hint)
    return np.log2(block, out=block)


def _center(block: np.ndarray) -> np.ndarray:
    # by the first sample first, so that a constant feature becomes exactly zero
    with row_by_row():
        block -= block[:, :1].copy()
        block -= block.mean(axis=1, keepdims=True)
    return block


def _unit(block: np.ndarray) -> np.ndarray:
    return _scaled(block, np.sqrt(np.vecdot(block, block)))


def _zscore(block: np.ndarray) -> np.ndarray:
    block = _center(block)
    return _scaled(block, np.sqrt(np.vecdot(block, block) / block.shape[1]))


def _scaled(block: np.ndarray, norms: np.ndarray) -> np.ndarray:
    norms[norms == 0] = 1  # a zero feature stays zero, and its status says so
    with row_by_row():
        block /= norms[:, None]
    return block


def _rank(block: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    return rankdata(block, axis=1)


def _floor(block: np.ndarray, *, least: float) -> np.ndarray:
    return np.maximum(block, least, out=block)


class RefusedError(InputError):
    """A value that a step cannot take, with its row and column in the block.

    It says what the step needs; whoever applies it knows its name, and what the row and column are.
    """

    row: int
    column: int


def _refuse(bad: np.ndarray, block: np.ndarray, needs: str, hint: str) -> None:
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        error = RefusedError(f"{needs}; found {block[row, column]:g}", hint=hint)
        error.row, error.column = row, column
        raise error


FEATURE_STEPS: dict[str, Step] = {
    "log1p": _log1p,
    "log2": _log2,
    "zscore": _zscore,
    "center": _center,
    "unit": _unit,
    "rank": _rank,
}
"""Steps on each feature: z-scores divide by the root of the mean square; ranks average ties."""
_NUMBERS = {
    "floor": (-TOO_LARGE, "", "lowest value that is kept, such as floor:1"),
    "total": (0, "above 0 and ", "total count that each sample is scaled to, such as total:5000"),
}
"""Kinds of steps with a number after a colon: above what it has to be, the same in words, and what
the number is, for messages."""


@dataclass(frozen=True)
class SampleStep:
    """A step that needs a factor for each sample."""

    # from a block (b, n) to the terms of a sum over features, value by value, 0 for 0; may work in
    # place
    terms: Step
    # from the sums and the number of features to the factors, shape (n,); not finite where a
    # sample cannot be transformed
    factors: Callable[[np.ndarray, int], np.ndarray]
    apply: Callable[[np.ndarray, np.ndarray], np.ndarray]  # from a block and the factors
    # which normalization factors the sums are multiplied by (`sfs_cli.store.size_factors`)
    scaling: str = ""
    # whether the factors are multiplied by the common dispersion, for which there is another pass
    dispersed: bool = False


def counts(block: np.ndarray) -> np.ndarray:
    """Return a block as it is; a negative value is a `RefusedError`."""
    _refuse(block < 0, block, "needs counts", "give raw counts: negative values are none")
    return block


def _to_total(total: np.ndarray, _n_features: int, *, target: float | None) -> np.ndarray:
    """Return what multiplies samples of these totals, so that they have the total `target`.

    None is the median of the totals, as in ``scanpy.pp.normalize_total``.
    """
    with np.errstate(divide="ignore", over="ignore"):  # such samples are refused
        return np.asarray((np.median(total) if target is None else target) / total)


def _log2_cpm(block: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return log2 counts per million of library sizes (n,), each count with a prior one added.

    It is `PRIOR` in a sample of mean library size, and in others in proportion to theirs, so that
    no count is no difference between samples (``cpm(log=TRUE)`` of edgeR 3.40.2).
    """
    prior = PRIOR / sizes.mean() * sizes
    block += prior
    np.log2(block, out=block)
    block -= np.log2((sizes + 2 * prior) / 1e6)
    return block


def _times(block: np.ndarray, factor: np.ndarray) -> np.ndarray:
    block *= factor
    return block


def _clr_terms(block: np.ndarray) -> np.ndarray:
    _refuse(block < 0, block, "needs values of 0 or more", "give counts or abundances")
    return np.log1p(block, out=block)


def _clr_factors(total: np.ndarray, n_features: int) -> np.ndarray:
    return total / max(n_features, 1)


def _clr_apply(block: np.ndarray, mean: np.ndarray) -> np.ndarray:
    np.log1p(block, out=block)
    block -= mean
    return block


def _squares(block: np.ndarray) -> np.ndarray:
    return np.square(block, out=block)


def _inverse_norms(squares: np.ndarray, _n_features: int) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1 / np.sqrt(squares)


PRIOR = 2.0
"""Count that `_log2_cpm` adds."""


def _inverse_sizes(total: np.ndarray, _n_features: int) -> np.ndarray:
    """Return 1 over the size factors, which are in proportion to `total` and have product 1."""
    with np.errstate(divide="ignore", invalid="ignore"):  # such samples are refused
        return np.exp(np.log(total).mean()) / total


def dispersion_in(factors: np.ndarray) -> float:
    """Return the dispersion alpha from the factors of ``vst``: alpha over size factors, (n,)."""
    return math.exp(float(np.log(factors).mean()))  # as the product of size factors is 1


def _stabilized(block: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return ``(2 asinh(sqrt(alpha q)) - log(4 alpha)) / log 2`` of counts q over size factors.

    F. J. Anscombe, "The transformation of Poisson, binomial and negative-binomial data", Biometrika
    35, 1948: the integral of ``1 / sqrt(q + alpha q^2)``, the inverse of the standard deviation of
    negative binomial counts. Scale and offset make it log2 q where alpha q is large.
    """
    block *= factors
    np.sqrt(block, out=block)
    np.arcsinh(block, out=block)
    block -= math.log(4 * dispersion_in(factors)) / 2
    block *= 2 / math.log(2)
    return block


# ---- residuals of counts -----------------------------------------------------------------------

THETA = 100.0
"""Overdispersion of the negative binomial model, one for all features (Lause et al. 2021)."""
_TEMPORARY = 65_536
"""Values whose residuals are found at a time, so that the terms of a formula stay small."""

# from counts x (b, n), their expectation mu (b, n) and the totals of the samples (n,)
Residuals = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _whole_counts(block: np.ndarray) -> np.ndarray:
    hint = "give raw counts; those that were estimated (by Salmon, say) have to be rounded first"
    _refuse(block < 0, block, "needs counts", hint)
    _refuse(block != np.floor(block), block, "needs whole numbers", hint)
    return block


def _totals(total: np.ndarray, _n_features: int) -> np.ndarray:
    return np.where(total > 0, total, np.nan)


def _residuals(block: np.ndarray, totals: np.ndarray, *, formula: Residuals) -> np.ndarray:
    """Replace counts by residuals from the model in which samples differ by their totals alone.

    The expected count of a feature is its share of all counts times the total of the sample.
    """
    everything = totals.sum()
    rows = max(1, _TEMPORARY // len(totals))
    for lo in range(0, len(block), rows):
        x = block[lo : lo + rows]
        mu = x.sum(axis=1, keepdims=True) / everything * totals
        with np.errstate(divide="ignore", invalid="ignore"):
            found = formula(x, mu, totals)
        # a feature without counts is as expected
        np.copyto(x, np.where(mu > 0, found, 0))
    return block


def _pearson(x: np.ndarray, mu: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Analytic Pearson residuals (x - mu) / sqrt(mu + mu^2 / theta), clipped to sqrt(n).

    Lause, Berens and Kobak 2021 (Genome Biology 22:258), who recommend this theta and clipping.
    """
    bound = math.sqrt(len(totals))
    return np.clip((x - mu) / np.sqrt(mu * (1 + mu / THETA)), -bound, bound)


def _deviance(x: np.ndarray, mu: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Signed square roots of the terms of the binomial deviance.

    Townes et al. 2019 (Genome Biology 20:295): 2 x log(x / mu) + 2 (N - x) log((N - x) / (N - mu))
    for a sample of N counts. Each half is taken with the difference of its arguments, which cancel
    between the two: both are then 0 or more, and small ones keep their digits.
    """
    halves = _divergence(x, mu) + _divergence(totals - x, totals - mu)
    return np.copysign(np.sqrt(2 * np.maximum(halves, 0)), x - mu)


def _divergence(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return x log(x / mu) - x + mu, mu where x is 0."""
    excess = (x - mu) / mu
    found = mu * ((1 + excess) * np.log1p(excess) - excess)
    # where the feature holds all counts of the matrix, mu of the others is 0 but for rounding
    return np.where((x > 0) & (mu > 0), found, mu)


MEDIAN = "median"
"""A step whose factors depend on which samples there are, by a number that is one for all."""
_MILLION = partial(_to_total, target=1e6)
SAMPLE_STEPS = {
    "cpm": SampleStep(counts, _MILLION, _times),
    "cpm:tmm": SampleStep(counts, _MILLION, _times, scaling="tmm"),
    "cpm:ratios": SampleStep(counts, _MILLION, _times, scaling="ratios"),
    "cp10k": SampleStep(counts, partial(_to_total, target=1e4), _times),
    MEDIAN: SampleStep(counts, partial(_to_total, target=None), _times),
    "log2cpm": SampleStep(counts, _totals, _log2_cpm),
    "log2cpm:tmm": SampleStep(counts, _totals, _log2_cpm, scaling="tmm"),
    "log2cpm:ratios": SampleStep(counts, _totals, _log2_cpm, scaling="ratios"),
    "vst": SampleStep(_whole_counts, _inverse_sizes, _stabilized, scaling="ratios", dispersed=True),
    "vst:tmm": SampleStep(
        _whole_counts, _inverse_sizes, _stabilized, scaling="tmm", dispersed=True
    ),
    "clr": SampleStep(_clr_terms, _clr_factors, _clr_apply),
    "unit-samples": SampleStep(_squares, _inverse_norms, _times),
    "pearson-residuals": SampleStep(_whole_counts, _totals, partial(_residuals, formula=_pearson)),
    "deviance": SampleStep(_whole_counts, _totals, partial(_residuals, formula=_deviance)),
}
"""Counts per million, per 10,000 or per median total, and log2 of the first; a
variance-stabilizing transformation of negative binomial counts; centered log-ratio of x + 1, as
zeros have no logarithm; samples of norm 1; Pearson residuals of a negative binomial model; deviance
residuals of a binomial model."""

RESIDUALS = ("pearson-residuals", "deviance")
"""Steps whose factors are the totals of the samples."""
QUANTILE = "quantile"
"""A step on all values of a sample, which makes the matrix anew (``sfs_cli.store.quantile``)."""
TARGETS = {"cpm": 1e6, "cp10k": 1e4, MEDIAN: None}
"""What samples are scaled to by steps without a number; by `MEDIAN`, to their median total."""
PER_TOTAL = (*TARGETS, "total")
"""Kinds of the steps that divide samples by their totals."""
_KEEP_ZEROS = ("log1p", *PER_TOTAL, "unit", "unit-samples")
NAMES = (*FEATURE_STEPS, "floor:V", *SAMPLE_STEPS, "total:N", QUANTILE)
"""The steps as people write them; V and N stand for numbers."""
STATED = {"is-log2": 1.0, "is-ln": 1 / math.log(2), "is-log10": math.log2(10)}
"""What may stand before all steps: that the values are logarithms already, of which base. It
changes no value; a difference of 1 is so many doublings."""
LOGARITHMS = ("log1p", "log2", "log2cpm", "vst", "clr")


def feature_step(step: str) -> Step:
    """Return what a step on each feature does to a block."""
    if kind(step) == "floor":
        return partial(_floor, least=_number_of(step))
    return FEATURE_STEPS[step]


@cache
def sample_step(step: str) -> SampleStep | None:
    """Return a step that needs a factor for each sample; None for others."""
    if kind(step) == "total":
        return SampleStep(counts, partial(_to_total, target=_number_of(step)), _times)
    return SAMPLE_STEPS.get(step)


def target_of(step: str) -> float | None:
    """Return the total that a step scales samples to, if it is one that is the same for all data.

    None for other steps.
    """
    return _number_of(step) if kind(step) == "total" else TARGETS.get(kind(step))


def kind(step: str) -> str:
    """Return a step without what stands after its colon, which says how it is made."""
    return step.partition(":")[0]


def _number_of(step: str) -> float:
    """Return what stands after the colon of a step as a number; NaN for another text."""
    try:
        return float(step.partition(":")[2])
    except ValueError:
        return math.nan


def keeps_zeros(step: str) -> bool:
    """Tell whether a zero is still a zero after a step."""
    return _number_of(step) <= 0 if kind(step) == "floor" else kind(step) in _KEEP_ZEROS


def before_fitting(steps: tuple[str, ...]) -> tuple[str, ...]:
    """Return the steps before the first that takes a value by those of other samples.

    They are the same for a sample whatever others there are, but for the target of `MEDIAN`, a
    number for all of them (`PreparedMatrix.targeting`). What later steps find of each sample
    depends on it.
    """
    alone = ("log1p", "log2", "cpm", "cp10k", MEDIAN, "clr", "unit-samples")
    for at, step in enumerate(steps):
        after = MEDIAN in steps[:at] and sample_step(step) is not None
        if after or (step not in alone and kind(step) not in _NUMBERS):
            return steps[:at]
    return steps


def doublings(steps: tuple[str, ...], before: float | None = None) -> float | None:
    """Return how many doublings a difference of 1 between transformed values is.

    `before` is how many it is of values that are logarithms before the first step.

    It is known of the last step that takes a logarithm, of values that are proportional to those of
    the matrix, if what follows keeps differences: 1 after ``log2`` and ``log2cpm``, 1 / ln 2 after
    ``log1p`` and ``clr`` (of x + 1, in a feature or relative to the mean of the sample). None
    otherwise: without a logarithm among the steps nobody has said what the values are, and
    differences after ``vst`` are doublings of large counts alone.
    """
    found = before
    for step in map(kind, steps):
        if found is None:
            if step in ("log2", "log2cpm"):
                found = 1.0
            elif step in ("log1p", "clr"):
                found = 1 / math.log(2)
            elif step not in (*PER_TOTAL, "floor", QUANTILE):
                return None
        elif step not in ("center", "floor", QUANTILE):
            return None
    return found


def of_measured(steps: tuple[str, ...]) -> list[str]:
    """Return the steps that take what was measured: logarithms and totals."""
    return [step for step in steps if kind(step) in (*LOGARITHMS, *PER_TOTAL)]


def stated(text: str | None) -> str | None:
    """Return which logarithms the value of ``--transform`` says the values are, as in `STATED`."""
    first = (text or "").partition(",")[0].strip()
    return first if first in STATED else None


def parse(text: str | None) -> tuple[str, ...]:
    """Split the value of ``--transform`` into its steps, without what is `stated` of the values.

    Another name, and a floor that is no number or too large, is a `UsageError`, and so are steps
    that take what was measured where the values are said to be logarithms.
    """
    steps = tuple(part.strip() for part in text.split(",")) if text else ()
    if said := stated(text):
        steps = steps[1:]
        if again := of_measured(steps):
            raise UsageError(
                f"--transform {text}: {said} says that the values are logarithms already, and "
                f"{again[0]} takes what was measured",
                hint=f"leave one of the two out: {said}, or {', '.join(again)}",
                option="transform",
            )
    for step in steps:
        if ":" in step and kind(step) in _NUMBERS:
            least, above, meant = _NUMBERS[kind(step)]
            if not least < _number_of(step) < TOO_LARGE:
                raise UsageError(
                    f"--transform {step!r}: the {kind(step)} is not a number {above}below 1e100",
                    hint=f"write the {meant}",
                    option="transform",
                )
        elif step in STATED:
            raise UsageError(
                f"--transform {text}: {step} says what the values are before all steps",
                hint="give it once, as the first",
                option="transform",
            )
        elif step not in NAMES:
            raise UsageError(
                f"--transform {step!r} is not a step",
                hint=f"{nearest(step, sorted([*NAMES, *STATED]))} (separated by commas)",
                option="transform",
            )
    return steps
