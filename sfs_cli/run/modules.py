"""``--modules``: groups of the best features that vary together."""

from __future__ import annotations

from dataclasses import replace

from sfs_cli.provenance import ModuleFacts
from sfs_cli.ranking.modules import Modules, find_modules
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.load import Run
from sfs_cli.run.passes import modules_pass
from sfs_cli.run.prune import read_standardized, room_for_features

LARGEST = 10
"""Modules that ``run.json`` and the report list."""


def modules_of(run: Run, ranking: Ranking) -> tuple[Modules, ModuleFacts]:
    """Find the modules of the first features of a ranking, by their values as they were scored."""
    config, n = run.config, run.matrix.n_samples
    count, least = min(ranking.n_scored, config.modules_of), config.least_module_correlation
    engine = run.context.engine.at(modules_pass(config, run.matrix.n_features))
    engine.begin()
    with room_for_features((count, n), run) as rows:
        read_standardized(engine, ranking.order[:count], rows)
        names = ranking.feature[:count]
        found = find_modules(rows, names, run.matrix.ids.samples, least)
    order = run.matrix.as_in_file
    found = replace(
        found,
        modules=[replace(each, profile=each.profile[order]) for each in found.modules],
        samples=[found.samples[i] for i in order.tolist()],
    )
    inside = sum(len(module.members) for module in found.modules)
    run.log.note(
        f"{len(found.modules):,} modules of {inside:,} of the first {count:,} features (average "
        f"linkage, mean absolute correlation of {least:g} or more); {count - inside:,} are in none"
    )
    facts = ModuleFacts(
        features=count,
        min_correlation=least,
        modules=len(found.modules),
        in_modules=inside,
        edges=len(found.edges),
        largest=[
            {
                "module": number,
                "size": len(module.members),
                "representative": module.members[0],
                "mean_correlation": module.mean_correlation,
                "members": module.members,
            }
            for number, module in enumerate(found.modules[:LARGEST], 1)
        ],
    )
    return found, facts
