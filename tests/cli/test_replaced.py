"""No output replaces an input: every pair of an input and an output of every command."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sfs_cli.errors import UsageError
from sfs_cli.options.paths import (
    FILLS,
    READS,
    REPLACES,
    WRITES,
    NamedPath,
)
from sfs_cli.options.replaced import RESULT_FILES, refuse_replaced
from tests.contract.errors.path_cases import TAKEN, Taken, command, study
from tests.making_commands import USAGE, good, h5ad, text
from tests.running import run_here, snapshot

OUTPUTS = (WRITES, FILLS, REPLACES)
PAIRS = [
    (source, target)
    for source in TAKEN
    for target in TAKEN
    if source.verb == target.verb and source.use == READS and target.use in OUTPUTS
]
CASES = [
    pytest.param(source, target, way, id=f"{source.label}, {target.flag or target.name}, {way}")
    for source, target in PAIRS
    for way in ("itself", "symlink", "hard link")
    # one function compares all: links are tried where most is written
    if way == "itself" or (source.verb == "rank" and target.name in ("log_file", "out"))
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    return study(tmp_path_factory.mktemp("study"))


@pytest.mark.parametrize(("source", "target", "way"), CASES[::12])
def test_output_that_is_an_input_is_refused(source, target, way, files, tmp_path, capfd):
    """Under --force too, through links of both kinds, with both options in the message."""
    home = tmp_path / "in"
    home.mkdir()
    read = valid_input(source, home, files)
    into = tmp_path / "to"
    into.mkdir()
    if target.use == FILLS:
        named = into / "report.html"
    elif target.use == REPLACES:  # the folder of the input
        named = None
    else:
        named = into / f"link{Path(read).suffix}"
    if named is None:
        place = home
    elif way == "itself" and target.use != FILLS:
        place = Path(read)
    else:
        (os.link if way == "hard link" else os.symlink)(read, named)
        place = into if target.use == FILLS else named
    words = command(source, read, files, tmp_path)
    words = with_output(words, target, str(place), source.verb)
    before = snapshot(tmp_path)
    done = run_here([*words, *forced(source.verb)], capfd)
    assert done.code == USAGE, (words, done.err)
    assert "would replace an input" in done.err, (words, done.err)
    for each in (source, target):
        assert (each.flag or each.name.upper().rstrip("S")) in done.err
    assert snapshot(tmp_path) == before


def valid_input(taken: Taken, home: Path, files: dict[str, str]) -> str:
    """Copy a file to a folder that the options before the comparison do not refuse."""
    name = {"config_file": "config", "matrix": "matrix"}.get(taken.name, "labels")
    path = home / Path(files[name]).name
    shutil.copy(files[name], path)
    if name == "config":
        shutil.copy(files["matrix"], home)
    return str(path)


def with_output(words: list[str], target: Taken, place: str, verb: str) -> list[str]:
    if not target.flag:
        after_files = verb == "convert" and words[3:] and not words[3].startswith("--")
        words[3 if after_files else 2] = place
        return words
    words = list(words)
    while target.flag in words:
        at = words.index(target.flag)
        del words[at : at + 2]
    return [*words, target.flag, place]


def forced(verb: str) -> list[str]:
    return ["--force"] if verb not in ("inspect", "plan", "shard run", "shard status") else []


def record(folder: Path, matrix: str, capfd) -> Path:
    """Rank, and return the folder of the result."""
    done = run_here(["rank", matrix, "--method", "spec", "--out", str(folder / "result")], capfd)
    assert done.code == 0, done.err
    return folder / "result"


def test_ranking_in_the_folder_of_the_output_is_not_replaced(tmp_path, capfd):
    """What an earlier run has written there would be removed, even under another name."""
    result = record(tmp_path, good(tmp_path), capfd)
    other = text(tmp_path, (result / "ranking.tsv").read_text(), "other.tsv")
    before = snapshot(result)
    words = ["aggregate", str(result / "ranking.tsv"), other, "--out", str(result), "--force"]
    for more in ([], ["--format", "csv"]):
        done = run_here([*words, *more], capfd)
        assert done.code == USAGE, done.err
        assert "--out" in done.err
        assert "RANKING" in done.err
    assert snapshot(result) == before


def test_store_with_an_input_inside_is_not_replaced(tmp_path, capfd):
    store = tmp_path / "m.store"
    assert run_here(["convert", good(tmp_path), str(store)], capfd).code == 0
    inside = good(store, "inside.csv")
    done = run_here(["convert", inside, str(store), "--force"], capfd)
    assert done.code == USAGE, done.err
    assert Path(inside).exists()


def test_nothing_is_written_into_a_folder_that_is_an_input(tmp_path, capfd):
    store = tmp_path / "m.store"
    assert run_here(["convert", good(tmp_path), str(store)], capfd).code == 0
    before = snapshot(store)
    words = ["rank", str(store), "--method", "spec"]
    for option in (["--out", str(store / "out")], ["--log-file", str(store / "log.txt")]):
        assert run_here([*words, *option], capfd).code == USAGE
    assert snapshot(store) == before


def test_two_outputs_of_one_name_are_refused(tmp_path, capfd):
    one = str(tmp_path / "one.parquet")
    words = ["rank", h5ad(tmp_path), "--method", "mrsf", "--labels", "obs:tissue"]
    done = run_here([*words, "--weights-out", one, "--write-h5ad", one], capfd)
    assert done.code == USAGE
    assert "--weights-out" in done.err
    assert "--write-h5ad" in done.err
    inside = ["--out", str(tmp_path / "out"), "--log-file", str(tmp_path / "out" / "run.json")]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    assert run_here([*words, *inside], capfd).code == USAGE


def test_output_beside_the_inputs_is_allowed(tmp_path, capfd):
    words = ["rank", good(tmp_path), "--method", "spec", "--out", str(tmp_path)]
    for _ in range(2):
        assert run_here([*words, "--log-file", str(tmp_path / "log.txt")], capfd).code == 0


def test_result_files_are_all_that_commands_write():
    """A file that a command writes under a name not listed would not be protected."""
    from fnmatch import fnmatch

    from sfs_cli.features.modules import step as modules
    from sfs_cli.run import compare, evaluate, outputs, robustness, select

    names = [
        *(
            outputs.REPORT,
            outputs.RANKING,
            *outputs.FOR_MULTIQC,
            modules.MODULES,
            modules.PROFILES,
            modules.EDGES,
        ),
        *(evaluate.EVALUATION, evaluate.FOLDS, evaluate.ENRICHMENT),
        *(compare.CURVES, compare.OVERLAP, compare.METHODS),
        *(robustness.TABLE, robustness.EXAMPLE, robustness.CLAIMS),
        *(
            select.IDS,
            select.ROWS,
            select.CURVE,
            select.SELECTED,
            evaluate.EVALUATED,
            "run.json",
            "ranking.parquet",
        ),
    ]
    for name in names:
        assert any(fnmatch(name, pattern) for pattern in RESULT_FILES), name


def test_paths_are_compared_without_raising(tmp_path):
    """Loops, names that are too long and bytes that are no text are other errors' business."""
    (tmp_path / "loop").symlink_to("loop")
    strange = ["x" * 5000, str(tmp_path / "loop"), "caf\udce9", "/dev/null", "a" * 300 + ":b"]
    for one in strange:
        for other in strange:
            if one != other:
                paths = [NamedPath("a", "A", one, READS), NamedPath("b", "--b", other, WRITES)]
                refuse_replaced(paths)


def test_path_with_a_nul_is_refused():
    with pytest.raises(UsageError, match="NUL"):
        refuse_replaced([NamedPath("a", "--a", "x\0y", READS)])
