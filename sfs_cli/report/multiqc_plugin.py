"""The module of MultiQC that shows rankings: a table and the score curves.

MultiQC finds it by the entry points of this package. Without it, the same files are tables of
MultiQC's own (custom content), with the same rows and no curves.
"""

from __future__ import annotations

import json
import logging
from html import escape
from typing import Any

from multiqc import config
from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import linegraph, table

from sfs_cli.report.multiqc import FORMAT, OWN, headers

NAME = "sfs"
PATTERN = "*sfs_mqc.json"
log = logging.getLogger(f"multiqc.modules.{NAME}")


def add_search_pattern() -> None:
    """Take the files of rankings before MultiQC's own reader does, which then shows them no more.

    The first pattern that a file matches has it.
    """
    if NAME not in config.sp:
        config.sp = {NAME: {"fn": PATTERN}, **config.sp}


class MultiqcModule(BaseMultiqcModule):
    """The section of all rankings that were found."""

    def __init__(self) -> None:
        super().__init__(
            name="sfs",
            anchor="sfs",
            info="ranks the features of a matrix: genes, probes, proteins or regions.",
        )
        rows: dict[str, dict[str, Any]] = {}
        curves: dict[str, list[list[float]]] = {}
        for found in self.find_log_files(NAME):
            read = _read(found["f"])
            if read is None:
                log.warning("%s/%s is not a result of sfs", found["root"], found["fn"])
                continue
            cells, own = read
            name = _unused(str(own["row"]), str(found["root"]), rows)
            self.add_data_source(found, name)
            rows[name] = cells
            curves[name] = own["curve"]
        rows = self.ignore_samples(rows)
        if not rows:
            raise ModuleNoSamplesFound
        log.info("Found %d rankings", len(rows))
        # names and cells go into the page as they are
        shown = {escape(name): cells for name, cells in rows.items()}
        self.add_section(
            name="Rankings",
            anchor="sfs-rankings",
            description="How many features there were, and which is the best.",
            plot=table.plot(
                shown,
                headers(),
                {
                    "id": "sfs_rankings_table",
                    "title": "sfs: Rankings",
                    "namespace": "sfs",
                    "col1_header": "Result",
                },
            ),
        )
        drawn = {escape(name): curves[name] for name in rows if len(curves[name]) > 1}
        if drawn:
            self._add_curves(drawn)
        self.write_data_file(rows, "multiqc_sfs")

    def _add_curves(self, curves: dict[str, list[list[float]]]) -> None:
        scores = {name: {int(x): y for x, y in points} for name, points in curves.items()}
        relative = {name: _relative(points) for name, points in scores.items()}
        self.add_section(
            name="Score curves",
            anchor="sfs-score-curves",
            description="Scores from the best feature to the worst. Scores of different methods "
            "have scales of their own: the relative score is 1 for the best feature and 0 for the "
            "worst.",
            plot=linegraph.plot(
                [relative, scores],
                {
                    "id": "sfs_score_curves_plot",
                    "title": "sfs: Score curves",
                    "xlab": "Rank",
                    "ylab": "Relative score",
                    "xlog": True,
                    "data_labels": [
                        {"name": "Relative", "ylab": "Relative score"},
                        {"name": "Scores", "ylab": "Score"},
                    ],
                },
            ),
        )


def _read(text: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the cells of a row and what the plugin alone reads; None of what is not ours."""
    try:
        content = json.loads(text)
        own = content[OWN]
        (cells,) = content["data"].values()
        whole = own["format"] == FORMAT and {"row", "curve"} <= set(own)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (dict(cells), own) if whole and isinstance(own["curve"], list) else None


def _unused(name: str, folder: str, rows: dict[str, Any]) -> str:
    """Return a name that no row has: that of the result, and its folder where two are alike."""
    unused, count = name, 1
    while unused in rows:
        unused = f"{name} ({folder})" if count == 1 else f"{name} ({folder}, {count})"
        count += 1
    return unused


def _relative(points: dict[int, float]) -> dict[int, float]:
    """Scale scores to 1 for the first and 0 for the last; a flat curve is 1."""
    values = list(points.values())
    first, last = values[0], values[-1]
    if first == last:
        return dict.fromkeys(points, 1.0)
    return {rank: (score - last) / (first - last) for rank, score in points.items()}
