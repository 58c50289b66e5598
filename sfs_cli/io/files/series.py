"""Series matrix files of GEO: what the lines before their table say of the samples.

A line has a name, such as ``!Sample_title``, and a field for each sample. The lines
``!Sample_characteristics_ch1`` hold ``key: value``, whose key may be another one in each sample.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sfs_cli.errors import COPY_AGAIN, InputError
from sfs_cli.io.files.names import BLANKS, nfc
from sfs_cli.io.files.text import LineStream

_BEGIN, _END = b"!series_matrix_table_begin", b"\n!series_matrix_table_end"
_SAMPLE, _TRAITS = "!Sample_", "characteristics"
# what tells nothing of a sample, whether it differs or not
_OF_RECORD = re.compile("contact|supplementary_file|relation|last_update|status$|data_row_count")


class Series(NamedTuple):
    """What a series matrix says of its n samples, in their order."""

    accessions: list[str]  # ids of the columns of the table, such as GSM1000
    titles: list[str]  # empty where a sample has none, or two have the same
    columns: dict[str, list[str]]  # of the values of the samples; missing ones are ""


def tab_fields(text: str) -> list[str]:
    """Split a line at its tabs, without quotes around fields; others GEO does not always pair."""
    return [field.strip(BLANKS + '"').replace('""', '"') for field in text.split("\t")]


class SeriesStream(LineStream):
    """A series matrix, which ends before the line behind the table; it has to be there."""

    _is_whole = False

    def _read_more(self, size: int) -> bool:
        if self._is_whole:
            return False
        if not super()._read_more(size):
            what = "the series matrix has no end (!series_matrix_table_end)"
            raise InputError(what, where=self.path, hint=COPY_AGAIN)
        # what is ahead begins a line, whose line end before it has been read
        if (end := (b"\n" + self._ahead).find(_END)) >= 0:
            self._ahead, self._is_whole = self._ahead[:end], True
        return True


def read_series(stream: SeriesStream) -> Series:
    """Read the lines up to and including that of the names of the table's columns.

    An `InputError` says that there is no table, or a line of other samples.
    """
    path = stream.path
    lines: dict[int, tuple[str, list[str]]] = {}
    while (raw := stream.read_line()) is not None and not raw.startswith(_BEGIN):
        name, *values = tab_fields(_text(raw))
        if name.startswith(_SAMPLE):
            lines[stream.line - 1] = name.removeprefix(_SAMPLE), values
    accessions = tab_fields(_text(stream.read_line() or b""))[1:]
    if raw is None or not accessions:
        what = "the series matrix has no table with the accessions of samples in its first line"
        raise InputError(what, where=path, hint=COPY_AGAIN)
    for line, (name, values) in lines.items():
        if len(values) != len(accessions) or (name == "geo_accession" and values != accessions):
            raise InputError(
                f"!Sample_{name} is not of the {len(accessions):,} samples of the table",
                where=f"{path}, line {line}",
                hint=COPY_AGAIN,
            )
    titles = dict(lines.values()).get("title", [])
    unique = all(titles) and len(set(titles)) == len(accessions)
    columns = _columns(list(lines.values()), len(accessions))
    return Series(accessions, titles if unique else [], columns)


def _text(raw: bytes) -> str:
    """Return a line as text; what is not UTF-8, as in protocols of old series, is Latin-1.

    Some lines of GEO have carriage returns within.
    """
    raw = raw.replace(b"\r", b" ")
    try:
        return nfc(raw.decode())
    except UnicodeDecodeError:
        return nfc(raw.decode("latin-1"))


def _columns(lines: list[tuple[str, list[str]]], n: int) -> dict[str, list[str]]:
    """Return the columns of n samples: their characteristics, then other lines that differ.

    Several values of a sample for one name are joined.
    """
    columns: dict[str, list[str]] = {}
    spelled: dict[str, str] = {}  # Tissue and tissue are one key
    for line, values in sorted(lines, key=lambda each: not each[0].startswith(_TRAITS)):
        trait, channel = line.startswith(_TRAITS), line.removeprefix(_TRAITS).replace("_ch1", "")
        if not trait and (len(set(values)) == 1 or _OF_RECORD.match(line)):
            continue
        for sample, value in enumerate(values):
            key, colon, rest = value.partition(":" if trait else "\t")
            name = key.strip() + channel if colon else line
            column = columns.setdefault(spelled.setdefault(plain_name(name), name), [""] * n)
            column[sample] = f"{column[sample]}; {rest.strip() if colon else value}".strip("; ")
    return columns


def plain_name(name: str) -> str:
    """Return a name without what people write in other ways: case, and signs between words."""
    return re.sub(r"[\W_]+", " ", name).strip().casefold()
