"""``sfs convert``: build a store that is kept."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from sfs_cli.compute.memory import format_size
from sfs_cli.display import shown
from sfs_cli.errors import OutputExistsError, UsageError
from sfs_cli.io.files.atomic import check_writable, replacing
from sfs_cli.io.files.sniff import examine
from sfs_cli.io.files.text import split_member
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.samples import SamplesReader
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.provenance import changed
from sfs_cli.run import inputs
from sfs_cli.run.columns import warn_of_columns
from sfs_cli.run.config import input_files
from sfs_cli.run.memory import memory_budget
from sfs_cli.run.outputs import describe_files, tell_up_to_date, with_digests
from sfs_cli.store.disk import NAME as MANIFEST
from sfs_cli.store.disk import is_store, read_manifest

_SAME = ("column", "member", "layer", "collapse", "decimal", "pseudobulk")
"""What was read, and how: stores in which one of these differs are different."""


def convert(
    config: RankConfig,
    target: str,
    messages: Messages,
    column: str | None = None,
) -> None:
    """Build a store from the matrix of a configuration.

    Several files of text have the counts of a sample each, in the `column` asked for. Raises
    OutputExistsError when `target` holds another matrix, without ``--force``.
    """
    path, store, several = Path(config.matrix), Path(target), bool(config.files)
    paths = [*map(Path, config.all_files)]
    if is_store(path) and not several:
        raise UsageError(
            f"{path} is a store already", hint="use it as it is: sfs rank STORE", option="matrix"
        )
    kinds = [examine(each) for each in paths]
    counts = several and kinds[0].is_text
    if column is not None and not counts:
        raise UsageError(
            "--column is for several files with the counts of a sample each",
            hint="leave it out",
            option="column",
        )
    if config.rows == "features" and counts:
        raise UsageError(
            "--rows features: each of several files is a sample",
            hint="leave --rows out",
            option="rows",
        )
    check_writable(store, "STORE")
    files = describe_files(
        ("matrix", each, {"part": shown(str(each))} if several else {}) for each in paths
    )
    source: dict[str, Any] = {
        "path": shown(str(path)),
        "member": split_member(path)[1],
        "files": files,
        "column": column,
        "layer": config.layer,
    }
    if config.decimal != "auto":
        source["decimal"] = config.decimal
    if config.collapse is not None:
        maps = describe_files(each for each in input_files(config) if each[0] == "id_map")
        known = [
            each[key] for each in with_digests(maps) for key in ("sha256", "part") if key in each
        ]
        source["collapse"] = [config.collapse, *known]
    if config.pseudobulk is not None:
        source["pseudobulk"] = [config.pseudobulk, config.least_cells]
    replaceable = is_store(store)
    if store.exists() and not (config.force and replaceable):
        if not replaceable or not _is_of(store, source, config):
            raise OutputExistsError(
                f"{store} exists, and is not the store of this matrix",
                hint="give another name" + (", or --force" if replaceable else ""),
            )
        tell_up_to_date(store, messages, [store / MANIFEST])
        return

    source["files"] = with_digests(files)
    digests = [each["sha256"] for each in source["files"]]
    of_all = sha256(" ".join([*digests, column or ""]).encode()).hexdigest()
    source["sha256"] = of_all if several else digests[0]
    memory = memory_budget(config)
    with replacing(store) as partial:
        partial.mkdir()
        if counts:
            reader = SamplesReader(paths, column, ReadOptions(inputs.storage_dtype(config).name))
            opened = inputs.load(config, [], memory, partial, messages, source, reader)
        else:
            opened, _ = inputs.load_with_labels(config, memory, partial, messages, source)
        matrix = opened.matrix
        warn_of_columns(matrix, messages)
    size = sum(f["bytes"] for f in read_manifest(store).files.values())
    messages.note(
        f"wrote {store}: {matrix.n_samples:,} samples x {matrix.n_features:,} features, "
        f"{'sparse' if matrix.sparse else 'dense'} {matrix.dtype.name}, {format_size(size)}"
    )


def _is_of(store: Path, source: dict[str, Any], config: RankConfig) -> bool:
    """Tell whether a store is of these very files, read in the same way."""
    manifest = read_manifest(store)
    before, now = manifest.source.get("files", []), source["files"]
    if manifest.source.get("path") != source["path"]:
        # files of an archive may have one size and time: they are compared by what they hold
        before = [{k: v for k, v in each.items() if k != "modified"} for each in before]
    return (
        all(manifest.source.get(key) == source.get(key) for key in _SAME)
        and len(before) == len(now)
        and not any(map(changed, before, now))
        and config.rows in ("auto", manifest.source.get("rows"))
        and manifest.dtype == inputs.storage_dtype(config).name
    )
