"""``labels``: samples of one class are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfs_cli.graph.labels import label_similarity
from sfs_cli.sources.base import Opening, Target
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec


class Classes:
    """A class for each sample.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    labels : mapping of str to str
        Sample id to class.
    """

    def __init__(self, spec: SourceSpec, labels: Mapping[str, str]) -> None:
        self.spec = spec
        self.labels = labels
        self.samples: Sequence[str] | None = list(labels)

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return 1/n_l within a class of n_l samples, 0 between classes (Eq. 3.13)."""
        names, codes = np.unique([self.labels[s] for s in samples], return_inverse=True)
        return Graph(label_similarity(codes), {"similarity": "label", "classes": len(names)})


def open_source(spec: SourceSpec, opening: Opening) -> Classes:
    """Read the labels: a table, an annotation of the matrix, or those of the run."""
    from sfs_cli.io.annotations import read_annotation
    from sfs_cli.io.table import read_labels

    if not spec.path:
        assert opening.labels is not None, "checked with the options"
        return Classes(spec, opening.labels)
    if spec.path.startswith("obs:"):
        key = spec.path.removeprefix("obs:")
        ids = opening.ids
        found = read_annotation(key, list(ids.samples), ids.obs, opening.matrix, "labels:")
        return Classes(spec, found)
    return Classes(spec, read_labels(spec.path))
