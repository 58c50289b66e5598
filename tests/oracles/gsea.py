"""A slow, obvious twin of the statistic of gene set enrichment analysis."""

from __future__ import annotations

from collections.abc import Set


def enrichment_score(ranked: list[tuple[str, float]], genes: Set[str], p: float = 1.0) -> float:
    """The largest deviation above zero of the weighted running sum (Subramanian et al. 2005).

    Going down the list, a gene of the set adds its share of the set's ``|metric|^p``, and every
    other one subtracts its share of the others. As for lists without a sign, only deviations above
    zero count.
    """
    ranked = sorted(ranked, key=lambda pair: -pair[1])
    total = sum(abs(metric) ** p for name, metric in ranked if name in genes)
    misses = sum(name not in genes for name, _ in ranked)
    running, largest = 0.0, 0.0
    for name, metric in ranked:
        running += abs(metric) ** p / total if name in genes else -1 / misses
        largest = max(largest, running)
    return largest


def signed_enrichment_score(
    ranked: list[tuple[str, float]], genes: Set[str], p: float = 1.0
) -> float:
    """The deviation of the running sum that is farthest from zero, for lists with a sign."""
    up = enrichment_score(ranked, genes, p)
    down = enrichment_score([(name, -metric) for name, metric in ranked], genes, p)
    return up if up > down else -down


def preranked_score(
    metric: list[float], members: Set[int], p: float = 1.0, *, signed: bool = True
) -> tuple[float, list[int]]:
    """The enrichment score of a set, and its leading edge from the end of the list inwards.

    The running sum is kept at every gene (Eq. 1 of the paper's methods). Genes of equal metric stay
    in their order. Members whose metric is 0 throughout have the same weight.
    """
    order = sorted(range(len(metric)), key=lambda i: -metric[i])
    weights = {i: abs(metric[i]) ** p for i in members}
    if not sum(weights.values()):
        weights = dict.fromkeys(members, 1.0)
    walk, running = [], 0.0
    for i in order:
        if i in members:
            running += weights[i] / sum(weights.values())
        else:
            running -= 1 / (len(metric) - len(members))
        walk.append(running)
    top, bottom = max(walk), min(walk)
    if not signed or top >= -bottom - 1e-12:
        last = next(at for at, value in enumerate(walk) if value > top - 1e-12)
        return top, [i for i in order[: last + 1] if i in members]
    first = next(at for at, value in enumerate(walk) if value < bottom + 1e-12)
    return bottom, [i for i in order[:first:-1] if i in members]


def normalized_score(score: float, null: list[float]) -> float:
    """A score over the mean size of random ones of the same sign."""
    alike = [each for each in null if (each < 0) == (score < 0)]
    return score * len(alike) / sum(abs(each) for each in alike)


def share_beyond(score: float, null: list[float]) -> float:
    """The share of random scores of the same sign as far from zero, where one more is counted."""
    alike = [each for each in null if (each < 0) == (score < 0)]
    return (1 + sum(abs(each) >= abs(score) - 1e-12 for each in alike)) / (1 + len(alike))


def benjamini_hochberg(p: list[float]) -> list[float]:
    """The least of ``p m / rank`` of each p-value and all larger ones."""

    def ratio(x: float) -> float:
        return x * len(p) / sum(y <= x for y in p)

    return [min(ratio(y) for y in p if y >= x) for x in p]
