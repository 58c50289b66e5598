"""Interactions between genes from lists of edges: BioGRID, STRING, or any table of pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted
from sfs_cli.io.edge_chunks import EdgeChunk, Vocabulary, parse_edges
from sfs_cli.io.edge_layout import EdgeLayout, edge_layout
from sfs_cli.io.plain_text import refuse_other_than_text, text_chunks

_CHUNK = 16 << 20


@dataclass(frozen=True)
class EdgeList:
    """Undirected edges, each once, none from an id to itself.

    Attributes
    ----------
    ids : list of str
        Ids that have an edge, in the order of the file.
    a, b : ndarray of int32, shape (edges,)
        Positions in `ids` of the two ends, ``a < b``; sorted by ``(a, b)``.
    score : ndarray of float64, shape (edges,), or None
        Finite, zero or more; of repeated edges the highest. None where the file has none.
    facts : dict
        ``format``, ``score_column``, ``taxon`` (a prefix of all ids that was taken off), and
        counts of what was left out: ``self_loops``, ``repeated_edges``, ``below_min_score``,
        ``without_score`` (BioGRID, where a score is asked for), ``without_symbol`` (BioGRID).
    """

    ids: list[str]
    a: np.ndarray
    b: np.ndarray
    score: np.ndarray | None
    facts: dict[str, Any] = field(default_factory=dict)


def read_edges(path: Path, min_score: float | None = None) -> EdgeList:
    """Read a list of edges.

    Parameters
    ----------
    path : Path
        Text; gzip and zstd are decompressed. What the columns hold is told from the first lines,
        see `edge_layout`. Blank lines and those that begin with ``#`` are skipped. Where
        all ids begin with the same number and a point, as those of STRING
        (``9606.ENSP00000000233``), that is taken off.
    min_score : float, optional
        Edges with a lower score are left out, in the units of the file (STRING: 0 to 1000).

    Returns
    -------
    EdgeList
        BioGRID's scores have the units of each experiment, so they are compared with `min_score`,
        but not kept. Takes about 65 bytes of memory for each line with a score, and 100 MB.

    Raises
    ------
    InputError
        If the file cannot be read, a line has another number of fields or an empty id, a score is
        missing, no number, negative or infinite, there are no scores to compare, or no edge is
        left.
    UsageError
        If `min_score` is not a finite number.
    """
    path = Path(path)
    if min_score is not None and not np.isfinite(min_score):
        raise UsageError(
            "min-score is not a finite number", where=str(path), hint="give one such as 0.5"
        )
    refuse_other_than_text(path, "a list of edges")
    layout = edge_layout(path)
    if min_score is not None and layout.score is None:
        raise _without_scores(path)
    if layout.format == "BioGRID" and min_score is None:
        layout = replace(layout, score=None)
    vocabulary = Vocabulary()
    parts = [
        parse_edges(chunk, layout, vocabulary)
        for chunk in text_chunks(path, _CHUNK)
        if chunk.first_line + chunk.text.count(b"\n") > layout.first_line
    ]
    return _edges(parts, vocabulary, layout, min_score)


def _without_scores(path: Path) -> InputError:
    return InputError(
        "min-score is given, but the edges have no scores",
        where=str(path),
        hint="leave min-score out, or give a file with a column of scores",
    )


def _edges(
    parts: list[EdgeChunk], vocabulary: Vocabulary, layout: EdgeLayout, min_score: float | None
) -> EdgeList:
    a = np.concatenate([part.a for part in parts])
    b = np.concatenate([part.b for part in parts])
    score = None
    if layout.score is not None:
        score = np.concatenate([part.score for part in parts if part.score is not None])
    parts.clear()
    named = (a >= 0) & (b >= 0)
    facts: dict[str, Any] = {"format": layout.format}
    if layout.format == "BioGRID":
        facts["without_symbol"] = int((~named).sum())
    keep = named & (a != b)
    facts["self_loops"] = int((named & (a == b)).sum())
    if score is not None:
        keep &= _high_enough(score, keep, layout, min_score, facts)
        score = None if layout.format == "BioGRID" else score[keep]
    low, high = np.minimum(a[keep], b[keep]), np.maximum(a[keep], b[keep])
    if not len(low):
        raise InputError(
            "no edge joins two different ids",
            where=str(layout.path),
            hint=f"are columns {layout.names[layout.a]!r} and {layout.names[layout.b]!r} the ends?",
        )
    n_before = len(low)
    low, high, score = _each_once(low, high, score, len(vocabulary.ids))
    facts["repeated_edges"] = n_before - len(low)
    used = np.zeros(len(vocabulary.ids), bool)
    used[low] = used[high] = True
    places = np.cumsum(used, dtype=np.int32) - 1
    ids = [vocabulary.ids[i] for i in np.flatnonzero(used)]
    return EdgeList(_without_taxon(ids, facts), places[low], places[high], score, facts)


def _high_enough(
    score: np.ndarray,
    among: np.ndarray,
    layout: EdgeLayout,
    min_score: float | None,
    facts: dict[str, Any],
) -> np.ndarray:
    assert layout.score is not None
    facts["score_column"] = layout.names[layout.score]
    if min_score is None:
        return np.ones(len(score), bool)
    missing = np.isnan(score)  # BioGRID's alone; elsewhere they are refused
    if missing.all():
        raise _without_scores(layout.path)
    enough = score >= min_score
    if layout.format == "BioGRID":
        facts["without_score"] = int((among & missing).sum())
    facts["below_min_score"] = int((among & ~enough & ~missing).sum())
    if among.any() and not (among & enough).any():
        known = score[~missing]
        raise InputError(
            f"none of {counted(int(among.sum()), 'edge')} has a score of {min_score:g} or more",
            where=str(layout.path),
            hint=f"lower min-score: the scores lie between {known.min():g} and {known.max():g}",
        )
    return enough


def _each_once(
    low: np.ndarray, high: np.ndarray, score: np.ndarray | None, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return each pair once, sorted, with the highest of its scores."""
    key = low.astype(np.int64) * n + high
    if score is None:
        key = np.unique(key)
    else:
        order = np.argsort(key)  # of equal keys any order gives the same maximum
        key, score = key[order], score[order]
        starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        key, score = key[starts], np.maximum.reduceat(score, starts)
    low, high = np.divmod(key, n)
    return low.astype(np.int32), high.astype(np.int32), score


def _without_taxon(ids: list[str], facts: dict[str, Any]) -> list[str]:
    taxon, point, _ = ids[0].partition(".")
    prefix = taxon + point
    rests = [i[len(prefix) :] for i in ids]
    ours = bool(point) and taxon.isdecimal() and all(i.startswith(prefix) for i in ids)
    if not ours or any(not rest or rest.isdecimal() for rest in rests):
        return ids
    facts["taxon"] = taxon
    return rests
