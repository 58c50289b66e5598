"""Reading the matrix and the labels of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Ids
from sfs_cli.errors import InputError, UsageError, counted, listed
from sfs_cli.io.files.names import nfc
from sfs_cli.io.files.table import is_number
from sfs_cli.io.knowledge.sample_columns import (
    LABEL_NAMES,
    Column,
    Wanted,
    is_inside,
    parse_number,
    read_column,
    refuse_headless,
)
from sfs_cli.io.matrix.base import BY_CONVENTION, MatrixReader, ReadOptions, decide, open_matrix
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import split_words
from sfs_cli.run.config import refuse_annotation
from sfs_cli.run.memory import thread_count
from sfs_cli.store.build import COARSE, LARGEST_EXACT, BuildOptions, build
from sfs_cli.store.disk import is_store, open_store, read_manifest
from sfs_cli.store.matrix import Matrix

BLOCK_PART = 32
"""A reader's block takes at most this fraction (1/N) of the memory."""
DECODE_PART = 4
"""Columns that are decoded at a time take at most this fraction (1/N) of the memory."""
HELD_PART = 4
"""A matrix is held in memory if it takes at most this fraction (1/N) of it."""
MANY_SAMPLES, WIDE = 1000, 10
"""Least samples, and samples per feature, of a matrix that may be transposed."""
FEW_CLASSES = 5
"""Labels of more classes that are all numbers may be measurements."""
_STORE_HINT = "leave it out, or give it to `sfs convert`, which builds the store"


T = TypeVar("T")
Label = str | float
"""A class, or a number."""


@dataclass
class Opened:
    """A matrix that has been read."""

    matrix: Matrix
    facts: dict[str, Any] = field(default_factory=dict)  # format, orientation, what was changed
    graphs: tuple[str, ...] = ()  # what the file holds to compare samples by


Opener = Callable[[RankConfig, list[str], int, Path, Messages], Opened]
"""What opens a matrix; its parameters are those of `load`."""


def read_label_table(config: RankConfig, ids: Ids | None = None) -> Column[Label] | None:
    """Return the labels by sample id.

    None where there are none, or where they are annotations and the matrix, which has `ids`, was
    not read yet.
    """
    if config.labels is not None and not is_inside(config.labels):
        refuse_annotation(config)
    if config.labels is None or (ids is None and is_inside(config.labels)):
        return None
    wanted = Wanted("labels", "label", _label_parser(config), LABEL_NAMES)
    return read_column(config.labels, wanted, config.matrix, ids)


def _label_parser(config: RankConfig) -> Callable[[str], Label]:
    """Return what makes a label of a text; it raises an InputError for text that is none."""
    if not config.numeric:
        return str
    if config.label_order is None:
        hint = "correct it, leave it empty if it is not known, or name another column"
        if config.event is not None:
            hint = "with --event, name the column of the times by --labels FILE:COLUMN"
        if config.label_type == "ordered":
            hint = "name the classes from the lowest to the highest, as --label-order low,mid,high"
        return partial(parse_number, hint=hint)
    order = order_of(config)

    def known(text: str) -> str:
        if text not in order:
            raise InputError(
                f"class {text!r} is not in --label-order {config.label_order}",
                hint="give all classes from the lowest to the highest",
                option=("label_order", "labels"),
            )
        return text

    return known


def order_of(config: RankConfig) -> list[str]:
    """Return the classes from the lowest to the highest, as ``--label-order`` has them."""
    return [nfc(name) for name in split_words(config.label_order)]


def storage_dtype(config: RankConfig) -> np.dtype[Any]:
    """Return the type that values are stored in: float32 unless asked otherwise."""
    return np.dtype(config.dtype or "float32")


def held_limit(config: RankConfig, memory: int) -> int:
    """Return the size up to which a matrix is held in memory; each local process copies it."""
    copies = thread_count(config.threads) + 1 if config.executor == "dask" else 1
    return memory // HELD_PART // copies


def load(
    config: RankConfig,
    known_samples: list[str],
    memory: int,
    folder: Path,
    messages: Messages,
    kept: dict[str, Any] | None = None,
) -> Opened:
    """Read the matrix of a configuration.

    Parameters
    ----------
    config : RankConfig
        What to read and how.
    known_samples : list of str
        Sample ids of labels and sources, which may show the orientation.
    memory : int
        Bytes that may be used.
    folder : Path
        For what does not stay in memory: empty, or made when it is needed.
    messages : Messages
        Receives progress, decisions and warnings.
    kept : dict, optional
        Provenance for the manifest of a store that is left in `folder`; None: none is left.
    """
    path = Path(config.matrix)
    if is_store(path):
        return _open_store(config, path)
    reader, rows, why = peek(config, known_samples, memory, folder)
    try:
        messages.note(f"{path.name} ({reader.format}): {why}")
        for note in reader.notes:
            messages.note(note)
        with messages.progress("reading", reader.n_rows) as advance:
            seen = 0

            def progress(done: int, _total: int | None) -> None:
                nonlocal seen
                advance(done - seen)
                seen = done

            options = BuildOptions(
                rows=rows,
                dtype=storage_dtype(config),
                folder=folder,
                limit=held_limit(config, memory),
                keep=kept is not None,
                source=(kept or {}) | {"format": reader.format, "rows": rows},
                progress=progress,
            )
            built = build(reader, options)
    finally:
        reader.close()
    if built.renamed:
        messages.warn(
            f"features with a duplicate id, which got a suffix (-1, -2, ...): {built.renamed:,}"
        )
    if built.coarse:
        messages.warn(
            f"features that vary by less than {100 * COARSE:g} % of the mean, too little for "
            f"single precision: {len(built.coarse):,} ({listed(built.coarse, 3)}); use --dtype "
            "float64"
        )
    if built.large:
        messages.warn(
            f"features with values of {LARGEST_EXACT:.2g} or more, where whole numbers are no "
            f"longer exact: {len(built.large):,} ({listed(built.large, 3)}); are they identifiers "
            "or times?"
        )
    n, m = built.matrix.n_samples, built.matrix.n_features
    if why == BY_CONVENTION and (doubt := on_its_side(n, m)):
        messages.warn(doubt)
    facts = {"format": reader.format, "rows": rows, "orientation": why, "renamed": built.renamed}
    return Opened(built.matrix, facts, reader.annotations.graphs)


def load_with_labels(
    config: RankConfig,
    memory: int,
    folder: Path,
    messages: Messages,
    kept: dict[str, Any] | None = None,
) -> tuple[Opened, Column[Label] | None]:
    """Read the matrix alone, and the labels, which may show its orientation.

    They are given to `align_labels`; what is `kept` is as in `load`.
    """
    table = read_label_table(config)
    return load(config, list(table or ()), memory, folder, messages, kept), table


def on_its_side(n: int, m: int) -> str | None:
    """Return what to warn of where n samples of m features may be the other way round, or None."""
    if n < MANY_SAMPLES or n <= WIDE * m:
        return None
    return (
        f"this makes {n:,} samples of {counted(m, 'feature')}: if the columns are the features, "
        "give --rows samples, else --rows features"
    )


def peek(
    config: RankConfig, known_samples: list[str], memory: int, scratch: Path | None = None
) -> tuple[MatrixReader, Literal["features", "samples"], str]:
    """Open a reader without reading values; return it with the orientation and why."""
    options = ReadOptions(
        dtype=storage_dtype(config).name,
        block_bytes=int(min(8 << 20, max(1 << 20, memory // BLOCK_PART))),
        layer=config.layer,
        use_raw=config.use_raw,
        allow_external=config.allow_external,
        decode_bytes=memory // DECODE_PART,
        scratch=scratch,
    )
    reader = open_matrix(Path(config.matrix), options)
    try:
        rows, why = decide(reader, cast(Any, config.rows), known_samples)
    except BaseException:
        reader.close()
        raise
    return reader, rows, why


def _open_store(config: RankConfig, path: Path) -> Opened:
    for flag, option in (("--layer", "layer"), ("--use-raw", "use_raw")):
        if getattr(config, option):
            raise UsageError(f"{flag} has no effect on a store", hint=_STORE_HINT, option=option)
    if config.rows == "samples":
        raise UsageError("--rows has no effect on a store", hint=_STORE_HINT, option="rows")
    manifest = read_manifest(path)
    if config.dtype is not None and config.dtype != manifest.dtype:
        raise UsageError(
            f"--dtype {config.dtype}: the store holds {manifest.dtype}",
            hint=_STORE_HINT,
            option="dtype",
        )
    facts = {"format": "store", "rows": "features", "renamed": 0}
    return Opened(open_store(path, ids_later=True), facts)


def align_labels(
    config: RankConfig, matrix: Matrix, table: Column[Label] | None, messages: Messages
) -> Labels | None:
    """Give each sample its class, or its number.

    Raises InputError when no sample has a label, or the annotation asked for is not there or holds
    text that is no label.
    """
    if config.labels is None:
        return None
    samples = matrix.ids.samples
    if table is None:
        table = read_label_table(config, matrix.ids)
        assert table is not None, "there are labels"
    tell_column(table, "labels", messages)
    known = [table.get(sample) for sample in samples]
    if None in known and not is_inside(config.labels):
        refuse_headless(table, samples)
    if not any(label is not None for label in known):
        raise without_common_ids("a label", config.labels, list(table), samples)
    if strangers := len(set(table) - set(samples)):
        messages.warn(f"labeled samples not in the matrix: {strangers:,} ({config.labels})")
    if config.label_type == "continuous":
        values = np.array([np.nan if k is None else k for k in known], np.float64)
        return Labels(np.full(len(known), -1), [], values)
    classes = sorted({label for label in known if label is not None})
    if config.label_order is not None:
        classes = [*order_of(config)]
        absent = [name for name in classes if name not in set(table.values())]
        if absent:
            raise InputError(
                f"no sample is of class {absent[0]!r}",
                where=f"--label-order {config.label_order}; {config.labels}",
                hint="correct the name, or leave the class out",
                option=("label_order", "labels"),
            )
    code = {name: i for i, name in enumerate(classes)}
    codes = np.array([-1 if k is None else code[k] for k in known])
    named = [name if isinstance(name, str) else f"{name:.10g}" for name in classes]
    places = np.where(codes < 0, np.nan, codes) if config.numeric else None
    return Labels(codes, named, places)


def without_common_ids(
    what: str,
    where: str,
    there: list[str],
    samples: Sequence[str],
    option: str | tuple[str, ...] = (),
    more: str = "--rows",
) -> InputError:
    """Return the error for knowledge whose sample ids (`there`) are others than the matrix has."""
    return InputError(
        f"none of the {len(samples):,} samples has {what}",
        where=f"{where}: samples there are {listed(there, 3)}; those of the matrix are "
        f"{listed(list(samples), 3)}",
        hint=f"check that both use the same sample ids, and {more}",
        option=option,
    )


def tell_column(column: Column[Any], what: str, messages: Messages) -> None:
    """Say which column of several was taken, and which texts of it stand for missing values."""
    if column.others:
        messages.note(
            f"{what} are those of {column.where}, by its name; the others are "
            f"{listed(column.others, 20)}: FILE:COLUMN takes one of those"
        )
    if column.missing:
        texts = ", ".join(f"{text} ({count:,})" for text, count in column.missing.items())
        messages.note(
            f"{column.where}: {texts} in place of a value stands for a missing one; a class or "
            "group that is called so needs another name"
        )


def check_outcome(labels: Labels, where: str) -> None:
    """Refuse an outcome that is the same in all samples."""
    values = labels.numbers[labels.known]
    if np.ptp(values) == 0:
        same = labels.classes[int(values[0])] if labels.classes else f"{values[0]:g}"
        raise InputError(
            f"all samples have the same label, {same}",
            where=where,
            hint="name another column, or give the labels of more samples",
            option="labels",
        )


def look_continuous(labels: Labels) -> bool:
    """Tell whether classes look like measurements: numbers, many of them."""
    return len(labels.classes) > FEW_CLASSES and all(map(is_number, labels.classes))


def check_classes(labels: Labels, where: str) -> None:
    """Refuse a single class, or a class of one sample."""
    counts = labels.counts()
    if len(counts) < 2:
        raise InputError(
            f"all samples are of one class, {labels.classes[0]!r}",
            where=where,
            hint="give labels of at least two classes",
        )
    single = [name for name, count in counts.items() if count == 1]
    if single:
        raise InputError(
            f"classes with only one sample: {listed(single)}",
            where=where,
            hint="these labels are numbers: give --label-type continuous"
            if look_continuous(labels)
            else "a class needs two samples to vary within: merge it with another or leave its "
            "sample out",
        )
