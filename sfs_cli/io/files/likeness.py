"""Ids that two files write in other ways: the change of both by which most of them would be found.

One function serves features, samples, sources, sets and lists, so that messages about ids that are
not found say the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from operator import itemgetter
from os.path import commonprefix

from sfs_cli.errors import listed

SHORTEST = 6
"""Characters that are enough to tell ids by their beginning."""
_MEASURE = (
    r"(?:raw|expected|est|estimated|norm|normali[sz]ed)(?:[ ._-]?(?:counts?|reads))?|counts?|reads"
    r"|(?:log2?[ ._-]?)?(?:[fr]pkm|tpm|cpm|rpm)|log2?|vst|rlog|zscore|rma|ibaq"
    r"|(?:lfq[ ._-]?)?intensity|(?:avg[ ._-]?)?signal|detection(?:[ ._-]?p[ ._-]?val(?:ue)?)?"
)
OF_VALUES = (
    re.compile(rf"^(?P<sample>.+?)[ ._-]+(?P<kind>{_MEASURE})$", re.IGNORECASE),
    re.compile(rf"^(?P<kind>{_MEASURE})[ ._-]+(?P<sample>.+)$", re.IGNORECASE),
)
"""S1_count, and Intensity S1: a sample, and what kind of values the column has."""


def likely_change(ids: Sequence[str], known: Sequence[str]) -> str | None:
    """Tell how many ids would be known if both were changed in a simple way.

    The ids are those of genes, features or samples. Told is the first change that finds half of
    those that are not found and could be, or that half stand for several, as a donor for samples;
    None where half of them are found as they are.
    """
    wanted, among = set(ids), set(known)
    found = len(wanted & among)
    missed = min(len(wanted), len(among)) - found
    if not missed or found > missed:
        return None
    # each change is as long a search as that for the ids themselves
    for change, condition in _changes(ids, known):
        # what makes several ids one finds none of them: ctrl.1 and ctrl.2 are no versions
        here, there = Counter(map(change, wanted)), Counter(map(change, among))
        count = sum(here[name] == there[name] == 1 for name in here)
        if 2 * (count - found) >= missed:
            return f"{count:,} would be found if {condition}"
    # several kinds of values of a sample, S1_count and S1_fpkm; or several samples of a donor
    parts: list[Callable[[str], str]] = [_without(r"[\W_]+[^\W_]+$")]
    parts += [partial(each.sub, r"\g<sample>") for each in OF_VALUES]
    for part, (few, many) in product(parts, ((wanted, among), (among, wanted))):
        times = Counter(map(part, many))
        several = sorted(name for name in few if times[name] > 1)
        if 2 * (len(several) - found) >= missed:
            of_first = listed(sorted(name for name in many if part(name) == several[0]))
            return f"{len(several):,} stand for several, as {several[0]} for {of_first}"
    return None


def _changes(
    ids: Sequence[str], known: Sequence[str]
) -> Iterator[tuple[Callable[[str], str], str]]:
    """Yield simple changes of ids, and the condition under which they would be so.

    One of them often is the reason why ids are not found.
    """
    without_version = _without(r"\.\d+$")
    yield str.casefold, "upper and lower case were the same"
    yield without_version, "version suffixes such as the .5 of ENSG00000141510.5 were cut off"
    yield (
        lambda name: without_version(name).casefold(),
        "version suffixes were cut off and upper and lower case were the same",
    )
    without_signs, without_zeros = _without(r"^X(?=\d)|[\W_]"), _without(r"(?<!\d)0+(?=\d)")
    yield without_signs, "signs were the same (R writes 1-T as X1.T)"
    yield without_zeros, "zeros before numbers were left out"
    yield (
        lambda name: without_signs(without_zeros(name)).casefold(),
        "signs and upper and lower case were the same, and zeros before numbers left out",
    )
    yield _without(r"\|.*"), "what follows a | were cut off (TP53|7157)"
    length = min(map(len, (*ids, *known)), default=0)
    if length >= SHORTEST and 2 * len({name[:length] for name in ids}) > len(ids):
        yield itemgetter(slice(length)), f"ids were cut to their first {length} characters"
    # what all ids of a side share, up to a sign such as that of hsa-, or from one on: .bam, -1
    cuts = dict[str, str]()
    for what, step, pattern in (("begin", 1, "^(?:{})"), ("end", -1, "(?:{})$")):
        short, long = sorted((_shared(side, step) for side in (ids, known)), key=len)
        shared = {re.sub(r"[^\W_]*$", "", text)[::step] for text in (short, long)} - {""}
        if shared:
            longest_first = sorted(shared, key=lambda text: (-len(text), text))
            cut = pattern.format("|".join(map(re.escape, longest_first)))
            told = f"what all ids {what} with were cut off ({listed(longest_first)})"
            cuts[cut] = told
            yield _without(cut), told
        # without a sign, what one side has beyond the other: treated1fb and treated1
        if long != short and long.endswith(short):
            more = long.removesuffix(short)[::step]
            told = f"what the ids of one side {what} with were cut off ({more})"
            yield _without(pattern.format(re.escape(more))), told
    if len(cuts) == 2:  # a path: folders before the id, and .bam after it
        yield _without("|".join(cuts)), " and ".join(cuts.values())


def _without(pattern: str) -> Callable[[str], str]:
    """Return what takes all that fits a pattern out of an id."""
    return partial(re.compile(pattern).sub, "")


def _shared(names: Sequence[str], step: int) -> str:
    """Return what all ids begin with (step 1), or end with (-1), read in that direction."""
    return commonprefix([name[::step] for name in names])  # noqa: RUF071 (no paths)
