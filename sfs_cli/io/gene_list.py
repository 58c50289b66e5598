"""Lists of genes: one id in each line."""

from __future__ import annotations

from pathlib import Path

from sfs_cli.errors import InputError
from sfs_cli.io.header import split_fields
from sfs_cli.io.id_names import is_id_name
from sfs_cli.io.plain_text import refuse_other_than_text, text_lines


def read_gene_list(path: Path) -> list[str]:
    """Read the ids of a list.

    Parameters
    ----------
    path : Path
        Text (gzip and zstd are decompressed) with an id in the first field of each line; further
        fields, divided by tabs or commas, are not looked at. Blank lines and those that begin
        with ``#`` are skipped, and so is a first line that is a usual name of such a column
        (gene, symbol, feature_id, hgnc_symbol).

    Returns
    -------
    list of str
        Each id once, in the order of the file.

    Raises
    ------
    InputError
        If the file cannot be read, holds no id, or a line has none in its first field.
    """
    path = Path(path)
    refuse_other_than_text(path, "a list of genes")
    genes: dict[str, None] = {}
    is_first = True
    for line, text in text_lines(path):
        if text.startswith("#"):
            continue
        gene = split_fields(text, "\t" if "\t" in text else ",")[0]
        if not gene:
            raise InputError(
                "a line has no id in its first field",
                where=f"{path}, line {line}",
                hint="the first column must hold the ids",
            )
        if not (is_first and is_id_name(gene)):
            genes[gene] = None
        is_first = False
    if not genes:
        raise InputError(
            "the list holds no ids", where=str(path), hint="write one gene id in each line"
        )
    return list(genes)
