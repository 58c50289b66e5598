"""The files that CONTRIBUTING names exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import text_of
from tests.places import ROOT

pytestmark = pytest.mark.any_python

NEW = ("sfs_cli/methods/mad.py", "sfs_cli/cli/cite.py", "sfs_cli/parts/head.py")
"""Files that the worked examples add."""
TEXT = text_of(ROOT / "CONTRIBUTING.md")


def test_paths_that_are_named_are_there():
    for name in re.findall(r"`((?:sfs_cli|tests|docs|workflows)/[\w./]+)`", TEXT):
        assert (ROOT / name).exists() or name in NEW, name
    for line in re.findall(r"^\| (?:a|an|weights) .*$", TEXT, re.MULTILINE):
        for name in re.findall(r"`((?:\w+/)*\w+\.py)`", line):
            inside = [*ROOT.joinpath("sfs_cli").rglob(name), ROOT / name]
            assert any(path.exists() for path in inside), name
