"""Names of the features of a 10x matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def name_features(
    ids: Sequence[str], symbols: Sequence[str], types: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Choose between the symbols and the ids of the features.

    Parameters
    ----------
    ids : sequence of str
        Such as Ensembl ids; unique.
    symbols : sequence of str
        Gene symbols, or empty.
    types : sequence of str
        Feature types, or empty.

    Returns
    -------
    names : list of str
        The symbols if all are there and unique, else the ids.
    notes : list of str
        What was chosen and why; the feature types where there are several.
    """
    notes = []
    repeated = sum(count - 1 for count in Counter(symbols).values())
    if len(symbols) == len(ids) and not repeated and all(symbols):
        names = list(symbols)
        notes.append("features are named by their symbols")
    else:
        names = list(ids)
        why = f"{repeated:,} symbols are repeated" if repeated else "symbols are missing"
        notes.append(f"features are named by their ids, as {why}")
    kinds = Counter(types)
    if len(kinds) > 1:
        counted = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        notes.append(f"all feature types are kept: {counted}")
    return names, notes
