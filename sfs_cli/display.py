"""Text as people are to see it: files by the names that they were given by, in valid UTF-8."""

from __future__ import annotations

_GIVEN: dict[str, str] = {}
"""From the path of a copy to the name that the user knows what was copied by."""


def name_copy(path: str, given: str) -> None:
    """Show `given` wherever the path of a copy would stand."""
    _GIVEN[path] = given


def has_copies() -> bool:
    """Tell whether any path is that of a copy."""
    return bool(_GIVEN)


def with_given(text: str) -> str:
    """Return a text with the names that were given in place of the copies."""
    for path, given in _GIVEN.items():
        import html  # a large table of names, which most runs do without

        for written in {path, html.escape(path)}:
            text = text.replace(written, given)
    return text


def shown(text: str) -> str:
    r"""Return a text with the names that were given, and without bytes that are no UTF-8.

    Linux allows any bytes in names of files; Python has those that are no UTF-8 as surrogates,
    which no JSON, HTML or log may hold. They become ``\xe9``.
    """
    text = with_given(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _bytes_of(text).decode(errors="backslashreplace")
    return text


def _bytes_of(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text.encode(errors="surrogatepass")
