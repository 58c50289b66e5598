"""Ids that two files write in other ways: the change of both by which most of them would be found.

One function serves features, samples, sources, sets and lists, so that messages about ids that are
not found say the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from os.path import commonprefix

from sfs_cli.errors import listed

SHORTEST = 6
"""Characters that are enough to tell ids by their beginning."""


def likely_change(ids: Sequence[str], known: Sequence[str]) -> str | None:
    """Tell how many ids would be known if both were changed in a simple way.

    The ids are those of genes, features or samples. Told is the first change that finds half of
    those that are not found and could be; None where half of them are found as they are.
    """
    wanted, among = set(ids), set(known)
    found = len(wanted & among)
    missed = min(len(wanted), len(among)) - found
    if not missed or found > missed:
        return None
    # each change is as long a search as that for the ids themselves
    for change, condition in _changes(ids, known):
        changed = set(map(change, known))
        count = sum(change(name) in changed for name in wanted)
        if 2 * (count - found) >= missed:
            return f"{count:,} would be found if {condition}"
    return None


def _changes(
    ids: Sequence[str], known: Sequence[str]
) -> Iterator[tuple[Callable[[str], str], str]]:
    """Yield simple changes of ids, and the condition under which they would be so.

    One of them often is the reason why ids are not found.
    """
    yield str.casefold, "upper and lower case were the same"
    version = "version suffixes such as the .5 of ENSG00000141510.5 were cut off"
    yield _without_version, version
    yield (
        lambda name: _without_version(name).casefold(),
        "version suffixes were cut off and upper and lower case were the same",
    )
    yield _without_signs, "signs were the same (R writes 1-T as X1.T)"
    yield _without_zeros, "zeros before numbers were left out"
    yield lambda name: name.partition("|")[0], "what follows a | were cut off (TP53|7157)"
    length = min(map(len, (*ids, *known)), default=0)
    if length >= SHORTEST and 2 * len({name[:length] for name in ids}) > len(ids):
        yield itemgetter(slice(length)), f"ids were cut to their first {length} characters"
    begins = [begin for begin in map(_shared_begin, (ids, known)) if begin]
    if begins:
        what = f"what all ids begin with were cut off ({listed(begins)})"
        yield partial(_without, begins=begins), what
    ends = [end for end in map(_shared_end, (ids, known)) if end]
    if ends:
        what = f"what all ids end with were cut off ({listed(ends)})"
        yield partial(_without, ends=ends), what


def _without_version(name: str) -> str:
    return re.sub(r"\.\d+$", "", name)


def _without_signs(name: str) -> str:
    return re.sub(r"^X(?=\d)|[\W_]", "", name)


def _without_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name)


def _shared_begin(names: Sequence[str]) -> str:
    """Return the beginning that all ids share, up to a sign, such as hsa- or 9606."""
    sign = re.search(r"^.*[\W_]", commonprefix(names))  # noqa: RUF071 (no paths)
    return sign.group() if sign else ""


def _shared_end(names: Sequence[str]) -> str:
    """Return the end that all ids share, from a sign on, such as .bam or -1."""
    shared = commonprefix([name[::-1] for name in names])[::-1]  # noqa: RUF071 (no paths)
    sign = re.search(r"[\W_]", shared)
    return shared[sign.start() :] if sign else ""


def _without(name: str, begins: Sequence[str] = (), ends: Sequence[str] = ()) -> str:
    for begin in begins:
        name = name.removeprefix(begin)
    for end in ends:
        name = name.removesuffix(end)
    return name
