"""What MultiQC shows of a result: tables, General Statistics, and versions of software.

Its own reader (custom content) takes the files as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

RANKING, EVALUATED = "sfs_mqc.json", "sfs_evaluation_mqc.json"
SELECTED, GENERAL = "sfs_selection_mqc.json", "sfs_general_mqc.json"
"""The files of MultiQC's tables, the last one of General Statistics."""
SEPARATOR = " | "
"""Between the parts of a row's name, as MultiQC writes folders before names."""
_ENDINGS = re.compile(
    r"[._](?=(?:gz|fastq|fq|bam|cram|sam|sra|vcf|dat|tophat|pbmarkdup|log|stderr|out|spp|fa|fasta|"
    r"png|jpe?g|html|final|star|fastqc|flagstat|hicup|counts|txt|[tc]sv|aligned|merge|dedup|clean|"
    r"sorted|report|geneBody|inner|junction|pos|GC|slamdunk|bismark|conpair|concordance|contam|"
    r"BEST|peaks|relatedness|cnt|[abcefghilmpqrstx]*hist|bincov))"
)


def row_name(out: Path, method: str = "", home: Path | None = None) -> str:
    """Return the name of a result's row: its folder, and its method or list, if any.

    The folder is `out` without links and dots, relative to `home` (by default the working
    directory) where it is below that, however it was typed. Rankings of one matrix have rows of
    their own, for their folders differ.
    """
    home = (home or Path.cwd()).resolve()
    out = out.resolve()
    above = home if home in out.parents else out.parent if out == home else Path(out.anchor)
    folder = SEPARATOR.join(out.relative_to(above).parts)
    return f"{folder}{SEPARATOR}{method}" if method else folder


def table_of(file: str) -> dict[str, Any]:
    """Return one of these files without its rows: id, texts, and the columns as ``headers``."""
    templates = Path(__file__).with_name("templates")
    return json.loads((templates / "multiqc.json").read_bytes())[file]


def section(file: str, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the contents of one of these files.

    Tables of all results of a kind have the same id, so MultiQC (1.20 and newer) joins them.

    Parameters
    ----------
    file : str
        Its name.
    rows : mapping
        From the names of rows to their cells, by columns. What is None or NaN, and what is in no
        column of this file, is left out.
    """
    found = table_of(file)
    found["data"] = {
        # MultiQC puts the text of a table, and the names of its rows, into its page as they are
        _kept(row): {
            name: escape(cell) if isinstance(cell, str) else cell
            for name in found["headers"]
            if (cell := cells.get(name)) is not None and cell == cell
        }
        for row, cells in rows.items()
    }
    return found


def _kept(row: str) -> str:
    """Write a row's name so that MultiQC's cleaning of sample names leaves it whole.

    MultiQC cuts a name at the endings of the files it knows (``colon.csv``, ``colon_counts``) and
    before its last slash, which would give two results one row. References to characters look the
    same in its page, and no ending matches them.
    """
    text = escape(row).replace("/", "&#47;")
    return _ENDINGS.sub(lambda found: f"&#{ord(found[0])};", text)
