"""``sfs report``: a page again, from ``page.json``, which has all that the page shows.

Nothing is ranked, and no input is read. The command that made the result has drawn its page of the
same, so both have the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sfs_cli.display import shown
from sfs_cli.errors import CHECK_PATH, InputError, OutputExistsError, listed
from sfs_cli.io.files.atomic import check_writable, replacing
from sfs_cli.io.files.table import NULL_TOKENS
from sfs_cli.io.results.rankings import read_rank_table
from sfs_cli.logs import Messages
from sfs_cli.options.report import DEFAULT_FORMATS, ReportConfig
from sfs_cli.parts.sets import given_sets, section, tested_sets
from sfs_cli.provenance import NAME
from sfs_cli.report.model import Page, table_part
from sfs_cli.workflow.lists import ranking_at
from sfs_cli.workflow.outputs import PAGE, REPORT, tell_up_to_date

EVIDENCE = ("p-values", "volcano")
RESULTS = "the output folder of sfs rank, aggregate, compare or evaluate"


def run(config: ReportConfig, messages: Messages) -> None:
    """Draw the page of a result and write it.

    Raises
    ------
    InputError
        When there is no such result, or it has no page.
    OutputExistsError
        When another page is there, and ``--force`` is not given.
    """
    from sfs_cli.report.drawing import saved
    from sfs_cli.report.figures import draw, without_glyph
    from sfs_cli.report.page import render

    result = Path(config.result)
    if not result.exists():
        raise InputError(f"{result} does not exist", hint=f"{CHECK_PATH}; give {RESULTS}")
    folder = result if result.is_dir() else result.parent
    target = folder / REPORT if config.out is None else Path(config.out)
    if config.figures is not None and config.out is None:  # the page stays as it is
        check_writable(Path(config.figures), "--figures")
    elif target.is_dir():
        raise InputError(
            f"--out {target} is a folder", hint="give the name of a file, such as page.html"
        )
    else:
        check_writable(target, "--out")
    page = read_page(folder)
    if config.sets:
        table = folder if result.name in (PAGE, REPORT, NAME) else result
        page = with_sets(page, ranking_at(table), config, messages)
    page = replace(page, title=config.title or page.title)
    files = dict[Path, bytes]()
    if config.figures is None or config.out is not None:
        with refusing(folder / PAGE):
            files[target] = shown(render(page, config.gene_links or "")).encode()
    if config.figures is not None:
        with refusing(folder / PAGE):
            charts = [draw(part) for part in page.parts if part.figure]
        if boxes := without_glyph(charts):
            messages.note(
                f"the font of the figures lacks {listed(boxes)}: pdf and png show boxes, and "
                "in svg the fonts of the viewer are taken"
            )
        for chart in charts:
            for format in config.figure_format or DEFAULT_FORMATS:
                path = Path(config.figures, f"{chart.name}.{format}")
                files[path] = saved(chart, format, dpi=300)
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


def read_page(folder: Path) -> Page:
    """Return what the page of a result shows; InputError where a folder has none."""
    from sfs_cli.report.page import from_json

    path = folder / PAGE
    if not path.exists():
        raise InputError(
            f"there is no {PAGE} in {folder}, from which the page is drawn",
            hint=f"give {RESULTS}; results of earlier versions have none: make them again with "
            "--force",
        )
    with refusing(path):
        return from_json(path.read_bytes())


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Raise InputError where a ``page.json`` is none, or its figures need other facts."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{PAGE} is damaged, or that of another version of sfs",
            where=path,
            hint="make the result again with --force",
        ) from error


def with_sets(page: Page, path: Path, config: ReportConfig, messages: Messages) -> Page:
    """Return a page with the tests of further sets, among the features of a ranking."""
    table = read_rank_table(path)
    features = table.columns["feature"]
    name, sets = given_sets(config.sets, features, messages)
    ranked = [f for f, s in zip(features, table.columns.get("score", ())) if s not in NULL_TOKENS]
    best = [part.grid.rows for part in page.parts if part.grid and part.of_best]
    names = [row[1].shown for rows in best for row in rows]
    # TSV loses outer blanks
    found = [shown(name).strip() for name in ranked[: len(names)]]
    if len(ranked) != page.n_scored or found != [name.strip() for name in names]:
        raise InputError(
            f"the table does not fit {PAGE}: it was sorted or cut, or is that of another run",
            where=path,
            hint="rank again with --force, without --top and --format rnk",
        )
    tests = section([tested_sets(ranked, name, sets)[0] | {"given": True}])
    at = 1 + max(  # as on the page of sfs rank --sets: after what is said of the best features
        (i for i, part in enumerate(page.parts) if part.of_best or part.figure in EVIDENCE),
        default=-1,
    )
    return replace(
        page,
        parts=[*page.parts[:at], *map(table_part, tests.tables), *page.parts[at:]],
        summary=[" ".join([*page.summary, *tests.sentences])],
    )
