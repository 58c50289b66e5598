"""One file of options for ``sfs rank`` and ``sfs evaluate``."""

from __future__ import annotations

from tests.places import SAMPLE_DATA
from tests.running import run_here


def test_one_file_serves_both(tmp_path, capfd):
    file = tmp_path / "run.yaml"
    file.write_text(
        f"matrix: {SAMPLE_DATA / 'expression.csv'}\n"
        f"labels: {SAMPLE_DATA / 'labels.tsv'}:tissue\n"
        "method: {name: mrsf, response: lda}\n"
        "select: 20\n"
        "stability: {name: half, subsets: 2}  # which evaluate does not have\n"
        "lengths: 5  # which rank does not have\n"
        "repeats: 1\n"
    )
    ranked = run_here(["rank", "--config", str(file), "--top", "3"], capfd)
    assert ranked.code == 0, ranked.err
    judged = run_here(["evaluate", "--config", str(file)], capfd)
    assert judged.code == 0, judged.err
    words = [
        str(SAMPLE_DATA / "expression.csv"),
        "--labels",
        f"{SAMPLE_DATA / 'labels.tsv'}:tissue",
    ]
    words += ["--method", "mrsf,response=lda", "--select", "20", "--lengths", "5", "--repeats", "1"]
    assert judged.out == run_here(["evaluate", *words], capfd).out
    file.write_text(file.read_text() + "lenghts: 5\n")
    done = run_here(["evaluate", "--config", str(file)], capfd)
    assert done.code == 3
    assert "did you mean lengths" in done.err
