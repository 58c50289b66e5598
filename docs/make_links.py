"""Make the links of the README absolute, for pages of package indexes, which have no files.

usage: python docs/make_links.py URL [URL_OF_PICTURES] < README.md > absolute.md

URL is where the files of the release are shown, such as that of its tag; URL_OF_PICTURES is where
they are served as they are, by default the same.
"""

from __future__ import annotations

import re
import sys

LINK = re.compile(r"(!?)(\[[^][]*\])\((?!\w+:|#)([^)\s]+)\)")
"""A link or picture whose target is a file: the mark of a picture, the text, the path."""


def absolute(text: str, url: str, pictures: str) -> str:
    """Return Markdown with links below `url`, and pictures below `pictures`."""
    return LINK.sub(
        lambda found: (
            f"{found[1]}{found[2]}({(pictures if found[1] else url).rstrip('/')}/{found[3]})"
        ),
        text,
    )


def main(arguments: list[str]) -> None:
    """Filter standard input."""
    if not arguments or len(arguments) > 2 or not all("://" in each for each in arguments):
        sys.exit(str(__doc__))
    sys.stdout.write(absolute(sys.stdin.read(), arguments[0], arguments[-1]))


if __name__ == "__main__":
    main(sys.argv[1:])
