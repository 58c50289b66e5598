"""Whether a configuration still means what its ``run.json`` records: inputs, and the version."""

from __future__ import annotations

from collections.abc import Collection

from sfs_cli.errors import InputError
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.files import ConfigFile
from sfs_cli.provenance import versions
from sfs_cli.run.config import input_files
from sfs_cli.run.outputs import describe_files

_DIGITS = 12
"""So much of a sha256 is shown."""


def check_recorded(
    file: ConfigFile,
    config: RankConfig,
    flags: Collection[str],
    messages: Messages,
    *,
    strict: bool,
) -> None:
    """Warn of inputs that have changed since a run was recorded; refuse them if `strict`.

    Warn of another version of this program, too: its defaults may be others. Inputs that the
    command line names (`flags`) are not those of the record.

    Raises
    ------
    InputError
        When one has changed, and `strict` asks for it; or when one cannot be read.
    """
    if file.version not in ("", now := versions()["sfs"]):
        messages.warn(
            f"{file.path} was written by sfs {file.version}, and this is {now}: what the run chose "
            "by itself may differ (method in that file, and the change log)"
        )
    recorded = {str(each["role"]): each for each in file.inputs}
    ours = {source.name: source for source in file.options.get("source", ())}
    replaced = {f"source.{s.name}" for s in config.source if ours.get(s.name) != s}
    parts = [
        each
        for each in input_files(config)
        if each[0] in recorded
        and each[0].partition(".")[0] not in set(flags) - {"source"}
        and ".".join(each[0].split(".")[:2]) not in replaced
    ]
    for found in describe_files(each for each in parts if each[1].exists()):
        before = recorded[found["role"]]
        if before["sha256"] == found["sha256"]:
            continue
        what = f"{found['role']} {found['path']} has changed since {file.path} was written"
        size = before.get("bytes")
        then = f"{size:,}" if isinstance(size, int) else "an unknown number of"
        facts = (
            f"then {then} bytes, sha256 {before['sha256'][:_DIGITS]}...; now {found['bytes']:,} "
            f"bytes, sha256 {found['sha256'][:_DIGITS]}..."
        )
        if strict:
            raise InputError(
                what,
                where=facts,
                hint="put the file back as it was, or leave out --strict-inputs",
                option=(found["role"].partition(".")[0], "strict_inputs"),
            )
        messages.warn(f"{what}: {facts} (--strict-inputs refuses it)")
