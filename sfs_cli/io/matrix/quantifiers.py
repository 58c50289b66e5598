"""What tables of quantifiers are: which column has the ids and which the counts.

Salmon, kallisto, RSEM, HTSeq and STAR write a file for each sample; featureCounts writes a matrix,
or a file for each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from os.path import commonprefix
from pathlib import Path

from sfs_cli.display import shown
from sfs_cli.io.files.text import PACKED

QUANTIFIERS = (
    ("Name", "EffectiveLength", "NumReads"),
    ("target_id", "eff_length", "est_counts"),
    ("gene_id", "effective_length", "expected_count"),
    ("transcript_id", "effective_length", "expected_count"),
)
"""Columns of Salmon, kallisto and RSEM (genes, isoforms): the ids, which are first, and the counts.

The others have no line of names (`UNNAMED`).
"""
UNNAMED = {
    2: ("gene", "count"),
    4: ("gene", "unstranded", "forward", "reverse"),
}
"""The columns of HTSeq and of STAR (``ReadsPerGene.out.tab``), by their number."""
NO_GENES = ("__", "N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous")
"""How rows of HTSeq and STAR begin that count reads of no gene."""
_FEATURE_COUNTS = ("Geneid", "Chr", "Start", "End", "Strand", "Length")
_ALIGNED = re.compile(
    r"(?:[._-]?Aligned(?:\.sortedByCoord)?(?:\.out)?)?(?:\.(?:sort|sorted|markdup|dedup))*"
    r"\.(?:bam|sam|cram)$",
    re.IGNORECASE,
)
_ENDING = re.compile(
    r"[._-]?(?:(?:genes|isoforms)\.results|ReadsPerGene\.out\.tab|quant\.sf|abundance\.tsv)"
    r"(?:\.gz|\.zst)?$|(?:[._-](?:htseq|counts?)|\.(?:txt|tsv|tab|csv|sf|results))+(?:\.gz|\.zst)?$"
    r"|[._-](?:filtered|raw)_(?:feature|gene)_bc_matrix(?:es)?(?:_h5)?(?:\.h5)?$"
    r"|\.(?:h5ad|h5|zarr|h5mu(?::.*)?)$"
)

_NAMES = (
    *("quant.sf", "abundance.tsv", "*.genes.results", "*.isoforms.results"),
    "*ReadsPerGene.out.tab",
)
"""Names of the files of Salmon, kallisto, RSEM and STAR; others write under any name."""


def files_in(folder: Path) -> dict[str, list[Path]]:
    """Return the files of quantifiers in a folder, and in folders in it, by the pattern of each."""
    parts = product(("", "*/"), _NAMES, PACKED.values())
    found = {str(folder / each): sorted(folder.glob(each)) for each in map("".join, parts)}
    return {pattern: files for pattern, files in found.items() if files}


def counts_of(names: Sequence[str]) -> str | None:
    """Return the column of the counts, by the names of a table; None for another table.

    That of featureCounts is the last, in a table of one sample.
    """
    if tuple(names[:-1]) == _FEATURE_COUNTS:
        return names[-1]
    counts = (of[-1] for of in QUANTIFIERS if of[0] == names[0] and {*of} <= {*names[:5]})
    return next(counts, None)


def cleaned(names: Sequence[str], known: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return the names of a table of featureCounts without folders and ``.sorted.bam``, and a note.

    In R folders end in points, and X is before them, as in ``X.home.me.bam.P01.sorted.bam``; the
    ids may be ``GeneID``.

    Other tables, and names that would be the same then, are left as they are, and so are those of
    which more are `known` from other files, as DESeq2 asks for.
    """
    lead, own = names[:6], names[6:]
    found = [_ALIGNED.sub("", name.replace("\\", "/")) for name in own]
    shared = commonprefix(found)  # noqa: RUF071 (no paths)
    if shared.startswith("X.") and found != [*own]:
        found = [name[shared.rfind(".") + 1 :] for name in found]
    else:
        found = [name.rpartition("/")[2] for name in found]
    of_counts = [name.lower() for name in lead] == [name.lower() for name in _FEATURE_COUNTS]
    if not of_counts or found == [*own] or len({*found}) < len(own) or "" in found:
        return names, []
    if len({*own} & {*known}) > len({*found} & {*known}):
        return names, []
    note = f"samples are named without folders and endings of alignments: {found[0]} for {own[0]}"
    return [*lead, *found], [note]


def sample_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: its own, else that of a folder, else its path.

    Of several of the same name the nearest folders that differ tell them apart.
    """
    paths = [Path(shown(str(path))) for path in paths]  # not those of copies
    names = [_ENDING.sub("", path.name) or path.absolute().parent.name for path in paths]
    folders = paths
    while len(set(names)) == 1 and len(set(folders)) > 1:
        folders = [folder.absolute().parent for folder in folders]
        names = [folder.name for folder in folders]
    return names if len(set(names)) == len(names) else [*map(str, paths)]
