"""Preranked gene-set enrichment (GSEA): where in the whole list the members of sets are.

A. Subramanian et al., "Gene set enrichment analysis: a knowledge-based approach for interpreting
genome-wide expression profiles", PNAS 102, 2005, with gene permutation: the null is of random sets
of the same size. `sfs_cli.evaluation.measures.enrichment` tests the first features alone.

Random sets have independent members, and genes of a real set are correlated with each other. So
these p-values are too small where the metric of correlated genes varies together, as that of
differential expression does (D. Wu and G. K. Smyth, Nucleic Acids Res. 40, 2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sfs_cli.errors import InputError

LEAST, MOST = 15, 500
"""Members among the ranked genes that a tested set has."""
PERMUTATIONS = 1000
TOGETHER = 1 << 16
"""Members of random sets whose running sums are computed at a time: they stay in the cache."""
EQUAL = 1e-12
"""Two deviations of a running sum that differ by less are equal but for rounding."""


@dataclass(frozen=True, eq=False)
class PrerankedEnrichment:
    """How far the members of a set are at one end of a ranked list.

    Attributes
    ----------
    name : str
        The set.
    size : int
        Its members among the ranked genes.
    es : float
        Enrichment score: the largest deviation of the running sum from 0, from -1 to 1.
    nes : float
        Normalized: over the mean size of those of random sets of the same size and sign; NaN where
        no random set has this sign.
    p_value, q_value : float
        Of a score as far from 0 among random sets of the same sign; adjusted over the tested sets.
    direction : {"top", "bottom"}
        The end of the list: the top has the largest metric.
    leading_edge : ndarray of int
        Positions in the metric of the members between this end and the largest deviation, from the
        end inwards.
    """

    name: str
    size: int
    es: float
    nes: float
    p_value: float
    q_value: float
    direction: Literal["top", "bottom"]
    leading_edge: np.ndarray


class _Deviations(NamedTuple):
    """The largest deviations of running sums above and below 0, shape (r,), and where they are."""

    up: np.ndarray
    down: np.ndarray  # 0 or less
    up_at: np.ndarray  # index of the last member of the leading edge at the top
    down_at: np.ndarray  # index of the first one of that at the bottom


class RankedMetric:
    """A metric in descending order, and the running sums of sets along it.

    Parameters
    ----------
    metric : ndarray, shape (m,)
        A number of each gene, in any order: the larger, the nearer to the top. Genes with equal
        numbers keep the order in which they are given. The score of a set depends on their order,
        so give them in one that means something, such as that of the ranking.
    signed : bool
        Whether sets at the bottom count. Of a metric without a sign, such as a variance, the last
        genes are those with the least of it: only deviations above 0 are of interest then.

    Attributes
    ----------
    order : ndarray of int, shape (m,)
        Positions in `metric` from the top to the bottom.

    Raises
    ------
    InputError
        When the metric is not finite.
    """

    def __init__(self, metric: np.ndarray, *, signed: bool = True) -> None:
        values = np.asarray(metric, np.float64)
        if not np.isfinite(values).all():
            raise InputError(
                "the metric of some genes is not a finite number",
                hint="leave these genes out, or give them a rank",
            )
        self.signed = signed
        self.order = np.argsort(-values, kind="stable")
        self.place = np.empty(len(values), np.int32)  # the inverse of the order
        self.place[self.order] = np.arange(len(values), dtype=np.int32)
        size = np.abs(values[self.order])
        self.steps = size / (size.max(initial=0) or 1)  # so that sums do not overflow

    def deviations(self, places: np.ndarray) -> _Deviations:
        """Return the largest deviations of running sums, Eq. 1 of the paper's methods.

        With N genes, members S (k of them) and ``N_R = sum_(i in S) |r_i|``, the running sum at
        place i is ``sum_(j in S, j <= i) |r_j| / N_R`` less the share of the others up to i,
        ``1 / (N - k)`` each. It rises at members alone and falls between them, so that it is
        largest at a member and least right before one. Members whose metric is 0 throughout have
        the same weight.

        Parameters
        ----------
        places : ndarray of int, shape (r, k)
            Places in the order of the members of r sets, ascending; 0 < k < m.
        """
        k = places.shape[1]
        total = np.cumsum(self.steps[places], axis=1)
        zero = total[:, -1] == 0
        if zero.any():
            total[zero] = np.arange(1, k + 1)
        total /= total[:, -1:].copy()
        others = (places - np.arange(k, dtype=places.dtype)) / (len(self.steps) - k)
        above = total - others
        np.subtract(total[:, :-1], others[:, 1:], out=others[:, 1:])
        np.negative(others[:, 0], out=others[:, 0])
        rows, up_at, down_at = np.arange(len(places)), above.argmax(axis=1), others.argmin(axis=1)
        return _Deviations(above[rows, up_at], others[rows, down_at], up_at, down_at)

    def scores(self, found: _Deviations) -> np.ndarray:
        """Return the deviation farthest from 0, shape (r,); of equal ones that above."""
        if not self.signed:
            return np.maximum(found.up, 0)
        return np.where(found.up >= -found.down - EQUAL, found.up, found.down)

    def null(self, drawn: np.ndarray, size: int, seed: Sequence[int]) -> np.ndarray:
        """Return the scores of random sets of a size, shape (P,).

        A set is the first genes of a row of `drawn` under other names: a random order of all genes
        is drawn for each size. So sets of different sizes are independent of each other.
        """
        rows, renamed = max(1, TOGETHER // size), np.random.default_rng([*seed, size])
        names = renamed.permutation(len(self.steps)).astype(np.int32)
        return np.concatenate(
            [
                self.scores(self.deviations(np.sort(names[drawn[at : at + rows, :size]], axis=1)))
                for at in range(0, len(drawn), rows)
            ]
        )


def draw_genes(m: int, count: int, permutations: int, seed: Sequence[int]) -> np.ndarray:
    """Return so many different genes of m in random order, shape (permutations, count).

    The first k of a row are a random set of k genes.
    """
    rng = np.random.default_rng(seed)
    drawn = np.empty((permutations, count), np.int32)
    for row in drawn:
        row[:] = rng.choice(m, count, replace=False)
    return drawn


def preranked(
    metric: np.ndarray,
    sets: Mapping[str, Iterable[int]],
    *,
    signed: bool = True,
    permutations: int = PERMUTATIONS,
    seed: int | Sequence[int] = 0,
    least: int = LEAST,
    most: int = MOST,
) -> list[PrerankedEnrichment]:
    """Test where in a ranked list the members of sets are.

    Parameters
    ----------
    metric : ndarray, shape (m,)
        A number of each gene, the largest at the top; see `RankedMetric`, also for `signed`.
    sets : mapping
        From names to positions in `metric`; one that occurs twice counts once.
    permutations : int
        Random sets of each size.
    seed : int or sequence of int
        Random seed. With the same seed and `most`, the score, the NES and the p-value of a set do
        not depend on the other sets.
    least, most : int
        Sets with fewer or more members are not tested, and neither is a set of all genes.

    Returns
    -------
    list of PrerankedEnrichment
        By p-value, then by the size of the NES, the largest first. Sets that are equal in both keep
        their order.

    Notes
    -----
    The p-value is ``(b + 1) / (B + 1)`` with b of B random sets of the same sign whose score is as
    far from 0 (B. Phipson and G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010), so never 0. The
    paper has b / B. Where no random set has the sign of the score, it is 1 and the NES is NaN.

    The q-values are those of Benjamini and Hochberg (1995), of the p-values of the pooled NES
    (`pooled_p_values`) of all tested sets. The paper (Appendix, multiple hypothesis testing) takes
    the sets at the top and at the bottom as two families: where no set is enriched, a q-value up to
    0.05 is found at one of them in about 10% of the lists.

    Raises
    ------
    InputError
        When the metric is not finite.
    """
    from scipy.stats import false_discovery_control

    ranked = RankedMetric(metric, signed=signed)
    m, of_size = len(ranked.order), dict[int, list[tuple[str, np.ndarray]]]()
    for name, members in sets.items():
        places = np.unique(ranked.place[np.fromiter(members, np.int64)])
        if max(1, least) <= len(places) <= min(most, m - 1):
            of_size.setdefault(len(places), []).append((name, places))
    if not of_size:
        return []
    seeds = [seed] if isinstance(seed, int) else list(seed)
    drawn = draw_genes(m, min(most, m - 1), permutations, seeds)
    found: dict[str, PrerankedEnrichment] = {}
    pool, copies = [], []
    for size, named in of_size.items():
        null = ranked.null(drawn, size, seeds)
        deviations = ranked.deviations(np.array([places for _, places in named]))
        scores = ranked.scores(deviations)
        normalized = _normalized(np.append(scores, null), null)
        pool.append(normalized[len(scores) :])
        copies.append(len(named))
        for i, (name, places) in enumerate(named):
            es, down = float(scores[i]), bool(scores[i] < 0)
            edge = places[deviations.down_at[i] :][::-1] if down else places
            found[name] = PrerankedEnrichment(
                name=name,
                size=size,
                es=es,
                nes=float(normalized[i]),
                p_value=_p_value(es, null),
                q_value=float("nan"),
                direction="bottom" if down else "top",
                leading_edge=ranked.order[edge if down else edge[: deviations.up_at[i] + 1]],
            )
    results = [found[name] for name in sets if name in found]
    nes, p = (np.array([getattr(each, of) for each in results]) for of in ("nes", "p_value"))
    q = false_discovery_control(pooled_p_values(nes, np.array(pool), np.array(copies)))
    return [
        PrerankedEnrichment(**(vars(results[i]) | {"q_value": float(q[i])}))
        for i in np.lexsort((-np.abs(nes), p)).tolist()
    ]


def _normalized(scores: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Return scores over the mean size of random ones of the same sign; NaN where there are none.

    0 counts as positive.
    """
    below = null < 0
    means = [np.abs(null[kind]).mean() if kind.any() else np.nan for kind in (~below, below)]
    # random sets without any deviation above 0 have mean 0: no set can have a larger one
    means = [mean or np.nan for mean in means]
    return scores / np.where(scores < 0, means[1], means[0])


def _p_value(score: float, null: np.ndarray) -> float:
    """Return the share of random scores of the same sign that are as far from 0, itself one."""
    alike = np.abs(null[null < 0] if score < 0 else null[null >= 0])
    return float(1 + np.count_nonzero(alike >= abs(score) - EQUAL)) / (1 + len(alike))


def pooled_p_values(nes: np.ndarray, pool: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """Return the share of the random sets of all sizes and one sign that are as far from 0.

    ``(b + 1) / (B + 1)`` with B random sets of the sign; 1 for NaN. The normalization makes scores
    of different sizes comparable, and all of them together reach smaller p-values.

    Parameters
    ----------
    nes : ndarray, shape (t,)
        Normalized scores of the tested sets.
    pool : ndarray, shape (s, P)
        Those of random sets, by size.
    copies : ndarray of int, shape (s,)
        Tested sets of each size: their random sets count so many times.
    """
    p, weights, pool = np.ones(len(nes)), np.repeat(copies, pool.shape[1]), pool.ravel()
    for chosen, alike in ((nes >= 0, pool >= 0), (nes < 0, pool < 0)):
        null, weight = np.abs(pool[alike]), weights[alike]
        order = np.argsort(null, kind="stable")
        # beyond[i]: random sets whose score is that of place i or larger
        beyond = np.append(np.cumsum(weight[order][::-1])[::-1], 0)
        farther = beyond[np.searchsorted(null[order], np.abs(nes[chosen]) - EQUAL)]
        p[chosen] = (farther + 1) / (weight.sum() + 1)
    return p
