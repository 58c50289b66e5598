"""What sources are given to work with, and the interface that every kind of source has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, cast

import numpy as np

from sfs_cli.compute.context import Labels, RunContext
from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import Ids, arithmetic_dtype
from sfs_cli.errors import InputError, UsageError, located
from sfs_cli.graph.kinds import Graph, sample_graph
from sfs_cli.io.knowledge.gene_sets import Study, read_id_map
from sfs_cli.knowledge.matching import FeatureIndex, Matched, check_found
from sfs_cli.logs import FIRST
from sfs_cli.options.graph import default_similarity
from sfs_cli.options.source import KINDS, SourceSpec
from sfs_cli.store.matrix import Matrix
from sfs_cli.store.prepared import MissingPolicy, PreparedMatrix
from sfs_cli.store.transforms import parse as parse_transform
from sfs_cli.store.transforms import stated

BY_FEATURES = "distances by what is known of the features"


def of_source(spec: SourceSpec) -> str:
    """Return whose passes over the matrix those for a source are."""
    return f" for source {spec.name}"


@dataclass(frozen=True)
class SourceInputs:
    """What is known when sources are opened, before the samples of the run are chosen."""

    matrix: str  # path of the matrix
    ids: Ids  # features, samples and annotations of the matrix
    labels: Mapping[str, str] | None  # sample id to class, from ``--labels``
    tell: Callable[[str], None]  # shows a note
    load_profile: Callable[[SourceSpec], Matrix]  # reads the matrix of a profile

    @property
    def study(self) -> Study:
        """What readers of gene sets may know."""
        return Study(self.ids.features, self.tell)


class Source:
    """A knowledge source that has been opened.

    Attributes
    ----------
    spec : SourceSpec
        The source as the user gave it.
    samples : sequence of str, optional
        Ids of its samples; None for a source that has those of the matrix.
    sets : mapping
        The gene sets of a source that has some.
    """

    samples: Sequence[str] | None = None
    sets: Mapping[str, list[str]] = {}

    def __init__(self, spec: SourceSpec, _inputs: SourceInputs | None = None) -> None:
        self.spec = spec

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return the similarity between some of its samples, in their order."""
        raise NotImplementedError


def open_source(spec: SourceSpec, inputs: SourceInputs) -> Source:
    """Open a source: read its files, or at least the samples that it has.

    Raises
    ------
    InputError
        When it cannot be read.
    UsageError
        When a step of its transformation is unknown, before anything is read.
    """
    if said := stated(spec.transform):
        raise spec.error(
            f"{said} has no effect on a source: it is for the fold changes of the matrix",
            f"leave {said} out",
            "transform",
        )
    try:
        parse_transform(spec.transform)
    except UsageError as error:
        raise spec.error(error.what.removeprefix("--"), str(error.hint), "transform") from None
    module, _, name = KINDS[spec.kind].opener.partition(".")
    with located(f"source {spec.name}"):
        return getattr(import_module(f"sfs_cli.knowledge.{module}"), name)(spec, inputs)


def prepared(spec: SourceSpec, make: Callable[..., PreparedMatrix], matrix: str) -> PreparedMatrix:
    """Return the values of a source as `make` prepares them, given `where` they are for messages.

    `matrix` is the path of the one that is ranked.
    """
    try:
        return make(where=f"source {spec.name} ({spec.path or matrix})")
    except InputError as error:
        raise InputError(
            error.what,
            where=error.where,
            hint="add ,missing=mean to the source to fill them by the mean of their feature, "
            "or ,missing=drop to drop those features",
        ) from None


@dataclass
class SourceContext:
    """The run that sources are converted in."""

    run: RunContext  # matrix, labels, memory, seed and messages
    # ``--id-map``: a table of feature ids and source ids, for sources without their own
    id_map: str | None = None
    _indices: dict[str | None, FeatureIndex] = field(default_factory=dict, repr=False)

    @property
    def matrix(self) -> PreparedMatrix:
        """The matrix that is ranked."""
        return cast(PreparedMatrix, self.run.matrix)

    def values(self, spec: SourceSpec) -> PreparedMatrix:
        """Return the matrix as a source wants it: with its own transformation, or as ranked."""
        if spec.transform is None and spec.missing is None:
            return self.matrix
        own = self.matrix
        steps = own.steps if spec.transform is None else parse_transform(spec.transform)
        missing = cast(MissingPolicy, spec.missing or own.missing)
        return self.fitted(spec, partial(replace, own, steps=steps, missing=missing))

    def fitted(self, spec: SourceSpec, make: Callable[..., PreparedMatrix]) -> PreparedMatrix:
        """Return the values of a source with what their transformation needs of each sample.

        `make` prepares them, given `where` they are for messages.
        """
        made = prepared(spec, make, self.run.where)
        engine = self.engine(spec, made)
        made.fit(engine, self.run.memory, self.run.scratch)
        return made

    def engine(self, spec: SourceSpec, prepared: PreparedMatrix) -> Engine:
        """Return passes over the values of a source, in the arithmetic that their size asks for."""
        dtype = arithmetic_dtype(prepared.n_samples, prepared.n_features, prepared.dtype)
        own = self.run.engine
        # shards share the passes over the matrix itself; profiles are small
        parts = own.parts if prepared.matrix is self.matrix.matrix else None
        passes = None if spec.kind == "profile" else own.passes
        engine = Engine(prepared, own.executor, dtype, passes=passes, parts=parts)
        return replace(engine, whose=of_source(spec) + own.whose)

    def matched(self, spec: SourceSpec, genes: Sequence[str], taxon: str | None = None) -> Matched:
        """Match the genes of a source with the features, however few they are.

        `taxon` is what all ids of an `EdgeList` began with.
        """
        path = spec.id_map or self.id_map
        if path not in self._indices:  # one index serves all sources of one map
            pairs = None if path is None else read_id_map(path)
            with located(str(path)):
                self._indices[path] = FeatureIndex(self.matrix.ids.features, pairs)
        return self._indices[path].find(genes, taxon)

    def find(
        self, spec: SourceSpec, genes: Sequence[str], taxon: str | None = None
    ) -> tuple[Matched, dict[str, Any]]:
        """Find the genes of a source among the features, and return the facts of it.

        Raises
        ------
        InputError
            When none is found.
        """
        matched = self.matched(spec, genes, taxon)
        warning = check_found(matched, f"source {spec.name}", spec.path)
        if warning is not None:
            self.run.log.warn(warning, FIRST)
        facts = {"genes": matched.n_ids, "genes_found": matched.found}
        if matched.mapped:
            facts["genes_found_through_map"] = matched.mapped
        return matched, facts

    def check_min_score(self, spec: SourceSpec, facts: Mapping[str, Any]) -> None:
        """Warn of a least score that seems to be in other units than the scores of a source."""
        lowest = facts.get("lowest_score")
        if lowest is None or facts["below_min_score"] or not spec.min_score:
            return
        if spec.min_score <= 1 < lowest:
            self.run.log.warn(
                f"min-score={spec.min_score:g} of source {spec.name} leaves nothing out: all "
                f"scores are {lowest:g} or more ({spec.path}); give it in their units (STRING's go "
                "up to 1000)"
            )

    def graph(
        self,
        spec: SourceSpec,
        prepared: PreparedMatrix,
        facts: Mapping[str, Any] | None = None,
        distances: np.ndarray | None = None,
    ) -> Graph:
        """Return the similarity that a source asks for (by default rbf, or knn for many samples).

        It is between the samples as `prepared` measures them, or from squared `distances` (n, n);
        `facts` are what else ``run.json`` says of the source.
        """
        options = spec.graph_options(spec.similarity or default_similarity(prepared.n_samples))
        where = f"source {spec.name}"
        labels = self.run.labels
        if labels is not None:  # those of the samples that the source has
            code = dict(zip(self.matrix.ids.samples, labels.codes.tolist()))
            codes = [code.get(sample, -1) for sample in prepared.ids.samples]
            labels = Labels(np.array(codes), labels.classes)
        engine = self.engine(spec, prepared)
        run = replace(self.run, engine=engine, labels=labels, where=where)
        with located(where):
            graph = sample_graph(options, run, source=where, distances=distances)
        graph.facts |= facts or {}
        graph.facts |= {"features": prepared.n_used, "transform": spec.transform}
        return graph
