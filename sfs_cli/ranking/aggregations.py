"""The table of rank aggregations. No numeric library is imported: `sfs --help` reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sfs_cli.errors import ConflictError


class Aggregation(NamedTuple):
    """A way to aggregate rankings."""

    title: str  # its name in the literature
    meaning: str  # how to read its score
    larger_is_better: bool
    reference: str  # what to cite


AGGREGATIONS = {
    "borda": Aggregation(
        "mean rank (Borda)",
        "The score is the mean of a feature's ranks: smaller is better.",
        False,
        "Borda 1781, Mémoire sur les élections au scrutin",
    ),
    "median": Aggregation(
        "median rank",
        "The score is the median of a feature's ranks: smaller is better.",
        False,
        "Fagin, Kumar and Sivakumar 2003, SIGMOD. doi:10.1145/872757.872795",
    ),
    "geometric": Aggregation(
        "geometric mean of ranks",
        "The score is the geometric mean of a feature's ranks, which rewards a few very good "
        "ranks: smaller is better.",
        False,
        "Breitling, Armengaud, Amtmann and Herzyk 2004, FEBS Letters. "
        "doi:10.1016/j.febslet.2004.07.055",
    ),
    "rra": Aggregation(
        "robust rank aggregation",
        "The score rho is the probability that random lists rank a feature as well as the k lists "
        "that rank it best, for the k with the smallest probability: smaller is better. The "
        "p-values assume independent lists; for lists from the same data they are too small.",
        False,
        "Kolde, Laur, Adler and Vilo 2012, Bioinformatics. doi:10.1093/bioinformatics/btr709",
    ),
}
"""Aggregations by their names as ``how=`` and ``--how`` have them."""
OF_BATCHES = AGGREGATIONS | {
    "fisher": Aggregation(
        "p-values combined by Fisher's method",
        "The score is -log10 of the combined p-value: the larger, the clearer the feature follows "
        "the coordinates on one of the scales, in one batch or in all.",
        True,
        "Fisher 1932, Statistical Methods for Research Workers, 4th edition",
    ),
}
"""Those of batches, the combined p-values included."""


LARGEST_WEIGHT = 1e100
"""With larger weights sums may overflow."""


def check_list_weights(how: str, weights: Sequence[float], flag: str) -> None:
    """Check the weights of the lists; `flag` is their name in messages.

    Raises
    ------
    ConflictError
        If a weight is negative or not finite, all are zero, or they differ with ``rra``.
    """
    # without dashes it is no option: the caller is Python
    name = flag[2:].replace("-", "_") if flag.startswith("--") else ()
    wrong = [weight for weight in weights if not 0 <= weight <= LARGEST_WEIGHT]
    if wrong:
        what = f"{wrong[0]:g} is not a number from 0 to {LARGEST_WEIGHT:g}"
        hint = "give numbers such as 2,1,0.5"
    elif not any(weights):
        what = "the weights sum to zero"
        hint = "give at least one list a weight above zero"
    elif how == "rra" and len(set(weights)) > 1:
        what = "rra needs equal weights, because its p-values assume lists of equal weight"
        hint = "leave the weights out, or choose borda, median or geometric"
    else:
        return
    raise ConflictError(f"{flag}: {what}", hint=hint, option=name)
