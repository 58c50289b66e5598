"""What ``run.json`` records of a configuration, and whether this still means the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sfs_cli.errors import UsageError
from sfs_cli.io.given import given
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import options_of, stated
from sfs_cli.options.files import ConfigFile, resolved, written
from sfs_cli.provenance import describe_input, versions
from sfs_cli.run.config import input_files
from sfs_cli.workflow.pipes import as_given


def recorded(config: RankConfig, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the options as ``run.json`` has them, with paths from the folder of the result."""
    return {} if config.out is None else resolved(as_given(config), config.out, without, given)


def chosen_by_data(
    config: RankConfig, used: RankConfig, graph: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options that a run has chosen for itself, by the data, and their values.

    `used` is the configuration that it ranked by, `graph` what is known of its sample graph.
    """
    names = ("method", "also", "response", "similarity")
    chosen = {n: getattr(used, n) for n in names if getattr(used, n) != getattr(config, n)}
    if used.graph is None and "similarity" in graph:
        chosen.setdefault("similarity", graph["similarity"])
    if config.components is None and "components" in graph:
        chosen["components"] = graph["components"]
        if config.variable_genes is None:
            chosen["variable_genes"] = graph["variable_genes"]
    return chosen


def defaults_of(config: RankConfig, used: RankConfig, graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were left out and that the run has a value for.

    They are written, so that a later version, which may have other defaults, repeats the run.
    """
    found = {name: getattr(config, name) for name in config.pinned}
    found |= chosen_by_data(config, used, graph)
    for name, value in used.method_options().items():
        with suppress(UsageError):  # what would have no effect, as a power beside gamma=exp
            replace(used, **{name: value})
            found.setdefault(name, value)
    found.setdefault("neighbors", graph.get("neighbors"))
    left_out = {
        o.name: found[o.name]
        for o in options_of(RankConfig)
        if config.VERB in o.verbs
        and (o.name in config.pinned or getattr(config, o.name) == o.default)
        and found.get(o.name) not in (None, o.default)
    }
    return with_names(used, left_out)


def with_names(used: RankConfig, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return options by their keys; parameters stand with the name that they belong to."""
    hosts = {o.of for o in options_of(RankConfig) if o.of and o.name in chosen}
    names = {host: getattr(used, host) or used.users(host)[0] for host in hosts}
    if "method" in names:
        names["then"] = used.then  # it says which parameters there are
    found = stated(names) | chosen
    return written({o.name: found[o.name] for o in options_of(RankConfig) if o.name in found})


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
