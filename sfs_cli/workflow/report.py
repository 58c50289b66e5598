"""``sfs report``: the page of a ranking again, from what the ranking has written.

Nothing is ranked, and no input is read: ``page.json`` has what the page shows, and the table the
numbers of all features. `sfs rank` draws its page of the same, so both have the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from sfs_cli.display import shown
from sfs_cli.errors import CHECK_PATH, InputError, OutputExistsError, listed
from sfs_cli.io.files.atomic import check_writable, replacing
from sfs_cli.io.files.table import NULL_TOKENS, TextTable
from sfs_cli.io.files.text import text_suffix
from sfs_cli.io.results.rankings import read_rank_table
from sfs_cli.logs import Messages
from sfs_cli.options.report import DEFAULT_FORMATS, ReportConfig
from sfs_cli.parts.sets import given_sets, section, tested_sets
from sfs_cli.report import stored
from sfs_cli.report.model import ReportData
from sfs_cli.workflow.lists import ranking_at
from sfs_cli.workflow.outputs import REPORT, tell_up_to_date


def run(config: ReportConfig, messages: Messages) -> None:
    """Make the page of a ranking and write it.

    Raises
    ------
    InputError
        When there is no such result, or it has no page.
    OutputExistsError
        When another page is there, and ``--force`` is not given.
    """
    from sfs_cli.report.figures import figure_files, without_glyph
    from sfs_cli.report.page import figures_of, render

    path = ranking_at(Path(config.result))
    target = path.with_name(REPORT) if config.out is None else Path(config.out)
    if config.figures is not None and config.out is None:  # the page stays as it is
        check_writable(Path(config.figures), "--figures")
    elif target.is_dir():
        raise InputError(
            f"--out {target} is a folder", hint="give the name of a file, such as page.html"
        )
    else:
        check_writable(target, "--out")
    data, table = read_page(path)
    if config.sets:
        data = with_sets(data, table.columns["feature"], config.sets, messages)
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
        tell_up_to_date(next(iter(files)), messages)
    else:
        messages.note(f"wrote {listed([str(path) for path in changed])}")


def read_page(path: Path) -> tuple[ReportData, TextTable]:
    """Return what the page of a ranking shows, and the ranking.

    Raises InputError where a result has no page, or the ranking not all of its numbers.
    """
    page = path.with_name(stored.NAME)
    if not path.exists():
        hint = f"{CHECK_PATH}; give the output folder of sfs rank or sfs shard merge"
        raise InputError(f"{path} does not exist", hint=hint)
    if text_suffix(path) == ".rnk":
        raise InputError(
            "an rnk file has no scores, which the page shows",
            where=path,
            hint="rank again with --format tsv",
        )
    if not page.exists():
        raise InputError(
            f"there is no {stored.NAME} beside the ranking, from which the page is drawn",
            where=path,
            hint="give the output folder of sfs rank; results of earlier versions have none: "
            "rank again with --force",
        )
    table = read_rank_table(path)

    def column(name: str) -> np.ndarray:
        texts = table.columns[name]
        return np.array([np.nan if text in NULL_TOKENS else float(text) for text in texts])

    misfit = InputError(
        f"{stored.NAME} does not fit the ranking, which was changed, or is that of another version "
        "of sfs",
        where=f"{page}, {path}",
        hint="rank again with --force",
    )
    try:
        data = stored.from_json(page.read_text(encoding="utf-8"), column)
        best = [(str(row["feature"]).strip(), row["score"]) for row in data.top]
        names = (shown(name).strip() for name in table.columns["feature"])  # TSV loses outer blanks
        found = [*islice(zip(names, column("score")), len(best))]
    except (KeyError, TypeError, ValueError) as error:
        raise misfit from error
    if data.n_features > len(table.rows):
        raise InputError(
            f"the table has the beginning of a ranking of {data.n_features - data.n_unscored:,} "
            "features, and the page is made of all of them",
            where=path,
            hint="rank again without --top",
        )
    if len(table.rows) > data.n_features or found != best:
        raise misfit
    return data, table


def with_sets(
    data: ReportData, features: Sequence[str], specs: Sequence[str], messages: Messages
) -> ReportData:
    """Return the contents of a page with the tests of further sets; `features` are best first."""
    name, sets = given_sets(specs, features, messages)
    ranked = features[: data.n_features - data.n_unscored]
    tests = section([tested_sets(ranked, name, sets)[0] | {"given": True}])
    return replace(
        data,
        tables=[*data.tables, *tests.tables],
        sentences=[*data.sentences, *tests.sentences],
    )
