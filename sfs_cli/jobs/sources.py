"""The knowledge sources of a run: converted, weighed and fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfs_cli.config import RankConfig
from sfs_cli.config.sources import fusion_options, given_weights, weighting
from sfs_cli.errors import InputError, OutOfMemoryError, counted
from sfs_cli.fusion.base import FusionContext, Weighting
from sfs_cli.fusion.catalog import WEIGHTINGS
from sfs_cli.fusion.combine import union_average, weighted_sum
from sfs_cli.fusion.scale import one_scale
from sfs_cli.graph.options import DENSE_SAMPLES
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, SparseSimilarity
from sfs_cli.jobs.source_notes import what_became
from sfs_cli.sources.base import Source, Target
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec


@dataclass
class Part:
    """The similarity that one source became.

    Attributes
    ----------
    spec : SourceSpec
        What was asked for.
    matrix : ndarray or csr_array, shape (n_k, n_k)
        The similarity, on the scale of all.
    places : ndarray of int, shape (n_k,)
        The samples it is between.
    facts : dict
        How it was made.
    """

    spec: SourceSpec
    matrix: Any
    places: np.ndarray
    facts: dict[str, Any]


@dataclass
class Fusion:
    """Similarities of several sources, and how they are put together.

    Attributes
    ----------
    config : RankConfig
        What was asked for.
    parts : list of Part
        The sources, in the order given.
    n : int
        Number of samples.
    codes : ndarray of int, shape (n,), optional
        Classes of the samples, for weights that are learned with labels.
    """

    config: RankConfig
    parts: list[Part]
    n: int
    codes: np.ndarray | None = None
    names: Sequence[str] = field(default=(), repr=False)

    def weigh(self, without: int | None = None) -> Weighting:
        """Return the weights, perhaps learned again without one of the sources."""
        chosen = self._kept(without)
        name = weighting(self.config)
        options: dict[str, Any] = dict(fusion_options(self.config))
        if name == "given":
            weights = given_weights(self.config)
            options["weights"] = [weights[k] for k in chosen]
        common = self._common(chosen)
        if len(common) < 2 and name not in ("given", "uniform"):
            raise InputError(
                f"{counted(len(common), 'sample')} of {self.n:,} are in all sources: too few to "
                "learn weights on",
                where=f"--weights {name}",
                hint="give --weights uniform, or the weights themselves",
            )
        kernels = [self._between(self.parts[k], common) for k in chosen]
        if name == "naml" and "clusters" not in options:
            options["clusters"] = _clusters(kernels)
        codes = None if self.codes is None else self.codes[common]
        names = tuple(self.parts[k].spec.name for k in chosen)
        return WEIGHTINGS[name].load()(kernels, FusionContext(codes, options, names))

    def graph(self, weights: Weighting, without: int | None = None) -> Similarity:
        """Return the global similarity (Eq. 5.2)."""
        if weights.fused is not None:
            return DenseSimilarity(weights.fused)
        parts = [self.parts[k] for k in self._kept(without)]
        kernels = [part.matrix for part in parts]
        if all(len(part.places) == self.n for part in parts):
            S = weighted_sum(kernels, weights.weights)
        else:
            places = [part.places for part in parts]
            S = union_average(kernels, places, weights.weights, self.n, self.names)
        return DenseSimilarity(S) if isinstance(S, np.ndarray) else SparseSimilarity(S)

    def alone(self, k: int) -> Similarity:
        """Return the similarity of one source."""
        S = self.parts[k].matrix
        return DenseSimilarity(S) if isinstance(S, np.ndarray) else SparseSimilarity(S)

    def _kept(self, without: int | None) -> list[int]:
        return [k for k in range(len(self.parts)) if k != without]

    def _common(self, chosen: list[int]) -> np.ndarray:
        """Return the samples that all of some sources know: weights are learned on those."""
        known = np.ones(self.n, bool)
        for k in chosen:
            has = np.zeros(self.n, bool)
            has[self.parts[k].places] = True
            known &= has
        return np.flatnonzero(known)

    def _between(self, part: Part, samples: np.ndarray) -> Any:
        if len(samples) == len(part.places):
            return part.matrix
        rows = np.searchsorted(part.places, samples)
        return part.matrix[rows][:, rows]


def _clusters(kernels: list[np.ndarray]) -> int:
    """Return the number of clusters at the largest eigengap of the mean similarity.

    Raises
    ------
    InputError
        When the mean similarity is no graph, or is between too few samples.
    """
    from sfs_cli.graph.laplacian import NormalizedLaplacian
    from sfs_cli.graph.spectrum import MAX_CLUSTERS, clusters_by_eigengap, leading

    mean = DenseSimilarity(weighted_sum(kernels, np.full(len(kernels), 1 / len(kernels))))
    if mean.n < 3 or not (mean.degrees > 0).all():
        raise InputError(
            "the number of clusters cannot be told from the sources",
            where="--weights naml",
            hint="give it with --fusion-clusters",
        )
    found = leading(NormalizedLaplacian(mean), min(MAX_CLUSTERS + 1, mean.n))
    return clusters_by_eigengap(found.values)


def convert(
    config: RankConfig, sources: Sequence[Source], target: Target, codes: np.ndarray | None
) -> Fusion:
    """Turn every source into a similarity between the samples that are used, on one scale.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    sources : sequence of Source
        The sources, opened.
    target : Target
        The matrix.
    codes : ndarray of int, shape (n,), optional
        Classes of the samples, where they are needed.

    Raises
    ------
    InputError
        When one cannot be turned into a similarity.
    OutOfMemoryError
        When they do not fit the memory allowed.
    """
    samples = list(target.prepared.ids.samples)
    graphs, places = [], []
    for source in sources:
        known = None if source.samples is None else set(source.samples)
        at = np.array([i for i, s in enumerate(samples) if known is None or s in known])
        graphs.append(source.similarity(target, [samples[i] for i in at]))
        places.append(at)
    sparse = len(samples) > DENSE_SAMPLES and all(
        isinstance(graph.similarity, SparseSimilarity) for graph in graphs
    )
    if not sparse:
        _check_memory(len(samples), len(sources), target.memory)
    parts = []
    for source, graph, at in zip(sources, graphs, places):
        part = _scaled(config, source.spec, graph, at, sparse)
        target.messages.note(what_became(source, part.facts, len(samples)))
        parts.append(part)
    return Fusion(config, parts, len(samples), codes, samples)


def _scaled(
    config: RankConfig, spec: SourceSpec, graph: Graph, places: np.ndarray, sparse: bool
) -> Part:
    S: Any = graph.similarity
    S = S.matrix if sparse else S.to_dense()
    matrix, factor = one_scale(S, config.normalize == "frobenius", spec.name)
    facts = {"kind": spec.kind, "path": spec.path or None} | graph.facts
    facts |= {"samples": len(places), "divided_by": factor}
    return Part(spec, matrix, places, {k: v for k, v in facts.items() if v is not None})


def _check_memory(n: int, count: int, memory: int) -> None:
    """Check that the similarities fit, where they are dense."""
    if n > DENSE_SAMPLES and 8 * n * n * (count + 3) > memory:
        raise OutOfMemoryError(
            f"{count} similarities of {n:,} samples need {8 * n * n * (count + 3) / 2**30:.1f} GiB",
            where=f"--memory allows {memory / 2**30:.1f} GiB",
            hint="raise --memory, or use fewer samples",
        )
