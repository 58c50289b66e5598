"""Control characters, numbers that overflow, and very long names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfs_cli.errors import InputError, escaped
from sfs_cli.logs import Messages
from tests.making_commands import good
from tests.running import run_here


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a matrix."""
    good(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_control_characters_are_shown_as_escapes() -> None:
    assert escaped("a\x1b[31m\x9b\r\n\tb") == "a\\x1b[31m\\x9b\\r\\n\\tb"
    assert escaped("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"
    assert escaped("\u202eabc") == "\\u202eabc"
    assert escaped("\u00a0gène [red]") == "\u00a0gène [red]"


def test_messages_hold_no_control_characters(capsys) -> None:
    messages = Messages(verbosity=1)
    evil = "\x1b]0;x\x07[bold]\x1b[2J\r\ud800"
    messages.note(evil)
    messages.warn(evil)
    messages.detail(evil)
    messages.error(InputError(evil, where=evil, hint=evil))
    said = capsys.readouterr().err
    assert not set(said) & set("\x1b\x07\r")
    assert "[bold]" in said


@pytest.mark.parametrize("word", ["\x1b[31mverb", "--\x1b[31m"])
def test_words_of_the_command_line_do_nothing_to_a_terminal(word, capfd) -> None:
    done = run_here([word] if word[0] != "-" else ["rank", word], capfd)
    assert done.code == 2
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    "given",
    [
        ["--similarity", "diffusion,beta=1e308"],
        ["--similarity", "rbf,bandwidth=1e-308"],
        ["--method", "msfs", "--source", "t=target:@1e308", "--source", "u=profile:good.csv"],
        ["--similarity", f"knn,neighbors={'9' * 400}"],
    ],
    ids=lambda given: given[-2],
)
def test_options_that_would_overflow_are_refused_by_name(given, folder, capfd) -> None:
    done = run_here(["rank", "good.csv", *given], capfd)
    assert done.code == 2, done.err
    assert "error:" in done.err
    assert "Traceback" not in done.err


def test_a_path_with_an_escape_of_yaml_is_refused(folder, capfd) -> None:
    r"""In double quotes, ``\0`` of YAML is a character that no path can have."""
    (folder / "c.yaml").write_text(r'matrix: "data\0_raw.csv"')
    done = run_here(["rank", "--config", "c.yaml"], capfd)
    assert done.code == 2
    assert "MATRIX: the path has a NUL character in it" in done.err


def test_long_names_are_cut_in_messages(folder, capfd) -> None:
    rows = [f"s{i}\t{'ab'[i % 2]}\n" for i in range(200)]
    (folder / "long.tsv").write_text("sample\tclass\n" + "".join(rows))
    text = (folder / "good.csv").read_text()
    head, _, rest = text.partition("\n")
    first, *others = head.split(",")
    named = ",".join([first, "x" * 20_000, *others[1:]])
    (folder / "long.csv").write_text(f"{named}\n{rest}")
    given = ["--method", "f-test", "--labels", "long.tsv"]
    done = run_here(["rank", "long.csv", *given], capfd)
    assert done.code == 3
    assert "xxx" in done.err
    assert len(done.err) < 5_000
