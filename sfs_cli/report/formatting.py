"""Numbers as a reader wants to see them."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def significant(value: object, digits: int = 6) -> str:
    """Write a table cell: numbers with `digits` significant digits, a dash for what is missing."""
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return "–"
    if not is_number(value) or isinstance(value, Integral):
        return str(value)
    return f"{value:#.{digits}g}" if value else "0"


def is_number(value: object) -> bool:
    """Say whether a value is a number (a truth value is not)."""
    return isinstance(value, Real) and not isinstance(value, bool)


def counted(count: int, noun: str) -> str:
    """Write a count and its noun, such as "1 feature" or "2,000 features"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def compact(power: int) -> str:
    """Write 10**power in at most four characters, such as "100", "10k" or "1M"."""
    thousands, rest = divmod(power, 3)
    return f"{10**rest}{('', 'k', 'M', 'G', 'T')[thousands]}"


def power_of_ten(exponent: int) -> str:
    """Write 10**exponent with a superscript."""
    return f"10{str(exponent).translate(SUPERSCRIPT)}"


def tick_labels(ticks: list[float], step: float) -> tuple[list[str], int]:
    """Label evenly spaced ticks with as many decimals as tell them apart.

    Parameters
    ----------
    ticks : list of float
        Multiples of `step`.
    step : float
        Distance between ticks: 1, 2 or 5 times a power of ten.

    Returns
    -------
    labels : list of str
        The ticks divided by 10**exponent.
    exponent : int
        0 unless the ticks are a million and more, or all below a thousandth.
    """
    size = math.floor(math.log10(max(max(map(abs, ticks)), step)) + 1e-9)
    exponent = size if size >= 6 or size < -3 else 0
    decimals = max(0, exponent - math.floor(math.log10(step) + 1e-9))
    scaled = (Decimal(repr(tick)).scaleb(-exponent) for tick in ticks)
    return [f"{value:,.{decimals}f}".replace("-", "−") for value in scaled], exponent
