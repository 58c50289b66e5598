"""Finding the ids of a source among the features of the matrix, directly or through a map."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError, counted, listed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from sfs_cli.logs import Messages


class IdMap:
    """A map from ids of sources to features: an id may be several features, and several ids one.

    Its pairs are those of `FeatureIndex`, and `index` has the index of each feature.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], index: Mapping[str, int]) -> None:
        columns = [[pair[side] for pair in pairs] for side in (0, 1)]
        positions = [look_up(index, column) for column in columns]
        known = [len(np.unique(position[position >= 0])) for position in positions]
        if not any(known):
            shown = listed([" = ".join(pair) for pair in pairs], 3)
            raise InputError(
                f"none of the {counted(len(pairs), 'pair')} of the map names a feature of the "
                f"matrix: pairs are {shown}; features are {listed(list(index), 3)}",
                hint="one of the two columns of --id-map must hold ids of the matrix",
            )
        # maps are downloaded either way round; the column with more features is that of the matrix,
        # even where a few ids of the other one happen to be features too
        side = int(known[1] > known[0])
        kept = np.flatnonzero(positions[side] >= 0)
        others = [columns[1 - side][i] for i in kept]
        self._codes = {name: code for code, name in enumerate(dict.fromkeys(others))}
        # a pair may be there twice
        entries = np.stack([look_up(self._codes, others), positions[side][kept]])
        codes, self._features = np.unique(entries, axis=1)
        # the features of id c are _features[_starts[c] : _starts[c] + _counts[c]]
        self._counts = np.bincount(codes, minlength=len(self._codes))
        self._starts = np.cumsum(self._counts) - self._counts

    def find(self, ids: Collection[str], prefix: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of a position in `ids` and a feature; `prefix` is as in `look_up`."""
        code = look_up(self._codes, ids, prefix)
        at = np.flatnonzero(code >= 0)
        which, entry = expanded(self._starts[code[at]], self._counts[code[at]])
        return at[which], self._features[entry]


def look_up(index: Mapping[str, int], ids: Collection[str], prefix: str = "") -> np.ndarray:
    """Return the position of each id, with `prefix` where it has none without; -1 for neither."""
    found = np.fromiter(map(index.get, ids, repeat(-1)), np.int64, len(ids))
    if prefix:
        longer = [prefix + name for name in ids]
        found = np.where(found < 0, look_up(index, longer), found)
    return found


def expanded(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write out ranges one after the other.

    Returns
    -------
    which : ndarray of int
        The range of each entry.
    entries : ndarray of int
        ``starts[k], starts[k] + 1, ...``, `counts[k]` of them for each range k.
    """
    which = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return which, np.arange(len(which)) - before[which] + starts[which]


ENOUGH = 0.1
"""A source is refused when a smaller fraction of its ids are features, and of the features ids."""
MANY_TIMES, MANY_MORE = 2, 10
"""A change of the ids is told when it finds so many times as many, and so many more."""
EXAMPLES = 3


@dataclass(frozen=True)
class Matched:
    """Which ids of a source are which features of the matrix."""

    # p pairs of an id and a feature, by their indices, each (p,); sorted by feature, then id
    source: np.ndarray
    feature: np.ndarray
    exact: int  # number of ids found directly
    mapped: int  # and through the map
    ids: Sequence[str] = field(repr=False)  # that were looked for
    features: Sequence[str] = field(repr=False)  # ids of all features
    with_map: bool  # whether there is a map

    @property
    def n_ids(self) -> int:
        """Number of ids looked for."""
        return len(self.ids)

    @property
    def found(self) -> int:
        """Number of ids that are a feature, or several."""
        return self.exact + self.mapped


class FeatureIndex:
    """The features of a matrix, found by their ids, which are unique, or through a map.

    Pairs of the map are an id of the matrix and one of the sources, or the other way round: ids of
    the matrix are in the column that names more of its features, the first where both name as many.
    Raises InputError when it names no feature.
    """

    def __init__(
        self, features: Sequence[str], id_map: Sequence[tuple[str, str]] | None = None
    ) -> None:
        self.features = features
        self._index = {name: i for i, name in enumerate(features)}
        self._map = None if id_map is None else IdMap(id_map, self._index)

    def find(self, ids: Sequence[str], taxon: str | None = None) -> Matched:
        """Find ids directly, and the others through the map.

        Through a map an id may be several features (probes of a gene), and several ids one. Of ids
        of a `taxon` the features, and those of the map, may begin with it: ``9606.ENSP00000269``.
        """
        prefix = "" if taxon is None else f"{taxon}."
        position = look_up(self._index, ids, prefix)
        exact = np.flatnonzero(position >= 0)
        source, feature, mapped = exact, position[exact], 0
        if self._map is not None:
            rest = np.flatnonzero(position < 0)
            at, through = self._map.find([ids[i] for i in rest.tolist()], prefix)
            mapped = len(np.unique(at))
            source = np.concatenate([source, rest[at]])
            feature = np.concatenate([feature, through])
        order = np.lexsort((source, feature))
        pairs, with_map = (source[order], feature[order]), self._map is not None
        return Matched(*pairs, len(exact), mapped, ids, self.features, with_map)


def check_found(matched: Matched, name: str, where: str, allow_unmatched: bool) -> str | None:
    """Refuse a source when fewer than a tenth of its ids are features, and of the features ids.

    `name` is the source and `where` its file. With `allow_unmatched` that is only a warning, which
    is returned; a source of which nothing is found is still refused. The InputError says how many
    were found, examples of both sides and the likely reason. A warning is also returned where a
    simple change of the ids would find many more.
    """
    found = f"{matched.found:,}" if matched.found else "none"
    what = f"{found} of the {counted(matched.n_ids, 'id')} of source {name} "
    what += f"{'is a feature' if matched.found == 1 else 'are features'} of the matrix"
    if matched.with_map:
        what += ", with the map"
    covered = len(np.unique(matched.feature))
    if matched.found >= ENOUGH * matched.n_ids or covered >= ENOUGH * len(matched.features):
        if MANY_TIMES * matched.found <= matched.n_ids and matched.found:
            least = max(MANY_TIMES * matched.found, matched.found + MANY_MORE)
            if change := likely_change(matched.ids, matched.features, least):
                return f"{what} ({where}), and {change}: write both in the same way"
        if matched.found:
            return None
    if matched.found and allow_unmatched:
        return f"{what} ({where})"
    unknown = np.setdiff1d(np.arange(matched.n_ids), matched.source).tolist()
    strangers = listed([matched.ids[i] for i in unknown], EXAMPLES)
    hint = (
        "the map must pair these ids with features of the matrix"
        if matched.with_map
        else "give a table of both ids with --id-map"
    )
    least = max(matched.found + 1, int(np.ceil(ENOUGH * matched.n_ids)))
    if change := likely_change(matched.ids, matched.features, least):
        hint = f"{change}; {hint}"
    if matched.found:
        hint += "; --allow-unmatched continues with those that were found"
    raise InputError(
        what,
        where=f"{where}: ids not found are {strangers}; features are "
        f"{listed(list(matched.features), EXAMPLES)}",
        hint=hint,
    )


def tell_unknown(
    log: Messages, what: str, noun: str, unknown: Sequence[str], total: int, place: str
) -> None:
    """Say which ids of a list are not in their `place`; warn where these are most of them."""
    if not unknown:
        return
    text = (
        f"{what}: {len(unknown):,} of {counted(total, noun)} {'is' if len(unknown) == 1 else 'are'}"
        f" not {place} ({listed(list(unknown), EXAMPLES)})"
    )
    if 2 * len(unknown) > total:
        log.warn(f"{text}: check that both use the same kind of ids")
    else:
        log.note(text)


def likely_change(ids: Sequence[str], known: Sequence[str], least: int) -> str | None:
    """Tell how many ids would be found, at least so many, if both were changed in a simple way."""
    # each change is as long a search as that for the ids themselves
    for change, condition in _CHANGES:
        changed = set(map(change, known))
        count = sum(change(name) in changed for name in ids)
        if count >= least:
            return f"{count:,} would be found if {condition}"
    return None


_VERSION = re.compile(r"\.\d+$")
_CHANGES: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.casefold, "upper and lower case were the same"),
    (
        lambda name: _VERSION.sub("", name),
        "version suffixes such as the .5 of ENSG00000141510.5 were cut off",
    ),
    (
        lambda name: _VERSION.sub("", name).casefold(),
        "version suffixes were cut off and upper and lower case were the same",
    ),
)
"""Simple changes of ids, one of which often is the reason why they are not found."""


def carry_edges(
    a: np.ndarray, b: np.ndarray, score: np.ndarray | None, matched: Matched, n_features: int
) -> tuple[np.ndarray, csr_array]:
    """Turn edges between ids into edges between features.

    Every feature of an id gets its edges, but none to itself or to another feature of that id.
    Where several edges join the same two features, the highest score counts.

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
    # an edge becomes one between every feature of a and every feature of b: expanded on both sides
    # by arrays, since a table of interactions has millions of rows
    kept = np.flatnonzero((a != b) & (score != 0))
    ends, edge = _features_of(a[kept], matched)
    others, within = _features_of(b[kept][edge], matched)
    low, high = np.minimum(ends[within], others), np.maximum(ends[within], others)
    pair = np.flatnonzero(low != high)
    scores = score[kept][edge[within]][pair]
    keys = low[pair] * n_features + high[pair]  # of equal keys the highest score counts
    order = np.argsort(keys)
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    scores = np.maximum.reduceat(scores[order], first) if len(first) else scores
    low, high = np.divmod(keys[order][first], n_features)
    joined = np.zeros(n_features, bool)
    joined[low] = joined[high] = True
    features, position = np.flatnonzero(joined), np.cumsum(joined) - 1
    rows, columns = position[low], position[high]
    data = np.concatenate([scores, scores])
    ij = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    return features, csr_array((data, ij), shape=(len(features), len(features)))


def carry_similarity(
    similarity: csr_array, matched: Matched, n_features: int
) -> tuple[np.ndarray, csr_array]:
    """Turn a symmetric similarity between ids into one between features, as `carry_edges` does."""
    from scipy.sparse import triu

    upper = triu(similarity, k=1, format="coo")
    a, b = upper.row.astype(np.int64), upper.col.astype(np.int64)
    return carry_edges(a, b, upper.data, matched, n_features)


def carry_terms(terms: csr_array, matched: Matched) -> tuple[np.ndarray, csr_array]:
    """Turn the terms of ids into terms of features.

    Parameters
    ----------
    terms : csr_array, shape (ids, t)
        1 where an id has a term, else 0.
    matched : Matched
        Which ids are which features. A feature of several ids has the terms of all of them.

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
    # a feature of several ids has a term once, however many of them have it
    made.data = np.ones(len(made.data))
    annotated = np.flatnonzero(np.diff(made.indptr))
    return features[annotated], made[annotated]


def _features_of(ids: np.ndarray, matched: Matched) -> tuple[np.ndarray, np.ndarray]:
    """Return all features of ids, and the position in `ids` of each."""
    order = np.argsort(matched.source, kind="stable")
    counts = np.bincount(matched.source, minlength=matched.n_ids)
    starts = np.cumsum(counts) - counts
    which, entry = expanded(starts[ids], counts[ids])
    return matched.feature[order][entry], which
