"""``FILE.h5mu:MODALITY``: one matrix of a MuData file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sfs_cli.errors import InputError, nearest

SUFFIX = ".h5mu"
_SPEC = re.compile(rf"(.*{re.escape(SUFFIX)}):(.*)", re.IGNORECASE | re.DOTALL)


def split_modality(path: Path) -> tuple[Path, str | None]:
    """Return the file, and the modality where the path names one.

    Parameters
    ----------
    path : Path
        Any path; a file that exists under the whole name is that file.
    """
    found = _SPEC.fullmatch(str(path))
    if found is None or path.exists():
        return path, None
    return Path(found[1]), found[2]


def find_modality(file: Any, path: Path) -> Any:
    """Return the group of the modality that a path names, or of the only one.

    Parameters
    ----------
    file : h5py.File
        The MuData file.
    path : Path
        ``FILE.h5mu`` or ``FILE.h5mu:MODALITY``.

    Returns
    -------
    h5py.Group
        Laid out as AnnData.

    Raises
    ------
    InputError
        The file is not MuData, has no such modality, or has several and none is named.
    """
    where, name = split_modality(path)
    names = list(file["mod"]) if "mod" in file and hasattr(file["mod"], "keys") else []
    if not names:
        raise InputError(
            "this is not MuData: it has no modalities",
            where=str(where),
            hint="MuData is written by MuData.write_h5mu; AnnData files end in .h5ad",
        )
    if name is None and len(names) > 1:
        raise InputError(
            f"the file holds {len(names):,} modalities, and none is named",
            where=f"{where}: {', '.join(names)}",
            hint=f"name one, as in {where.name}:{names[0]}",
        )
    name = names[0] if name is None else name
    if name not in names:
        raise InputError(
            f"there is no modality {name!r}", where=str(where), hint=nearest(name, names)
        )
    return file[f"mod/{name}"]
