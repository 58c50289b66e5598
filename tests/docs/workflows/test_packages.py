"""The container, the Apptainer definition and the conda recipe say what pyproject.toml says."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

from tests.docs.workflows.commands import WORKFLOWS
from tests.places import ROOT
from tests.running import run_here

pytestmark = pytest.mark.any_python

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONTAINERFILE = (WORKFLOWS / "containers" / "Containerfile").read_text()
DEFINITION = (WORKFLOWS / "containers" / "sfs.def").read_text()


def recipe() -> dict:
    """Read the recipe as conda-build would, with its variables in their places."""
    text = (WORKFLOWS / "conda" / "meta.yaml").read_text()
    values = dict(re.findall(r'\{% set (\w+) = "(.*?)" %\}', text))
    text = re.sub(r"\{%.*?%\}\n", "", text)
    text = re.sub(r"\{\{ (\w+)(\|lower)? \}\}", lambda m: values.get(m[1], m[1]), text)
    return yaml.safe_load(re.sub(r"\{\{.*?\}\}", "pinned", text))


def test_the_recipe_needs_what_the_package_needs():
    made = recipe()
    assert made["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    assert made["build"]["noarch"] == "python"
    (command,) = made["build"]["entry_points"]
    assert command == f"sfs = {PROJECT['scripts']['sfs']}"
    run = {line.split()[0]: line.partition(" ")[2] for line in made["requirements"]["run"]}
    assert run.pop("python") == PROJECT["requires-python"]
    needed = {}
    for line in PROJECT["dependencies"]:
        name, version = re.fullmatch(r"([\w-]+)(.*)", line).groups()
        needed[name.lower()] = version
    needed["matplotlib-base"] = needed.pop("matplotlib")  # conda's, without Qt
    assert run == needed


def test_commands_of_the_recipe_succeed(monkeypatch, capfd):
    monkeypatch.chdir(ROOT)
    commands = recipe()["test"]["commands"]
    assert "pip check" in commands
    for command in commands:
        if command.startswith("sfs "):
            assert run_here(command.split()[1:], capfd).code == 0, command


def test_the_recipe_says_what_the_program_is():
    about = recipe()["about"]
    assert about["license"] == PROJECT["license"]
    assert about["license_file"] in PROJECT["license-files"]
    assert about["summary"].startswith("Spectral feature selection")
    assert about["description"].strip()
    (install, pages) = recipe()["build"]["script"]
    assert install.endswith("-m pip install . --no-deps --no-build-isolation --no-cache-dir -vvv")
    assert (ROOT / pages.split()[1]).is_file()
    assert "click" in {line.split()[0] for line in recipe()["requirements"]["host"]}


@pytest.mark.parametrize("text", [CONTAINERFILE, DEFINITION], ids=["Containerfile", "sfs.def"])
def test_base_images_are_of_an_exact_version(text):
    (base,) = set(re.findall(r"docker\.io/library/python:(\S+)", text))
    assert re.fullmatch(r"\d+\.\d+\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?", base)


@pytest.mark.parametrize("text", [CONTAINERFILE, DEFINITION], ids=["Containerfile", "sfs.def"])
def test_libraries_of_images_are_of_the_releases_of_the_tests(text):
    (python,) = set(re.findall(r"library/python:(\d+\.\d+)\.", text))
    file = f".ci/constraints/{python}.txt"
    assert f"{file} /src/constraints.txt" in text
    assert "pip install --no-cache-dir --constraint /src/constraints.txt" in text
    assert f"!{file}" in (ROOT / ".dockerignore").read_text().splitlines()
    known = {line.partition("==")[0] for line in (ROOT / file).read_text().splitlines()}
    needed = PROJECT["dependencies"]
    assert {re.split(r"[^\w.-]", each)[0].lower() for each in needed} <= known


def test_images_hold_the_package_and_run_as_nobody():
    users = re.findall(r"^USER (\d+)", CONTAINERFILE, re.M)
    assert users
    assert all(int(user) > 0 for user in users)
    copied = re.search(r"^COPY (.*) /src/$", CONTAINERFILE, re.M)
    assert copied
    for name in copied[1].split():
        assert (ROOT / name).is_file()
        assert f"{name} /src/{name}" in DEFINITION
    extras = re.findall(r"/src\[(.*?)\]", CONTAINERFILE + DEFINITION)
    assert len(extras) == 2
    assert {each for found in extras for each in found.split(",")} <= set(
        PROJECT["optional-dependencies"]
    )
    assert f"Version {PROJECT['version']}" in DEFINITION
    for path in WORKFLOWS.rglob("environment.y*ml"):
        if path.parent.name == "multiqc":
            continue
        assert re.search(rf"{PROJECT['name']} ?=={PROJECT['version']}", path.read_text()), path
