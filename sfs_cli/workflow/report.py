"""``sfs report``: the page of a ranking again, from its table, its record and the matrix.

Nothing is ranked. The scores are those of the table, what was found out about the run is what
``run.json`` says, and the pictures are made of the values of the best features and of the sample
graph, which is made again where the ranking knew its eigenvectors. `sfs rank` makes its own page
of the same, so that both have the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.catalog import METHODS
from sfs_cli.display import shown
from sfs_cli.errors import (
    CHECK_PATH,
    InputError,
    OutputExistsError,
    SfsError,
    UsageError,
    listed,
    need_extra,
)
from sfs_cli.graph.groups import read_groups
from sfs_cli.graph.spectral import Spectrum
from sfs_cli.io.files.atomic import check_writable, replacing
from sfs_cli.io.files.table import NULL_TOKENS, TextTable
from sfs_cli.io.files.text import text_suffix
from sfs_cli.io.results.rankings import read_rank_table
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import Option, options_of
from sfs_cli.options.files import load
from sfs_cli.options.paths import is_there, moved, split_part
from sfs_cli.options.report import DEFAULT_FORMATS, ReportConfig
from sfs_cli.parts.sets import given_sets, tested_sets
from sfs_cli.parts.split import part_of_counts
from sfs_cli.ranking.table import Picked, Ranking
from sfs_cli.report.model import ReportData
from sfs_cli.run.config import input_files
from sfs_cli.run.load import Run, loaded
from sfs_cli.run.pictures import pictures_of
from sfs_cli.run.scoring import make_graph, spectrum_again
from sfs_cli.run.top import read_top
from sfs_cli.workflow import outputs
from sfs_cli.workflow.lists import cut_from, ranking_at
from sfs_cli.workflow.rank import sections
from sfs_cli.workflow.report_data import report_data
from sfs_cli.workflow.result import Result, check_unchanged, is_whole, positions

SAME_GRAPH = 1e-6
"""The eigenvalues of a sample graph that is made again differ by less from the recorded ones."""
_FIRST = "give the output folder of sfs rank or sfs shard merge"


def run(config: ReportConfig, messages: Messages) -> None:
    """Make the page of a ranking and write it.

    Raises
    ------
    InputError
        When the result is not that of `sfs rank`, is damaged, or its inputs have changed.
    OutputExistsError
        When another page is there, and ``--force`` is not given.
    """
    from sfs_cli.report.figures import figure_files, without_glyph
    from sfs_cli.report.page import figures_of, render

    result = read_result(config)
    target = result.path.with_name(outputs.REPORT) if config.out is None else Path(config.out)
    made = ranking_config(config, result)
    if config.figures is not None:
        need_extra("matplotlib", "plots", "--figures needs Matplotlib")
    if config.figures is not None and config.out is None:  # the page stays as it is
        check_writable(Path(config.figures), "--figures")
    elif target.is_dir():
        raise InputError(
            f"--out {target} is a folder", hint="give the name of a file, such as page.html"
        )
    else:
        check_writable(target, "--out")
    data = data_of(made, result, messages, config.sets)
    data = replace(data, title=config.title or data.title, gene_links=config.gene_links)
    files = dict[Path, bytes]()
    if config.figures is None or config.out is not None:
        files[target] = shown(render(data)).encode()
    if config.figures is not None:
        drawn = figures_of(data)
        if boxes := without_glyph(drawn):
            messages.note(
                f"the font of the figures lacks {listed(boxes)}: pdf and png show boxes, and "
                "in svg the fonts of the viewer are taken"
            )
        made_of = figure_files(drawn, config.figure_format or DEFAULT_FORMATS)
        files |= {Path(config.figures) / name: content for name, content in made_of.items()}
    changed = [p for p in files if not p.is_file() or p.read_bytes() != files[p]]
    for path in (p for p in changed if p.exists() and not config.force):
        option, what = ("out", "page") if path == target else ("figures", "figure")
        raise OutputExistsError(
            f"{path} exists, and is another {what}",
            hint=f"give another --{option}, or replace it with --force",
            option=option,
        )
    for path in changed:
        with replacing(path) as partial:
            partial.write_bytes(files[path])
    if not changed:
        outputs.tell_up_to_date(next(iter(files)), messages)
    else:
        messages.note(f"wrote {listed([str(path) for path in changed])}")


# ---- what is read --------------------------------------------------------------------------------


def read_result(config: ReportConfig) -> Result:
    """Read a ranking that `sfs rank` has written, and its record; refuse any other."""
    path = ranking_at(Path(config.result))
    where = provenance.record_beside(path)
    if not path.exists():
        raise InputError(f"{path} does not exist", hint=f"{CHECK_PATH}; {_FIRST}")
    if text_suffix(path) == ".rnk":
        raise InputError(
            "an rnk file has no scores, which the page shows",
            where=path,
            hint="rank again with --format tsv",
        )
    record = provenance.read_record(where)
    if record is None:
        what = "cannot be read" if where.exists() else "is missing"
        raise InputError(
            f"the record of the ranking {what}, which says how it was made",
            where=where,
            hint=_FIRST,
        )
    if path.name not in provenance.outputs_of(record):
        raise InputError(
            "the record beside the ranking is that of another result",
            where=f"{path}, {where}",
            hint=_FIRST,
        )
    if not isinstance(record.get("method"), dict) or "input" not in record:
        raise InputError(
            "the result is not one of sfs rank: only the page of a ranking is made again",
            where=where,
            hint=f"{_FIRST}; the others are made again by their own commands",
        )
    if "page" not in record or not is_whole(record):
        raise _damaged(where)
    if (whole := cut_from(record)) is not None:
        raise InputError(
            f"the table has the beginning of a ranking of {whole:,} features, and the page is made "
            "of all of them",
            where=path,
            hint="rank again without --top",
        )
    table = read_rank_table(path)
    features = table.columns.get("feature", [])
    return Result(path, table, features, np.arange(len(features)), record)


def ranking_config(config: ReportConfig, result: Result) -> RankConfig:
    """Return how the matrix was ranked.

    Raises InputError when a file is gone or has changed since.
    """
    record: Any = result.record
    where, folder = result.record_path, result.path.parent
    roles = [each["role"] for each in record["inputs"]]
    try:
        options = dict(load(where).options)
        options |= {
            o.name: _found_beside(o, options[o.name], roles, folder)
            for o in options_of(RankConfig)
            if options.get(o.name) is not None
        }
        options |= {"threads": config.threads, "memory": config.memory, "out": str(folder)}
        if config.matrix is not None:
            options["matrix"] = config.matrix
        made = RankConfig(**options)
    except (UsageError, TypeError) as error:  # the command line gives nothing that contradicts it
        raise _damaged(where) from error
    check_unchanged(made, result, (), ("matrix",))
    there = [role for role, _, _ in input_files(made)]
    for role in (role for role in roles if role not in there):
        raise InputError(
            f"an input of the ranking ({role}) is not there any more",
            where=where,
            hint="put it back, beside the ranking or where it was",
        )
    return made


def _found_beside(option: Option, value: Any, roles: Sequence[str], folder: Path) -> Any:
    """Return the value of an option, files that are gone as those of their names in a folder.

    Results and inputs may have been copied to one folder. What the files hold is compared later;
    `roles` are those of the recorded inputs.
    """

    def move(_option: Option, text: str, _what: str) -> str:
        if is_there(split_part(text)[0]):
            return text
        file, colon, part = text.partition(":")
        here = folder / Path(file).name
        return f"{here}{colon}{part}" if is_there(str(here)) else text

    if not option.patterns:
        return moved(option, value, move)
    return tuple(  # one that was a file is none of the patterns
        move(option, text, "") if f"{option.name}.{i}" in roles else text
        for i, text in enumerate(value, 1)
    )


def _damaged(record: Path) -> InputError:
    return InputError("the record of the ranking is damaged", where=record, hint="rank again")


@contextmanager
def _reading(record: Path) -> Iterator[None]:
    """Take for a damaged record what cannot be used: table and matrix are known to be whole."""
    try:
        yield
    except SfsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _damaged(record) from error


# ---- the page ------------------------------------------------------------------------------------


def data_of(
    config: RankConfig,
    result: Result,
    messages: Messages,
    sets: Sequence[str] = (),
) -> ReportData:
    """Return the page's contents of a ranking made so, with the tests of further `sets`."""
    record: Any = result.record
    with loaded(config, messages) as ready:
        index = positions(ready, result)
        with _reading(result.record_path):
            ranking = ranking_of(result, index, ready.matrix.ids.features)
            values = np.array(record["result"].get("eigenvalues") or (), float)
            drawn = ready.config
            if config.coordinates is not None:  # as the page names them
                drawn = replace(drawn, coordinates=record["graph"]["coordinates"])
            warned = record["warnings"]
            texts = isinstance(warned, list) and {*map(type, warned)} <= {str}
            few = len(values) <= ready.matrix.n_samples and np.isfinite(values).all()
            if not texts or not few:
                raise _damaged(result.record_path)
        ready.fit()
        messages.phase("the best features")
        top = read_top(ready, ranking)
        spectrum = _spectrum(ready, values, result)
        groups = None if spectrum is None else read_groups(spectrum.values, spectrum.vectors)
        pictures = None
        if top is not None:
            pictures = pictures_of(replace(ready, config=drawn), ranking, top, spectrum, groups)
        config = ready.config
    if sets:
        name, given = given_sets(sets, ranking.feature, messages)
        tested = tested_sets(ranking, name, given, None)[0] | {"given": True}
    with _reading(result.record_path):
        if sets:
            known = record["knowledge"]
            both = [*known.get("enrichment", []), tested]
            record = {**record, "knowledge": known | {"enrichment": both}}
        parts = [*sections(record, METHODS[config.ranker])]
        return report_data(config, ranking, record, parts, groups=groups, pictures=pictures)


def ranking_of(result: Result, index: np.ndarray, ids: Any) -> Ranking:
    """Return the ranking that a table holds; `index` are its features among the `ids`."""
    table, record = result.table, result.record or {}
    facts = record["result"]
    kinds = {"score": "number", "status": "text", **facts["columns"]}
    if {"rank", "feature", *kinds} != set(table.columns):
        raise _damaged(result.record_path)
    columns: dict[str, Any] = {name: _read(table, name, kind) for name, kind in kinds.items()}
    kept = record["pruning"].get("kept")
    return Ranking(
        Picked(ids, index),
        columns.pop("score"),
        columns.pop("status"),
        larger_is_better=bool(facts["larger_is_better"]),
        order=index,
        extra=columns,
        n_kept=None if kept is None else int(kept),
    )


def _read(table: TextTable, name: str, kind: str) -> np.ndarray | Picked:
    """Return a column of a table as one of the kind that the record says it has."""
    texts = table.columns[name]
    if kind == "number":
        return np.array([np.nan if text in NULL_TOKENS else float(text) for text in texts])
    if kind == "integer":
        return np.array([int(text) for text in texts], np.int64)
    # not an array: each text would take the room of the longest
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return Picked(list(codes), np.array([codes[text] for text in texts], np.int32))


def _spectrum(ready: Run, values: np.ndarray, result: Result) -> Spectrum | None:
    """Make again the eigenpairs of the sample graph whose `values` the ranking has recorded.

    None where it knew none. Raises InputError where the graph has become another one.
    """
    if not len(values) or ready.config.split == "features":
        return None
    if ready.sources:
        from sfs_cli.run.fused_rank import fuse  # imports SciPy

        similarity = fuse(ready).similarity
    else:
        graph = make_graph(part_of_counts(ready) if ready.config.split else ready)
        if graph is None:
            return None
        similarity = graph.similarity
    found = spectrum_again(ready, similarity, len(values))
    if found is None:
        return None
    if len(found.values) != len(values) or np.abs(found.values - values).max() > SAME_GRAPH:
        now, were = (listed([f"{v:.6g}" for v in each], 4) for each in (found.values, values))
        raise InputError(
            "the sample graph is another one than that of the ranking: "
            f"its eigenvalues are {now}, and were {were}",
            where=result.record_path,
            hint="rank again",
        )
    # the recorded ones are those of the page
    return Spectrum(values, found.vectors)
