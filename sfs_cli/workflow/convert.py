"""``sfs convert``: build a store that is kept."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from sfs_cli.compute.memory import format_size
from sfs_cli.errors import OutputExistsError, UsageError
from sfs_cli.io.files.atomic import check_writable, refuse_dangling, replacing
from sfs_cli.io.files.sniff import MANIFEST, examine, is_store
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.samples import SamplesReader
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of
from sfs_cli.options.grammar import joined
from sfs_cli.provenance import difference, of_matrix, plain
from sfs_cli.run import inputs
from sfs_cli.run.columns import check_columns
from sfs_cli.run.needs import memory_budget
from sfs_cli.store.disk import read_manifest
from sfs_cli.workflow.outputs import describe_inputs, tell_up_to_date, with_digests


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
    refuse_dangling(store, "STORE")
    # which files there are, their content says
    taken = {o.name for o in options_of(RankConfig) if "convert" in o.verbs and not o.path}
    given = {name: v for name, v in config.result_options().items() if name in taken}
    options = joined(RankConfig, given) | {"column": column}
    files = describe_inputs(config)
    replaceable = is_store(store)
    if store.exists() and not (config.force and replaceable):
        other = "it is no store"
        if replaceable:
            record, other = read_manifest(store).source, "it does not say what it was made of"
            if "config" in record:
                other = difference(record, options, files)
        if other:
            raise OutputExistsError(
                f"{store} exists, and is not the store of this matrix: {other}",
                hint="give another name" + ", or --force" * replaceable,
            )
        tell_up_to_date(store, messages, [store / MANIFEST])
        return

    files = with_digests(files)
    sha, *others = [each["sha256"] for each in files if of_matrix(each["role"])]
    if several:
        sha = sha256(" ".join([sha, *others, column or ""]).encode()).hexdigest()
    source = plain({"path": path, "sha256": sha, "config": options, "inputs": files})
    memory = memory_budget(config)
    with replacing(store) as partial:
        partial.mkdir()
        if counts:
            reader = SamplesReader(paths, column, ReadOptions(inputs.storage_dtype(config).name))
            opened = inputs.load(config, [], memory, partial, messages, source, reader)
        else:
            opened, _ = inputs.load_with_labels(config, memory, partial, messages, source)
        matrix = opened.matrix
        check_columns(config, matrix, None, (), messages)
    size = sum(f["bytes"] for f in read_manifest(store).files.values())
    messages.note(
        f"wrote {store}: {matrix.n_samples:,} samples x {matrix.n_features:,} features, "
        f"{'sparse' if matrix.sparse else 'dense'} {matrix.dtype.name}, {format_size(size)}"
    )
