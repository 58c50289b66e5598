"""The module of MultiQC that shows rankings: a table and the score curves.

MultiQC finds it by the entry points of this package. Without it, the same files are tables of
MultiQC's own (custom content), with the same rows and no curves. Tables of other results, General
Statistics and versions are MultiQC's own in either case.
"""

from __future__ import annotations

import json
import logging
from html import escape
from typing import Any

from multiqc import config
from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import linegraph, table

from sfs_cli.report.multiqc import FORMAT, OWN, RANKING, relative, table_of

NAME = "sfs"
PATTERN = f"*{RANKING}"
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
        curves: dict[str, dict[str, Any]] = {}
        for found in self.find_log_files(NAME):
            read = _read(found["f"])
            if read is None:
                log.warning("%s/%s is not a result of sfs", found["root"], found["fn"])
                continue
            cells, own = read
            name = str(own["row"])
            if name in rows:  # the same prefix in another folder, or a copy
                name = f"{name} ({found['root']}/{found['fn']})"
            self.add_data_source(found, name)
            rows[name] = cells
            curves[name] = own
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
                table_of(RANKING)["headers"],
                {
                    "id": "sfs_rankings_table",
                    "title": "sfs: Rankings",
                    "namespace": "sfs",
                    "col1_header": "Result",
                },
            ),
        )
        drawn = {escape(name): curves[name] for name in rows if len(curves[name]["curve"]) > 1}
        if drawn:
            self._add_curves(drawn)
        self.write_data_file(rows, "multiqc_sfs")

    def _add_curves(self, curves: dict[str, dict[str, Any]]) -> None:
        scores = {name: {int(x): y for x, y in own["curve"]} for name, own in curves.items()}
        scaled = {
            name: relative(scores[name], own["larger_is_better"]) for name, own in curves.items()
        }
        self.add_section(
            name="Score curves",
            anchor="sfs-score-curves",
            description="Scores in the order of the ranking. Scores of different methods have "
            "scales of their own: the relative score is 1 for the best score and 0 for the worst. "
            "A method that selects features one after another, or in rounds, may rank a feature "
            "behind one with a worse score, and its curve goes up and down.",
            plot=linegraph.plot(
                [scaled, scores],
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
        return (dict(cells), own) if own["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
