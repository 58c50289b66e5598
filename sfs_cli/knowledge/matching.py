"""Finding the ids of a source among the features of the matrix, directly or through a map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sfs_cli.errors import InputError, Options, counted, listed
from sfs_cli.io.files.likeness import likely_change
from sfs_cli.io.knowledge.edges import strongest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from sfs_cli.logs import Messages

T = TypeVar("T")


ENOUGH = 0.1
"""A source is refused when a smaller fraction of its ids are features, and of the features ids."""
EXAMPLES = 3
SAME_IDS = "check that both use the same kind of ids"
"""What to do where nothing tells how the ids of both sides differ."""


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
        self._with_map = id_map is not None
        # of each id of the sources, the features that the map pairs it with
        self._through: defaultdict[str, set[int]] = defaultdict(set)
        pairs = id_map or ()
        named = [{pair[side] for pair in pairs if pair[side] in self._index} for side in (0, 1)]
        if id_map is not None and not any(named):
            shown = listed([" = ".join(pair) for pair in pairs], 3)
            raise InputError(
                f"none of the {counted(len(pairs), 'pair')} of the map names a feature of the "
                f"matrix: pairs are {shown}; features are {listed(list(features), 3)}",
                hint="one of the two columns of --id-map must hold ids of the matrix",
            )
        # maps are downloaded either way round; the column with more features is that of the matrix,
        # even where a few ids of the other one happen to be features too
        side = int(len(named[1]) > len(named[0]))
        for pair in pairs:
            if pair[side] in named[side]:
                self._through[pair[1 - side]].add(self._index[pair[side]])

    def symbols(self) -> dict[str, set[str]]:
        """Return what the map pairs each feature with."""
        found = defaultdict[str, set[str]](set)
        for symbol, features in self._through.items():
            for feature in features:
                found[self.features[feature]].add(symbol)
        return found

    def find(self, ids: Sequence[str], taxon: str | None = None) -> Matched:
        """Find ids directly, and the others through the map.

        Through a map an id may be several features (probes of a gene), and several ids one. Of ids
        of a `taxon` the features, and those of the map, may begin with it: ``9606.ENSP00000269``.
        """
        pairs: list[tuple[int, int]] = []
        exact = mapped = 0
        for at, name in enumerate(ids):
            names = (name,) if taxon is None else (name, f"{taxon}.{name}")
            if (direct := _first(self._index, names)) is not None:
                exact += 1
                pairs.append((direct, at))
            elif (through := _first(self._through, names)) is not None:
                mapped += 1
                pairs += ((feature, at) for feature in through)
        feature, source = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
        return Matched(source, feature, exact, mapped, ids, self.features, self._with_map)


def _first(known: Mapping[str, T], names: Sequence[str]) -> T | None:
    return next((known[name] for name in names if name in known), None)


def check_found(
    matched: Matched,
    name: str,
    where: str,
    hint: str = "give a table of both ids with --id-map",
    option: Options = (),
) -> str | None:
    """Refuse knowledge when none of its ids is a feature; return a warning where few of them are.

    These are fewer than a tenth of its ids, and of the features. `name` is what it is, such as
    ``source go``, `where` its file, and `hint` what to do without a map. Both say how many were
    found, examples of both sides and the likely reason. A warning is also returned where a simple
    change of the ids would find many more.
    """
    found = f"{matched.found:,}" if matched.found else "none"
    what = f"{name}: {found} of {counted(matched.n_ids, 'id')} found among the features"
    if matched.with_map:
        what += ", with the map"
    covered = len(np.unique(matched.feature))
    if 2 * matched.found > matched.n_ids or 2 * covered > len(matched.features):
        return None
    change = likely_change(matched.ids, matched.features)
    if (
        matched.found
        and max(matched.found / matched.n_ids, covered / len(matched.features)) >= ENOUGH
    ):
        return f"{what} ({where}), and {change}: write both in the same way" if change else None
    unknown = np.setdiff1d(np.arange(matched.n_ids), matched.source).tolist()
    strangers = listed([matched.ids[i] for i in unknown], EXAMPLES)
    if matched.with_map:
        hint = "the map must pair these ids with features of the matrix"
    if change:
        hint = f"{change}; {hint}"
    examples = (
        f"{where}: ids not found are {strangers}; features are "
        f"{listed(list(matched.features), EXAMPLES)}"
    )
    if matched.found:
        return f"{what} ({examples}): {hint}"
    raise InputError(what, where=examples, hint=hint, option=option)


def tell_unknown(
    log: Messages,
    what: str,
    noun: str,
    ids: Sequence[str],
    known: Sequence[str],
    place: str,
) -> None:
    """Say which ids of a list are not among the `known` of their `place`.

    Warns where these are most of them, and says what would find them.
    """
    among = frozenset(known)
    unknown = [name for name in ids if name not in among]
    if not unknown:
        return
    text = f"{what}: {len(unknown):,} of {counted(len(ids), noun)} not {place} "
    text += f"({listed(unknown, EXAMPLES)})"
    if 2 * len(unknown) > len(ids):
        change = likely_change(ids, known) or SAME_IDS
        log.warn(f"{text}: {change}")
    else:
        log.note(text)


def carry_similarity(
    similarity: csr_array, matched: Matched, n_features: int
) -> tuple[np.ndarray, csr_array]:
    """Turn a similarity between ids into one between features.

    Every feature of an id gets its similarities, but none to itself or to another feature of that
    id. Where several join the same two features, the highest counts.

    Parameters
    ----------
    similarity : csr_array, shape (ids, ids)
        Symmetric, not negative, without stored zeros; the diagonal has no effect.
    matched : Matched
        Which ids are which features.
    n_features : int
        Number of features m.

    Returns
    -------
    features : ndarray of int, shape (l,)
        Those that are similar to another one, ascending.
    similarity : csr_array, shape (l, l)
        Symmetric, without a diagonal.
    """
    from scipy.sparse import csr_array, triu

    edges = triu(similarity, k=1, format="coo")
    # an edge becomes one between every feature of one end and every feature of the other: expanded
    # on both sides by arrays, since a table of interactions has millions of rows
    ends, edge = _features_of(edges.row, matched)
    others, within = _features_of(edges.col[edge], matched)
    ends, scores = ends[within], edges.data[edge[within]]
    two = ends != others
    low, high, scores = strongest(ends[two], others[two], scores[two], n_features)
    features, position = np.unique(np.concatenate([low, high]), return_inverse=True)
    upper = csr_array((scores, np.split(position, 2)), shape=(len(features), len(features)))
    return features, upper + upper.T


def carry_terms(
    terms: Mapping[str, Sequence[str]], matched: Matched
) -> tuple[np.ndarray, csr_array]:
    """Turn the terms of ids into terms of features.

    Parameters
    ----------
    terms : mapping
        The ids of each of t terms; `matched` has looked for all of them.
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

    place = {name: at for at, name in enumerate(matched.ids)}
    ids = [place[name] for members in terms.values() for name in members]
    columns = np.repeat(np.arange(len(terms)), [len(members) for members in terms.values()])
    features, row = np.unique(matched.feature, return_inverse=True)
    of_ids = csr_array((np.ones(len(ids)), (ids, columns)), shape=(matched.n_ids, len(terms)))
    made = csr_array(
        (np.ones(len(row)), (row, matched.source)), shape=(len(features), matched.n_ids)
    )
    made = made @ of_ids
    # a feature of several ids has a term once, however many of them have it
    made.data = np.ones(len(made.data))
    return features, made


def _features_of(ids: np.ndarray, matched: Matched) -> tuple[np.ndarray, np.ndarray]:
    """Return all features of ids, and the position in `ids` of each."""
    from scipy.sparse import csr_array

    pairs = np.ones(len(matched.source), bool), (matched.source, matched.feature)
    found = csr_array(pairs, shape=(matched.n_ids, len(matched.features)))[ids]
    return found.indices, np.repeat(np.arange(len(ids)), np.diff(found.indptr))
