"""Which gene has which term: a 0/1 matrix, gene sets, or annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.base import MatrixReader, RowBlock
from sfs_cli.io.gaf import read_gaf
from sfs_cli.io.gmt import choose_sets, read_gmt, split_set_spec
from sfs_cli.io.sparse_table import read_sparse_table
from sfs_cli.io.text import text_suffix

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Terms:
    """Which gene has which term.

    Attributes
    ----------
    genes : list of str, length l
        Ids, in the order of the file.
    terms : list of str, length t
        Terms that have a gene, in the order of the file.
    matrix : csr_array of float64, shape (l, t)
        1 where a gene has a term.
    facts : dict of str to int
        ``terms_without_genes``, which were left out; of a GAF also how many annotations were.
    """

    genes: list[str]
    terms: list[str]
    matrix: csr_array
    facts: dict[str, int] = field(default_factory=dict)


def read_terms(
    spec: str,
    evidence: str | Sequence[str] | None = None,
    ids: Literal["symbol", "id"] = "symbol",
) -> Terms:
    """Read the terms of genes.

    Parameters
    ----------
    spec : str
        ``FILE.gmt``, or ``FILE.gmt:SET1,SET2`` for some sets (names or patterns, see
        `choose_sets`); ``FILE.gaf``; or a matrix of zeros and ones in any format that is read,
        with genes in rows and terms in columns. Text may be compressed.
    evidence, ids
        Of a GAF; see `read_gaf`.

    Raises
    ------
    InputError
        If the file cannot be read, an entry is neither 0 nor 1, an id is repeated, or no gene has
        a term.
    UsageError
        If `evidence` or `ids` is given for another file than a GAF.
    """
    path, patterns = split_set_spec(spec)
    suffix = text_suffix(path)
    if suffix == ".gaf":
        annotations = read_gaf(path, evidence, ids)
        genes = annotations.genes
        chosen = choose_sets(genes, patterns, path) if patterns else genes
        return _of_sets(chosen, annotations.facts)
    if evidence is not None or ids != "symbol":
        option = "evidence" if evidence is not None else "ids"
        raise UsageError(
            f"{option} has no effect on this file, which is no GAF",
            where=str(path),
            hint=f"leave {option} out, or give annotations as .gaf or .gaf.gz",
        )
    if suffix == ".gmt":
        sets = read_gmt(path)
        return _of_sets(choose_sets(sets, patterns, path) if patterns else sets, {})
    return _of_matrix(path)


def _of_sets(sets: Mapping[str, Sequence[str]], facts: dict[str, int]) -> Terms:
    from scipy.sparse import csr_array

    places: dict[str, int] = {}
    rows = [places.setdefault(gene, len(places)) for genes in sets.values() for gene in genes]
    columns = np.repeat(np.arange(len(sets)), [len(genes) for genes in sets.values()])
    made = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(places), len(sets)))
    return Terms(list(places), list(sets), made, facts | {"terms_without_genes": 0})


def _of_matrix(path: Path) -> Terms:
    from scipy.sparse import csr_array

    genes, terms, matrix = read_sparse_table(path, _checked)
    used = np.flatnonzero(matrix.sum(axis=0) > 0)
    if not used.size:
        raise InputError(
            "no gene has a term", where=str(path), hint="give genes in rows and terms in columns"
        )
    facts = {"terms_without_genes": len(terms) - len(used)}
    return Terms(genes, [terms[i] for i in used], csr_array(matrix[:, used]), facts)


def _checked(block: RowBlock, reader: MatrixReader) -> csr_array:
    """Return a block as a sparse one, if all its entries are 0 or 1."""
    from scipy.sparse import coo_array, csr_array

    made = csr_array(block.values)
    wrong = np.flatnonzero(~np.isin(made.data, (0.0, 1.0)))
    if wrong.size:
        entries = coo_array(made)
        row, column = (int(index[wrong[0]]) for index in entries.coords)
        value = made.data[wrong[0]]
        raise InputError(
            "the value is missing" if np.isnan(value) else f"the value {value:g} is not 0 or 1",
            where=f"{reader.path}, row {block.ids[row]!r}, column {reader.column_ids[column]!r}",
            hint="write 1 where a gene has a term, and 0 elsewhere",
        )
    made.eliminate_zeros()
    return made
