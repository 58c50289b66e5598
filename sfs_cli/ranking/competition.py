"""How many features to take, by artificial ones that compete with them for the first places.

An artificial feature is a copy of a real one whose samples are shuffled, so that it has nothing to
do with the labels or with the sample graph. Where a real feature has nothing to do with them
either, it and its copies change places at will: each of them is as likely to be ahead as the
others. So every feature that one of its copies beats tells of a false one that was not beaten.

The idea is that of pseudo-variables (Wu, Boos and Stefanski, J. Am. Stat. Assoc. 102, 2007), and
STABL uses shuffled features in this way to cut a list of genes (Hédou et al., Nature Biotechnology
42, 2024). STABL counts all artificial features ahead of a place, and takes the place where the
estimated share is smallest, whatever that is. Here a bound is promised, so the count is that of the
knockoff filter, for which the promise is proved (Barber and Candès, Annals of Statistics 43, 2015,
Theorem 2): a feature competes with its own copies alone, and one false feature more than was seen
is supposed. With several copies (Gimenez and Zou, AISTATS 2019; Emery, Hasam, Noble and Keich,
RECOMB 2020) that one weighs less, and chance in the shuffling moves the cut less.

Copies are shuffled, and not knockoffs of Candès et al. (2018), because those need the joint
distribution of all features, which n samples of m >> n features do not tell: the covariance has
rank n. A knockoff of a wrong distribution promises nothing; a shuffled copy is exact for the
question of each feature by itself, whether it has to do with the labels or the graph. That a
feature does so only through another one is no false selection here; pruning is for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Competition:
    """Where a ranking with artificial features is cut.

    Attributes
    ----------
    selected : ndarray of int, shape (k,)
        The features that are ahead of all their copies and of the cut, ascending.
    beaten : int
        Features ahead of the cut that one of their copies beats.
    share : float
        The estimated share of false ones among the selected; where nothing is selected, the
        smallest of all cuts (NaN where no feature beats its copies).
    """

    selected: np.ndarray
    beaten: int
    share: float


def compete(level: np.ndarray, max_false: float) -> Competition:
    """Cut a ranking of real and artificial features where too many of the real ones are false.

    The strength of a feature is that of the best among it and its R copies. Of the features at
    least as strong as a threshold, w are ahead of all their copies and l behind one of them; the
    estimated share of false ones among the w is ``(1 + l) / (R w)``. The cut is at the smallest
    threshold at which that is at most `max_false`. If the features that have nothing to do with
    what is asked change places with their copies independently of each other, the mean share of
    false ones among those selected is at most `max_false`.

    Parameters
    ----------
    level : ndarray, shape (R + 1, m)
        How good each feature is, larger for better, and below it its copies; -inf is below every
        place of the ranking, and equal levels are a tie. A feature that ties with its best copy is
        neither ahead nor behind.
    max_false : float
        Above 0 and below 1.
    """
    real, copies = level[0], level[1:]
    best = copies.max(axis=0)
    strength = np.maximum(real, best)
    order = np.argsort(-strength, kind="stable")[: np.count_nonzero(strength > -np.inf)]
    ahead, behind = (real > best)[order], (best > real)[order]
    wins, losses = np.cumsum(ahead), np.cumsum(behind)
    with np.errstate(divide="ignore"):
        share = (1 + losses) / (len(copies) * wins)
    # features of one strength are on the same side of every cut
    falling = np.append(strength[order], -np.inf)  # which may begin with infinite ones
    cuts = np.flatnonzero(falling[1:] != falling[:-1])
    cuts = cuts[wins[cuts] > 0]
    passing = cuts[share[cuts] <= max_false]
    if not len(passing):
        smallest = float(share[cuts].min()) if len(cuts) else float("nan")
        return Competition(np.empty(0, np.int64), 0, smallest)
    last = int(passing[-1])
    selected = np.sort(order[: last + 1][ahead[: last + 1]])
    return Competition(selected, int(losses[last]), float(share[last]))
