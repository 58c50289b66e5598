"""Make the pictures of the documentation: the report of a run on sample_data, in a browser.

usage: python docs/make_pictures.py [FOLDER]

It needs Chromium (or Chrome) on the PATH; without one it says so, and ends with 1. Pictures are
written to the folder, by default docs/pictures.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SAMPLE = DOCS.parent / "sample_data"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH, HEIGHT = 1000, 1200
"""Of the picture, in pixels: the first page of the report."""
OPTIONS = ("--labels", f"{SAMPLE / 'labels.tsv'}:tissue")
TITLE = "Tissues of sample_data"


def browser() -> str | None:
    """Return the path of a browser, None where there is none."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def report(folder: Path) -> Path:
    """Rank the sample data by its tissues, and return the report."""
    for words in (
        ["rank", str(SAMPLE / "expression.csv"), *OPTIONS, "--out", str(folder)],
        ["report", str(folder), "--title", TITLE, "--force"],
    ):
        subprocess.run([sys.executable, "-m", "sfs_cli", *words, "--quiet"], check=True)
    return folder / "report.html"


def photograph(page: Path, picture: Path, profile: Path, found: str) -> None:
    """Write what a browser shows of the beginning of a page."""
    command = [
        *(found, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", "--disable-extensions", "--force-color-profile=srgb"),
        *(f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"),
        *(f"--screenshot={picture}", page.as_uri()),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def main(words: Sequence[str]) -> int:
    """Make the pictures; return the exit code."""
    found = browser()
    if found is None:
        print(f"no browser is on the PATH (one of {', '.join(BROWSERS)})", file=sys.stderr)
        return 1
    pictures = Path(words[0]).resolve() if words else DOCS / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        page = report(Path(work) / "results")
        photograph(page, pictures / "report.png", Path(work) / "profile", found)
    print(f"wrote {pictures / 'report.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
