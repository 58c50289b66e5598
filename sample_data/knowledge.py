"""Simulate what is known of the genes: pathways, terms and interactions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from simulate import N_GENES, Draws, Genes, Ints

PATHWAY_FOCUS = ("tissue", "tissue", "tissue", "tumour", "tumour")
N_PATHWAYS = 25
TERM_FOCUS = ("tissue",) * 6 + ("tumour",) * 3
N_TERMS, N_ANNOTATED = 68, 600
N_EDGES, N_PLANTED_EDGES, N_NODES = 3000, 1000, 600


def focus_genes(genes: Genes, focus: str) -> Ints:
    """Return the genes that a set about tissue (with the copies) or about tumours draws from."""
    return genes.having("tissue", "redundant") if focus == "tissue" else genes.having("tumour")


def make_pathways(genes: Genes) -> list[Ints]:
    """Draw gene sets: two fifths planted in a focused one, otherwise from a common pool."""
    draws = Draws(4)
    pool = draws.pick(np.arange(N_GENES), N_GENES // 2)
    sizes = draws.integers(15, 60, N_PATHWAYS)
    sizes[: len(PATHWAY_FOCUS)] = draws.integers(20, 40, len(PATHWAY_FOCUS))
    pathways = []
    for i, size in enumerate(sizes):
        planted = np.empty(0, dtype=np.int64)
        if i < len(PATHWAY_FOCUS):
            planted = draws.pick(focus_genes(genes, PATHWAY_FOCUS[i]), 2 * size // 5)
        others = draws.pick(np.setdiff1d(pool, planted), size - len(planted))
        pathways.append(np.sort(np.concatenate([planted, others])))
    return [pathways[i] for i in draws.order(N_PATHWAYS)]


def known_genes(draws: Draws, genes: Genes, n: int) -> Ints:
    """Pick the genes a database knows: nine tenths of the planted ones and any others."""
    planted = genes.having("tissue", "tumour", "redundant")
    known = draws.pick(planted, 9 * len(planted) // 10)
    others = draws.pick(np.setdiff1d(np.arange(N_GENES), planted), n - len(known))
    return np.sort(np.concatenate([known, others]))


def make_terms(genes: Genes) -> tuple[Ints, NDArray[np.bool_]]:
    """Annotated genes and their terms (genes x terms); every gene has at least one term."""
    draws = Draws(5)
    annotated = known_genes(draws, genes, N_ANNOTATED)
    rates = np.repeat(draws.uniform(0.01, 0.06, N_TERMS)[None], N_ANNOTATED, axis=0)
    for term, focus in enumerate(TERM_FOCUS):
        rates[:, term] = np.where(np.isin(annotated, focus_genes(genes, focus)), 0.35, 0.02)
    terms = draws.uniform(0, 1, rates.shape) < rates
    bare = np.flatnonzero(~terms.any(axis=1))
    terms[bare, draws.integers(0, N_TERMS - 1, len(bare))] = True
    return annotated, terms[:, draws.order(N_TERMS)]


def make_interactions(genes: Genes) -> list[tuple[int, int, float]]:
    """Undirected edges without repeats; planted genes of one kind interact more and surer."""
    draws = Draws(6)
    nodes = known_genes(draws, genes, N_NODES)
    pairs = np.column_stack([nodes[side] for side in np.triu_indices(N_NODES, 1)])
    kin = np.zeros(len(pairs), dtype=bool)
    for focus in ("tissue", "tumour"):
        kin |= np.isin(pairs, focus_genes(genes, focus)).all(axis=1)
    planted = draws.pick(np.flatnonzero(kin), N_PLANTED_EDGES)
    others = np.setdiff1d(np.arange(len(pairs)), planted)
    background = draws.pick(others, N_EDGES - N_PLANTED_EDGES)
    chosen = np.concatenate([planted, background])
    score = draws.uniform(0.15, 0.9, N_EDGES)
    score[:N_PLANTED_EDGES] = draws.uniform(0.5, 1.0, N_PLANTED_EDGES)
    return [(*pairs[chosen[i]].tolist(), float(score[i])) for i in draws.order(N_EDGES)]
