"""Runs the scripts of Nextflow modules without Nextflow: what its engine would write and stage.

Enough of the language for modules in nf-core's form: the `script:` block is made of assignments
and one text, in which `${...}` names a value, and backslashes are doubled before the shell's.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.places import ROOT

MODULES = ROOT / "workflows/nextflow/modules/local/sfs"
VALUE = re.compile(r"(?<!\\)\$\{([^}]+)\}")
STAGED = re.compile(r"path\((\w+)(?:, stageAs: '([^']*)/\*')?\)")
VERSION = re.compile(r"""eval\("(.*?)"\), topic: versions""")


@dataclass
class Module:
    """A process: its text, and where its input files are staged."""

    name: str
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = (MODULES / self.name / "main.nf").read_text(encoding="utf-8")

    def block(self, label: str) -> str:
        """Return the lines below a label, up to the next."""
        match = re.search(rf"^    {label}:\n(.*?)(?=^    \w+:\n|^}})", self.text, re.S | re.M)
        assert match, f"{self.name} has no {label}"
        return match[1]

    def command(self, values: Mapping[str, str], label: str = "script") -> str:
        """Return what the shell is given."""
        setting, text = re.fullmatch(
            r'(.*?)\n    """\n(.*?)    """\n+', self.block(label), re.S
        ).groups()
        known = dict(values)
        default = re.search(r'prefix = task\.ext\.prefix \?: "(.*)"', setting)
        assert default
        known["prefix"] = fill(default[1], known)
        asked = re.search(r"--format (\w+)", known["args"])
        known["format"] = asked[1] if asked else "tsv"
        # of a module that says which options read the matrix, it is given to these alone
        reads = re.search(r"def reads = args =~ /(.*)/", setting)
        wanted = known.get("matrix") and (not reads or re.search(reads[1], known["args"]))
        known["given"] = f"--matrix {known['matrix']}" if wanted else ""
        lines = [line.removeprefix("    ") for line in text.split("\n")]
        return fill("\n".join(lines), known).replace("\\\\", "\\").replace("\\$", "$")

    def named(self, files: Mapping[str, Sequence[Path]]) -> dict[str, str]:
        """Return what the script has in place of its input files: their paths in the task."""
        places = dict(STAGED.findall(self.text))
        return {
            key: " ".join(str(Path(places[key], path.name)) for path in paths)
            for key, paths in files.items()
        }

    def stage(self, folder: Path, files: Mapping[str, Sequence[Path]]) -> None:
        """Link input files into the folder of a task, where the module wants them."""
        wanted = dict(STAGED.findall(self.block("input")))
        assert set(files) == set(wanted)
        for name, paths in files.items():
            place = folder / wanted[name]
            for path in paths:
                place.mkdir(parents=True, exist_ok=True)
                (place / path.name).symlink_to(path)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of their names; an unknown name is an error."""
    return VALUE.sub(lambda match: values[match[1]], text)


def run_task(
    name: str,
    folder: Path,
    files: Mapping[str, Sequence[Path]],
    env: dict[str, str],
    label: str = "script",
    **values: str,
) -> Path:
    """Run one task in a folder of its own, as the engine does, and return the folder."""
    module = Module(name)
    folder.mkdir(parents=True)
    module.stage(folder, files)
    known = {"task.process": f"SFS_{name.upper()}", "task.cpus": "1", "memory": "--memory 500M"}
    known |= {"args": "", "meta.id": "plain"} | values
    known |= module.named(files)
    command = ["bash", "-ue", "-c", module.command(known, label)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version = VERSION.search(module.text)
    assert version
    said = subprocess.run(["bash", "-c", version[1]], env=env, capture_output=True, text=True)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", said.stdout)
    return folder
