"""The commands of the README of the workflows do what it says."""

from __future__ import annotations

import re

import pytest

from tests.docs.workflows.commands import WORKFLOWS

pytestmark = pytest.mark.any_python


def test_linked_folders_are_there():
    for readme in WORKFLOWS.rglob("README.md"):
        for link in re.findall(r"\]\(([^)]+)\)", readme.read_text(encoding="utf-8")):
            assert (readme.parent / link).exists(), f"{readme}: {link}"
