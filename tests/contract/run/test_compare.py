"""``sfs compare``: the numbers of evaluate, overlaps, options of a ranking, the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import RankConfig
from sfs_cli.errors import InputError, OutputExistsError, UsageError
from sfs_cli.logs import Messages
from sfs_cli.options import parse_source
from sfs_cli.options.compare import CompareConfig, ListSpec, parse_list, parse_ranking
from sfs_cli.report.multiqc import EVALUATED
from sfs_cli.workflow import judge
from sfs_cli.workflow.outputs import FOR_MULTIQC
from sfs_cli.workflow.rank import rank
from sfs_cli.workflow.rank import run as run_rank
from tests.contract.run.test_evaluate import planted, study
from tests.contract.run.test_record import check
from tests.making import table_text
from tests.results import rows_in

Rows = list[dict[str, str]]


def tables(config: CompareConfig, log: Messages | None = None) -> dict[str, Rows]:
    """Compare into a folder; return its tables by their names."""
    judge.run(config, log or Messages(-1))
    return {path.stem: rows_in(path) for path in Path(str(config.out)).glob("*.tsv")}


def compared(folder: Path, **options: Any) -> CompareConfig:
    asked: dict[str, Any] = {"lengths": "5,10", "repeats": 1, "splits": 3}
    return CompareConfig(**asked | options, out=str(folder / "out"))


# ---- the numbers ---------------------------------------------------------------------------------


def test_overlaps_are_those_of_the_sets(tmp_path):
    given = study(tmp_path, *planted())
    rows = "".join(f"g{i}\t{i + 1}\n" for i in range(12))
    (tmp_path / "mine.tsv").write_text("gene\trank\n" + rows)
    config = compared(
        tmp_path,
        **given,
        splits=2,
        method_=("f-test",),
        list_=(ListSpec("", f"{tmp_path}/mine.tsv"),),
    )
    found = tables(config)
    lists = {
        "f-test": rank(RankConfig(**given, method="f-test")).ranking.feature,
        "mine": [f"g{i}" for i in range(12)],
        "most variable genes": rank(RankConfig(given["matrix"], method="variance")).ranking.feature,
    }
    pairs = [("f-test", "mine"), ("f-test", "most variable genes"), ("mine", "most variable genes")]
    assert [(r["list"], r["other"]) for r in found["overlap"]] == [p for p in pairs for _ in "12"]
    for row in found["overlap"]:
        k = int(row["features"])
        a, b = (set(lists[row[name]][:k]) for name in ("list", "other"))
        assert int(row["shared"]) == len(a & b)
        assert float(row["jaccard"]) == pytest.approx(len(a & b) / len(a | b))
        assert float(row["shared_by_chance"]) == pytest.approx(k * k / 60)


def test_a_ranking_with_options_is_that_of_sfs_rank(tmp_path):
    X, _ = planted()
    rng = np.random.default_rng(1)
    (tmp_path / "mirna.csv").write_text(table_text(rng.normal(size=(30, 36))))
    matrix = study(tmp_path, X, np.arange(36) % 3)["matrix"]
    text = f"mirna=--method msfs,ranking=phi1 --source m=profile:{tmp_path}/mirna.csv"
    source = parse_source(f"m=profile:{tmp_path}/mirna.csv")
    asked = RankConfig(
        matrix, method="msfs", source=(source,), ranking="phi1", out=f"{tmp_path}/ranked"
    )
    run_rank(asked, Messages(-1))
    config = CompareConfig(
        matrix,
        method_=("spec",),
        ranking_of=(parse_ranking(text),),
        list_=(parse_list(f"theirs={tmp_path}/ranked/ranking.tsv"),),
        lengths="5,30",
        out=str(tmp_path / "out"),
    )
    found = tables(config)
    shared = {
        (r["list"], r["other"]): r["shared"] for r in found["overlap"] if r["features"] == "30"
    }
    assert shared["mirna", "theirs"] == "30"
    assert shared["spec", "theirs"] != "30"
    (method,) = [r for r in found["methods"] if r["list"] == "mirna"]
    assert (method["kind"], method["method"]) == ("ranking", "msfs")
    assert float(method["seconds"]) >= 0
    inputs = {
        each["role"] for each in json.loads((tmp_path / "out/run.json").read_text())["inputs"]
    }
    assert inputs == {"matrix", "list.1", "ranking.mirna.source.m.path"}


def test_what_a_ranking_was_asked_with_stands_beside_its_method(tmp_path):
    matrix = study(tmp_path, *planted())["matrix"]
    texts = ("spec,ranking=phi1", "spec,gamma=power,ranking=phi2")
    own = parse_ranking("rbf=--method spec --similarity rbf")
    found = tables(compared(tmp_path, matrix=matrix, method_=texts, ranking_of=(own,)))
    asked = [(r["method"], r["options"]) for r in found["methods"] if r["kind"] == "ranking"]
    assert asked == [
        ("spec", "ranking=phi1"),
        ("spec", "gamma=power,ranking=phi2"),
        ("spec", "--method spec --similarity rbf"),
    ]


# ---- the same bytes, the record, the passes ------------------------------------------------------


def test_the_record_is_what_its_schema_says_and_a_second_run_is_up_to_date(tmp_path):
    given = study(tmp_path, *planted())
    (tmp_path / "sets.gmt").write_text("planted\t\tg0\tg1\n")
    own = parse_ranking("rbf=--method spec --similarity rbf")
    sets = (f"{tmp_path}/sets.gmt",)
    asked: dict[str, Any] = {"method_": ("f-test",), "sets": sets, "lengths": "5", "splits": 2}
    config = compared(tmp_path, **given, **asked, ranking_of=(own,))
    judge.run(config, Messages(-1))
    out = tmp_path / "out"
    record = json.loads((out / "run.json").read_text())
    check(record, "evaluate")
    before = {path.name: path.stat().st_ino for path in out.iterdir()}
    tables_made = ("curves", "verdicts", "folds", "enrichment", "overlap", "methods")
    names = {*(f"{name}.tsv" for name in tables_made), "report.html", "page.json", "run.json"}
    assert set(before) == names | {EVALUATED, *FOR_MULTIQC}
    judge.run(config, Messages(-1))
    assert {path.name: path.stat().st_ino for path in out.iterdir()} == before
    other = parse_ranking("rbf=--method spec,gamma-power=2 --similarity rbf")
    with pytest.raises(OutputExistsError):
        judge.run(compared(tmp_path, **given, **asked, ranking_of=(other,)), Messages(-1))


def test_warnings_name_the_ranking(tmp_path):
    matrix = study(tmp_path, *planted(n=40))["matrix"]
    own = parse_ranking("wide=--method spec --similarity=rbf,bandwidth=1000")
    log = Messages(-1)
    tables(CompareConfig(matrix, method_=("spec",), ranking_of=(own,), out=f"{tmp_path}/o"), log)
    assert [text for text in log.warnings if text.startswith("ranking wide: ")]
    assert not [text for text in log.warnings if text.startswith("ranking spec: ")]


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x=--method nothing", "nothing"),
        ("x=--method spec --threads 4", "--threads"),
        ("x=--method 'spec", "quotation"),
        ("no name", "--ranking-of"),
    ],
)
def test_errors_inside_of_a_ranking_name_it(text, what):
    with pytest.raises(UsageError) as found:
        CompareConfig("x.csv", labels="y.tsv", ranking_of=(parse_ranking(text),))
    assert what.lower() in str(found.value).lower()
    if text.startswith("x="):
        assert "ranking x" in str(found.value.where)


def test_a_list_whose_name_is_that_of_a_ranking_is_refused(tmp_path):
    matrix = study(tmp_path, *planted())["matrix"]
    (tmp_path / "spec.tsv").write_text("gene\trank\ng0\t1\ng1\t2\n")
    lists = (parse_list(str(tmp_path / "spec.tsv")),)
    with pytest.raises(UsageError, match="'spec'"):
        judge.run(CompareConfig(matrix, method_=("spec",), list_=lists), Messages(-1))


def test_an_error_of_a_ranking_in_a_fold_names_both(tmp_path):
    X, y = planted(n=12)
    X[:, 1:] = 5.0  # only the first sample differs, and it is once among the test samples
    config = compared(
        tmp_path, **study(tmp_path, X, y) | {"splits": 2}, method_=("f-test", "fisher")
    )
    with pytest.raises(InputError) as found:
        judge.run(config, Messages(-1))
    assert "ranking f-test" in str(found.value.where)
    assert "fold" in str(found.value.where)
