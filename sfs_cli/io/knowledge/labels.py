"""Labels of samples: a column of a table, or an annotation that comes with the matrix."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sfs_cli.compute.limits import TOO_LARGE
from sfs_cli.errors import InputError, listed
from sfs_cli.io.files.names import BLANKS, check_names, nfc
from sfs_cli.io.files.table import NULL_TOKENS, is_number, read_table

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
_WEIGHT_NAMES = ("weight", "weights", "sample_weight")
_USUAL_NAMES = ("label", "class", "group", "condition", "cell_type")


class Column(dict[str, T]):
    """What a column says of each sample, by its id, and how it was found.

    Attributes
    ----------
    name, where : str
        The column, and the place of it for messages.
    others : list of str
        The columns that it was chosen from, by a usual name; empty where the user named it, or
        there was no choice.
    missing : Counter
        The texts that stood for missing values, but for empty ones, and how often.
    """

    def __init__(self, name: str, where: str, others: Sequence[str] = ()) -> None:
        super().__init__()
        self.name, self.where, self.others = name, where, list(others)
        self.missing: Counter[str] = Counter()


def split_label_spec(spec: str) -> tuple[Path, str | None]:
    """Split ``FILE[:COLUMN]``; a path that exists, and a Windows drive, are a file alone."""
    if ":" not in spec or Path(spec).exists():
        return Path(spec), None
    file, column = spec.rsplit(":", 1)
    is_drive = len(file) == 1 and column.startswith(("\\", "/"))
    return (Path(spec), None) if is_drive else (Path(file), nfc(column))


def read_labels(spec: str) -> Column[str]:
    """Read the class of each sample, as `read_labels_as` does."""
    return read_labels_as(spec, str)


def read_labels_as(spec: str, parse: Callable[[str], T]) -> Column[T]:
    """Read the label of each sample, in the order of the file; samples without are left out.

    `parse` makes a label of a text, as in `read_column`. `spec` is ``FILE`` or ``FILE:COLUMN``. The
    first column holds the sample ids. Without COLUMN the labels are the only other column, or the
    one named label, class, group, condition or cell_type (in this order, in upper or lower case).
    """
    path, column = split_label_spec(spec)
    return read_column(path, column, _USUAL_NAMES, "label", parse)


def refuse_headless(spec: str, samples: Sequence[str]) -> None:
    """Refuse a table of labels whose first line is one of the samples in place of column names."""
    path, _ = split_label_spec(spec)
    first = next(iter(read_table(path).columns))
    if first in set(samples):
        raise InputError(
            f"the line of column names is missing: the first line is of sample {first!r}",
            where=f"{path}, line 1",
            hint="add a first line with the names of the columns, such as sample and class",
        )


def read_weights(spec: str) -> Column[float]:
    """Read the weight of each sample, in the order of the file; samples without are left out.

    `spec` is as in `read_labels_as`; the usual names of the column are weight, weights and
    sample_weight.
    """
    path, column = split_label_spec(spec)
    return read_column(path, column, _WEIGHT_NAMES, "weight", parse_weight)


def parse_weight(text: str) -> float:
    """Return a number that is not negative; raise an InputError for any other text."""
    hint = "give each sample a number that is 0 or more; 0 leaves it out"
    weight = parse_number(text, hint)
    if weight < 0:
        raise InputError(f"the weight {text} is negative", hint=hint)
    return weight


def parse_number(text: str, hint: str) -> float:
    """Return a number; raise an InputError for other text, and for what no measurement reaches."""
    value = float(text) if is_number(text) else math.nan
    if not abs(value) < TOO_LARGE:
        known = f"a number below {TOO_LARGE:g}" if math.isfinite(value) else "a finite number"
        raise InputError(f"{text!r} is not {known}", hint=hint)
    return value


def read_column(
    path: Path, asked: str | None, usual: Sequence[str], what: str, parse: Callable[[str], T]
) -> Column[T]:
    """Read what one column of a table says of each sample; samples without a value are left out.

    The column is chosen as in `choose_column`; `what` it holds is for messages. `parse` makes a
    value of a text, or raises an `InputError`, as two values for a sample do.
    """
    table = read_table(path)
    ids_name, *others = table.columns
    if asked == ids_name and others:
        raise InputError(
            f"column {asked!r} is the first one, which names the samples",
            where=str(path),
            hint=f"let the first column be that of the sample ids; the others are {listed(others)}",
        )
    name = choose_column(others, asked, usual, path, f"{what}s")
    ids, texts = table.columns[ids_name], table.columns[name]
    chosen_from = [] if asked is not None else [other for other in others if other != name]
    values = Column[T](name, f"{path}, column {name!r}", chosen_from)
    for row, (sample, text) in enumerate(zip(ids, texts)):
        if text in NULL_TOKENS:
            values.missing.update([text] if text else ())
            continue
        try:
            check_names((text,), f"a {what}", "")
            value = parse(text)
            if values.setdefault(sample, value) != value:
                first = next(t for s, t in zip(ids, texts) if s == sample and t not in NULL_TOKENS)
                raise InputError(
                    f"sample {sample!r} has two {what}s, {first!r} and {text!r}",
                    hint="leave one row for each sample",
                )
        except InputError as error:
            error.where = table.where(row, name)
            raise
    if not values:
        raise InputError(
            f"no sample has a {what}",
            where=f"{path}, column {name!r}",
            hint=f"name another column, as {path.name}:COLUMN",
        )
    return values


def choose_column(
    others: list[str], asked: str | None, usual: Sequence[str], path: Path, what: str
) -> str:
    """Return the column asked for, else the only one, else the first of the usual names.

    `others` are the columns besides the sample ids, and `what` is what the column holds, for
    messages.
    """
    if asked is not None:
        if asked in others:
            return asked
        raise InputError(
            f"there is no column {asked!r}",
            where=str(path),
            hint=f"columns that can hold {what}: {listed(others, 20)}",
        )
    if len(others) == 1:
        return others[0]
    by_lower = {name.lower(): name for name in reversed(others)}
    named = [by_lower[name] for name in usual if name in by_lower]
    if named:
        return named[0]
    raise InputError(
        f"it is not clear which column holds the {what}",
        where=str(path),
        hint=f"add it to the option as {path.name}:COLUMN, one of {listed(others, 20)}",
    )


def read_annotation(
    key: str, samples: list[str], obs: pa.Table | None, matrix: str, option: str = "--labels "
) -> Column[str]:
    """Return annotation `key` of the samples (`obs` of AnnData or GCT), those without it left out.

    Text that stands for a missing value in tables does so here too. `matrix` and `option`, the path
    of the matrix and the option that asks for it, are for messages. That no sample has a value is
    an `InputError`.
    """
    if obs is None:
        raise InputError(
            f"{option}obs:{key} needs annotations of the samples, and the matrix has none",
            where=matrix,
            hint=f"give {option}FILE[:COLUMN]; h5ad, zarr and GCT can hold annotations",
        )
    key, names = nfc(key), obs.column_names
    if key not in names:
        raise InputError(
            f"the samples have no annotation {key!r}",
            where=f"{matrix}: obs has {listed(names, 20)}",
            hint=f"choose one of those, or give {option}FILE[:COLUMN]",
        )
    where = f"{matrix}: obs {key!r}"
    values = Column[str](key, where)
    for sample, value in zip(samples, obs[key].to_pylist()):
        text = "" if value is None else nfc(str(value))
        if (bare := text.strip(BLANKS)) not in NULL_TOKENS:
            values[sample] = text
        elif bare:
            values.missing[bare] += 1
    if not values:
        raise InputError("no sample has a value", where=where, hint="name another annotation")
    check_names(values.values(), "a class", where)
    return values
