"""The names in files: ids of features and samples, classes, sets, and whatever else is named.

One rule for all formats: a name has a character, no control character (a line end, a tab, NUL or an
escape would change tables and terminals), and is not longer than a cell of a spreadsheet can be.
Unicode has two forms of accented letters, one character or a letter and its accent, which look the
same and are different texts: names are read in the first (NFC), so that they are compared by it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST = 32_767
"""Characters of the longest name: those of a cell in Excel."""
BLANKS = " \t\r\n\f\v"
"""What is stripped around names; a non-breaking space belongs to the name."""
# control characters of ASCII and Latin-1, and halves of surrogate pairs, which no file can hold
_REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def nfc(name: str) -> str:
    """Return a name with every accented letter as one character, where there is one."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def decoded(name: Any) -> str:
    """Return a name that a library gives as text or as bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)


def nfc_bytes(raw: bytes) -> bytes:
    """Do what `nfc` does for UTF-8; other bytes stay as they are."""
    if raw.isascii():
        return raw
    try:
        return nfc(raw.decode()).encode()
    except UnicodeError:
        return raw


def nfc_array(names: pa.Array) -> pa.Array:
    """Do what `nfc` does for an Arrow array of strings; one of ASCII alone is not gone through.

    Arrow's own ``utf8_normalize`` takes letters apart where it should join them, in pyarrow 24 and
    before.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.string_is_ascii(names)).as_py():
        return names
    joined = [None if name is None else nfc(name) for name in names.to_pylist()]
    return pa.array(joined, names.type)


def check_names(names: Iterable[str], what: str, where: object) -> None:
    """Refuse a name that is empty, too long, or holds a control character.

    `what` is named, such as "a feature".

    Raises
    ------
    InputError
        For the first such name.
    """
    for at, name in enumerate(names, 1):
        if name and len(name) <= LONGEST and name.isprintable():
            continue
        if not name:
            raise InputError(f"{what} has no name (number {at:,})", where=where, hint="give it one")
        if len(name) > LONGEST:
            raise InputError(
                f"the name of {what} has {len(name):,} characters: {name[:40]!r}...",
                where=where,
                hint=f"names have at most {LONGEST:,}: is the file damaged, or of a text file the "
                "delimiter another one?",
            )
        if _REFUSED.search(name):
            raise InputError(
                f"the name of {what} holds a control character: {name[:80]!r}",
                where=where,
                hint="rename it: names hold no line ends, tabs, NUL or other control characters",
            )


def check_texts(texts: Sequence[str], what: str, where: object) -> None:
    """Refuse a text beside names that is too long, or holds a control character; `what` it is."""
    check_names(filter(None, texts), what, where)


def is_ranking(names: Iterable[str]) -> bool:
    """Say whether columns are those of a ranking that this program has written."""
    return {"rank", "feature", "score", "status"} <= {*names}
