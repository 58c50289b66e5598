"""What a converter is given, and what it makes: a similarity between samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.executor import Executor
from sfs_cli.compute.parts import PartFolder
from sfs_cli.compute.spans import arithmetic_dtype
from sfs_cli.errors import InputError, located
from sfs_cli.graph.options import default_similarity
from sfs_cli.logs import Messages
from sfs_cli.sources.request import GraphRequest
from sfs_cli.sources.sample_graph import Graph, sample_graph
from sfs_cli.sources.spec import SourceSpec
from sfs_cli.store.matrix import Ids, Matrix
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.transforms import parse as parse_transform


@dataclass(frozen=True)
class Opening:
    """What is known when sources are opened, before samples are chosen.

    Attributes
    ----------
    matrix : str
        The path of the matrix.
    ids : Ids
        Features, samples and annotations of the matrix.
    labels : mapping of str to str, optional
        Sample id to class, of the run.
    load : callable
        Reads the matrix of a profile.
    """

    matrix: str
    ids: Ids
    labels: Mapping[str, str] | None
    load: Callable[[SourceSpec], Matrix]


@dataclass
class Target:
    """The matrix that is ranked, as the sources made from it see it.

    Attributes
    ----------
    prepared : PreparedMatrix
        Its values, as they are ranked.
    executor : Executor
        Runs passes.
    memory : int
        Bytes that may be used.
    messages : Messages
        Told of what was decided.
    classes : mapping of str to str, optional
        Sample id to class, where labels are known.
    id_map : str, optional
        A table of ids of features and of sources, for sources without their own.
    allow_unmatched : bool
        Whether a source of which few genes are found is only warned of.
    seed : int
        Of what is sampled.
    keeper : PartFolder, optional
        Keeps the parts of passes over the matrix.
    """

    prepared: PreparedMatrix
    executor: Executor
    memory: int
    messages: Messages
    classes: Mapping[str, str] | None = None
    id_map: str | None = None
    allow_unmatched: bool = False
    seed: int = 0
    keeper: PartFolder | None = None
    _indices: dict[str | None, Any] = field(default_factory=dict)

    def values(self, spec: SourceSpec) -> PreparedMatrix:
        """Return the matrix as a source wants it: with its own steps, or as it is ranked."""
        if spec.transform is None and spec.missing is None:
            return self.prepared
        own = self.prepared
        steps = own.steps if spec.transform is None else parse_transform(spec.transform)
        return self.fitted(own.matrix, own.samples, spec, steps, spec.missing or own.policy)

    def fitted(
        self,
        matrix: Matrix,
        samples: np.ndarray | None,
        spec: SourceSpec,
        steps: tuple[str, ...],
        missing: Any,
    ) -> PreparedMatrix:
        """Return a matrix prepared for a source."""
        where = f"source {spec.name} ({spec.path or self.prepared.where})"
        try:
            made = PreparedMatrix(
                matrix, samples=samples, missing=missing, steps=steps, where=where
            )
        except InputError as error:
            hint = "add ,missing=mean to the source to fill them by their feature's mean, or "
            raise InputError(
                error.what, where=error.where, hint=hint + ",missing=drop to leave those out"
            ) from None
        made.fit(self.engine(made).total_over)
        return made

    def engine(self, prepared: PreparedMatrix) -> Engine:
        """Return passes over a matrix, in the arithmetic that its size asks for."""
        shape = prepared.n_samples, prepared.n_features
        # passes over the whole matrix are worth keeping; a profile is small
        keeper = self.keeper if prepared.matrix is self.prepared.matrix else None
        dtype = arithmetic_dtype(*shape, prepared.dtype)
        return Engine(prepared, self.executor, dtype, keeper=keeper)

    def index(self, spec: SourceSpec) -> Any:
        """Return where genes are found among the features, through the map of a source."""
        from sfs_cli.io.id_map import read_id_map
        from sfs_cli.sources.matching import FeatureIndex

        path = spec.id_map or self.id_map
        if path not in self._indices:
            pairs = None if path is None else read_id_map(Path(path))
            with located(str(path)):
                self._indices[path] = FeatureIndex(self.prepared.ids.features, pairs)
        return self._indices[path]


class Source(Protocol):
    """A source that has been opened.

    Attributes
    ----------
    spec : SourceSpec
        What is asked for.
    samples : sequence of str, optional
        The samples it knows; None where it knows all those of the matrix.
    """

    spec: SourceSpec
    samples: Sequence[str] | None

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return the similarity between some samples that it knows, in their order."""
        ...


def graph_of(
    spec: SourceSpec,
    prepared: PreparedMatrix,
    target: Target,
    known: np.ndarray | None = None,
) -> Graph:
    """Return the similarity that a source asks for, of samples measured by a matrix.

    Parameters
    ----------
    spec : SourceSpec
        Names the similarity; by default rbf, or knn for many samples.
    prepared : PreparedMatrix
        The measurements.
    target : Target
        How passes are run.
    known : ndarray, shape (n, n), optional
        Squared distances, where they are not those of the matrix.
    """
    n = prepared.n_samples
    options = spec.graph
    if not options.name:
        options = replace(options, name=default_similarity(n))
    codes, classes = _codes(target, prepared.ids.samples)
    request = GraphRequest(
        options,
        target.engine(prepared),
        codes,
        target.memory,
        target.messages,
        classes,
        where=f"source {spec.name}",
        seed=target.seed,
        asked_by=f"source {spec.name}",
        known=known,
    )
    with located(f"source {spec.name}"):
        return sample_graph(request)


def _codes(target: Target, samples: Sequence[str]) -> tuple[np.ndarray | None, list[str] | None]:
    if target.classes is None:
        return None, None
    names = sorted(set(target.classes.values()))
    code = {name: i for i, name in enumerate(names)}
    known = [target.classes.get(sample) for sample in samples]
    return np.array([-1 if name is None else code[name] for name in known]), names
