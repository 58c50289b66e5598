"""The converters by the kinds of sources."""

from __future__ import annotations

from importlib import import_module

from sfs_cli.errors import UsageError, located
from sfs_cli.sources.base import Opening, Source
from sfs_cli.sources.spec import KINDS, SourceSpec
from sfs_cli.store.transforms import parse as parse_transform


def check_steps(spec: SourceSpec) -> None:
    """Check the transformation of a source, before anything is read for it.

    Raises
    ------
    UsageError
        Naming the source and the step.
    """
    try:
        parse_transform(spec.transform)
    except UsageError as error:
        raise spec.error(error.what.removeprefix("--"), str(error.hint)) from None


def open_source(spec: SourceSpec, opening: Opening) -> Source:
    """Open a source: read its files, or what tells which samples it knows.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    opening : Opening
        What is known before samples are chosen.

    Raises
    ------
    InputError
        When it cannot be read.
    UsageError
        When a step of its transformation is not known.
    """
    assert spec.kind in KINDS
    module = import_module(f"sfs_cli.sources.{spec.kind.replace('-', '_')}")
    check_steps(spec)
    with located(f"source {spec.name}"):
        return module.open_source(spec, opening)
