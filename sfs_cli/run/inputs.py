"""Reading the matrix and the labels of a run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Ids
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError, UsageError, counted, counts_text, listed, located
from sfs_cli.io.files.atomic import made
from sfs_cli.io.files.names import nfc
from sfs_cli.io.files.sniff import is_store
from sfs_cli.io.files.table import is_number, sure_annotations
from sfs_cli.io.knowledge.gene_sets import read_id_map
from sfs_cli.io.knowledge.sample_columns import (
    LABEL_NAMES,
    Column,
    Wanted,
    is_inside,
    parse_number,
    read_column,
    refuse_headless,
    says_censored,
    split_label_spec,
)
from sfs_cli.io.matrix.base import (
    BY_CONVENTION,
    LeavesOut,
    MatrixReader,
    ReadOptions,
    decide,
    open_matrix,
)
from sfs_cli.knowledge.matching import FeatureIndex
from sfs_cli.logs import AT_ONCE, Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import flag, split_words
from sfs_cli.run import sample_ids
from sfs_cli.run.columns import refuse_numbers, sample_classes
from sfs_cli.run.config import matrix_files, refuse_annotation
from sfs_cli.run.needs import memory_budget, needed, thread_count
from sfs_cli.store.build import COARSE, LARGEST_EXACT, BuildOptions, build
from sfs_cli.store.collapse import WAYS, Collapsed
from sfs_cli.store.disk import open_store, read_manifest
from sfs_cli.store.matrix import Matrix, like_cells, look

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
_TIME = (
    r"time|days|weeks|months|(?<!age[._ -])years|surviv|follow|^(?:os|pfs|dfs|rfs|efs)\b"
    r"|[uü]e?berleb|survie|superviv|sobreviv|sopravv|suivi|seguim"
    r"|(?:^|[\W_])(?:tage|monate|jours|mois|d[ií]as|meses|giorni|mesi|dagen|maanden)(?:$|[\W_])"
)
EVENT = (
    r"(?:^|[\W_])(?<!age[\W_])(?<!age[\W_]at[\W_])(?:event|censor(?:ed|ing)?|death|dead|died|deceased|relapsed?|recurrence|tod"
    r"|todes\w*|gestorben|verstorben|d[eé]c[eè]s|d[eé]c[eé]d[eé]|muert[eo]|fallecid[oa]|morte"
    r"|rezidiv|r[eé]cidive|recidiv[ao]|recidief|ereignis|[eé]v[eé]nement|evento)s?(?:$|[\W_])"
)
_LAST = r"(?<![^\W_])last(?![^\W_])|follow[ ._-]?up"
_STATUS = r"(?:^|[\W_])(?:status|vital)s?(?:$|[\W_])"
"""Names of columns of times, of events and their times, of last visits, and of who had an event."""
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
    noticed: dict[str, Any] = field(default_factory=dict)  # of its values, so as to look once

    def like_cells(self) -> tuple[bool, int]:
        """Tell whether the values that are looked at are like those of cells, as the facts say.

        Returned is also how many features were read for it.
        """
        looked = 0
        if "like_cells" not in self.facts:
            values = look(self.matrix)
            looked, m = len(values), self.matrix.n_features
            self.facts["like_cells"] = like_cells(int(np.count_nonzero(values)), values.size, m)
        return self.facts["like_cells"], looked


def read_label_table(config: RankConfig, ids: Ids | None = None) -> Column[Label] | None:
    """Return the labels by sample id.

    None where there are none, or where they are annotations and the matrix, which has `ids`, was
    not read yet.
    """
    refuse_annotation(config)
    if config.labels is None or (ids is None and is_inside(config.labels)):
        return None
    wanted = Wanted("labels", "label", _label_parser(config), LABEL_NAMES, filled=True)
    table = read_column(config.labels, wanted, config.matrix, ids)
    if table.parts and config.events is None:
        raise InputError(
            f"--labels names {len(table.parts)} columns, which are taken together only for times",
            where=table.where,
            hint="name one, or the column that says which samples had the event by --event of "
            "sfs rank",
            option="labels",
        )
    return table


def _label_parser(config: RankConfig) -> Callable[[str], Label]:
    """Return what makes a label of a text; it raises an InputError for text that is none."""
    if not config.numeric:
        return str
    if config.label_order is not None:
        return partial(_known_class, config, order_of(config))
    hint = "correct it, leave it empty if it is not known, or name another column"
    if config.label_type == "ordered":
        hint = "name the classes from the lowest to the highest, as --label-type "
        hint += "ordered,order=low,mid,high"
    elif config.events is not None:
        hint = "with --event or --censored, name the column of the times by --labels FILE:COLUMN"
    return partial(parse_number, hint=hint)


def _known_class(config: RankConfig, order: list[str], text: str) -> str:
    if text not in order:
        raise InputError(
            f"class {text!r} is not in {config.label('label_order', config.label_order)}",
            hint="give all classes from the lowest to the highest",
            option=("label_order", "labels"),
        )
    return text


def order_of(config: RankConfig) -> list[str]:
    """Return the classes from the lowest to the highest, as ``order=`` has them."""
    return [nfc(name) for name in split_words(config.label_order)]


def storage_dtype(config: RankConfig) -> np.dtype[Any]:
    """Return the type that values are stored in: float32 unless asked otherwise.

    Sums of counts may be larger than what is exact there.
    """
    return np.dtype(config.dtype or ("float64" if config.pseudobulk else "float32"))


def held_limit(config: RankConfig, memory: int) -> int:
    """Return the size up to which a matrix is held in memory; each local process copies it."""
    copies = thread_count(config.threads) + 1 if config.dask == "local" else 1
    return memory // HELD_PART // copies


def load(
    config: RankConfig,
    known_samples: list[str],
    memory: int,
    folder: Path,
    messages: Messages,
    kept: dict[str, Any] | None = None,
    found: MatrixReader | None = None,
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
    found : MatrixReader, optional
        The open matrix, where it is not that of the configuration.
    """
    path, collapse = Path(config.matrix), config.collapse
    if found is None and config.files:  # each is collapsed by itself
        found, collapse = _several(config, known_samples, memory, folder / "files", messages), None
    if found is not None:
        reader, rows, why = found, found.fixed_rows or "samples", "each file has samples of its own"
    elif is_store(path):
        return _open_store(config, path)
    else:
        reader, rows, why = peek(config, known_samples, memory, folder)
    try:
        messages.note(f"{config.matrix_name} ({reader.format}): {why}")
        for note in reader.notes:
            messages.note(note)
        with messages.progress("reading", reader.n_rows) as advance:
            read = {"format": reader.format, "rows": rows} | logged(reader.annotations.facts)
            options = BuildOptions(
                rows=rows,
                dtype=storage_dtype(config),
                folder=folder,
                limit=held_limit(config, memory),
                source=None if kept is None else kept | read,
                progress=advance,
                collapse=collapse,
                symbols=partial(_symbols, config.id_map) if config.id_map else None,
            )
            built = build(reader, options)
            if reader.fixed_rows is None and isinstance(reader, LeavesOut):
                obs = built.matrix.ids.obs
                of_samples = {} if obs is None else obs.to_pydict()
                refuse_numbers({**built.matrix.ids.var, **of_samples}, path)
    finally:
        reader.close()
    if built.renamed:
        messages.warn(
            f"features with a duplicate id, which got a suffix (-1, -2, ...): {built.renamed:,}; "
            f"--collapse {'|'.join(WAYS)} makes one feature of those of one id"
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
    if why == BY_CONVENTION:
        _warn_of_rows(built.matrix, messages)
    facts = {"format": reader.format, "rows": rows, "orientation": why, "renamed": built.renamed}
    facts |= reader.annotations.facts
    if built.collapsed is not None:
        facts["collapse"] = _tell_collapsed(built.collapsed, config.id_map, messages)
    noticed = {"coarse": bool(built.coarse)}
    return Opened(built.matrix, facts, reader.annotations.graphs, noticed)


def _several(
    config: RankConfig, known_samples: list[str], memory: int, folder: Path, messages: Messages
) -> MatrixReader:
    """Read each file of a matrix by itself, and return the reader of all.

    Cells are added up when all are there: those of a donor may be in several files.
    """
    from sfs_cli.run.stacked import stack

    names = matrix_files(config)
    parts, room = [], memory // len(names)
    for i, file in enumerate(config.all_files):
        one = replace(config, matrix=file, files=(), pseudobulk=None)
        parts.append(load(one, known_samples, room, made(folder) / str(i), messages))
    release = partial(shutil.rmtree, folder, ignore_errors=True)
    matrices, logs = zip(*((part.matrix, part.facts.get("log1p")) for part in parts))
    found = stack(matrices, logs, names, Path(config.matrix_name), release)
    return _summed(config, found, "features")


def _warn_of_rows(matrix: Matrix, messages: Messages) -> None:
    """Warn where the samples and features of a matrix may be the other way round."""
    if doubt := on_its_side(matrix.n_samples, matrix.n_features):
        messages.warn(doubt)
    elif name := sample_classes(matrix.ids.var):
        messages.warn(
            f"rows are taken as features, but {name!r} looks like classes of samples: if the rows "
            f"are the samples, give --rows samples (and --labels obs:{name}); else --rows features"
        )


def _symbols(id_map: str, ids: Iterable[str]) -> dict[str, set[str]]:
    """Return what a map pairs features with."""
    with located(id_map):
        return FeatureIndex(list(dict.fromkeys(ids)), read_id_map(id_map)).symbols()


def _tell_collapsed(made: Collapsed, id_map: str | None, messages: Messages) -> dict[str, Any]:
    """Say what became of features of one id, and return the facts."""
    none, *sizes = np.bincount(made.codes + 1).tolist()
    facts = {
        "features_in_the_file": len(made.codes),
        "features_made": len(sizes),
        "that_share_an_id": sum(size for size in sizes if size > 1),
        "left_out_without_an_id": none - made.several,
        "left_out_with_several_ids": made.several,
    }
    by = id_map or "the ids in the file"
    messages.note(f"--collapse {made.how}, by {by}: {counts_text(facts)}")
    return {"how": made.how} | facts


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
    known = [] if table is None else table.possible_ids
    return load(config, known, memory, folder, messages, kept), table


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
        decimal=config.decimal,
        decode_bytes=memory // DECODE_PART,
        scratch=scratch,
        known_samples=known_samples,
    )
    reader = open_matrix(Path(config.matrix), options)
    try:
        rows, why = decide(reader, cast(Any, config.rows), known_samples)
        if isinstance(reader, LeavesOut):
            _leave_out(reader, rows == "features", known_samples)
            only_known = config.samples == "intersect" and "some-labels" not in needed(config)
            if rows == "features" and known_samples and only_known:
                reader.unused = {*reader.column_ids} - {*known_samples}
        reader = _summed(config, reader, rows)
    except BaseException:
        reader.close()
        raise
    return reader, rows, why


def _summed(
    config: RankConfig, reader: MatrixReader, rows: Literal["features", "samples"]
) -> MatrixReader:
    """Return a reader of the sums that ``--pseudobulk`` asks for, else the reader."""
    if config.pseudobulk is None:
        return reader
    from sfs_cli.io.matrix.pseudobulk import Pseudobulk

    names = dict.fromkeys(split_words(config.pseudobulk.removeprefix("obs:")) or [""])
    found = Pseudobulk(reader, rows, [*names], config.least_cells, storage_dtype(config).name)
    if rows == "samples":  # the sums are held until all cells are read
        needed = 8 * len(found.ids) * len(reader.column_ids)
        hint = "raise --memory, or leave out smaller groups by --min-cells"
        check_memory("the sums of the cells need", needed, memory_budget(config), hint)
    return found


def _leave_out(reader: LeavesOut, by_name: bool, known_samples: list[str]) -> None:
    """Leave annotations out of the values, and note which; `by_name` also columns of numbers.

    Known samples are none, whatever their name.
    """
    texts = [*reader.beside] if reader.fixed_rows is None else []  # else the format has them
    names = sure_annotations(reader.column_ids, reader.beside) if by_name else []
    names = [name for name in names if name not in known_samples]
    if names:
        reader.leave_out(names)
    found = [f"{listed(n, 8)} ({why})" for n, why in ((texts, "text"), (names, "name")) if n]
    if found:
        reader.notes = [*reader.notes, f"annotations, not values: {'; '.join(found)}"]


def logged(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what facts say of logarithms that a matrix was read as."""
    return {"log1p": facts["log1p"]} if facts.get("log1p") else {}


def _open_store(config: RankConfig, path: Path) -> Opened:
    refused = config.given("layer", "collapse", "pseudobulk")
    for option in [*refused, "rows"] if config.rows == "samples" else refused:
        what = f"{flag(option)} has no effect on a store"
        raise UsageError(what, hint=_STORE_HINT, option=option)
    manifest = read_manifest(path)
    if config.dtype is not None and config.dtype != manifest.dtype:
        raise UsageError(
            f"--dtype {config.dtype}: the store holds {manifest.dtype}",
            hint=_STORE_HINT,
            option="dtype",
        )
    facts = {"format": "store", "rows": "features", "renamed": 0} | logged(manifest.source)
    return Opened(open_store(path), facts)


def _compared_with(config: RankConfig, classes: list[str], messages: Messages) -> list[str]:
    """Return the classes, of two first the one that ``--reference`` names.

    Of another number it has no effect. Raises InputError when it is none of them.
    """
    first = nfc(config.reference or "")
    if first not in classes:
        raise InputError(
            f"no sample is of class {first!r}",
            where=f"--reference; {config.labels}",
            hint=f"the classes are {listed(classes)}",
            option=("reference", "labels"),
        )
    if len(classes) != 2:
        messages.warn(
            f"--reference has no effect with {len(classes)} classes, of which none is compared "
            "with another alone: it is left out",
            AT_ONCE,
        )
        return classes
    return [first, *(name for name in classes if name != first)]


def align_labels(
    config: RankConfig, matrix: Matrix, table: Column[Label] | None, messages: Messages
) -> Labels | None:
    """Give each sample its class, or its number.

    Raises InputError when no sample has a label, or the annotation asked for is not there or holds
    text that is no label.
    """
    if config.labels is None or table is None:
        return None
    samples = matrix.ids.samples
    table.settle(samples)
    tell_column(table, "labels", messages)
    known = [table.get(sample) for sample in samples]
    if None in known and not is_inside(config.labels):
        refuse_headless(table, samples)
    if not any(label is not None for label in known):
        raise sample_ids.without_common_ids("a label", config.labels, list(table), samples)
    if strangers := set(table) - set(samples):
        note = f"labeled samples not in the matrix: {len(strangers):,} ({config.labels})"
        lost = sorted({str(table[s]) for s in strangers} - {str(label) for label in known})
        if lost and config.label_type != "continuous":
            note += f"; no sample is of class {listed(lost)}"
        messages.note(note)
    if config.label_type == "continuous":
        values = np.array([np.nan if k is None else k for k in known], np.float64)
        return Labels(np.full(len(known), -1), [], values)
    classes: list[Label] = sorted({label for label in known if label is not None})
    if config.label_order is not None:
        classes = [*order_of(config)]
        if absent := [name for name in classes if name not in set(table.values())]:
            raise InputError(
                f"no sample is of class {absent[0]!r}",
                where=f"{config.label('label_order', config.label_order)}; {config.labels}",
                hint="correct the name, or leave the class out",
                option=("label_order", "labels"),
            )
    if config.reference is not None:
        classes = [*_compared_with(config, cast("list[str]", classes), messages)]
    code = {name: i for i, name in enumerate(classes)}
    codes = np.array([-1 if k is None else code[k] for k in known])
    named = [name if isinstance(name, str) else f"{name:.10g}" for name in classes]
    places = np.where(codes < 0, np.nan, codes) if config.numeric else None
    return Labels(codes, named, places)


def tell_column(column: Column[Any], what: str, messages: Messages) -> None:
    """Say which column of several was taken, and which texts of it stand for missing values."""
    sample_ids.tell_ids(column, messages)
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


def event_beside(label: str, *others: str) -> dict[str, str]:
    """Return the option and the other column that say who had an event, of labels that are times.

    Both are told by their names; empty where they are none.
    """
    told = [[o for o in others if re.search(p, o, re.IGNORECASE)] for p in (EVENT, _STATUS)]
    events = [*told[0], *told[1]]  # a status may be that of the tissue
    events.sort(key=lambda name: re.search(_TIME, name, re.IGNORECASE) is not None)  # days_to_death
    if not events or not re.search(f"{_TIME}|{EVENT}", label, re.IGNORECASE):
        return {}
    return {"censored" if says_censored(events[0]) else "event": events[0]}


def unused_events(label: str = "", *others: str) -> str | None:
    """Warn of labels that are times by their name, beside a column that says who had an event."""
    found = event_beside(label, *others)
    if not found:
        return None
    ((option, column),) = found.items()
    return (
        f"the labels {label} look like times, and column {column} may say which samples had an "
        "event at that time and which were censored, of whom only a lower bound is known: give "
        f"--{option} {shlex.quote(column)} (and --method cox)"
    )


def last_visit(
    config: RankConfig,
    table: Column[Label] | None,
    events: Mapping[str, float],
    samples: Sequence[str],
) -> str | None:
    """Return what to do where the samples without an event have no time; None if that is not so.

    `table` has the labels; `events` say which samples had one, empty where no option names them;
    `samples` are those of the matrix.
    """
    if config.labels is None or table is None:
        return None
    told = ""
    if config.events is None:
        values = {*table.values()}
        times = len(values) > 2 and all(is_number(str(value)) for value in values)  # no yes and no
        times = times and re.search(EVENT, table.name, re.IGNORECASE) is not None
        unused = unused_events(table.name, *table.beside) if times else None
        if unused is None:
            return None
        told = f"{unused}; "
    else:
        timed = {events.get(sample) for sample in samples if sample in table}
        if 0 in timed or 0 not in {events.get(sample) for sample in samples}:
            return None
    how = "write it into the labels"
    if spec := with_last_visit(config.labels, table, samples):
        how = f"give --labels {shlex.quote(spec)}, which takes the second column where the first "
        how += "is empty"
    return (
        f"{told}who had no event needs the time of the last visit: {how}; --samples intersect "
        "would leave out all who had no event, and times without them are too short"
    )


def with_last_visit(spec: str, table: Column[Any], samples: Iterable[str]) -> str | None:
    """Return how the labels, which `spec` names, take the last visit of who lacks their time.

    None where no column has it, by its name and numbers.
    """
    without = [sample for sample in samples if sample not in table]
    for name in table.beside:
        if re.search(_LAST, name, re.IGNORECASE) and name not in table.parts:
            texts = table.texts_of(name)
            found = {texts[sample] for sample in without if texts.get(sample)}
            if found and all(map(is_number, found)):  # no date, no yes or no
                path = "obs" if is_inside(spec) else split_label_spec(spec)[0]
                return f"{path}:{table.name},{name}"
    return None


def times_of(event: str, names: Iterable[str]) -> list[str]:
    """Return the columns that may be the times of an event, by their names.

    Those of other events follow, and then those of last visits.
    """
    found = [name for name in names if name != event and re.search(_TIME, name, re.IGNORECASE)]
    return sorted(
        found, key=lambda name: [bool(re.search(p, name, re.IGNORECASE)) for p in (_LAST, EVENT)]
    )


def visits_taken(
    table: Column[Any], events: Mapping[str, float], samples: Iterable[str]
) -> str | None:
    """Warn of labels that are times of last visits, beside a column of the times of the events."""
    if not re.search(_LAST, table.name, re.IGNORECASE):
        return None
    had = [sample for sample in samples if events.get(sample) == 1]
    for name in table.beside:
        if all(re.search(part, name, re.IGNORECASE) for part in (EVENT, _TIME)):
            texts = table.texts_of(name)
            if count := sum(is_number(texts.get(sample, "")) for sample in had):
                return (
                    f"{table.name} is the time of the last visit by its name, and {name}, which "
                    f"{counted(count, 'sample')} that had the event have, that of the event: give "
                    f"--labels FILE:{name},{table.name}"
                )
    return None


def filled_times(
    table: Column[Any], events: Mapping[str, float], samples: Iterable[str]
) -> Iterator[str]:
    """Warn of events whose time, of those in several columns, may be that of a visit before."""
    texts = {name: table.texts_of(name) for name in table.parts}
    taken: dict[str, int] = {}
    later: dict[tuple[str, str], int] = {}
    for sample in samples:
        known = {name: texts[name].get(sample, "") for name in texts}
        times = {name: float(text) for name, text in known.items() if is_number(text)}
        if events.get(sample) != 1 or not times:
            continue
        first = next(iter(times))
        taken[first] = taken.get(first, 0) + 1
        if times[last := max(times, key=times.__getitem__)] > times[first]:
            later[last, first] = later.get((last, first), 0) + 1
    for (last, first), count in later.items():
        yield (
            f"of {counted(count, 'sample')} that had the event the time in {last} is later than "
            f"that in {first}, which was taken: name {last} first, if that is the time of the event"
        )
    if len(taken) > 1:
        counts = " and ".join(f"{taken[name]:,} in {name}" for name in texts if name in taken)
        yield (
            f"samples that had the event have its time in several columns, {counts}: if one has "
            "visits, the event came later; write its time, or leave such a sample without one "
            "(--samples intersect)"
        )


def look_continuous(labels: Labels) -> bool:
    """Tell whether classes look like measurements: numbers, many of them."""
    return len(labels.classes) > FEW_CLASSES and all(map(is_number, labels.classes))


def check_classes(
    labels: Labels, where: str, columns: Sequence[str] = (), *, summed: bool = False
) -> None:
    """Refuse a single class, or a class of one sample, among the samples that are used.

    `columns` are that of the labels, and the others of their table. Samples that are `summed` are
    made of cells, and those of fewer than some cells were left out.
    """
    counts = {name: count for name, count in labels.counts().items() if count}
    if len(counts) < 2:
        alike = f"of one class, {next(iter(counts))!r}" if counts else "without a label"
        raise InputError(
            f"all samples are {alike}",
            where=where,
            hint="give labels of at least two classes",
        )
    if single := [name for name, count in counts.items() if count == 1]:
        hint = unused_events(*columns)
        hint = hint or "these labels are numbers: give --label-type continuous"
        if not look_continuous(labels):
            hint = "give a smaller --min-cells" if summed else "correct its name"
            hint += ", or leave its sample out (a table of labels without it, and --samples "
            hint += "intersect): a class needs two samples to vary within; the classes are "
            hint += listed([repr(name) for name in counts])
        raise InputError(f"classes with only one sample: {listed(single)}", where=where, hint=hint)
