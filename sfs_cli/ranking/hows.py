"""The ways to aggregate rankings: what each is called, means and cites. Nothing heavy is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfs_cli.errors import UsageError


@dataclass(frozen=True)
class How:
    """A way to aggregate rankings.

    Attributes
    ----------
    title : str
        Its name for people.
    meaning : str
        One sentence that says what a good score means.
    larger_is_better : bool
        Direction of its scores.
    reference : str
        What to cite.
    """

    title: str
    meaning: str
    larger_is_better: bool
    reference: str


_BORDA = "Borda 1781, Mémoire sur les élections au scrutin"

HOWS = {
    "borda": How(
        "mean rank (Borda)",
        "The score is the mean of a feature's ranks: smaller is better.",
        False,
        _BORDA,
    ),
    "median": How(
        "median rank",
        "The score is the median of a feature's ranks: smaller is better.",
        False,
        "Fagin, Kumar and Sivakumar 2003, SIGMOD. doi:10.1145/872757.872795",
    ),
    "geometric": How(
        "geometric mean of ranks",
        "The score is the geometric mean of a feature's ranks, which a few very good ranks make "
        "small: smaller is better.",
        False,
        "Breitling, Armengaud, Amtmann and Herzyk 2004, FEBS Letters. "
        "doi:10.1016/j.febslet.2004.07.055",
    ),
    "rra": How(
        "robust rank aggregation",
        "The score rho is the smallest probability, over the numbers of lists, that random lists "
        "rank a feature as well as these do: smaller is better. Its p-values hold for lists made "
        "independently of each other; of lists from the same data they are too small.",
        False,
        "Kolde, Laur, Adler and Vilo 2012, Bioinformatics. doi:10.1093/bioinformatics/btr709",
    ),
    "mc4": How(
        "Markov chain MC4",
        "The score is the share of time that a random walk spends on a feature, which moves to a "
        "random other one where most lists prefer that: larger is better.",
        True,
        "Dwork, Kumar, Naor and Sivakumar 2001, WWW10. doi:10.1145/371920.372165",
    ),
}
"""The ways to aggregate, by the names of the command line."""


def check_list_weights(how: str, weights: Sequence[float], flag: str) -> None:
    """Check the weights of the lists, which `flag` gave.

    Raises
    ------
    UsageError
        When one is negative or not finite, all are zero, or they differ under ``rra``.
    """
    wrong = [weight for weight in weights if not 0 <= weight < float("inf")]
    if wrong:
        raise UsageError(
            f"{flag}: {wrong[0]:g} is not zero or more", hint="give numbers such as 2,1,0.5"
        )
    if not any(weights):
        raise UsageError(f"{flag}: all weights are zero", hint="give at least one list a weight")
    if how == "rra" and len(set(weights)) > 1:
        raise UsageError(
            f"{flag}: rra takes equal ones alone, as its p-values are of lists that count alike",
            hint="leave the weights out, or take borda, median, geometric or mc4",
        )
