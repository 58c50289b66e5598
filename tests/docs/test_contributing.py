"""Files that CONTRIBUTING names exist, and its worked examples hold in a copy of the package."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.docs.pages import Reader, blocks_of, console_blocks, text_of
from tests.places import ROOT

pytestmark = pytest.mark.any_python

NEW = ("sfs_cli/methods/correlation_ratio.py", "sfs_cli/cli/cite.py", "sfs_cli/parts/head.py")
"""Files that the worked examples add."""
TEXT = text_of(ROOT / "CONTRIBUTING.md")
METHOD, ENTRY, NULL, TWIN, _, *_BLOCKS = blocks_of(TEXT, "python")
KIND, MAKER, MADE, PARAMETER, IN_METHOD, OPTION, IN_RUN, *_BLOCKS = _BLOCKS
FIELD, PART, CALL, SECTION, KEY, COMMAND, LINE = _BLOCKS
RANK = "sfs rank sample_data/expression.csv"


def test_paths_that_are_named_are_there():
    for name in re.findall(r"`((?:sfs_cli|tests|docs|workflows)/[\w./]+)`", TEXT):
        assert (ROOT / name).exists() or name in NEW, name
    for line in re.findall(r"^\| (?:a|an|weights) .*$", TEXT, re.MULTILINE):
        for name in re.findall(r"`((?:\w+/)*\w+\.py)`", line):
            inside = [*ROOT.joinpath("sfs_cli").rglob(name), ROOT / name]
            assert any(path.exists() for path in inside), name


# ---- the worked examples -------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, which the commands of `Reader` run."""
    copy = tmp_path / "copy" / "sfs_cli"
    shutil.copytree(ROOT / "sfs_cli", copy)
    return copy


@pytest.fixture
def reader(package: Path, tmp_path: Path) -> Reader:
    reader = Reader(tmp_path)
    reader.env["PYTHONPATH"] = str(package.parent)
    return reader


def put(file: Path, before: str, code: str, indent: int = 0) -> None:
    """Write code of an example before a text that the file has once."""
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    made = textwrap.indent(code, " " * indent)
    file.write_text(text.replace(before, made + before), encoding="utf-8")


def test_the_method_of_the_example_ranks_and_tests(package: Path, reader: Reader) -> None:
    (package / "methods" / "correlation_ratio.py").write_text(METHOD, encoding="utf-8")
    put(package / "catalog.py", ")\n\n# other methods score", f"{ENTRY.rstrip()},\n")
    ratios = package / "methods" / "significance" / "ratios.py"
    imported = "from sfs_cli.methods.correlation_ratio import CorrelationRatio\n"
    put(ratios, "from sfs_cli.methods.gdcov.covariance", imported)
    put(ratios, "    ratio = _ratio_of_graph(", NULL, 4)
    (commands,) = console_blocks(TEXT)
    for command in commands:
        reader.follow(command)
    names: dict = {"np": np}
    exec(TWIN, names)
    values = pd.read_csv(ROOT / "sample_data" / "expression.csv", index_col=0)
    stored = values.astype(np.float32).astype(np.float64)  # as values are by default
    labels = pd.read_csv(ROOT / "sample_data" / "labels.tsv", sep="\t", index_col=0)["tissue"]
    y = labels[values.columns].to_numpy()
    found = pd.read_csv(reader.folder / "results" / "ratio" / "ranking.tsv", sep="\t", index_col=1)
    scored = found["score"].dropna()
    expected = [names["correlation_ratio"](stored.loc[gene].to_numpy(), y) for gene in scored.index]
    np.testing.assert_allclose(scored, expected, rtol=1e-9)
    assert scored.is_monotonic_decreasing
    tested = "--labels sample_data/labels.tsv:tissue --pvalues moments"
    reader.follow(f"{RANK} --method fisher {tested} --out f")
    same = pd.read_csv(reader.folder / "f" / "ranking.tsv", sep="\t", index_col=1)
    p_values = (table["p_value"].dropna() for table in (found, same.loc[found.index]))
    np.testing.assert_allclose(*p_values, rtol=1e-9)  # of one ratio, in the same orders


def test_the_graph_of_the_example_is_made(package: Path, reader: Reader) -> None:
    put(package / "options" / "graph.py", '    "linear": GraphKind', KIND, 4)
    kinds = package / "graph" / "kinds.py"
    put(kinds, "def _linear(", f"{MAKER}\n\n")
    put(kinds, '    "linear": _linear', MADE, 4)
    reader.follow(f"{RANK} --method spec --similarity exponential --out a")
    reader.follow('grep \'"similarity": "exponential"\' a/run.json')
    reader.follow("sfs rank --help-all | grep exponential")


def test_the_parameter_of_the_example_is_used(package: Path, reader: Reader) -> None:
    catalog, method = package / "catalog.py", package / "methods" / "arom_svm.py"
    text = catalog.read_text(encoding="utf-8")
    start = text.index('name="arom-svm"')
    own = text[start:].replace('parameters={"select": _SELECT}', PARAMETER.strip(), 1)
    catalog.write_text(text[:start] + own, encoding="utf-8")
    put(method, "    factors = features.usable.astype", IN_METHOD, 4)
    reader.follow("sfs methods arom-svm | grep 'cost=C .*number above 0; default: 1]'")
    rank = f"{RANK} --labels sample_data/labels.tsv:tissue"
    reader.follow(f"{rank} --method arom-svm,cost=0.25 --out a")
    reader.follow("grep '\"cost\": 0.25' a/run.json")


def test_the_option_of_the_example_draws(package: Path, reader: Reader) -> None:
    features = package / "run" / "features.py"
    put(package / "options" / "rank.py", "    labels: str | None = _reading(", OPTION, 4)
    put(features, "    group = group_of", IN_RUN, 8)
    text = features.read_text(encoding="utf-8")
    any_given = "if config.include or config.exclude:"
    assert text.count(any_given) == 1
    features.write_text(text.replace(any_given, f"{any_given[:-1]} or config.draw:"), "utf-8")
    rank = f"{RANK} --method variance --draw 9 --out a"
    reader.follow(f"{rank} 2>&1 | grep 'ranked 9 of'")


def test_the_part_of_the_example_is_on_the_page(package: Path, reader: Reader) -> None:
    rank = package / "workflow" / "rank.py"
    put(package / "options" / "parts.py", "    given_: str | None = option(", FIELD, 4)
    (package / "parts" / "head.py").write_text(PART, encoding="utf-8")
    put(rank, "    if config.rank_sources is not None:\n        parts.joint", CALL, 4)
    put(rank, '    if facts["joint"]:\n        yield', SECTION, 4)
    put(package / "parts" / "__init__.py", '    "joint": ', KEY, 4)
    reader.follow(f"{RANK} --method variance --head 20 --out a")
    reader.follow("grep '\"median_of_others\"' a/run.json")
    reader.follow("grep 'of the others' a/report.html")


def test_the_command_of_the_example_prints(package: Path, reader: Reader) -> None:
    (package / "cli" / "cite.py").write_text(COMMAND, encoding="utf-8")
    put(package / "cli" / "app.py", '}\n"""The commands in the order of the help', LINE, 4)
    reader.follow("sfs cite rfs | grep '^Nie'")
    reader.follow("sfs --help | grep '^  cite '")
