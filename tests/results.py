"""Results of two runs, compared to the byte."""

from __future__ import annotations

import json
from pathlib import Path

RESULT = (
    "ranking.tsv",
    "report.html",
    "sfs_mqc.json",
    "sfs_general_mqc.json",
    "sfs_mqc_versions.yml",
)
"""The files of a ranking that have the same bytes however they were made."""


def bytes_of(path: Path) -> bytes:
    """Return the content of a file of a result; of rows for MultiQC, without their folder.

    They are named by the folder, which differs where two results are compared.
    """
    content = path.read_bytes()
    if not path.name.endswith("_mqc.json"):
        return content
    section = json.loads(content)
    section["data"] = list(section["data"].values())
    return json.dumps(section).encode()


def result(folder: Path) -> dict[str, bytes]:
    """Return what has to be the same to the byte."""
    return {name: bytes_of(folder / name) for name in RESULT}
