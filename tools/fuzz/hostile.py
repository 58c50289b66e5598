"""Hostile cases made by hand: a table of file x content x command, written by small functions.

Each row names its case; what is hostile about it stands in the row. A refusal (2 or 3) is always
right, and so is a result that other programs agree with; other exit codes are listed where they are
meant, such as 137 for what would really need more memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from tools.fuzz.cases import Case
from tools.fuzz.hostile_arrays import in_arrays, in_hdf5, in_stores, in_tables
from tools.fuzz.hostile_bombs import bombs
from tools.fuzz.hostile_groups import in_groups, long_names
from tools.fuzz.hostile_paths import options, outputs, paths
from tools.fuzz.hostile_text import documents, names_in_text, numbers_in_text, whole_files
from tools.fuzz.seeds import Seed


def hostile_cases(seeds: Sequence[Seed]) -> list[Case]:
    """Return all cases; the seeds give the files that libraries write."""
    files = {seed.name: seed.files for seed in seeds}
    return [
        *numbers_in_text(),
        *names_in_text(),
        *whole_files(),
        *bombs(),
        *documents(),
        *in_arrays(),
        *options(),
        *paths(),
        *outputs(),
        *in_hdf5(files),
        *in_groups(files),
        *long_names(),
        *in_tables(),
        *in_stores(files),
    ]
