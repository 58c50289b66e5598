"""What a package index, a manual and a clone get."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from types import ModuleType

import pytest
from click.testing import CliRunner

from sfs_cli.cli.app import app
from sfs_cli.provenance import versions
from tests.docs.pages import text_of
from tests.places import ROOT

pytestmark = pytest.mark.any_python

README = text_of(ROOT / "README.md")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def script(name: str) -> ModuleType:
    """Import a program of the folder docs."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names_of(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[; ]", each)[0].lower().replace("_", "-") for each in requirements}


def test_what_is_imported_is_declared():
    extras = names_of(
        [each for group in PROJECT["optional-dependencies"].values() for each in group]
    )
    declared = names_of(PROJECT["dependencies"]) | extras
    of_module = packages_distributions()
    imported = set()
    for path in (ROOT / "sfs_cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {each.name.split(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    others = imported - set(sys.stdlib_module_names) - {"sfs_cli"}
    assert {"markupsafe", "cloudpickle", "yaml"} <= others
    own_names = {"yaml": "pyyaml", "sklearn": "scikit-learn"}  # where they are not installed
    for module in others:
        found = {each.lower().replace("_", "-") for each in of_module.get(module, ())}
        found |= {own_names.get(module, module).replace("_", "-")}
        assert found & declared, f"{module} is imported, and no dependency declares it"


def test_records_name_the_version_of_every_library_that_reads_computes_or_draws():
    of_text = {"click", "rich", "jinja2", "markupsafe", "pyyaml", "threadpoolctl"}
    named = set(versions()) - {"sfs", "python"}
    assert named == names_of(PROJECT["dependencies"]) - of_text


def test_links_of_the_readme_lead_to_files_and_can_be_made_absolute():
    make = script("make_links")
    paths = [found[3] for found in make.LINK.finditer(README)]
    assert len(paths) > 20
    for path in paths:
        assert (ROOT / path.partition("#")[0]).exists(), path
    made = make.absolute(README, "https://h.example/tree/", "https://h.example/raw")
    assert not make.LINK.search(made)
    assert "![The first page of a report" in made
    assert "(https://h.example/raw/docs/pictures/report.png)" in made
    assert "](https://h.example/tree/docs/index.md#five-minutes)" in made
    assert made.count("](https://multiqc.info)") == README.count("](https://multiqc.info)")


def test_every_command_has_a_manual_page_with_all_its_options(tmp_path):
    make = script("make_man")
    make.main([str(tmp_path)])
    pages = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert {"sfs", "sfs-rank", "sfs-shard", "sfs-shard-init"} <= set(pages)
    for name, page in pages.items():
        assert page.startswith(f'.TH "{name.upper()}" 1'.replace("-", "\\-"))
        asked = CliRunner().invoke(app, [*name.split("-")[1:], "--help-all"])
        if asked.exit_code:  # those with few options have no other help
            asked = CliRunner().invoke(app, [*name.split("-")[1:], "--help"])
        flags = set(re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", asked.output, re.MULTILINE))
        assert flags, name
        for flag in flags:
            assert flag.replace("-", "\\-") in page, f"{flag} of {name}"
    assert "sfs rank expression.csv" in pages["sfs-rank"].replace("\\", "")
    with pytest.raises(SystemExit, match="usage"):
        make.main([])
