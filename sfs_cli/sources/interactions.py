"""``interactions``: the features that take part in interactions (Eq. 5.5)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.edges import EdgeList, read_edges
from sfs_cli.sources.base import Opening
from sfs_cli.sources.gene_files import read_genes
from sfs_cli.sources.genes import Genes
from sfs_cli.sources.spec import SourceSpec


def taking_part(edges: EdgeList, seeds: list[str] | None) -> list[str]:
    """Return the genes that take part: all, or the seeds and their direct partners.

    Parameters
    ----------
    edges : EdgeList
        The interactions.
    seeds : list of str, optional
        Genes whose interactions count.

    Returns
    -------
    list of str
        Each once, in the order of the file. A seed without an interaction takes no part.
    """
    if seeds is None:
        return list(edges.ids)
    wanted = np.isin(np.array(edges.ids, dtype=object), list(set(seeds)))
    touched = wanted[edges.a] | wanted[edges.b]
    part = np.zeros(len(edges.ids), bool)
    part[edges.a[touched]] = True
    part[edges.b[touched]] = True
    return [edges.ids[i] for i in np.flatnonzero(part)]


def open_source(spec: SourceSpec, opening: Opening) -> Genes:
    """Read the interactions and the seeds.

    Raises
    ------
    InputError
        When a file cannot be read, or no seed interacts.
    """
    edges = read_edges(Path(spec.path), spec.min_score)
    seeds = None if spec.seeds is None else read_genes(spec.seeds, spec)[0]
    genes = taking_part(edges, seeds)
    if not genes:
        raise InputError(
            f"none of the {counted(len(seeds or []), 'seed')} interacts",
            where=f"source {spec.name} ({spec.seeds}): {listed(seeds or [], 3)}; genes that "
            f"interact are {listed(list(edges.ids), 3)}",
            hint="give seeds by the ids of the interactions, or lower min-score",
        )
    facts: dict[str, object] = {"interactions": len(edges.a), **edges.facts}
    return Genes(spec, genes, facts | ({} if seeds is None else {"seeds": len(seeds)}))
