"""Finding the ids of a source among the features of the matrix."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError, counted, listed
from sfs_cli.sources.id_map import IdMap, expanded, look_up

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ENOUGH = 0.1
"""The share of its ids below which a source is not taken to speak of these features."""
EXAMPLES = 3


@dataclass(frozen=True)
class Matched:
    """Which ids of a source are which features.

    Attributes
    ----------
    source, feature : ndarray of int, shape (p,)
        Pairs of an id and a feature, by their indices; sorted by feature, then id.
    n_ids : int
        Number of ids looked for.
    found : int
        Number of those that are a feature, or several.
    exact, mapped : int
        Of those, found as they are, and through the map.
    ids, features : sequence of str
        What was looked for, and where.
    with_map : bool
        Whether there is a map.
    """

    source: np.ndarray
    feature: np.ndarray
    n_ids: int
    found: int
    exact: int
    mapped: int
    ids: Sequence[str] = field(default=(), repr=False)
    features: Sequence[str] = field(default=(), repr=False)
    with_map: bool = False


class FeatureIndex:
    """The features of a matrix, found by their ids or through a map.

    Parameters
    ----------
    features : sequence of str, length m
        Unique ids.
    id_map : sequence of (str, str), optional
        Pairs of an id of the matrix and one of the sources, or the other way round: ids of the
        matrix are in the column that names more of its features, the first where both name as many.

    Raises
    ------
    InputError
        When the map names no feature.
    """

    def __init__(
        self, features: Sequence[str], id_map: Sequence[tuple[str, str]] | None = None
    ) -> None:
        self.features = features
        self._index = {name: i for i, name in enumerate(features)}
        self._map = None if id_map is None else IdMap(id_map, self._index)

    def find(self, ids: Sequence[str]) -> Matched:
        """Find ids: as they are, and those that are no feature through the map.

        Parameters
        ----------
        ids : sequence of str
            Ids of the source. Through a map, one may be several features (probes of a gene), and
            several may be one.
        """
        place = look_up(self._index, ids)
        exact = np.flatnonzero(place >= 0)
        source, feature, mapped = exact, place[exact], 0
        if self._map is not None:
            rest = np.flatnonzero(place < 0)
            at, through = self._map.find([ids[i] for i in rest.tolist()])
            mapped = len(np.unique(at))
            source = np.concatenate([source, rest[at]])
            feature = np.concatenate([feature, through])
        order = np.lexsort((source, feature))
        return Matched(
            source[order],
            feature[order],
            len(ids),
            len(exact) + mapped,
            len(exact),
            mapped,
            ids,
            self.features,
            self._map is not None,
        )


def check_found(matched: Matched, name: str, where: str, allow_unmatched: bool) -> str | None:
    """Refuse a source of whose ids fewer than a tenth are features.

    Parameters
    ----------
    matched : Matched
        What was found.
    name : str
        The source.
    where : str
        Its file.
    allow_unmatched : bool
        Whether that is only worth a warning; a source of which nothing is found is refused still.

    Returns
    -------
    str or None
        The warning.

    Raises
    ------
    InputError
        With how many were found, examples of both sides and the likely reason.
    """
    if matched.found and matched.found >= ENOUGH * matched.n_ids:
        return None
    found = f"{matched.found:,}" if matched.found else "none"
    what = f"{found} of the {counted(matched.n_ids, 'id')} of source {name} "
    what += f"{'is a feature' if matched.found == 1 else 'are features'} of the matrix"
    if matched.with_map:
        what += ", with the map"
    if matched.found and allow_unmatched:
        return f"{what} ({where})"
    raise InputError(what, where=f"{where}: {_examples(matched)}", hint=_hint(matched))


def _examples(matched: Matched) -> str:
    unknown = np.setdiff1d(np.arange(matched.n_ids), matched.source)
    strangers = [matched.ids[i] for i in unknown.tolist()]
    features = listed(list(matched.features), EXAMPLES)
    return f"ids not found are {listed(strangers, EXAMPLES)}; features are {features}"


def _hint(matched: Matched) -> str:
    reason = _reason(matched)
    action = (
        "the map must pair these ids with features"
        if matched.with_map
        else "give a table of both ids with --id-map"
    )
    allow = "; --allow-unmatched goes on with those that were found" if matched.found else ""
    return f"{reason}{action}{allow}"


def _unversioned(name: str) -> str:
    return _VERSION.sub("", name)


_VERSION = re.compile(r"\.\d+$")
_REASONS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.casefold, "upper and lower case were the same"),
    (_unversioned, "version suffixes such as the .5 of ENSG00000141510.5 were cut off"),
    (
        lambda name: _unversioned(name).casefold(),
        "version suffixes were cut off and upper and lower case were the same",
    ),
)


def _reason(matched: Matched) -> str:
    """Say what small change of the ids would find enough of them, if one would."""
    for change, condition in _REASONS:
        features = set(map(change, matched.features))
        count = sum(change(name) in features for name in matched.ids)
        if count > matched.found and count >= ENOUGH * matched.n_ids:
            return f"{count:,} would be found if {condition}; "
    return ""


def carry_edges(
    a: np.ndarray, b: np.ndarray, score: np.ndarray | None, matched: Matched, n_features: int
) -> tuple[np.ndarray, csr_array]:
    """Carry edges between ids over to features.

    Every feature of an id gets its edges, but none with itself or with another feature of that id.
    Where several edges come to join the same two features, the highest score stays.

    Parameters
    ----------
    a, b : ndarray of int, shape (e,)
        Both ends of each edge, as indices of the ids that were looked for.
    score : ndarray, shape (e,), optional
        Not negative; 1 by default. An edge of score 0 is none.
    matched : Matched
        Which ids are which features.
    n_features : int
        Number of features m.

    Returns
    -------
    features : ndarray of int, shape (l,)
        Those with an edge, ascending.
    similarity : csr_array, shape (l, l)
        Their scores: symmetric, without a diagonal.
    """
    from scipy.sparse import csr_array

    score = np.ones(len(a)) if score is None else np.asarray(score, np.float64)
    kept = np.flatnonzero((a != b) & (score != 0))
    ends, edge = _features_of(a[kept], matched)
    others, within = _features_of(b[kept][edge], matched)
    low, high = np.minimum(ends[within], others), np.maximum(ends[within], others)
    pair = np.flatnonzero(low != high)
    scores = score[kept][edge[within]][pair]
    keys, scores = _highest(low[pair] * n_features + high[pair], scores)
    low, high = np.divmod(keys, n_features)
    joined = np.zeros(n_features, bool)
    joined[low] = joined[high] = True
    features, place = np.flatnonzero(joined), np.cumsum(joined) - 1
    rows, columns = place[low], place[high]
    data = np.concatenate([scores, scores])
    ij = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    return features, csr_array((data, ij), shape=(len(features), len(features)))


def carry_similarity(
    similarity: csr_array, matched: Matched, n_features: int
) -> tuple[np.ndarray, csr_array]:
    """Carry a symmetric similarity between ids over to features, as `carry_edges` does."""
    from scipy.sparse import triu

    upper = triu(similarity, k=1, format="coo")
    a, b = upper.row.astype(np.int64), upper.col.astype(np.int64)
    return carry_edges(a, b, upper.data, matched, n_features)


def carry_terms(terms: csr_array, matched: Matched) -> tuple[np.ndarray, csr_array]:
    """Carry the terms of ids over to features.

    Parameters
    ----------
    terms : csr_array, shape (ids, t)
        1 where an id has a term, else 0.
    matched : Matched
        Which ids are which features. A feature that is several of them has the terms of all.

    Returns
    -------
    features : ndarray of int, shape (l,)
        Those with a term, ascending.
    terms : csr_array, shape (l, t)
        Of 0 and 1, float64.
    """
    from scipy.sparse import csr_array

    features, row = np.unique(matched.feature, return_inverse=True)
    shape = len(features), terms.shape[0]
    made = csr_array((np.ones(len(row)), (row, matched.source)), shape=shape) @ terms
    made.eliminate_zeros()
    made.data = np.ones(len(made.data))
    annotated = np.flatnonzero(np.diff(made.indptr))
    return features[annotated], made[annotated]


def _features_of(ids: np.ndarray, matched: Matched) -> tuple[np.ndarray, np.ndarray]:
    """Return all features of ids, and the place in `ids` of each."""
    order = np.argsort(matched.source, kind="stable")
    counts = np.bincount(matched.source, minlength=matched.n_ids)
    starts = np.cumsum(counts) - counts
    which, entry = expanded(starts[ids], counts[ids])
    return matched.feature[order][entry], which


def _highest(keys: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key once, ascending, with its highest score."""
    order = np.argsort(keys)
    keys, scores = keys[order], scores[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.maximum.reduceat(scores, first) if len(first) else scores
