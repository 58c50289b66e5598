"""The kinds of knowledge sources, and opening them."""

from __future__ import annotations

from collections.abc import Callable

from sfs_cli.errors import UsageError, located
from sfs_cli.knowledge import genes, samples
from sfs_cli.knowledge.base import Source, SourceInputs
from sfs_cli.options.source import SourceSpec
from sfs_cli.store.transforms import parse as parse_transform

OPENERS: dict[str, Callable[[SourceSpec, SourceInputs], Source]] = {
    "profile": samples.Profile,
    "target": samples.TargetMatrix,
    "labels": samples.Classes,
    "hierarchy": samples.Tree,
    "similarity": samples.GivenSimilarity,
    "genes": genes.open_genes,
    "interactions": genes.open_interactions,
    "feature-similarity": genes.FeatureSimilarity,
    "terms": genes.SharedTerms,
}
"""What opens a source of each kind; `sfs_cli.options.source.KINDS` lists their options."""


def open_source(spec: SourceSpec, inputs: SourceInputs) -> Source:
    """Open a source: read its files, or at least the samples that it has.

    Raises
    ------
    InputError
        When it cannot be read.
    UsageError
        When a step of its transformation is unknown, before anything is read.
    """
    try:
        parse_transform(spec.transform)
    except UsageError as error:
        raise spec.error(error.what.removeprefix("--"), str(error.hint), "transform") from None
    with located(f"source {spec.name}"):
        return OPENERS[spec.kind](spec, inputs)
