"""A limited address space, hostile words on the terminal, numbers that overflow."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfs_cli.errors import InputError, escaped
from sfs_cli.logs import Messages
from tests.making_commands import AB, good, h5ad, labels, text
from tests.running import MODULE, run_here


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a matrix in two formats, and labels."""
    good(tmp_path)
    h5ad(tmp_path)
    labels(tmp_path, AB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def limited(kib: int) -> tuple[str, ...]:
    return ("bash", "-c", f'ulimit -v {kib}; exec "$0" "$@"', *MODULE)


def test_control_characters_are_shown_as_escapes() -> None:
    assert escaped("a\x1b[31m\x9b\r\n\tb") == "a\\x1b[31m\\x9b\\r\\n\\tb"
    assert escaped("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"
    assert escaped("\u202eabc") == "\\u202eabc"
    assert escaped("\u00a0gène [red]") == "\u00a0gène [red]"


def test_messages_hold_no_control_characters(tmp_path, capsys) -> None:
    log = tmp_path / "log"
    messages = Messages(verbosity=1)
    messages.log_to(log)
    evil = "\x1b]0;x\x07[bold]\x1b[2J\r\ud800"
    messages.note(evil)
    messages.warn(evil)
    messages.detail(evil)
    messages.error(InputError(evil, where=evil, hint=evil))
    said = capsys.readouterr().err
    for text_ in (said, log.read_text()):
        assert not set(text_) & set("\x1b\x07\r")
        assert "[bold]" in text_


@pytest.mark.parametrize("word", ["\x1b[31mverb", "--\x1b[31m"])
def test_words_of_the_command_line_do_nothing_to_a_terminal(word, capfd) -> None:
    done = run_here([word] if word[0] != "-" else ["rank", word], capfd)
    assert done.code == 2
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    "given",
    [
        ["--similarity", "diffusion", "--beta", "1e308"],
        ["--similarity", "diffusion", "--beta", "1e100"],
        ["--similarity", "rbf", "--bandwidth", "1e-308"],
        ["--method", "rfs", "--labels", "labels.tsv", "--gamma", "1e308"],
        ["--method", "kogs", "--members", "variance,laplacian", "--weights", "1e308,1"],
        ["--method", "msfs", "--source", "t=target:@1e308", "--source", "u=profile:good.csv"],
        ["--neighbors", "9" * 400, "--similarity", "knn"],
        ["--seed", "9" * 40],
        ["--transform", "floor:1e308"],
    ],
    ids=lambda given: given[-2],
)
def test_options_that_would_overflow_are_refused_by_name(given, folder, capfd) -> None:
    done = run_here(["rank", "good.csv", *given], capfd)
    assert done.code == 2, done.err
    assert "error:" in done.err
    assert "Traceback" not in done.err


def test_more_draws_than_anybody_needs_are_refused(folder, capfd) -> None:
    done = run_here(["robustness", "good.csv", "--draws", "999999"], capfd)
    assert done.code == 2
    assert "--draws" in done.err


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


def test_ties_of_aggregated_lists_are_in_the_order_of_ids(tmp_path, capfd) -> None:
    rows = [f"g{i}\t{rank}\n" for i, rank in enumerate((1, 2, 3, 4, 5, 6))]
    turned = [f"g{i}\t{rank}\n" for i, rank in enumerate((2, 1, 4, 3, 6, 5))]
    outputs = set()
    for how in ("borda", "median", "geometric", "rra", "mc4"):
        for a, b in ((rows, turned), (rows[::-1], turned), (turned[::-1], rows[::-1])):
            one = text(tmp_path, "gene\trank\n" + "".join(a), "a.tsv")
            two = text(tmp_path, "gene\trank\n" + "".join(b), "b.tsv")
            done = run_here(["aggregate", one, two, "--how", how, "-q"], capfd)
            outputs.add(tuple(line.split("\t")[1] for line in done.out.splitlines()))
    assert outputs == {("feature", *(f"g{i}" for i in range(6)))}


@pytest.mark.parametrize("rank", ["-1", "0", "1.3", "2.5", "inf", "1e309"])
def test_what_is_no_rank_is_refused(rank, tmp_path, capfd) -> None:
    good_ = text(tmp_path, "gene\trank\na\t1\nb\t2\nc\t3\n", "good.tsv")
    bad = text(tmp_path, f"gene\trank\na\t1\nb\t{rank}\nc\t3\n", "bad.tsv")
    done = run_here(["aggregate", good_, bad], capfd)
    assert done.code == 3
    assert "bad.tsv, line 3" in done.err
    assert repr(rank) in done.err


def test_tied_features_share_the_mean_of_their_ranks(tmp_path, capfd) -> None:
    halves = text(tmp_path, "gene\trank\na\t1.5\nb\t1.5\nc\t3\n", "halves.tsv")
    least = text(tmp_path, "gene\trank\na\t1\nb\t1\nc\t3\n", "least.tsv")
    done = run_here(["aggregate", halves, least, "-q"], capfd)
    assert done.code == 0, done.err
    scores = [line.split("\t")[2] for line in done.out.splitlines()[1:]]
    assert scores == ["1.5", "1.5", "3"]
