"""Whether a configuration still means what its ``run.json`` records: inputs, and the version."""

from __future__ import annotations

from collections.abc import Collection

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.files import ConfigFile
from sfs_cli.provenance import describe_input, versions
from sfs_cli.run.config import input_files


def warn_of_changes(
    file: ConfigFile, config: RankConfig, flags: Collection[str], messages: Messages
) -> None:
    """Warn of inputs that have changed since a run was recorded, and of another version.

    Inputs that the command line names (`flags`) are not those of the record.
    """
    if file.defaults and not file.pinned(file.defaults, flags):
        messages.note(
            f"options beside --config: what is not given there or in {file.path} is what this "
            "version takes, not the run before"
        )
    if file.version not in ("", now := versions()["sfs"]):
        messages.warn(
            f"{file.path} was written by sfs {file.version}, and this is {now}: what the run chose "
            "by itself may differ (method in that file, and the change log)"
        )
    for role, path, _ in input_files(config):
        before = file.inputs.get(role)
        if before is None or role.partition(".")[0] in flags or not path.exists():
            continue
        if before != describe_input(path)["sha256"]:
            messages.warn(f"{role} {path} has changed since {file.path} was written")
