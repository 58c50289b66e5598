"""``profile``: another measurement of the same samples, such as miRNAs or proteins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.sources.base import Opening, Target, graph_of
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec
from sfs_cli.store.matrix import Matrix
from sfs_cli.store.transforms import parse as parse_transform


class Profile:
    """A matrix of its own, with its own features.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    matrix : Matrix
        The measurements, in an order of samples of their own.
    """

    def __init__(self, spec: SourceSpec, matrix: Matrix) -> None:
        self.spec = spec
        self.matrix = matrix
        self.samples: Sequence[str] | None = matrix.ids.samples

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return any similarity between the samples, by these measurements."""
        place = {sample: i for i, sample in enumerate(self.matrix.ids.samples)}
        rows = np.array([place[sample] for sample in samples])
        missing = self.spec.missing or "error"
        steps = parse_transform(self.spec.transform)
        if target.prepared.steps and not steps:
            target.messages.note(
                f"source {self.spec.name}: its values are taken as they are; --transform is for "
                "the matrix, ,transform=STEPS for a source"
            )
        prepared = target.fitted(self.matrix, rows, self.spec, steps, missing)
        graph = graph_of(self.spec, prepared, target)
        graph.facts |= {"features": prepared.n_features, "transform": self.spec.transform}
        return graph


def open_source(spec: SourceSpec, opening: Opening) -> Profile:
    """Read the measurements."""
    return Profile(spec, opening.load(spec))
