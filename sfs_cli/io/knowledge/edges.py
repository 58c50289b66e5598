"""Interactions between genes from lists of edges: BioGRID, STRING, SIF, or any table of pairs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from sfs_cli.compute.limits import TOO_LARGE
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.names import BLANKS, check_names
from sfs_cli.io.files.sniff import refuse_other_than_text
from sfs_cli.io.files.table import (
    NULL_TOKENS,
    ONE_COLUMN,
    is_id_name,
    is_number,
    name_words,
    names_p_values,
    sniff_delimiter,
    split_fields,
)
from sfs_cli.io.files.text import Chunk, chunk_lines, text_chunks, text_lines, text_suffix

CHUNK_BYTES = 16 << 20
_NO_SYMBOL = "-"
_MISSING = (*NULL_TOKENS, "-")
_LINE_HINT = "each line needs two ids, and a score where the others have one"
_SCORE_HINT = "scores are numbers, zero or more; remove the edge, or the column from all lines"
_TWO_IDS = "write two ids in each line"


@dataclass(frozen=True)
class EdgeList:
    """Undirected edges, each once, none from an id to itself; arrays have shape (edges,).

    ``facts`` are ``format``, ``columns`` (those of the ends, where they have names),
    ``score_column``, ``lowest_score`` (where a least one was asked for), ``taxon`` (a prefix of
    all ids that was removed), and counts of what was left out: ``self_loops``, ``repeated_edges``,
    ``below_min_score``, ``without_symbol`` (BioGRID).
    """

    ids: list[str]  # those that have an edge
    a: np.ndarray  # int32: positions in `ids` of the two ends, a < b, sorted by (a, b)
    b: np.ndarray
    score: np.ndarray | None  # float64, zero or more; of repeated edges the highest
    facts: dict[str, Any] = field(default_factory=dict)


def read_edges(path: Path, min_score: float | None = None) -> EdgeList:
    """Read a list of edges from text, which may be compressed.

    What the columns hold is found from the first lines, see `edge_layout`. Blank lines and those
    that begin with ``#`` are skipped. Where all ids begin with the same number and a point, as
    those of STRING (``9606.ENSP00000000233``), that is removed. A name that ends in ``.sif`` is
    that of Cytoscape's format: a node, the type of the interaction, and its partners, divided by
    tabs, or by blanks where the first lines have no tab. Edges with a score below
    `min_score`, in the units of the file (STRING: 0 to 1000), are left out. BioGRID's scores have
    the units of each experiment, and are not read.

    Takes about 100 bytes of memory for each line with a score. A line with another number of
    fields, an empty id or an unusable score, no scores to compare, and no edge left are an
    `InputError`.
    """
    path = Path(path)
    refuse_other_than_text(path, "a list of edges")
    layout = edge_layout(path)
    if min_score is not None and not layout.scored:
        raise InputError(
            "min-score is given, but the edges have no scores that can be compared",
            where=path,
            hint="leave min-score out, or give a file with a column of scores (those of BioGRID "
            "have the units of each experiment)",
        )
    chunks = (_parse_edges(chunk, layout) for chunk in text_chunks(path, CHUNK_BYTES))
    tables = [table for table in chunks if table is not None]
    if not tables:
        raise InputError("the file has no edges", where=path, hint=_TWO_IDS)
    score = np.zeros(0)
    if layout.scored:
        score = np.concatenate([table["score"].to_numpy() for table in tables])
    ids, a, b = _coded_ends(tables)
    names = [layout.names[column] for column in layout.columns]
    p_values = layout.scored and names_p_values(names[2])
    p_values = p_values and not names_p_values(names[2], logarithms=True)
    if p_values and not ((score < 0) | (score > 1)).any():  # some may be missing
        raise InputError(
            f"column {names[2]!r} holds p-values, and a score is the larger the more alike two "
            "ids are",
            where=path,
            hint="give -log10 of it as score, or leave the column out",
        )
    _check(ids, a, b, score, path)
    facts: dict[str, Any] = {"format": layout.format}
    if layout.named:
        facts["columns"] = names[:2]
    if layout.scored:
        facts["score_column"] = names[2]
    keep = np.ones(len(a), bool)

    def leave_out(fact: str, which: np.ndarray) -> None:
        facts[fact] = int((keep & which).sum())
        keep[which] = False

    if layout.format == BIOGRID:
        without = ids.index(_NO_SYMBOL) if _NO_SYMBOL in ids else -1
        leave_out("without_symbol", (a == without) | (b == without))
    leave_out("self_loops", a == b)
    if not keep.any():
        hint = f"are columns {names[0]!r} and {names[1]!r} the ends?"
        raise InputError("no edge joins two different ids", where=path, hint=hint)
    if min_score is not None:
        known = score[keep]
        leave_out("below_min_score", score < min_score)
        if not keep.any():
            raise InputError(
                f"none of {counted(len(known), 'edge')} has a score of {min_score:g} or more",
                where=path,
                hint=f"lower min-score: the scores lie between {known.min():g} and {known.max():g}",
            )
        facts["lowest_score"] = float(score[keep].min())
    score = score if layout.scored else np.ones(len(a))
    low, high, highest = strongest(a[keep], b[keep], score[keep], len(ids))
    facts["repeated_edges"] = int(keep.sum()) - len(low)
    used = np.zeros(len(ids), bool)
    used[low] = used[high] = True
    places = np.cumsum(used, dtype=np.int32) - 1
    ids = _without_taxon([ids[i] for i in np.flatnonzero(used)], facts)
    return EdgeList(ids, places[low], places[high], highest if layout.scored else None, facts)


def strongest(
    a: np.ndarray, b: np.ndarray, score: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return undirected edges between n ids, shape (e,), each once, with its highest score.

    They are sorted by the smaller end, then by the larger one; all three arrays are new.
    """
    # a pair as one number: sorting numbers takes a fraction of the time of sorting pairs
    key = np.minimum(a, b).astype(np.int64) * n + np.maximum(a, b)
    order = np.argsort(key)  # among equal keys any order gives the same highest score
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    low, high = np.divmod(key[order[starts]], n)
    return low, high, np.maximum.reduceat(score[order], starts) if len(starts) else score[:0]


def _coded_ends(tables: list[pa.Table]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the ids, those of the first ends before those of second ends alone, and their codes.

    The tables are cleared, so that their codes and those of all ends are not held together.
    """
    both = [chunk for end in "ab" for table in tables for chunk in table[end].chunks]
    tables.clear()
    both = pa.chunked_array(both).unify_dictionaries().chunks
    known: dict[str, int] = {}
    words = both[0].dictionary.to_pylist()
    # words that differ in blanks around them are one id
    code = np.array([known.setdefault(word.strip(BLANKS), len(known)) for word in words], np.int32)
    a, b = np.split(code[np.concatenate([chunk.indices.to_numpy() for chunk in both])], 2)
    return list(known), a, b


def _check(ids: list[str], a: np.ndarray, b: np.ndarray, score: np.ndarray, path: Path) -> None:
    """Refuse an edge without an id, and the first score that is no number of zero or more."""
    if "" in ids:
        at = int(((a == ids.index("")) | (b == ids.index(""))).argmax())
        what = f"an edge has no id beside {ids[a[at]] or ids[b[at]]!r}"
        raise InputError(what, where=path, hint=_LINE_HINT)
    check_names(ids, "a node", path)
    wrong = np.flatnonzero(~((score >= 0) & (score < TOO_LARGE)))
    if wrong.size:
        at = int(wrong[0])
        what = f"the score of {ids[a[at]]} and {ids[b[at]]} is {score_fault(score[at])}"
        raise InputError(what, where=path, hint=_SCORE_HINT)


def score_fault(value: float) -> str:
    """Say what is wrong with a score that is no number of zero or more."""
    if np.isnan(value):
        return "missing"
    return "negative" if value < 0 else f"{TOO_LARGE:g} or more, which measures nothing"


def _without_taxon(ids: list[str], facts: dict[str, Any]) -> list[str]:
    """Return the ids without the number and the point that all begin with, but are not all of."""
    found = re.match(r"([0-9]+)\.", ids[0])
    if found is None:
        return ids
    prefix, rests = found[0], [i[found.end() :] for i in ids]
    named = all(rest and not rest.isdecimal() for rest in rests)
    if not named or not all(i.startswith(prefix) for i in ids):
        return ids
    facts["taxon"] = found[1]
    return rests


# The layout of a file, found from its first lines.

TABLE, STRING, BIOGRID, SIF = "table", "STRING", "BioGRID", "SIF"
_SCORES = ("combined score", "score", "weight", "similarity", "confidence")
_SYMBOLS = (
    ("official symbol interactor a", "official symbol interactor b"),  # BioGRID
    ("preferredname a", "preferredname b"),  # STRING
)
"""Names of the columns of two ends that are taken before all others."""
_PAIRS = (
    *(("source", "target"), ("from", "to"), ("mirna", "target"), ("tf", "target")),
    ("mirna", "target gene"),  # miRTarBase
    # TargetScan; its families are seed sequences in files that also have miRNAs
    *(("gene symbol", "representative mirna"), ("gene symbol", "mirna")),
    *(("gene symbol", "mir family"), ("gene symbol", "mirna family")),
)
"""Names of the columns of two ends; those that come first in the table are taken."""
_ENDS = (("a", "b"), ("1", "2"))
_END_WORDS = (
    *("interactor", "node", "item", "entity", "vertex", "partner", "participant", "biogrid"),
    *("systematic", "official", "string", "stringid", "preferredname"),
)
_KNOWN_NAMES = (
    "known are gene_a and gene_b, protein1 and protein2, source and target, from and to, miRNA and "
    "Target Gene, Gene Symbol and miRNA, and those of BioGRID and STRING"
)
_MOST_UNKNOWN = 3
"""Columns of a table whose ends are its first two, if no name says which they are."""
_BIOGRID_MARK = "#biogrid interaction id"
"""How the line of names of BioGRID begins; its fields may hold single quotation marks."""
_SIF_TYPES = (
    *("pp", "pd", "pr", "rc", "cr", "gl", "pm", "mp", "interacts with", "interacts-with"),
    *("in-complex-with", "neighbor-of", "catalysis-precedes", "controls-state-change-of"),
    *("controls-expression-of", "controls-phosphorylation-of", "controls-transport-of"),
    "chemical-affects",
)
"""Types of interactions in the SIF files of Cytoscape and Pathway Commons."""
_SIF_HINT = "a line of SIF is a node, a type of interaction, and one or more other nodes"


@dataclass(frozen=True)
class EdgeLayout:
    """How the lines of a file hold edges."""

    path: Path
    format: str
    delimiter: str  # one character; for a space any run of blanks divides fields
    names: list[str]  # of the columns; numbers from 1 where the file has none
    columns: list[int]  # those of the two ends, and perhaps of a score
    first_line: int  # from which on there are edges, from 1
    named: bool = False  # whether the file names its columns

    @property
    def scored(self) -> bool:
        """Whether the edges have scores."""
        return len(self.columns) > 2


def is_named_as_edges(path: Path) -> bool:
    """Tell whether the name of a file alone says that it is a list of edges."""
    return text_suffix(path) == ".sif"


def edge_layout(path: Path) -> EdgeLayout:
    """Find out how the edges of a file are laid out.

    Known are BioGRID (TAB 2 or 3), STRING, and tables of two or three columns, or of more whose
    names say what they hold; divided by tabs, commas, semicolons or blanks. A first line is one of
    names when it names ends or a score as files usually do, or when it has text where the next
    line has a score; a number where a score should be makes it an edge. SIF is known by its suffix,
    and, where a line has one partner, by the usual types of interactions.
    """
    comment = ""  # the last one before the first line
    lines: list[str] = []
    first_line = 0
    for number, text in text_lines(path):
        if not text.startswith("#"):
            first_line = first_line or number
            lines.append(text)
        elif not lines:
            comment = text
        if len(lines) == 2:
            break
    if not lines:
        raise InputError("the file has no edges", where=path, hint=_TWO_IDS)
    delimiter = sniff_delimiter(lines[0], lines[-1], text_suffix(path))
    if is_named_as_edges(path):
        delimiter = "\t" if "\t" in "".join(lines) else " "
        return EdgeLayout(path, SIF, delimiter, ["node", "partner"], [0, 1], 1)
    where = f"{path}, line {first_line}"
    if delimiter is None:
        raise InputError(ONE_COLUMN, where=where, hint="an edge has two ids, and perhaps a score")
    is_biogrid = comment.lower().startswith(_BIOGRID_MARK)
    if is_biogrid:
        lines = [text.replace('"', "") for text in lines]
    head, *rows = (_split_line(text, delimiter, path) for text in (comment, *lines))
    if _is_header(head, rows[0]):
        names, row = head, rows[0]
    elif all(len(row) == 3 and row[1] in _SIF_TYPES for row in rows):
        return EdgeLayout(path, SIF, delimiter, ["node", "partner"], [0, 1], 1)
    elif _is_header(rows[0], rows[-1]):
        names, row, first_line = rows[0], rows[-1], first_line + 1
    else:
        row = rows[0]
        if len(row) not in (2, 3) or not all(map(is_number, row[2:])):
            raise InputError(
                f"the line has no names of columns, and is not two ids and perhaps a score: "
                f"{listed(row, 5)}",
                where=where,
                hint="give two ids and perhaps a score, or name the columns in the first line, as "
                "in gene_a, gene_b, score; of PSI-MI TAB (MITAB) give the two columns of ids "
                "alone, such as P04637 of uniprotkb:P04637",
            )
        names = [f"column {i}" for i in range(1, len(row) + 1)]
        return EdgeLayout(path, TABLE, delimiter, names, [*range(len(row))], first_line)
    names = [names[0].lstrip("#").strip(), *names[1:]]
    if len(row) == len(names) + 1:  # R's write.table leaves the row ids without a name
        names = ["", *names]
    plain = _plain(names)
    score = next((plain.index(s) for s in _SCORES if s in plain), None)
    ends = _ends_of(plain)
    has_name = [i for i, name in enumerate(names) if name]
    if ends is None:
        ends = [i for i in has_name if i != score][:2]
        if len(has_name) > _MOST_UNKNOWN or len(ends) < 2:
            shown = listed([names[i] for i in has_name], 8)
            raise InputError(
                f"it is not clear which of the columns {shown} hold the two ends",
                where=f"{path}, line {first_line - 1}",
                hint=f"name them so that it is ({_KNOWN_NAMES}), or give a table of these two "
                "columns, and perhaps a score",
            )
    others = [i for i in has_name if i not in ends]
    if is_biogrid:
        return EdgeLayout(path, BIOGRID, delimiter, names, ends, first_line, named=True)
    if score is None and len(others) == 1 and is_number(row[others[0]]):
        score = others[0]
    format = STRING if {"combined score", "preferredname a"} & {*plain} else TABLE
    columns = ends if score is None else [*ends, score]
    return EdgeLayout(path, format, delimiter, names, columns, first_line, named=True)


def _split_line(text: str, delimiter: str, where: object) -> list[str]:
    """Split a line, which is at `where`, into fields; several blanks divide as one does."""
    text = " ".join(text.split()) if delimiter == " " else text
    return split_fields(text, delimiter, where)


def _is_header(names: list[str], row: list[str]) -> bool:
    if not 0 <= len(row) - len(names) <= 1:
        return False
    if len(names) == 3 and is_number(names[2]):  # a score of genes such as ID1 and ID2
        return False
    plain = _plain(names)
    names_an_edge = _ends_of(plain) is not None or not {*_SCORES}.isdisjoint(plain)
    if names_an_edge or any(map(is_id_name, names)):
        return True
    has_word = len(names) >= 3 and names[2] not in _MISSING and not is_number(names[2])
    return has_word and is_number(row[2])


def _plain(names: list[str]) -> list[str]:
    return [" ".join(name_words(name)) for name in names]


def _ends_of(plain: list[str]) -> list[int] | None:
    """Return the columns of two names that differ in being the first and the second of a pair."""
    ends = [(name, name[: -len(a)] + b) for name in plain for a, b in _ENDS if _ends_with(name, a)]
    there = [(a, b) for a, b in (*_SYMBOLS, *_PAIRS, *ends) if a in plain and b in plain]
    there.sort(key=lambda pair: (pair not in _SYMBOLS, plain.index(pair[0])))
    return [plain.index(end) for end in there[0]] if there else None


def _ends_with(name: str, end: str) -> bool:
    # "gene a", "genea" and "gene1", but not a symbol such as "HLA-A", which HLA-B may follow
    words = name.removesuffix(end).split()
    usual = [word in _END_WORDS or is_id_name(word) for word in words]
    return name.endswith(end) and bool(usual) and all(usual)


# Many lines parsed at a time: Arrow codes the ids of each chunk.

_ODD_BLANKS = (b"  ", b"\t", b" \n", b" \r", b"\n ")


def _sif_pairs(chunk: Chunk, layout: EdgeLayout) -> bytes:
    """Return the lines of SIF as lines of two ids divided by a tab; a node alone has no edge."""
    pairs = []
    for line, text in chunk_lines(chunk, layout.path):
        if text.startswith("#"):
            continue
        divided = text.split("\t" if "\t" in text else layout.delimiter)
        fields = [field for part in divided if (field := part.strip(BLANKS))]
        if len(fields) == 2:
            raise InputError(
                "the line has 2 fields", where=f"{layout.path}, line {line}", hint=_SIF_HINT
            )
        pairs += [f"{fields[0]}\t{other}\n" for other in fields[2:]]
    return "".join(pairs).encode()


def _parse_edges(chunk: Chunk, layout: EdgeLayout) -> pa.Table | None:
    """Return columns ``a``, ``b`` and perhaps ``score``; None if the chunk holds no edge."""
    delimiter = layout.delimiter
    if layout.format == SIF:
        text, delimiter = _sif_pairs(chunk, layout), "\t"
    else:
        text = chunk.text.split(b"\n", max(0, layout.first_line - chunk.first_line))[-1]
    if delimiter == " " and any(odd in text for odd in _ODD_BLANKS):
        text = b"\n".join([b" ".join(line.split()) for line in text.split(b"\n")])
    if text.startswith(b"#") or b"\n#" in text:
        text = b"".join([t for t in text.splitlines(keepends=True) if not t.startswith(b"#")])
    if not text.strip():
        return None
    words = pa.dictionary(pa.int32(), pa.string())
    types = dict(zip(map(str, layout.columns), (words, words, pa.float64())))
    quoting = layout.format not in (BIOGRID, SIF) and b'"' in text
    try:
        table = pacsv.read_csv(
            pa.BufferReader(text),
            pacsv.ReadOptions(
                column_names=[str(i) for i in range(len(layout.names))], block_size=len(text)
            ),
            pacsv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoting else False,
                invalid_row_handler=lambda row: "error" if row.text.strip() else "skip",
            ),
            pacsv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=list(_MISSING)
            ),
        )
        return table.rename_columns(["a", "b", "score"][: len(types)])
    except pa.ArrowInvalid as error:
        last = chunk.first_line + chunk.text.count(b"\n") - 1
        raise InputError(
            str(error),
            where=f"{layout.path}, lines {chunk.first_line} to {last}",
            hint=_LINE_HINT,
        ) from error
