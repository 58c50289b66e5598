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
