"""From knowledge sources to one global similarity: converted, brought to one scale, added up.

Every source becomes a similarity S_k between the samples that it has. The global similarity is
``sum_k w_k S_k`` (Eq. 5.2); a pair of samples that only some sources have is averaged over those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError, counted
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    Similarity,
    SparseSimilarity,
    as_dense,
    check_similarity,
    name_samples,
    row_panels,
    similarity_of,
    stored_values,
)
from sfs_cli.graph.spectral import MAX_CLUSTERS, clusters_by_eigengap, leading
from sfs_cli.io.knowledge.gene_sets import split_set_spec
from sfs_cli.knowledge.base import Source, SourceContext
from sfs_cli.knowledge.weights import learner
from sfs_cli.knowledge.weights.base import FusionContext, Weighting
from sfs_cli.options.graph import DENSE_SAMPLES
from sfs_cli.options.source import SourceSpec

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_IGNORED = {
    "self_loops": "self-loops",
    "repeated_edges": "repeated edges",
    "below_min_score": "edges below min-score",
    "without_symbol": "edges without a symbol",
    "negated_annotations": "negated annotations",
    "without_data": "annotations without biological data (ND)",
    "other_evidence": "annotations of other evidence",
    "terms_without_genes": "terms without genes",
}
"""Facts that count what a reader ignored."""


@dataclass(frozen=True)
class SourceSimilarity:
    """The similarity that one source became."""

    spec: SourceSpec  # the source as the user gave it
    matrix: Any  # (n_k, n_k): S_k, on the scale of all sources
    samples: np.ndarray  # (n_k,): indices of its samples among the n of the run, ascending
    facts: dict[str, Any]  # how it was made, for ``run.json``

    def between(self, samples: np.ndarray) -> Any:
        """Return the similarity between some of its samples (indices among the n of the run)."""
        if len(samples) == len(self.samples):
            return self.matrix
        rows = np.searchsorted(self.samples, samples)
        return self.matrix[rows][:, rows]


@dataclass(frozen=True)
class Fusion:
    """Similarities of the sources, and how they are weighed."""

    sources: list[SourceSimilarity]  # in the order of the user
    sample_ids: Sequence[str] = field(repr=False)  # length n: samples of the run
    weighting: str  # the value of ``--weights``
    options: Mapping[str, Any]  # options of its learner; for ``given``, ``weights`` of all sources
    # (n,): class of each sample, for weights that are learned from labels
    codes: np.ndarray | None = None

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.sample_ids)

    def learn_weights(self, without: int | None = None) -> Weighting:
        """Return the weights of the sources, optionally of all but one.

        They are learned on the samples that all of these sources have, at least two.
        """
        chosen = self._all_but(without)
        options = dict(self.options)
        if self.weighting == "given":
            options["weights"] = [options["weights"][k] for k in chosen]
        # learners compare kernels entry by entry, so all must be over the same samples
        has = np.stack([np.isin(np.arange(self.n), self.sources[k].samples) for k in chosen])
        common = np.flatnonzero(has.all(axis=0))
        if len(common) < 2 and self.weighting not in ("given", "uniform"):
            raise InputError(
                f"only {counted(len(common), 'sample')} of {self.n:,} in all sources: too few to "
                "learn weights from",
                where=f"--weights {self.weighting}",
                hint="give --weights uniform, or the weights themselves",
            )
        kernels = [self.sources[k].between(common) for k in chosen]
        if self.weighting == "naml" and "clusters" not in options:
            options["clusters"] = _number_of_clusters(kernels)
        codes = None if self.codes is None else self.codes[common]
        names = tuple(self.sources[k].spec.name for k in chosen)
        return learner(self.weighting)(kernels, FusionContext(codes, options, names))

    def fused(self, weights: Weighting, without: int | None = None) -> Similarity:
        """Return the global similarity (Eq. 5.2), optionally of all sources but one."""
        if weights.fused is not None:
            return DenseSimilarity(weights.fused)
        sources = [self.sources[k] for k in self._all_but(without)]
        kernels, samples = zip(*((source.matrix, source.samples) for source in sources))
        return similarity_of(
            weighted_sum(kernels, weights.weights, samples, self.n, self.sample_ids)
        )

    def _all_but(self, without: int | None) -> list[int]:
        return [k for k in range(len(self.sources)) if k != without]


def convert_sources(
    sources: Sequence[Source], context: SourceContext, *, frobenius: bool = False
) -> list[SourceSimilarity]:
    """Turn every source into a similarity between the samples of the run that it has.

    With `frobenius` each is divided by its Frobenius norm too (``normalize=frobenius``). Raises
    InputError when a source cannot be turned into one, OutOfMemoryError when they do not fit the
    memory allowed.
    """
    samples = list(context.matrix.ids.samples)
    graphs, indices = [], []
    for source in sources:
        known = None if source.samples is None else set(source.samples)
        at = np.array([i for i, s in enumerate(samples) if known is None or s in known])
        graphs.append(source.similarity(context, [samples[i] for i in at]))
        indices.append(at)
    n = len(samples)
    # one dense similarity makes the sum dense, so that the others may as well be
    sparse = n > DENSE_SAMPLES and all(isinstance(g.similarity, SparseSimilarity) for g in graphs)
    if not sparse and n > DENSE_SAMPLES:
        what = f"{len(sources)} similarities of {n:,} samples need"
        needed, hint = 8 * n * n * (len(sources) + 3), "raise --memory, or use fewer samples"
        check_memory(what, needed, context.run.memory, hint)
    converted = []
    for source, graph, at in zip(sources, graphs, indices):
        S: Any = graph.similarity
        matrix, factor = one_scale(
            S.matrix if sparse else S.to_dense(), frobenius, source.spec.name
        )
        facts = {"kind": source.spec.kind, "path": source.spec.path or None} | graph.facts
        facts |= {"samples": len(at), "divided_by": factor}
        facts = {name: value for name, value in facts.items() if value is not None}
        context.run.log.note(describe_source(source, facts, n))
        converted.append(SourceSimilarity(source.spec, matrix, at, facts))
    return converted


def describe_source(source: Source, facts: Mapping[str, Any], n: int) -> str:
    """Return a line on what a source became in a run of n samples, from the facts of it."""
    words = [f"source {source.spec.name} ({source.spec.kind}): {facts['similarity']}"]
    if "features" in facts:
        words.append(f" on {counted(facts['features'], 'feature')}")
    if "genes" in facts:
        words.append(f", {facts['genes_found']:,} of {facts['genes']:,} genes found")
    if facts.get("sets", 0) > 1 and not split_set_spec(source.spec.path)[1]:
        file = split_set_spec(source.spec.path)[0].name
        words.append(f" of all {facts['sets']:,} sets together (name some with {file}:SET)")
    if "columns" in facts:
        words.append(f", edges by columns {' and '.join(map(repr, facts['columns']))}")
    if "column" in facts:
        words.append(f", by column {facts['column']!r} (others with FILE:COLUMN)")
    used = facts["samples"]
    if used != n:
        words.append(f", {used:,} of {n:,} samples")
    others = 0 if source.samples is None else len(source.samples) - used
    if others > 0:
        words.append(f" ({others:,} other samples ignored)")
    ignored = [f"{what}: {facts[name]:,}" for name, what in _IGNORED.items() if facts.get(name)]
    if ignored:
        words.append(f" (ignored {', '.join(ignored)})")
    return "".join(words)


def _number_of_clusters(kernels: list[np.ndarray]) -> int:
    """Return the number of clusters at the largest eigengap of the mean similarity."""
    # of the mean: the weights for which the number is needed are not known yet
    mean = DenseSimilarity(weighted_sum(kernels, np.full(len(kernels), 1 / len(kernels))))
    if mean.n < 3 or not (mean.degrees > 0).all():
        raise InputError(
            "the number of clusters cannot be derived from the sources",
            where="--weights naml",
            hint="give it: --weights naml,clusters=K",
        )
    found = leading(NormalizedLaplacian(mean), min(MAX_CLUSTERS + 1, mean.n))
    return clusters_by_eigengap(found.values)


def one_scale(
    S: np.ndarray | csr_array, frobenius: bool = False, name: str = ""
) -> tuple[Any, float]:
    """Divide a similarity by its mean diagonal, so that similarities can be added.

    The diagonal of a graph without loops (such as ``knn``) is 0. It is then divided by its largest
    similarity, so that the most similar pair weighs as much as the diagonal of a kernel.

    Parameters
    ----------
    S : ndarray or csr_array, shape (n, n)
        The similarity of one source.
    frobenius : bool
        Whether to divide by the Frobenius norm too.
    name : str
        The source, for messages.

    Returns
    -------
    scaled : ndarray or csr_array, shape (n, n)
        A new matrix, ``S / factor``.
    factor : float
        Positive.

    Raises
    ------
    InputError
        When S is not square, finite and symmetric, or has no positive scale.
    """
    where = f"source {name}" if name else "a source"
    check_similarity(S, where)
    values = stored_values(S)
    # by the trace and not by the largest entry: one outlier among the samples would shrink
    # all others
    loops = S.diagonal().any()
    factor = float(S.diagonal().mean() if loops else S.max())
    if factor <= 0.0:
        what, hint = "no similarity is positive", "give a similarity, not a distance"
        if loops:
            what = f"the mean similarity of a sample to itself is {factor:.3g}: it must be positive"
            hint = "give a similarity (large for samples that are alike), not a distance"
        elif not values.any():
            what = "all similarities are 0"
            hint = "remove this source, or give another similarity for it"
        raise InputError(what, where=where, hint=hint)
    if frobenius:
        # divided by the factor first: the squares of large numbers overflow
        factor *= float(np.linalg.norm(values / factor))
    return S / factor, factor


def weighted_sum(
    kernels: Sequence[Any],
    weights: Sequence[float] | np.ndarray,
    samples: Sequence[np.ndarray] | None = None,
    n: int | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """Add up similarities (Eq. 5.2); average each pair of samples over the sources that have it.

    Parameters
    ----------
    kernels : sequence of ndarray or csr_array, shape (n_k, n_k)
        Symmetric, on one scale.
    weights : sequence of float, shape (K,)
        Non-negative, one positive.
    samples : sequence of ndarray of int, shape (n_k,), optional
        Indices among the n samples, without repeats; by default each kernel has all samples.
    n : int, optional
        Number of samples; by default that of each kernel.
    names : sequence of str, shape (n,), optional
        Sample ids for messages.

    Returns
    -------
    ndarray or csr_array, shape (n, n)
        W sum_k w_k S_k,ij / sum_k w_k over the sources k that have both i and j, where W is the
        sum of all weights: sum_k w_k S_k where all sources have all samples. Pairs that no source
        has are 0. Symmetric to the last bit; sparse where all kernels are.

    Raises
    ------
    InputError
        When samples are in no source of positive weight.
    """
    n = kernels[0].shape[0] if n is None else n
    places = [np.arange(n)] * len(kernels) if samples is None else samples
    # a source of weight 0 is not among them: it may not make an average of pairs alone
    used = [(S, at, float(w)) for S, at, w in zip(kernels, places, weights, strict=True) if w > 0.0]
    used_weights = [w for *_, w in used]
    has = np.zeros((len(used), n), bool)
    for row, (_, at, _) in zip(has, used):
        row[at] = True
    nowhere = np.flatnonzero(~has.any(axis=0))
    if nowhere.size:
        raise InputError(
            f"{nowhere.size:,} of {n:,} samples are in no source of positive weight",
            where=name_samples(nowhere, names or None),
            hint="drop them with --samples intersect, or add a source that has them",
        )
    if any(isinstance(S, np.ndarray) for S, *_ in used):
        total = np.zeros((n, n))
        for S, at, w in used:
            K, in_order = as_dense(S), np.array_equal(at, np.arange(n))
            for rows in row_panels(len(at)):
                # slices where they do: arrays of indices take ten times as long
                total[rows if in_order else (at[rows, None], at)] += w * K[rows]
        for rows in row_panels(n) if not has.all() else ():
            total[rows] *= _factors(has[:, rows, None], has[:, None, :], used_weights)
        return total
    from scipy.sparse import csr_array

    edges = csr_array((n, n))
    for S, at, w in used:
        own = S.tocoo()
        edges = edges + w * csr_array((own.data, (at[own.row], at[own.col])), shape=(n, n))
    if has.all():
        return edges
    pairs = edges.tocoo()
    data = pairs.data * _factors(has[:, pairs.row], has[:, pairs.col], used_weights)
    return csr_array((data, (pairs.row, pairs.col)), shape=(n, n))


def _factors(has_i: np.ndarray, has_j: np.ndarray, used_weights: list[float]) -> np.ndarray:
    """Return W / sum_k w_k over the sources that have both samples; 0 where there is none.

    Both sums run over the sources in their order, so that the factor is 1 exactly where all have
    them, and the same for (i, j) and (j, i).
    """
    whole, known = 0.0, np.zeros(np.broadcast_shapes(has_i.shape, has_j.shape)[1:])
    for weight, i, j in zip(used_weights, has_i, has_j):
        whole += weight
        known += weight * (i & j)
    return np.divide(whole, known, out=np.zeros_like(known), where=known > 0.0)
