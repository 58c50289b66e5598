"""Sheets of workbooks (Excel, OpenDocument) as text: a line for each row, with tabs between cells.

All readers of text read sheets by this. Line numbers are row numbers of the sheet, so messages name
the row. A workbook is read as a whole.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from sfs_cli.errors import COPY_AGAIN, InputError, listed, need_extra

ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How workbooks begin, and those from before 2007 or with a password."""
_ROWS = 256
"""Rows that become text together."""
_BLANKS = str.maketrans("\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", " " * 11)


class SheetStream:
    """The text of a sheet, from its beginning to its end; read as a `ByteStream`.

    Without `sheet` it is the first that is neither empty nor hidden. `sheets` are those that it was
    chosen from, it first, with the fields of their first lines.
    """

    def __init__(self, path: Path, sheet: str | None) -> None:
        need_extra("python_calamine", "excel", "reading workbooks needs python-calamine")
        from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum

        seen = SheetVisibleEnum.Visible  # hidden ones are read by name alone
        try:
            # not by its path: the names of files are not trusted
            self._file = io.BytesIO(path.read_bytes())
            book = CalamineWorkbook.from_filelike(self._file)
            known = {each.name: each.visible == seen for each in book.sheets_metadata}
            wanted = [name for name in known if (known[name] if sheet is None else name == sheet)]
            cells = {name: book.get_sheet_by_name(name) for name in wanted}
        except CalamineError as error:
            what = f"the workbook cannot be read ({error})"
            hint = f"{COPY_AGAIN}; or save it without a password"
            raise InputError(what, where=path, hint=hint) from error
        heads = {name: next(filter(str.strip, _lines(each)), "") for name, each in cells.items()}
        self.sheets = {name: head.split("\t") for name, head in heads.items() if head}
        if not self.sheets:
            hint = f"its sheets are {listed(book.sheet_names, 20)}"
            raise InputError("the workbook has no such sheet with cells", where=path, hint=hint)
        chosen = next(iter(self.sheets))
        self._place = f"xl/worksheets/sheet{[*known].index(chosen) + 1}.xml"
        self._lines = _lines(cells[chosen])
        self._rest = b""

    def has_formulas_alone(self) -> bool:
        """Tell whether no formula of the sheet has been computed.

        openpyxl leaves their values empty, XlsxWriter writes 0, and both ask the program that opens
        the workbook to compute all.
        """
        with suppress(zipfile.BadZipFile, KeyError), zipfile.ZipFile(self._file) as archive:
            if b'fullCalcOnLoad="1"' in archive.read("xl/workbook.xml"):
                values = {*re.findall(rb"</f>(?:<v>([^<]*))?", archive.read(self._place))}
                return bool(values) and values <= {b"", b"0"}
        return False

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes, and none at the end."""
        lines = () if self._rest else islice(self._lines, _ROWS)
        rest = self._rest or "".join(f"{line}\n" for line in lines).encode()
        self._rest = rest[size:]
        return rest[:size]

    def close(self) -> None:
        """Do nothing, since the whole workbook has been read."""


def _lines(cells: Any) -> Iterator[str]:
    return ("\t".join(map(_text, row)) for row in cells.iter_rows())


def _text(value: Any) -> str:
    """Return a cell on one line; a quote in it is doubled, within quotes."""
    if type(value) is float:
        # sheets store all numbers as decimals: an id of 1017 is 1017.0 there
        return repr(value).removesuffix(".0")
    text = str(value).translate(_BLANKS)
    return '"' + text.replace('"', '""') + '"' if '"' in text else text
