"""The features that ``--include``, ``--exclude`` and ``--given`` name, by files or patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import LeftOut, Span
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.files.likeness import likely_change
from sfs_cli.io.files.names import nfc
from sfs_cli.io.files.table import is_number
from sfs_cli.io.files.text import string_array
from sfs_cli.io.knowledge.gene_sets import read_gene_list
from sfs_cli.knowledge.matching import SAME_IDS, FeatureIndex, check_found, tell_unknown
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag, names_file
from sfs_cli.store.filters import FeatureFilter, smallest_group
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.matrix import Matrix

SAME = 1e-6
"""Relative difference of two numbers of which one was stored in single precision."""


def feature_filter(
    config: RankConfig, matrix: Matrix, n_samples: int, labels: Labels | None, log: Messages
) -> FeatureFilter:
    """Return which features of the matrix take part in a run of `n_samples` samples.

    `labels` are theirs, where they are used.

    Raises
    ------
    InputError
        When a file or pattern matches no feature, a file cannot be read, or none is left.
    """
    # before anything is read: a plan of shards reads no values before it is written
    if config.min_samples is not None and config.min_samples > n_samples:
        raise InputError(
            f"--min-samples {config.min_samples:,} leaves out every feature: "
            f"{counted(n_samples, 'sample')} are used",
            where=config.matrix,
            hint=f"give {n_samples:,} or less",
            option="min_samples",
        )
    by_id = None
    if config.include or config.exclude:
        by_id = np.zeros(matrix.n_features, np.int8)
        if config.include:
            by_id[~_matched("include", config, matrix, log)] = LeftOut.NOT_INCLUDED
        if config.exclude:
            by_id[_matched("exclude", config, matrix, log)] = LeftOut.EXCLUDED
        if by_id.all():
            given = config.given("include", "exclude")
            raise InputError(
                f"no feature is left after {' and '.join(map(flag, given))}",
                where=f"{config.matrix}: all {matrix.n_features:,} are left out",
                hint="include more, or exclude less",
                option=tuple(given),
            )
    group = group_of(labels, n_samples)
    return FeatureFilter(by_id, config.min_samples, config.min_count, group)


def without_known(
    features: FeatureFilter,
    matrix: Matrix,
    columns: Sequence[tuple[str, str, Mapping[str, Any]]],
    log: Messages,
) -> FeatureFilter:
    """Leave out the features that are what options say of the samples: the list would be circular.

    `columns` are those that options name, of whatever file: the option, the name, and the values
    by sample. A feature is one if it has the name, and the value in every sample that has one.
    """
    import pyarrow.compute as pc

    ids, samples = FeatureIds.of(matrix.ids.features).array, matrix.ids.samples
    found, told = [], []
    for option, name, values in columns:
        said = [_number(values.get(sample)) for sample in samples]
        known = [i for i, value in enumerate(said) if value is not None]
        # `pc.index` would import pandas
        at = pc.index_in(string_array([name]).cast(ids.type), value_set=ids)[0].as_py()
        if at is None or not known:
            continue
        own = matrix.values_of(Span(at, at + 1))[0, known]
        given = np.array([said[i] for i in known], np.float64)
        # what --censored names was turned into events
        codings = (given, 1 - given) if option == "censored" else (given,)
        if any(np.allclose(own, each, rtol=SAME, atol=0) for each in codings):
            found.append(at)
            told.append(f"{name} ({flag(option)})")
    if not found:
        return features
    log.note(f"left out of the features, as options take it for what samples are: {listed(told)}")
    by_id = np.zeros(len(ids), np.int8) if features.by_id is None else features.by_id.copy()
    by_id[found] = LeftOut.EXCLUDED
    return replace(features, by_id=by_id)


def _number(value: object) -> float | None:
    """Return a value of a column as a number; true is 1."""
    text = str(value)
    return float(text) if is_number(text) else {"True": 1.0, "False": 0.0}.get(text)


def group_of(labels: Labels | None, n_samples: int) -> float:
    """Return the size of the smallest group of samples: of a class, or for an outcome effective."""
    if labels is None:
        return smallest_group(n_samples)
    if labels.values is not None:
        return smallest_group(n_samples, design=labels.values[labels.known, None])
    return smallest_group(n_samples, groups=labels.codes[labels.known])


def given_features(config: RankConfig, matrix: Matrix, log: Messages) -> tuple[int, ...]:
    """Return the features that are already chosen, ascending.

    Raises InputError when the file cannot be read or names what is no feature, or every one.
    """
    if config.given_ is None:
        return ()
    listed_ids, ids = read_gene_list(Path(config.given_)), matrix.ids.features
    found = np.flatnonzero(_in_list(listed_ids, ids))
    if len(found) < len(listed_ids):
        known = set(ids)
        unknown = [name for name in listed_ids if name not in known]
        raise InputError(
            f"--given {config.given_}: {len(unknown):,} of {counted(len(listed_ids), 'id')} not in "
            f"the matrix: {listed(unknown)}",
            where=f"{config.given_}; features of {config.matrix} are {listed(list(ids), 3)}",
            hint=(likely_change(listed_ids, ids) or SAME_IDS)
            + "; leave out those that were not measured",
            option="given_",
        )
    if len(found) == len(ids):
        raise InputError(
            f"--given {config.given_} names all {len(ids):,} features, so none is left to rank",
            where=config.given_,
            hint="give a shorter list",
            option="given_",
        )
    log.note(f"--given {config.given_}: {counted(len(found), 'feature')} already chosen")
    return tuple(found.tolist())


def _matched(option: str, config: RankConfig, matrix: Matrix, log: Messages) -> np.ndarray:
    """Return which features the files and patterns of an option name, shape (m,)."""
    ids = matrix.ids.features
    found = np.zeros(len(ids), bool)
    for text in getattr(config, option):
        of_file = names_file(text)
        names, what = read_gene_list(Path(text)) if of_file else [], f"{flag(option)} {text}"
        one = _in_list(names, ids) if of_file else _like(text, ids)
        if not one.any() and of_file:
            check_found(FeatureIndex(ids).find(names), what, text, SAME_IDS, option)  # it raises
        if not one.any():
            raise InputError(
                f"{what}: no feature id matches",
                where=f"{config.matrix}: features are {listed(list(ids), 3)}",
                hint="there is no file of this name, so it was taken as a regular expression: "
                "check the path, or the pattern (upper and lower case count)",
                option=option,
            )
        log.note(f"{what}: {counted(int(one.sum()), 'feature')}")
        tell_unknown(log, what, "id", names, ids, "in the matrix")
        found |= one
    return found


def _in_list(names: Sequence[str], ids: Sequence[str]) -> np.ndarray:
    known = set(names)
    return np.fromiter((name in known for name in ids), bool, len(ids))


def _like(pattern: str, ids: Sequence[str]) -> np.ndarray:
    search = re.compile(nfc(pattern)).search
    return np.fromiter((search(name) is not None for name in ids), bool, len(ids))
