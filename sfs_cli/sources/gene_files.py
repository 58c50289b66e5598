"""The genes that a file names: a plain list, gene sets, or annotations."""

from __future__ import annotations

from typing import Any

from sfs_cli.io.gaf import read_gaf
from sfs_cli.io.gene_list import read_gene_list
from sfs_cli.io.gmt import choose_sets, read_gmt, split_set_spec
from sfs_cli.io.text import text_suffix
from sfs_cli.sources.spec import SourceSpec


def read_genes(given: str, spec: SourceSpec) -> tuple[list[str], dict[str, Any]]:
    """Read the genes of a list, of the sets of a GMT, or of the annotations of a GAF.

    Parameters
    ----------
    given : str
        ``FILE``, ``FILE.gmt:SET1,SET2`` or ``FILE.gaf:TERM1,TERM2``.
    spec : SourceSpec
        Which evidence and ids of a GAF.

    Returns
    -------
    genes : list of str
        Each once, in the order of the file.
    facts : dict
        What was read.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    path, names = split_set_spec(given)
    suffix = text_suffix(path)
    if suffix != ".gaf" and (spec.evidence or spec.ids):
        option = "evidence" if spec.evidence else "ids"
        raise spec.error(
            f"{option} has no effect on {path.name}, which is no GAF",
            f"leave {option} out, or give annotations as .gaf or .gaf.gz",
        )
    if suffix not in (".gmt", ".gaf"):
        return read_gene_list(path), {}
    if suffix == ".gmt":
        sets, facts = read_gmt(path), {}
    else:
        annotations = read_gaf(path, spec.evidence, spec.gene_ids)
        sets, facts = annotations.genes, dict(annotations.facts)
    chosen = choose_sets(sets, names, path) if names else sets
    return list(dict.fromkeys(g for genes in chosen.values() for g in genes)), facts | {
        "sets": len(chosen)
    }
