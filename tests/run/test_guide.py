"""The runs that are suggested: fitting what was read, and commands that the command line takes."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anndata as ad
import click
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sfs_cli.cli.app import app
from sfs_cli.features.proposal import Seen
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.run.guide import MOST, next_runs
from sfs_cli.run.raw_values import Raw
from tests.cli.running import run_here
from tests.making import write_table

N, M = 24, 60
SAMPLES, GENES = [f"s{i}" for i in range(N)], [f"g{i}" for i in range(M)]
KIND = ["a", "b"] * (N // 2)
PLATE = ["p1", "p2", "p3"] * (N // 3)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(8, 1, (M, N)).round(3)
    write_table(tmp_path / "x.csv", X, GENES, SAMPLES)
    X[3, 4] = np.nan
    write_table(tmp_path / "gaps.csv", X, GENES, SAMPLES)
    write_table(tmp_path / "counts.csv", rng.poisson(90, (M, N)), GENES, SAMPLES)
    write_table(tmp_path / "wide.csv", rng.normal(0, 400, (M, N)), GENES, SAMPLES)
    factor = rng.normal(size=N)
    one = factor + 0.2 * rng.normal(size=(M, N))
    write_table(tmp_path / "one module.csv", one, GENES, SAMPLES)
    write_table(tmp_path / "mirna.csv", rng.normal(size=(9, N)), None, SAMPLES)
    rows = [f"{s}\t{k}\n" for s, k in zip(SAMPLES, KIND)]
    (tmp_path / "labels.tsv").write_text("sample\tkind\n" + "".join(rows))
    (tmp_path / "some.tsv").write_text("sample\tkind\n" + "".join(rows[:-4]))
    (tmp_path / "panel.txt").write_text("g1\ng2\n")
    obs = {
        "barcode": [f"x{i}" for i in range(N)],
        "depth": rng.normal(size=N),
        "plate_id": pd.Categorical(PLATE),
        "shape": pd.Categorical(["o"] * 12 + ["x"] * 12),
        "tissue": pd.Categorical(["a"] * 12 + ["NA"] * 12),  # some have none
        "cell_type": pd.Categorical(KIND),
    }
    data = ad.AnnData(X=rng.normal(size=(N, M)), obs=pd.DataFrame(obs, index=SAMPLES))
    data.var_names = GENES
    ring = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) % (N - 1) == 1
    data.obsp["connectivities"] = csr_array(ring.astype(float))
    data.write_h5ad(tmp_path / "x.h5ad")
    return tmp_path


def parsed(text: str) -> RankConfig:
    """Parse a command by the command line's own parser; return its configuration."""
    program, verb, *words = shlex.split(text)
    assert program == "sfs"
    command = app.get_command(click.Context(app), verb)
    assert command is not None
    context = command.make_context(verb, words)
    made: list[RankConfig] = []
    with patch.object(click.Command, "invoke", lambda _, ctx: made.append(ctx.params["config"])):
        command.invoke(context)
    return made[0]


def suggested(text: str) -> list[tuple[str, str]]:
    """Return reasons and commands of the runs that `--guide` prints; `sfs select` is the last."""
    lines = [line for line in text.split("\n") if line]
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    for reason, command in pairs:
        assert reason.startswith("# ")
        assert reason.endswith(".")
        assert command.startswith("sfs rank " if command != lines[-1] else "sfs select ")
    return pairs[:-1]


SPEC = ("--method", "spec", "--similarity", "rbf")
KINDS = ("--labels", "labels.tsv:kind")
CASES: dict[str, tuple[str, ...]] = {
    "plain": ("x.csv", *SPEC),
    "a name to quote": ("one module.csv", *SPEC),
    "variance": ("x.csv", "--method", "variance"),
    "counts": ("counts.csv", *SPEC),
    "counts of two kinds": ("counts.csv", "--method", "fisher", *KINDS),
    "intensities": ("wide.csv", "--method", "variance"),
    "gaps": ("gaps.csv", *SPEC),
    "labels": ("x.csv", "--method", "fisher", *KINDS),
    "labels that are not used": ("x.csv", *SPEC, *KINDS),
    "some labels": ("x.csv", "--method", "f-test", "--labels", "some.tsv:kind"),
    "some labels that are not used": ("x.csv", *SPEC, "--labels", "some.tsv:kind"),
    "h5ad": ("x.h5ad", "--method", "spec"),
    "h5ad with labels": ("x.h5ad", "--method", "t-test", "--labels", "obs:cell_type"),
    "sources": (
        *("x.csv", "--method", "msfs"),
        *("--source", "m=profile:mirna.csv", "--source", "t=target:"),
    ),
    "sources and labels": (
        *("x.csv", "--method", "msfs", *KINDS, "--source", "l=labels:"),
        *("--source", "m=profile:mirna.csv,similarity=knn,neighbors=5", "--source", "t=target:"),
    ),
    "members": ("x.csv", "--method", "kogs", "--members", "spec,variance", "--similarity", "rbf"),
    "mrsf": ("x.csv", "--method", "mrsf", "--similarity", "knn", "--given", "panel.txt"),
    "options of the method": ("x.csv", *SPEC, "--ranking", "phi3", "--clusters", "3"),
    "a panel": ("x.csv", *SPEC, "--max-correlation", "0.6", "--given", "panel.txt"),
    "batches": ("x.h5ad", *SPEC, "--batch", "obs:plate_id", "--min-batch-size", "6"),
    "adjusted": ("x.h5ad", *SPEC, "--adjust", "obs:plate_id"),
}


@pytest.mark.one_in(7)
@pytest.mark.parametrize("case", CASES)
def test_every_command_parses_and_runs(case, study, capfd):
    before = sorted(study.iterdir())
    done = run_here(["rank", *CASES[case], "--guide"], capfd)
    assert done.code == 0, done.err
    assert sorted(study.iterdir()) == before, "nothing is ranked or written"
    pairs = suggested(done.out)
    assert 2 <= len(pairs) <= MOST
    commands = [command for _, command in pairs]
    assert len(set(commands)) == len(commands)
    configs = [parsed(command) for command in commands]
    assert len({config.out for config in configs}) == len(configs)
    for command, config in zip(commands, configs):
        assert config.matrix == CASES[case][0]
        made = run_here(shlex.split(command)[1:], capfd)
        assert made.code == 0, f"{command}\n{made.err}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", CASES)
def test_the_report_and_the_record_say_the_same(case, study, capfd):
    if case in ("gaps", "some labels"):
        return  # these are refused as they are
    done = run_here(["rank", *CASES[case], "--out", "out"], capfd)
    assert done.code == 0, done.err
    runs = json.loads((study / "out" / "run.json").read_text())["next_runs"]
    page = (study / "out" / "report.html").read_text()
    assert ("What to do next" in page) == bool(runs)
    for each in runs:
        parsed(each["command"])
        assert each["command"].replace("'", "&#39;") in page
        assert each["reason"].replace("'", "&#39;") in page
    asked = run_here(["rank", *CASES[case], "--guide"], capfd).out
    first = suggested(asked)[0][1]
    if case.startswith(("counts", "intens")):
        assert runs[0]["command"] == first
    else:
        assert first not in [each["command"] for each in runs]


def commands(base: RankConfig, facts: Seen, *, ranked: bool = True) -> list[RankConfig]:
    return [parsed(each["command"]) for each in next_runs(base, facts, ranked=ranked)]


SPEC_RUN = RankConfig("x.csv", "spec", similarity="rbf")
FACTS = Seen(N, M)


@pytest.mark.parametrize(
    ("base", "facts", "expected"),
    [
        (SPEC_RUN, replace(FACTS, raw=Raw("counts", "cpm,log1p")), {"transform": "cpm,log1p"}),
        (SPEC_RUN, replace(FACTS, batches={"obs:lab": 3}), {"adjust": ("obs:lab=categorical",)}),
        (SPEC_RUN, replace(FACTS, repeats=0.8), {"max_correlation": 0.7}),
        (
            SPEC_RUN,
            replace(FACTS, classes={"obs:kind": 2}),
            {"labels": "obs:kind", "method": "mrsf", "response": "lda", "similarity": None},
        ),
        (
            replace(SPEC_RUN, labels="labels.tsv:kind"),
            replace(FACTS, labeled=True, unlabeled=3),
            {"method": "mrsf", "response": "lda", "samples": "intersect"},
        ),
        (SPEC_RUN, FACTS, {"method": "mrsf", "similarity": "rbf"}),
        (
            RankConfig(
                "x.csv",
                "msfs",
                labels="labels.tsv:kind",
                source=(parse_source("a=target:"), parse_source("m=profile:mirna.csv")),
            ),
            replace(FACTS, labeled=True),
            {"weights": "alignf"},
        ),
    ],
)
def test_what_fits_comes_first(base: RankConfig, facts: Seen, expected: dict[str, Any]) -> None:
    first = commands(base, facts)[0]
    assert {name: getattr(first, name) for name in expected} == expected


def test_no_weights_are_proposed_for_sources_without_labels() -> None:
    """Those by agreement weigh noise as the rest, or more."""
    two = (parse_source("a=target:"), parse_source("m=profile:mirna.csv"))
    for made in commands(RankConfig("x.csv", "msfs", source=two), FACTS):
        assert made.weights is None


def test_what_is_there_already_is_not_suggested() -> None:
    base = replace(
        SPEC_RUN, transform="log1p", adjust=("obs:lab",), max_correlation=0.5, modules=True
    )
    facts = replace(FACTS, raw=Raw("counts", "cpm,log1p"), batches={"obs:lab": 3}, repeats=0.9)
    for made in commands(base, facts):
        assert made.transform == "log1p"
        assert made.adjust == ("obs:lab",)
        assert made.max_correlation == 0.5


def test_corrections_hold_for_all_runs() -> None:
    facts = replace(FACTS, raw=Raw("counts", "cpm,log1p"), missing=3, repeats=0.9)
    made = commands(SPEC_RUN, facts, ranked=False)
    assert len(made) == MOST
    assert {(c.transform, c.missing) for c in made} == {("cpm,log1p", "mean")}


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("labels", "--fdr 0.05"),
        ("plain", "--top 50"),
        ("variance", "--top 50"),
        ("sources", "--top 50"),
    ],
)
def test_how_many_features_is_answered_by_a_rule_that_fits(case, rule, study, capfd):
    lines = run_here(["rank", *CASES[case], "--guide"], capfd).out.strip().split("\n")
    assert lines[-1].endswith(rule)
    for command in (lines[1], lines[-1]):
        made = run_here(shlex.split(command)[1:], capfd)
        assert made.code == 0, f"{command}\n{made.err}"


def test_the_default_method_is_not_said_to_ignore_the_labels(study, capfd):
    done = run_here(["rank", "x.csv", "--labels", CASES["labels"][-1], "--guide"], capfd)
    assert done.code == 0
    assert "None" not in done.out
    assert "--response lda" not in done.out, "the default is made from the labels"
    words = ["--method", "sselect", "--labels", "some.tsv:kind"]
    done = run_here(["rank", "x.csv", *words, "--guide"], capfd)
    assert "does not use" not in done.out


def test_samples_without_a_label_are_left_out_for_the_default_method(study, capfd):
    done = run_here(["rank", "x.csv", "--labels", "some.tsv:kind", "--guide"], capfd)
    lines = done.out.strip().split("\n")
    for command in (lines[1], lines[-1]):
        made = run_here(shlex.split(command)[1:], capfd)
        assert made.code == 0, f"{command}\n{made.err}"


def test_labels_that_the_default_on_a_graph_does_not_use_give_no_rule(study, capfd):
    words = ["--labels", "labels.tsv:kind", "--similarity", "knn"]
    done = run_here(["rank", "x.csv", *words, "--guide"], capfd)
    assert done.out.strip().endswith("--top 50")


def test_the_default_of_many_samples_is_named() -> None:
    facts = replace(FACTS, n=20_000)
    first, *_, last = next_runs(RankConfig("x.csv"), facts, ranked=False)
    assert "SPEC" in first["reason"]
    assert parsed(last["command"]).members == ("spec", "variance")


@pytest.mark.slow
def test_annotations_are_told_apart(study, capfd):
    done = run_here(["rank", "x.h5ad", "--method", "spec", "--guide"], capfd)
    first, batch, classes = suggested(done.out)
    assert "obs:plate_id" in batch[1]
    assert "obs:cell_type" in classes[1]
    assert "obs:" not in first[1]
    words = ["--method", "fisher", "--labels", "obs:plate_id"]
    done = run_here(["rank", "x.h5ad", *words, "--guide"], capfd)
    assert "--adjust" not in done.out, "the labels cannot be taken out of themselves"


@pytest.mark.parametrize("other", ["--json", "--dry-run"])
def test_it_goes_with_no_other_result(other, study, capfd):
    done = run_here(["rank", "x.csv", *SPEC, "--guide", other], capfd)
    assert done.code == 2
    assert "--guide" in done.err
    assert other in done.err


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["--method", "f-test", "--labels", "labels.tsv:kind"], "--top 50"),
        (["--method", "hsic", "--labels", "labels.tsv:kind"], "--top 50"),
        (["--method", "spec", "--similarity-file", "own.npz"], "--top 50"),
        (["--method", "spec", "--similarity-file", "other.npz"], "--artificial"),
        (["--method", "spec", "--similarity-file", "own.npz", "--pvalues", "moments"], "--top 50"),
        (["--method", "spec", "--pvalues", "moments"], "--top 50"),
        (["--method", "spec", "--pvalues", "moments", "--split", "features"], "--fdr 0.05"),
        (
            ["--method", "hsic", "--labels", "labels.tsv:kind", "--donors", "each.tsv"],
            "--artificial",
        ),
    ],
)
def test_a_rule_that_promises_nothing_is_not_proposed(words, rule, study, capfd):
    """Donors of several samples, or a graph of the ranked features, leave no promise."""
    for name, source in (("own", "e=target:"), ("other", "m=profile:mirna.csv")):
        made = run_here(["fuse", "x.csv", "--source", source, "--out", f"{name}.npz"], capfd)
        assert made.code == 0
    for name, size in (("pairs", 2), ("each", 1)):
        rows = "".join(f"{s}\td{i // size}\n" for i, s in enumerate(SAMPLES))
        (study / f"{name}.tsv").write_text("sample\tdonor\n" + rows)
    if "--labels" in words and "--donors" not in words:
        words = [*words, "--donors", "pairs.tsv"]
    done = run_here(["rank", "x.csv", *words, "--guide"], capfd)
    assert done.code == 0, done.err
    lines = done.out.strip().split("\n")
    assert lines[-1].endswith(rule)
    for command in (lines[1], lines[-1]):
        made = run_here(shlex.split(command)[1:], capfd)
        assert made.code == 0, made.err
    assert "promise" not in made.err


def test_batches_that_are_codes_are_taken_out_as_categories(study, capfd):
    table = pd.read_csv("x.csv", index_col=0)
    lines = ["#1.3", f"{M}\t{N}\t0\t1", "\t".join(["id", *SAMPLES])]
    lines.append("\t".join(["plate", *(str(101 + i % 4) for i in range(N))]))
    lines += ["\t".join([gene, *map(str, row)]) for gene, row in zip(GENES, table.to_numpy())]
    (study / "x.gct").write_text("\n".join(lines) + "\n")
    done = run_here(["rank", "x.gct", *SPEC, "--guide"], capfd)
    command = next(line for line in done.out.split("\n") if "--adjust" in line)
    assert run_here(shlex.split(command)[1:], capfd).code == 0
    record = json.loads((study / "results-adjusted" / "run.json").read_text())
    (column,) = record["covariates"]["columns"]
    assert (column["taken_as"], column["columns"]) == ("categorical", 3)


def test_features_selected_together_are_so_for_the_labels(study, capfd):
    words = ["--method", "sselect", "--labels", "labels.tsv:kind"]
    done = run_here(["rank", "x.csv", *words, "--guide"], capfd)
    command = next(line for line in done.out.split("\n") if "--method mrsf" in line)
    assert "--response lda" in command
    assert run_here(shlex.split(command)[1:], capfd).code == 0
    assert all(
        "--response lda" in line
        for line in run_here(["rank", "x.csv", *SPEC, *KINDS, "--guide"], capfd).out.split("\n")
        if "--method mrsf" in line
    )
