"""Commands under other locales, and on a file system that cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.making_commands import BAD, good
from tests.running import MODULE, run_apart


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "POSIX"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["POSIX", "ASCII"],
)
def test_other_locales_change_nothing(locale, tmp_path):
    matrix = Path(good(tmp_path, "é.csv"))
    out = tmp_path / "ö"
    done = run_apart(["rank", str(matrix), "--out", str(out)], **locale)
    assert done.code == 0, done.err
    assert json.loads((out / "run.json").read_bytes())["inputs"][0]["path"] == str(matrix)
    plain = tmp_path / "plain"
    assert run_apart(["rank", str(matrix), "--out", str(plain)]).code == 0
    assert (out / "ranking.tsv").read_bytes() == (plain / "ranking.tsv").read_bytes()
    (tmp_path / "run.yaml").write_text("matrix: é.csv\nlabels: ü.tsv\n", encoding="utf-8")
    for arguments in (["rank", "--config", str(tmp_path / "run.yaml")], ["rank", "ü.csv"]):
        done = run_apart(arguments, **locale)
        assert done.code == BAD, done.err
        assert "Traceback" not in done.err


def test_read_only_file_system_is_said(tmp_path):
    """Where one can be made without being root, in a namespace of its own."""
    script = f'mount --bind -o ro {tmp_path} {tmp_path} && exec "$0" "$@"'
    launcher = ("unshare", "--mount", "--map-root-user", "sh", "-c", script)
    try:
        probe = run_apart(["-c", "true"], launcher=(*launcher, "sh"))
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if probe.code:
        pytest.skip("nothing can be mounted here")
    words = ["rank", good(tmp_path), "--method", "spec", "--out", str(tmp_path / "new")]
    done = run_apart(words, launcher=(*launcher, *MODULE))
    assert done.code == BAD, done.err
    assert "--out" in done.err
    assert "Traceback" not in done.err
