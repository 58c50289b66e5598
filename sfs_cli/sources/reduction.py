"""The space in which neighbours are searched: all features, or a few principal components."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.identical import first_identical
from sfs_cli.compute.principal import OVERSAMPLING, principal_components, room
from sfs_cli.compute.spans import Span, block_features
from sfs_cli.errors import InputError, OutOfMemoryError, UsageError
from sfs_cli.graph.options import (
    DEFAULT_COMPONENTS,
    DEFAULT_VARIABLE_GENES,
    NEIGHBOUR_GRAPHS,
    GraphOptions,
    parse_components,
    parse_variable_genes,
)
from sfs_cli.graph.variable_features import all_alike, most_variable
from sfs_cli.sources import neighbours
from sfs_cli.sources.moments import feature_moments
from sfs_cli.sources.request import GraphRequest, samples_alike
from sfs_cli.store.matrix import DenseMatrix, Ids
from sfs_cli.store.nonzeros import NonZeroSource
from sfs_cli.store.prepared import PreparedMatrix

DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Reduction:
    """A space of principal components.

    Attributes
    ----------
    components : int
        Their number.
    genes : int, optional
        How many features they are made of; None for all.
    by_default : bool
        Whether nobody asked for it: there are many samples.
    """

    components: int
    genes: int | None
    by_default: bool

    def read(self, m: int) -> int:
        """Return how many of m features the components are made of."""
        return m if self.genes is None else self.genes


def reduction_of(
    options: GraphOptions, n: int, m: int, flag: str = "--", where: str = ""
) -> Reduction | None:
    """Return the space that neighbours are searched in; None for that of all features.

    Without ``components`` that is 50 of them for more than 50,000 samples of more than 50
    features, made of the 2,000 features that vary most.

    Parameters
    ----------
    options : GraphOptions
        What is asked for.
    n, m : int
        Samples and features.
    flag, where : str
        What comes before the name of an option in messages, and the input.

    Raises
    ------
    InputError
        When so many components are asked for as there are not.
    UsageError
        For ``variable_genes`` without components.
    """
    if options.name not in NEIGHBOUR_GRAPHS:
        return None
    genes = _genes(options, m)
    if options.components is None:
        many = n > neighbours.APPROXIMATE_ABOVE and m > DEFAULT_COMPONENTS
        if not many and options.variable_genes is not None:
            raise UsageError(
                f"{flag}variable-genes has no effect without {flag}components",
                where=where,
                hint=f"give {flag}components {DEFAULT_COMPONENTS} too; that is the default above "
                f"{neighbours.APPROXIMATE_ABOVE:,} samples of more features alone",
            )
        most = min(DEFAULT_COMPONENTS, m if genes is None else genes)
        return Reduction(most, genes, True) if many else None
    count = parse_components(options.components)
    if count is None:
        return None
    most = min(n - 1, m if genes is None else genes)
    if count > most:
        raise _too_many(f"{flag}components {count}", most, n, where)
    return Reduction(count, genes, False)


def _genes(options: GraphOptions, m: int) -> int | None:
    """Return how many of the features are chosen; None for all."""
    if options.variable_genes is None:
        return DEFAULT_VARIABLE_GENES if m > DEFAULT_VARIABLE_GENES else None
    asked = parse_variable_genes(options.variable_genes)
    return None if asked is None or asked >= m else asked


def _too_many(asked: str, most: int, n: int, where: str) -> InputError:
    what = f"the {n:,} samples less one" if most == n - 1 else f"the {most:,} features used"
    return InputError(
        f"{asked} are more than {what}",
        where=where,
        hint=f"give at most {most}, or none to search among all features",
    )


def reduced(request: GraphRequest) -> tuple[GraphRequest, dict[str, Any]]:
    """Return what neighbours are searched in, as a matrix of its own, and the facts of it.

    The components are those of the centred, not scaled, values as they are ranked, transformed.

    Raises
    ------
    InputError
        When there are fewer components than are asked for, or all samples are alike.
    OutOfMemoryError
        When the components do not fit the memory allowed.
    """
    if request.known is not None:
        return request, {}
    flag = request.flag("")
    n, m = request.n, request.source.n_features
    asked = reduction_of(request.options, n, m, flag, request.where)
    if asked is None:
        return request, {}
    if asked.by_default:
        request.messages.note(_told(asked, n, m, request))
    genes, by = _chosen(request, asked)
    used = m if genes is None else len(genes)
    most = min(n - 1, used)
    if asked.components > most and not asked.by_default:
        raise _too_many(f"{flag}components {asked.components}", most, n, request.where)
    count = min(asked.components, most)
    scores, facts = _scores(request, genes, count)
    ids = Ids([f"component {i + 1}" for i in range(count)], request.source.ids.samples)
    source = PreparedMatrix(DenseMatrix(scores, ids), where=request.where)
    engine = replace(request.engine, source=source, dtype=DOUBLE, block_size=None, tick=None)
    chosen = {"variable_genes": used if by else "all", "variable_by": by}
    return replace(request, engine=engine), {"components": count} | chosen | facts


def _told(asked: Reduction, n: int, m: int, request: GraphRequest) -> str:
    of = "all" if asked.genes is None else f"the {asked.read(m):,} most variable"
    what = f"{request.asked_by}: neighbours" if request.asked_by else "neighbours"
    off = (
        f",similarity={request.options.name},components=none"
        if request.asked_by
        else "--components none"
    )
    return (
        f"{what} of {n:,} samples are searched among {asked.components} principal components of "
        f"{of} features; {off} searches among all features"
    )


def _chosen(request: GraphRequest, asked: Reduction) -> tuple[np.ndarray | None, str | None]:
    """Return the features that vary most, and by what; None for all."""
    if asked.genes is None:
        return None, None
    mean, variance, lowest = feature_moments(request.engine)
    by = "dispersion" if lowest.min() >= 0 else "variance"
    if not (variance > 0).any():
        raise samples_alike(request)
    if all_alike(mean, variance, by):
        if request.options.variable_genes is None:
            request.messages.note(
                f"all features have the same {by}: the components are made of all of them"
            )
            return None, None
        raise InputError(
            f"all features have the same {by}: none varies most",
            where=request.where,
            hint=f"give {request.flag('variable-genes')} all, or leave out the step of the "
            "transformation that makes them alike (zscore, rank)",
        )
    if by == "variance":
        request.messages.note(
            "some values are below zero: the most variable features are those of the largest "
            "variance, not dispersion"
        )
    return most_variable(mean, variance, asked.genes, by), by


def _scores(
    request: GraphRequest, genes: np.ndarray | None, count: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the components, shape (count, n), the same in samples that are identical."""
    source = request.source if genes is None else request.source.selecting(genes)
    # one task for all: it is kept as a whole, and its parts are not
    engine = replace(request.engine, source=source, keeper=None, tick=None)
    engine = replace(engine, executor=engine.executor.at_most(_workers(request, count)))
    products = _without_zeros(engine, source, count)

    def task(_all: Span) -> tuple[np.ndarray, ...]:
        found = principal_components(products, count, request.seed)
        found.scores[...] = found.scores[:, first_identical(engine)]
        return found.scores, np.array([found.kept]), np.array([found.how])

    here = request.engine.executor.nearby.at_most(1)  # this thread, which signals interrupt
    whole = replace(request.engine, executor=here, tick=None)
    scores, kept, how = whole.joined(task, [Span(0, 1)])
    if not scores.any():
        raise samples_alike(request)
    return scores, {"variance_kept": float(kept[0]), "components_by": str(how[0])}


def _without_zeros(engine: Engine, source: PreparedMatrix, count: int) -> Engine:
    """Return passes over the stored values alone, where zeros are still zeros."""
    if not source.keeps_zeros:
        return engine
    # few stored values are worth a walk over an array of n x (count + 10)
    size = engine.block_size or max(block_features(source.n_samples, 8), count + OVERSAMPLING)
    return replace(engine, source=NonZeroSource(source), block_size=size)


def _workers(request: GraphRequest, count: int) -> int:
    """Return how many tasks may hold sums of the components at a time."""
    n, workers = request.n, request.engine.executor.workers
    while workers > 1 and room(n, count, workers) > request.memory:
        workers -= 1
    needed = room(n, count, workers)
    if needed > request.memory:
        raise OutOfMemoryError(
            f"{count} principal components of {n:,} samples need {needed / 2**20:,.0f} MiB",
            where=f"--memory allows {request.memory / 2**20:,.0f} MiB",
            hint="raise --memory, ask for fewer components, or give a graph that is made already "
            "(--similarity obsp:KEY or --similarity-file)",
        )
    return workers
