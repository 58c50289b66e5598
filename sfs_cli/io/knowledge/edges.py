"""Interactions between genes from lists of edges: BioGRID, STRING, SIF, or any table of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from sfs_cli.compute.limits import TOO_LARGE
from sfs_cli.errors import InputError, UsageError, counted, listed
from sfs_cli.io.files.names import BLANKS, check_names
from sfs_cli.io.files.sniff import refuse_other_than_text
from sfs_cli.io.files.table import (
    NULL_TOKENS,
    ONE_COLUMN,
    is_id_name,
    is_number,
    name_words,
    sniff_delimiter,
    split_fields,
)
from sfs_cli.io.files.text import Chunk, chunk_lines, text_chunks, text_lines, text_suffix

CHUNK_BYTES = 16 << 20
_NO_SYMBOL = "-"
_MISSING = (*NULL_TOKENS, "-")
_NAME_HINT = "name the columns in the first line, as in gene_a, gene_b, score"
_LINE_HINT = "each line needs two ids, and a score where the others have one"
_SCORE_HINT = "scores are numbers, zero or more; remove the edge, or the column from all lines"
_TWO_IDS = "write two ids in each line"


@dataclass(frozen=True)
class EdgeList:
    """Undirected edges, each once, none from an id to itself; arrays have shape (edges,).

    ``facts`` are ``format``, ``columns`` (those of the ends, where they have names),
    ``score_column``, ``lowest_score`` (where a least one was asked for), ``taxon`` (a prefix of
    all ids that was removed), and counts of what was left out: ``self_loops``, ``repeated_edges``,
    ``below_min_score``, ``without_score`` (BioGRID, where a score is asked for),
    ``without_symbol`` (BioGRID).
    """

    ids: list[str]  # those that have an edge
    a: np.ndarray  # int32: positions in `ids` of the two ends, a < b, sorted by (a, b)
    b: np.ndarray
    score: np.ndarray | None  # float64, zero or more; of repeated edges the highest
    facts: dict[str, Any] = field(default_factory=dict)


def refuse_unlimited_score(min_score: float | None, path: Path) -> None:
    """Raise a `UsageError` if a least score is not a finite number."""
    if min_score is not None and not np.isfinite(min_score):
        raise UsageError(
            "min-score is not a finite number",
            where=path,
            hint="give one such as 0.5",
            option="min_score",
        )


def read_edges(path: Path, min_score: float | None = None) -> EdgeList:
    """Read a list of edges from text, which may be compressed.

    What the columns hold is found from the first lines, see `edge_layout`. Blank lines and those
    that begin with ``#`` are skipped. Where all ids begin with the same number and a point, as
    those of STRING (``9606.ENSP00000000233``), that is removed. A name that ends in ``.sif`` is
    that of Cytoscape's format: a node, the type of the interaction, and its partners, divided by
    tabs, or by blanks where the first lines have no tab. Edges with a score below
    `min_score`, in the units of the file (STRING: 0 to 1000), are left out. BioGRID's scores have
    the units of each experiment, so they are compared with `min_score`, but not kept.

    Takes about 100 bytes of memory for each line with a score. A line with another number of
    fields, an empty id or an unusable score, no scores to compare, and no edge left are an
    `InputError`; a `min_score` that is not finite is a `UsageError`.
    """
    path = Path(path)
    refuse_unlimited_score(min_score, path)
    refuse_other_than_text(path, "a list of edges")
    layout = edge_layout(path)
    if min_score is not None and layout.score is None:
        raise _without_scores(path)
    if layout.format.signed and min_score is None:
        layout = replace(layout, score=None)
    chunks = (_parse_edges(chunk, layout) for chunk in text_chunks(path, CHUNK_BYTES))
    found = [table for table in chunks if table is not None]
    if not found:
        raise InputError("the file has no edges", where=path, hint=_TWO_IDS)
    return _edges(found, layout, min_score)


def _edges(tables: list[pa.Table], layout: EdgeLayout, min_score: float | None) -> EdgeList:
    score: np.ndarray | None = None
    if layout.score is not None:
        score = np.concatenate([table["score"].to_numpy() for table in tables])
    ids, a, b = _coded_ends(tables)
    if "" in ids:
        at = int(((a == ids.index("")) | (b == ids.index(""))).argmax())
        what = f"an edge has no id beside {ids[a[at]] or ids[b[at]]!r}"
        raise InputError(what, where=layout.path, hint=_LINE_HINT)
    check_names(ids, "a node", layout.path)
    if score is not None:
        _check_scores(score, layout, lambda at: f"{ids[a[at]]} and {ids[b[at]]}")
    ends = [layout.names[layout.a], layout.names[layout.b]]
    facts: dict[str, Any] = {"format": layout.format.name}
    if layout.named:
        facts["columns"] = ends
    keep = np.ones(len(a), bool)
    if layout.format is BIOGRID:
        no_symbol = ids.index(_NO_SYMBOL) if _NO_SYMBOL in ids else -1
        keep = (a != no_symbol) & (b != no_symbol)
        facts["without_symbol"] = int((~keep).sum())
    facts["self_loops"] = int((keep & (a == b)).sum())
    keep &= a != b
    if score is not None and layout.score is not None:
        facts["score_column"] = layout.names[layout.score]
        if min_score is not None:
            keep &= _high_enough(score, keep, layout, min_score, facts)
        score = None if layout.format.signed else score[keep]
        if min_score is not None and score is not None:
            facts["lowest_score"] = float(score.min())
    if not keep.any():
        hint = f"are columns {ends[0]!r} and {ends[1]!r} the ends?"
        raise InputError("no edge joins two different ids", where=layout.path, hint=hint)
    a, b = a[keep], b[keep]
    low, high, score = _each_once(np.minimum(a, b), np.maximum(a, b), score, len(ids))
    facts["repeated_edges"] = len(a) - len(low)
    used = np.zeros(len(ids), bool)
    used[low] = used[high] = True
    positions = np.cumsum(used, dtype=np.int32) - 1
    ids = _without_taxon([ids[i] for i in np.flatnonzero(used)], facts)
    return EdgeList(ids, positions[low], positions[high], score, facts)


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
    del both
    pa.default_memory_pool().release_unused()
    return list(known), a, b


def _without_scores(path: Path) -> InputError:
    return InputError(
        "min-score is given, but the edges have no scores",
        where=path,
        hint="leave min-score out, or give a file with a column of scores",
    )


def _high_enough(
    score: np.ndarray, among: np.ndarray, layout: EdgeLayout, least: float, facts: dict[str, Any]
) -> np.ndarray:
    missing = np.isnan(score)  # in BioGRID alone; elsewhere it is refused
    if missing.all():
        raise _without_scores(layout.path)
    enough = score >= least
    if layout.format.signed:
        facts["without_score"] = int((among & missing).sum())
    facts["below_min_score"] = int((among & ~enough & ~missing).sum())
    if among.any() and not (among & enough).any():
        known = score[~missing]
        raise InputError(
            f"none of {counted(int(among.sum()), 'edge')} has a score of {least:g} or more",
            where=layout.path,
            hint=f"lower min-score: the scores lie between {known.min():g} and {known.max():g}",
        )
    return enough


def _each_once(
    low: np.ndarray, high: np.ndarray, score: np.ndarray | None, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return each pair once, sorted, with the highest of its scores."""
    # a pair as one number: sorting numbers takes a fraction of the time of sorting pairs
    key = low.astype(np.int64) * n + high
    if score is None:
        key = np.unique(key)
    else:
        order = np.argsort(key)  # among equal keys any order gives the same maximum
        key, score = key[order], score[order]
        starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        key, score = key[starts], np.maximum.reduceat(score, starts)
    low, high = np.divmod(key, n)
    return low.astype(np.int32), high.astype(np.int32), score


def _without_taxon(ids: list[str], facts: dict[str, Any]) -> list[str]:
    taxon, point, _ = ids[0].partition(".")
    prefix = taxon + point
    rests = [i.removeprefix(prefix) for i in ids]
    shared = bool(point) and taxon.isdecimal() and all(i.startswith(prefix) for i in ids)
    if not shared or any(not rest or rest.isdecimal() for rest in rests):
        return ids
    facts["taxon"] = taxon
    return rests


# The layout of a file, found from its first lines.

_SCORES = ("combined score", "score", "weight", "similarity", "confidence")
_PAIRS = (
    *(("source", "target"), ("from", "to"), ("mirna", "target"), ("tf", "target")),
    ("mirna", "target gene"),  # miRTarBase
    # TargetScan; its families are seed sequences in files that also have miRNAs
    *(("gene symbol", mirna) for mirna in ("representative mirna", "mirna", "mir family")),
    ("gene symbol", "mirna family"),
)
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
_SIF_TYPES = (
    *("pp", "pd", "pr", "rc", "cr", "gl", "pm", "mp", "interacts with", "interacts-with"),
    *("in-complex-with", "neighbor-of", "catalysis-precedes", "controls-state-change-of"),
    *("controls-expression-of", "controls-phosphorylation-of", "controls-transport-of"),
    "chemical-affects",
)
"""Types of interactions in the SIF files of Cytoscape and Pathway Commons."""
_SIF_HINT = "a line of SIF is a node, a type of interaction, and one or more other nodes"


class EdgeFormat(NamedTuple):
    """A format of edges, as far as it differs from any table."""

    name: str
    ends: tuple[str, ...] = ()  # its names of the columns of the two ends, in lower case
    mark: str = ""  # what a column, in BioGRID the line of names, is named in such files alone
    quoting: bool = True  # whether fields may stand in double quotes
    suffix: str = ""  # of its files, where the name alone says that they are of this format
    # whether scores may be missing or negative: they have the units of each experiment, so that
    # they are compared with a least one, and not kept
    signed: bool = False


TABLE = EdgeFormat("table")
STRING = EdgeFormat("STRING", ("preferredname a", "preferredname b"), "combined score")
BIOGRID = EdgeFormat(
    "BioGRID",
    ("official symbol interactor a", "official symbol interactor b"),
    "#biogrid interaction id",
    quoting=False,
    signed=True,
)
SIF = EdgeFormat("SIF", quoting=False, suffix=".sif")


@dataclass(frozen=True)
class EdgeLayout:
    """How the lines of a file hold edges."""

    path: Path
    format: EdgeFormat
    delimiter: str  # one character; for a space any run of blanks divides fields
    names: list[str]  # of the columns; numbers from 1 where the file has none
    a: int  # columns of the two ends
    b: int
    score: int | None  # column of the score
    first_line: int  # the line of the first edge, from 1
    named: bool = False  # whether the file names its columns


def edge_layout(path: Path) -> EdgeLayout:
    """Find out how the edges of a file are laid out.

    Known are BioGRID (TAB 2 or 3), STRING, and tables of two or three columns, or of more whose
    names say what they hold; divided by tabs, commas, semicolons or blanks. A first line is one of
    names when it names ends or a score as files usually do, or when it has text where the next
    line has a score; a number where a score should be makes it an edge. SIF is known by its suffix,
    and, where a line has one partner, by the usual types of interactions.
    """
    comment: str | None = None  # the last one before the first line
    lines: list[tuple[int, str]] = []
    for number, text in text_lines(path):
        if not text.startswith("#"):
            lines.append((number, text))
        elif not lines:
            comment = text
        if len(lines) == 2:
            break
    if not lines:
        raise InputError("the file has no edges", where=path, hint=_TWO_IDS)
    if is_named_as_edges(path):
        return _sif_layout(path, "\t" if any("\t" in text for _, text in lines) else " ")
    delimiter = sniff_delimiter(lines[0][1], lines[-1][1], text_suffix(path))
    if delimiter is None:
        raise InputError(
            ONE_COLUMN,
            where=f"{path}, line {lines[0][0]}",
            hint="an edge has two ids, and perhaps a score",
        )
    quoting = not (comment or "").lower().startswith(BIOGRID.mark)
    rows = [_split_line(text, delimiter, path, quoting) for _, text in lines]
    if comment is not None:
        named = _split_line(comment, delimiter, path)
        if _is_header(named, rows[0]):
            return _named_layout(named, rows[0], path, delimiter, lines[0][0])
    if all(len(row) == 3 and row[1] in _SIF_TYPES for row in rows):
        return _sif_layout(path, delimiter)
    if _is_header(rows[0], rows[-1]):
        if len(rows) == 1:
            raise InputError("the file has no edges", where=path, hint=_TWO_IDS)
        return _named_layout(rows[0], rows[1], path, delimiter, lines[1][0])
    return _unnamed_layout(rows[0], path, delimiter, lines[0][0])


def _split_line(text: str, delimiter: str, where: object, quoting: bool = True) -> list[str]:
    """Split a line, which is at `where`, into fields; several blanks divide as one does."""
    if not quoting:
        return [field.strip(BLANKS) for field in text.split(delimiter)]
    if delimiter == " " and '"' not in text:
        return text.split()
    return split_fields(text.strip(" ") if delimiter == " " else text, delimiter, where)


def _is_header(names: list[str], row: list[str]) -> bool:
    if not 0 <= len(row) - len(names) <= 1:
        return False
    if len(names) == 3 and is_number(names[2]):  # a score of genes such as ID1 and ID2
        return False
    if names_an_edge(names) or any(map(is_id_name, names)):
        return True
    has_word = len(names) >= 3 and names[2] not in _MISSING and not is_number(names[2])
    return has_word and is_number(row[2])


def names_an_edge(names: list[str]) -> bool:
    """Say whether the names of columns include those of two ends, or of a score."""
    plain = _plain(names)
    return _ends_of(plain) is not None or any(score in plain for score in _SCORES)


def _plain(names: list[str]) -> list[str]:
    return [" ".join(name_words(name)) for name in names]


def _named_layout(
    names: list[str], row: list[str], path: Path, delimiter: str, first_line: int
) -> EdgeLayout:
    is_biogrid = names[0].lower() == BIOGRID.mark
    names = [names[0].lstrip("#").strip(), *names[1:]]
    if len(row) == len(names) + 1:  # R's write.table leaves the row ids without a name
        names = ["", *names]
    plain = _plain(names)
    score = next((plain.index(s) for s in _SCORES if s in plain), None)
    is_string = STRING.mark in plain or STRING.ends[0] in plain
    format = BIOGRID if is_biogrid else STRING if is_string else TABLE
    own = [plain.index(end) for end in format.ends if end in plain]
    ends = own if len(own) == 2 else _ends_of(plain)
    if ends is None:
        has_name = [i for i, name in enumerate(names) if name]
        ends = [i for i in has_name if i != score][:2]
        if len(has_name) > _MOST_UNKNOWN or len(ends) < 2:
            shown = listed([names[i] for i in has_name], 8)
            raise InputError(
                f"it is not clear which of the columns {shown} hold the two ends",
                where=f"{path}, line {first_line - 1}",
                hint=f"name them so that it is ({_KNOWN_NAMES}), or give a table of these two "
                "columns, and perhaps a score",
            )
    a, b = ends
    others = [i for i, name in enumerate(names) if name and i not in (a, b)]
    if score is None and len(others) == 1 and is_number(row[others[0]]):
        score = others[0]
    return EdgeLayout(path, format, delimiter, names, a, b, score, first_line, named=True)


def is_named_as_edges(path: Path) -> bool:
    """Tell whether the name of a file alone says that it is a list of edges."""
    return text_suffix(path) == SIF.suffix


def _sif_layout(path: Path, delimiter: str) -> EdgeLayout:
    return EdgeLayout(path, SIF, delimiter, ["node", "partner"], 0, 1, None, 1)


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


def _ends_of(plain: list[str]) -> list[int] | None:
    """Return the columns of two names that differ in being the first and the second of a pair."""
    for a, name in enumerate(plain):
        pairs = (pair for pair in _PAIRS if pair[0] == name)
        ends = ((name, name[: -len(a)] + b) for a, b in _ENDS if _ends_with(name, a))
        for _, second in chain(pairs, ends) if name else ():
            if second in plain:
                return [a, plain.index(second)]
    return None


def _ends_with(name: str, end: str) -> bool:
    # "gene a", "genea" and "gene1", but not a symbol such as "HLA-A", which HLA-B may follow
    words = name.removesuffix(end).split()
    usual = [word in _END_WORDS or is_id_name(word) for word in words]
    return name.endswith(end) and bool(usual) and all(usual)


def _unnamed_layout(row: list[str], path: Path, delimiter: str, line: int) -> EdgeLayout:
    if len(row) not in (2, 3) or (len(row) == 3 and not is_number(row[2])):
        raise InputError(
            f"the line has no names of columns, and is not two ids and perhaps a score: "
            f"{listed(row, 5)}",
            where=f"{path}, line {line}",
            hint=f"give two ids and perhaps a score, or {_NAME_HINT}; of PSI-MI TAB (MITAB) give "
            "the two columns of ids alone, such as P04637 of uniprotkb:P04637",
        )
    names = [f"column {i}" for i in range(1, len(row) + 1)]
    return EdgeLayout(path, TABLE, delimiter, names, 0, 1, 2 if len(row) == 3 else None, line)


# Many lines parsed at a time: Arrow codes the ids of each chunk.

_ODD_BLANKS = (b"  ", b"\t", b" \n", b" \r", b"\n ")


def _parse_edges(chunk: Chunk, layout: EdgeLayout) -> pa.Table | None:
    """Return columns ``a``, ``b`` and perhaps ``score``; None if the chunk holds no edge."""
    text = chunk.text
    if layout.format is SIF:
        text, layout = _sif_pairs(chunk, layout), replace(layout, delimiter="\t")
    else:
        text = text.split(b"\n", max(0, layout.first_line - chunk.first_line))[-1]
    if layout.delimiter == " " and any(odd in text for odd in _ODD_BLANKS):
        text = b"\n".join([b" ".join(line.split()) for line in text.split(b"\n")])
    if text.startswith(b"#") or b"\n#" in text:
        text = b"".join([t for t in text.splitlines(keepends=True) if not t.startswith(b"#")])
    if not text.strip():
        return None
    names = [f"unused {i}" for i in range(len(layout.names))]
    names[layout.a], names[layout.b] = "a", "b"
    words = pa.dictionary(pa.int32(), pa.string())
    types = {"a": words, "b": words}
    if layout.score is not None:
        names[layout.score] = "score"
        types["score"] = pa.float64()
    try:
        return pacsv.read_csv(
            pa.BufferReader(text),
            pacsv.ReadOptions(column_names=names, block_size=len(text)),
            pacsv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char='"' if layout.format.quoting and b'"' in text else False,
                invalid_row_handler=lambda row: "error" if row.text.strip() else "skip",
            ),
            pacsv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=list(_MISSING)
            ),
        )
    except pa.ArrowInvalid as error:
        last = chunk.first_line + chunk.text.count(b"\n") - 1
        raise InputError(
            str(error),
            where=f"{layout.path}, lines {chunk.first_line} to {last}",
            hint=_LINE_HINT,
        ) from error


def _check_scores(score: np.ndarray, layout: EdgeLayout, pair: Callable[[int], str]) -> None:
    """Refuse the first score that is missing, negative or too large; `pair` names its ends."""
    wrong = np.abs(score) >= TOO_LARGE
    if not layout.format.signed:
        wrong = wrong | ~(score >= 0)
    if wrong.any():
        at = int(wrong.argmax())
        value = score[at]
        fault = "missing" if np.isnan(value) else score_fault(value, signed=layout.format.signed)
        raise InputError(f"the score of {pair(at)} is {fault}", where=layout.path, hint=_SCORE_HINT)


def score_fault(value: float, *, signed: bool = False) -> str | None:
    """Say what is wrong with a score, which is zero or more unless it is `signed`."""
    if not np.isfinite(value):
        return "not a finite number"
    if abs(value) >= TOO_LARGE:
        return f"{TOO_LARGE:g} or more, which measures nothing"
    return "negative" if value < 0 and not signed else None
