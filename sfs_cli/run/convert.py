"""``sfs convert``: build a store that is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfs_cli.compute.memory import format_size
from sfs_cli.display import shown
from sfs_cli.errors import OutputExistsError, UsageError
from sfs_cli.io.files.atomic import refuse_dangling, replacing
from sfs_cli.io.files.read_limits import reading_within
from sfs_cli.io.files.sniff import examine
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.provenance import describe_input
from sfs_cli.run import inputs
from sfs_cli.run.columns import warn_of_columns
from sfs_cli.run.memory import memory_budget, thread_count
from sfs_cli.run.outputs import claimed, tell_up_to_date
from sfs_cli.store.disk import NAME as MANIFEST
from sfs_cli.store.disk import check_store, is_store, read_manifest


def convert(config: RankConfig, target: str, messages: Messages) -> None:
    """Build a store from the matrix of a configuration.

    Raises OutputExistsError when `target` holds another matrix, without ``--force``.
    """
    path, store = Path(config.matrix), Path(target)
    if is_store(path):
        raise UsageError(
            f"{path} is a store already", hint="use it as it is: sfs rank STORE", option="matrix"
        )
    examine(path)
    facts = describe_input(path)
    source = facts | {"path": shown(str(path)), "layer": config.layer, "use_raw": config.use_raw}
    with claimed(store, messages, option="STORE"):
        if _is_done(store, source, config):
            tell_up_to_date(store, messages, [store / MANIFEST])
            return
        memory = memory_budget(config)
        with reading_within(memory), replacing(store) as partial:
            partial.mkdir()
            opened, _ = inputs.load_with_labels(config, memory, partial, messages, source)
    matrix = opened.matrix
    warn_of_columns(matrix, messages)
    size = sum(f["bytes"] for f in read_manifest(store).files.values())
    messages.note(
        f"wrote {store}: {matrix.n_samples:,} samples x {matrix.n_features:,} features, "
        f"{'sparse' if matrix.sparse else 'dense'} {matrix.dtype.name}, {format_size(size)}"
    )


def _is_done(store: Path, source: dict[str, Any], config: RankConfig) -> bool:
    """Tell whether the target is exactly this store already; refuse anything else there."""
    refuse_dangling(store, "STORE")
    if not store.exists() or (config.force and is_store(store)):
        return False
    if is_store(store):
        manifest = read_manifest(store)
        have = manifest.source
        same = all(have.get(k) == source[k] for k in ("sha256", "layer", "use_raw"))
        rows = config.rows in ("auto", have.get("rows"))
        if same and rows and manifest.dtype == inputs.storage_dtype(config).name:
            check_store(store, thread_count(config.threads))
            return True
    raise OutputExistsError(
        f"{store} exists, and is not the store of this matrix",
        hint="give another name" + (", or --force" if is_store(store) else ""),
    )
