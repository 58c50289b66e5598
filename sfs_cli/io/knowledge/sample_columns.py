"""What is known of each sample: a column of a table, or an annotation that the matrix comes with.

Labels, weights, covariates, batches, donors and hierarchies are read by `read_column`. A table has
the sample ids in its first column, or in another one if no id of the matrix is in the first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from sfs_cli.compute.limits import TOO_LARGE
from sfs_cli.errors import InputError, Options, UsageError, listed, near
from sfs_cli.io.files.likeness import likely_change
from sfs_cli.io.files.names import BLANKS, check_names, nfc
from sfs_cli.io.files.series import plain_name
from sfs_cli.io.files.sniff import examine
from sfs_cli.io.files.table import NULL_TOKENS, Texts, TextTable, is_number, read_table
from sfs_cli.io.files.text import WORKBOOKS, repeated, split_member, string_array
from sfs_cli.io.files.workbook import SheetStream
from sfs_cli.io.given import given

if TYPE_CHECKING:
    from sfs_cli.compute.matrix import Ids

T = TypeVar("T")
Kind = Literal["categorical", "numeric"]
KINDS: tuple[Kind, ...] = ("categorical", "numeric")
CODES = 10
"""Whole numbers of at most so many values may be codes of categories."""
_INSIDE = "obs:"
LABEL_NAMES = ("label", "class", "group", "condition", "cell_type")
"""Usual names of the column, the first of which is taken where none is named."""


@dataclass(frozen=True)
class Wanted(Generic[T]):
    """What a column is read for.

    Attributes
    ----------
    option : str
        The option that names it, for messages.
    what : str
        What it holds, such as "label".
    parse : callable
        Makes a value of a text, or raises an `InputError`.
    usual : sequence of str
        Names, in lower case, by which it is chosen among several where the user names none.
    filled : bool
        Whether ``FIRST,SECOND`` may name columns, of which each sample takes the first that is not
        empty, as the times of those who died and of the living may be in two.
    """

    option: str
    what: str
    parse: Callable[[str], T]
    usual: Sequence[str] = ()
    filled: bool = False


CLASSES = Wanted("source", "label", str, LABEL_NAMES)
"""The labels of a source."""


class Column(dict[str, T]):
    """What a column says of each sample, by its id, and how it was found.

    The ids are those of the first column, until `settle` looks for the ids of the matrix.

    Attributes
    ----------
    name, what, where : str
        The column, what it holds, such as "label", and the place of it for messages.
    asked : str
        The name that the user gave, which may differ in case and signs.
    path, ids_name : Path, str
        The file, and the name of its column of the sample ids.
    others : list of str
        The columns that it was chosen from, by a usual name; empty where the user named it, or
        there was no choice.
    beside : list of str
        All other columns but that of the sample ids.
    parts : list of str
        The columns of which each sample has the first text that is not empty; [] of one column.
    missing : Counter
        The texts that stood for missing values, but for empty ones, and how often.
    rows, codes, known : array, array, dict
        The rows of the table that have a value, the number of the text of every row, and the value
        of each such text.
    """

    def __init__(
        self,
        table: TextTable,
        name: str,
        what: str,
        parse: Callable[[str], T],
        others: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.table, self.name, self.what, self.others = table, name, what, list(others)
        self.path, self.where, self.ids_name = table.path, table.place(name), table.ids_name
        self.asked = name
        self.parts: list[str] = []
        self.missing: Counter[str] = Counter()
        self.known: dict[int, T] = {}
        self.codes, texts = table.coded(name)
        found = np.unique(self.codes, return_index=True, return_counts=True)
        # what is wrong is told of the first row
        for code, row, count in sorted(zip(*map(np.ndarray.tolist, found)), key=itemgetter(1)):
            text = texts[code]
            if (bare := text.strip(BLANKS)) in NULL_TOKENS:
                self.missing.update({bare: count} if bare else {})
                continue
            try:
                check_names((text,), f"a {what}", "")
                self.known[code] = parse(text)
            except InputError as error:
                error.where = table.where(row, name)
                raise
        if not self.known:
            raise InputError(
                f"no sample has a {what}", where=self.where, hint="name another column"
            )
        self.rows = np.flatnonzero(np.isin(self.codes, [*self.known]))
        with suppress(InputError) if {*table.id_columns} - {self.ids_name, name} else nullcontext():
            self.take_ids(self.ids_name)  # `settle` may find the ids of a patient's samples

    @property
    def beside(self) -> list[str]:
        """All other columns but that of the sample ids."""
        return [other for other in self.table.columns if other not in (self.ids_name, self.name)]

    def texts_of(self, name: str) -> dict[str, str]:
        """Return the text of each sample in another column of the table, empty where it has none.

        Rows without a value in this column are among them.
        """
        texts = (text.strip(BLANKS) for text in self.table.columns[name])
        known = ("" if text in NULL_TOKENS else text for text in texts)
        return dict(zip(self.table.columns[self.ids_name], known))

    @property
    def possible_ids(self) -> list[str]:
        """The ids of the samples with a value, in every column that may hold them."""
        if self.table.id_columns == [self.ids_name]:
            return list(self)
        columns = map(self.table.columns.__getitem__, self.table.id_columns)
        return [ids[row] for ids in columns for row in self.rows.tolist()]

    def settle(self, samples: Sequence[str]) -> None:
        """Take the ids of the column that holds the `samples` of a matrix (`TextTable.ids_among`).

        Raises InputError when a sample has two values.
        """
        if len(self.table.id_columns) == 1:
            return  # they were taken when the column was read
        name = self.table.ids_among(samples)
        if name == self.name:
            raise InputError(
                f"column {name!r} is the one that names the samples",
                where=self.path,
                hint="name another column",
            )
        self.take_ids(name)

    def take_ids(self, name: str) -> None:
        """Take the ids of a column of the table; a sample with two values is an `InputError`."""
        self.clear()
        self.ids_name = name
        ids = self.table.columns[name]
        for row in map(int, self.rows):
            value = self.known[int(self.codes[row])]
            if self.setdefault(ids[row], value) != value:
                texts = self.table.columns[self.name]
                first = next(texts[at] for at in self.rows if ids[at] == ids[row])
                raise InputError(
                    f"sample {ids[row]!r} has two {self.what}s, {first!r} and {texts[row]!r}",
                    where=self.table.where(row, self.name),
                    hint="leave one row for each sample",
                )


def is_inside(spec: str) -> bool:
    """Tell whether columns are annotations of the matrix."""
    return spec.startswith(_INSIDE)


def split_label_spec(spec: str) -> tuple[Path, str | None]:
    """Split ``FILE[:COLUMN]``; a path that exists is a file alone.

    The column begins after the file that exists, and may hold colons; after the name of a sheet
    or an object, or where there is no such file, it is what follows the last colon.
    """
    if ":" not in spec or Path(spec).exists():
        return Path(spec), None
    file, parts = spec.rpartition(":")[0], spec.split(":")
    if split_member(Path(spec))[1] is None:
        starts = (":".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
        file = next((start for start in starts if Path(start).exists()), file)
    return Path(file), nfc(spec[len(file) + 1 :])


def table_of(
    spec: str, option: str, matrix: str = "", ids: Ids | None = None
) -> tuple[TextTable, str | None]:
    """Return the table of ``FILE[:COLUMNS]`` or ``obs:KEYS``, and the columns named in it."""
    if ids is None or not is_inside(spec):
        path, columns = find_columns(spec)
        return read_table(path), columns
    if ids.obs is None:
        raise InputError(
            f"--{option} {spec} needs annotations of the samples, and the matrix has none",
            where=matrix,
            hint=f"give --{option} FILE[:COLUMN]; h5ad, zarr, GCT and series matrices can "
            "hold annotations, and text with a sample in each row: --rows samples",
        )
    import pyarrow as pa

    types = zip(ids.obs.column_names, ids.obs.schema.types)
    categories = frozenset(name for name, kind in types if pa.types.is_dictionary(kind))
    samples = string_array(ids.samples)
    texts = Texts(["", *ids.obs.column_names], [samples, *ids.obs.columns])
    rows = range(1, len(samples) + 1)
    table = TextTable(Path(matrix), texts, rows, "sample", categories, inside=True)
    return table, nfc(spec.removeprefix(_INSIDE))


def find_columns(spec: str) -> tuple[Path, str | None]:
    """Split ``FILE[:COLUMNS]``; of a workbook, with the one sheet that has the columns.

    ``FILE.xlsx:SHEET`` is that sheet, where no sheet has such a column.
    """
    path, columns = split_label_spec(spec)
    if columns is None or path.suffix.lower() not in WORKBOOKS:
        return path, columns
    examine(path)
    with closing(SheetStream(path, None)) as stream:
        sheets = stream.sheets
    names = {part.partition("=")[0].strip() for part in columns.split(",")}
    found = [sheet for sheet, head in sheets.items() if columns in head or names.issubset(head)]
    if not found and columns in sheets:
        return Path(spec), None
    return Path(f"{path}:{found[0]}") if len(found) == 1 else path, columns


def read_column(
    spec: str, wanted: Wanted[T], matrix: str = "", ids: Ids | None = None
) -> Column[T]:
    """Read what a column says of the samples that have a value, in the order of the file.

    `spec` is ``FILE``, ``FILE:COLUMN``, or ``obs:KEY`` for an annotation of the `matrix` (a path),
    whose samples are `ids`. Without COLUMN it is the only other column, or the first of the usual
    names, in upper or lower case.

    Raises
    ------
    InputError
        When there is no such table or column, a text is no value, a sample has two values, or none
        has one.
    """
    table, asked = table_of(spec, wanted.option, matrix, ids)
    parts: list[str] = []
    known = map(plain_name, table.columns)
    if wanted.filled and asked and "," in asked and plain_name(asked) not in known:
        table, parts = _with_filled(table, asked, wanted)
    name = choose(table, asked, wanted.option, f"{wanted.what}s", wanted.usual)
    others = [] if asked is not None else [other for other in table.columns if other != name][1:]
    column = Column(table, name, wanted.what, wanted.parse, others)
    column.asked, column.parts = asked or name, parts
    return column


def _with_filled(table: TextTable, asked: str, wanted: Wanted[Any]) -> tuple[TextTable, list[str]]:
    """Return the table with one more column, of each sample the first text of some; and these."""
    assert isinstance(table.columns, Texts), "a list of features is asked for no samples"
    names = [choose(table, name, wanted.option, f"{wanted.what}s") for name in asked.split(",")]
    rows = zip(*(table.columns[name] for name in names))
    texts = [next((t for t in row if t.strip(BLANKS) not in NULL_TOKENS), "") for row in rows]
    return replace(table, columns=table.columns.with_column(asked, texts)), names


def choose(
    table: TextTable, asked: str | None, option: str, what: str, usual: Sequence[str] = ()
) -> str:
    """Return the column asked for, else the only one, else the first of the usual names."""
    path, (ids_name, *others) = table.path, table.columns
    if asked is None:
        by_lower = {name.lower(): name for name in reversed(others)}
        found = others if len(others) == 1 else [by_lower[n] for n in usual if n in by_lower]
        if found:
            return found[0]
        raise InputError(
            f"it is not clear which column holds the {what}",
            where=path,
            hint=f"add it to the option as {path}:COLUMN, one of {listed(others, 20)}",
        )
    if asked in others or (asked == ids_name and len(table.id_columns) > 1):
        return asked  # the first: a patient, beside the ids of the samples
    alike = [name for name in others if plain_name(name) == plain_name(asked)]
    if len(alike) == 1:
        return alike[0]
    told = f"there is no {'annotation' if table.inside else 'column'} {asked!r}"
    if asked == ids_name and others:
        told = f"column {asked!r} is the first one, which names the samples"
    raise InputError(
        told,
        where=path,
        hint=f"{near(asked, others)}give one of {listed(others, 20)}, or another table: "
        f"--{option} FILE[:COLUMN]",
    )


def refuse_headless(column: Column[T], samples: Sequence[str]) -> None:
    """Refuse a table whose first line is one of the samples in place of column names."""
    if column.ids_name in samples:
        raise InputError(
            f"the line of column names is missing: the first line is of sample {column.ids_name!r}",
            where=f"{column.path}, line 1",
            hint="add a first line with the names of the columns, such as sample and class",
        )


def parse_weight(text: str) -> float:
    """Return a number that is not negative; raise an InputError for any other text."""
    hint = "give each sample a number that is 0 or more; 0 leaves it out"
    weight = parse_number(text, hint)
    if weight < 0:
        raise InputError(f"the weight {text} is negative", hint=hint)
    return weight


WEIGHTS = Wanted("sample-weights", "weight", parse_weight, ("weight", "weights", "sample_weight"))
"""The weights of samples."""


def parse_event(text: str, *, yes: float = 1.0) -> float:
    """Return 1 for an event and 0 for a censored sample; raise an InputError for other text.

    `yes` is what 1, true and yes stand for; words such as dead and alive speak for themselves.
    """
    word = text.strip().casefold()
    if word[:2] in ("0:", "1:"):  # 1:DECEASED and 0:LIVING, as cBioPortal writes them
        word = word[2:] if word[2:] in (*_EVENT, *_CENSORED) else word[0]
    if is_number(word):
        word = f"{float(word):g}"
    if word in _YES or word in _NO:
        return yes if word in _YES else 1 - yes
    if word in _EVENT or word in _CENSORED:
        return float(word in _EVENT)
    one, none = ("an event", "a censored sample")[:: 1 if yes else -1]
    raise InputError(
        f"{text!r} does not say whether there was an event",
        hint=f"write 1 for {one} and 0 for {none}, or {'/'.join(_EVENT)} and "
        f"{'/'.join(_CENSORED)}"
        + " (R's survival has 2 for an event and 1 for none)"
        * (word == "2"),
    )


_YES, _NO = ("1", "true", "yes"), ("0", "false", "no")
_EVENT, _CENSORED = ("dead", "deceased", "event"), ("alive", "living", "censored")
EVENTS = Wanted("event", "event", parse_event)
"""Whether there was an event, in each sample."""
CENSORED = Wanted("censored", "event", partial(parse_event, yes=0.0))
"""The same of a column that says which samples were censored."""


def says_censored(name: str) -> bool:
    """Tell whether a column says by its name who was censored, and not who had an event."""
    name = name.lower()
    negated = r"(?<!un)(?<!non.)(?<!not.)"
    if re.search(rf"{negated}censor", name):
        return True
    living = re.search(rf"{negated}(?<![^\W_])(?:cens|alive|living)(?![^\W_])", name)
    return living is not None and not re.search("dea[dt]|deceased", name)  # dead_or_alive


def refuse_opposite(column: Column[float]) -> None:
    """Refuse an event column whose name says that 1 stands for a censored sample."""
    texts = {text.strip().casefold() for text in column.table.coded(column.name)[1] if text}
    if says_censored(column.name) and not texts & {*_EVENT, *_CENSORED}:
        raise InputError(
            f"column {column.name!r} says by its name that 1 is a censored sample; --event takes 1 "
            "for an event",
            where=column.where,
            hint="give it as --censored in place of --event, or, if 1 is an event there, give the "
            "column another name",
            option="event",
        )


def parse_number(text: str, hint: str) -> float:
    """Return a number; raise an InputError for other text, and for what no measurement reaches."""
    value = float(text) if is_number(text) else math.nan
    if not abs(value) < TOO_LARGE:
        known = f"a number below {TOO_LARGE:g}" if math.isfinite(value) else "a finite number"
        raise InputError(f"{text!r} is not {known}", hint=hint)
    return value


@dataclass(frozen=True)
class Covariate:
    """A covariate of samples.

    Attributes
    ----------
    values : Column
        The value of each sample that has one: text, or a finite number.
    option : str
        The option that names it.
    kind : {"categorical", "numeric"}
        How it is taken.
    asked : bool
        Whether the user said how it is taken.
    held : bool
        Whether it is an object of Python, whose type says how it is taken.
    groups : str
        What it puts samples into, such as donor; empty for other covariates.
    """

    values: Column[Any]
    option: str
    kind: Kind
    asked: bool = False
    held: bool = False
    groups: str = ""

    @property
    def name(self) -> str:
        """Its column or annotation."""
        return self.values.name

    @property
    def where(self) -> str:
        """The file, or the matrix, and the column, for messages."""
        return self.values.where

    @property
    def codes(self) -> int:
        """How many values it has, where they may be codes that were taken as numbers; else 0."""
        if self.kind == "categorical" or self.asked:
            return 0
        found = set(self.values.values())
        whole = all(float(value).is_integer() for value in found)
        return len(found) if whole and 2 < len(found) <= CODES else 0


def read_covariates(
    spec: str,
    option: str,
    matrix: str = "",
    ids: Ids | None = None,
    groups: str = "",
    *,
    every: bool = False,
) -> list[Covariate]:
    """Read ``FILE:COLUMN,COLUMN`` or ``obs:KEY,KEY``; `matrix` and `ids` are as in `read_column`.

    A column of numbers is numeric and any other categorical, unless the name is followed by
    ``=numeric`` or ``=categorical``. Where columns have types, as in AnnData, Parquet and data
    frames, numbers that are text or categories are categorical. Without columns, the file has to
    have only one, or `every` column is taken that has a value. `option` names the file, and
    `groups` says what a column puts samples into, which are categories then.

    Raises
    ------
    InputError
        When the file cannot be read, has no such column, or a value is not what it should be.
    """
    table, columns = table_of(spec, option, matrix, ids)
    what = f"{groups} of each sample" if groups else "covariates"
    known = list(table.columns)[1:]
    if every and not columns:
        texts = {name: {text.strip(BLANKS) for text in table.columns[name]} for name in known}
        asked_for: dict[str, Kind | None] = {
            name: None for name in known if texts[name].difference(NULL_TOKENS)
        }
    else:
        columns = choose(table, None, option, what) if columns is None else columns
        asked_for = _split_columns(columns, known, option)
    held = not is_inside(spec) and given(table.path) is not None
    found = []
    for asked, kind in asked_for.items():
        kind = "categorical" if groups else kind
        name = choose(table, asked, option, what)
        values: Column[Any] = Column(table, name, "value", str)
        number = name not in table.categories and all(map(is_number, values.known.values()))
        taken = kind or ("numeric" if number else "categorical")
        if taken == "numeric":
            hint = "correct it, or take the column as categories: COLUMN=categorical"
            values = Column(table, name, "value", partial(parse_number, hint=hint))
        values.asked = asked
        found.append(Covariate(values, option, taken, kind is not None, held, groups))
    return found


def _split_columns(text: str, known: Sequence[str], option: str) -> dict[str, Kind | None]:
    """Return the columns of ``NAME,NAME=KIND``; a text that is a column is that column."""
    found: dict[str, Kind | None] = {}
    for part in [text] if text in known else map(str.strip, text.split(",")):
        start, _, end = part.rpartition("=")
        kind = next((each for each in KINDS if each == end and part not in known), None)
        name = start if kind else part
        if name in found:
            raise UsageError(
                f"--{option} names {name} twice", hint="name every column once", option=option
            )
        found[name] = kind
    return found


def positions(
    ids: Sequence[str],
    wanted: Sequence[str],
    lack: str,
    where: str,
    hint: str,
    option: Options = (),
) -> np.ndarray:
    """Return the place of each wanted sample among the ids of a file, shape (wanted,).

    Raises InputError for samples that are not there, of which `lack` and `hint` say what they lack
    and what to do, and for ids that are repeated.
    """
    place = {name: i for i, name in enumerate(ids)}
    if missing := [name for name in wanted if name not in place]:
        if change := likely_change(wanted, ids):
            hint = f"{change}; {hint}"
        raise InputError(
            f"{len(missing):,} of {len(wanted):,} samples {lack}: {listed(missing)}",
            where=f"{where}, which has {listed(list(ids), 3)}",
            hint=hint,
            option=option,
        )
    if found := repeated(ids):
        raise InputError(
            f"samples are repeated: {listed(sorted(found))}",
            where=where,
            hint="give one row for each sample",
            option=option,
        )
    return np.fromiter(map(place.__getitem__, wanted), np.intp, len(wanted))
