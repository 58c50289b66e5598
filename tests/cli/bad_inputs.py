"""Every bad input that the command line has to refuse, as one table.

A row names the case, builds its files in an empty folder and returns the arguments, and says which
exit code and which words the user must be given.
"""

from __future__ import annotations

from tests.cli.bad_configs import CONFIGS
from tests.cli.bad_covariates import COVARIATES
from tests.cli.bad_evaluations import EVALUATIONS
from tests.cli.bad_files import FILES
from tests.cli.bad_genes import GENES, HIERARCHIES
from tests.cli.bad_given import GIVEN
from tests.cli.bad_knowledge import GRAPHS, LABELS
from tests.cli.bad_methods import METHODS
from tests.cli.bad_options import CHOICES, NAMED_FEATURES, NUMBERS, VERBS, WITHOUT_EFFECT
from tests.cli.bad_outcomes import OUTCOMES
from tests.cli.bad_outputs import OUTPUTS
from tests.cli.bad_rankings import RANKINGS
from tests.cli.bad_selections import SELECTIONS
from tests.cli.bad_shards import SHARDS
from tests.cli.bad_source_options import ASKED, FUSE
from tests.cli.bad_sources import SOURCES
from tests.cli.bad_stores import PREPARED
from tests.cli.bad_values import VALUES

CASES = [
    *FILES,
    *VALUES,
    *LABELS,
    *COVARIATES,
    *GRAPHS,
    *CHOICES,
    *NAMED_FEATURES,
    *GIVEN,
    *WITHOUT_EFFECT,
    *NUMBERS,
    *VERBS,
    *METHODS,
    *OUTCOMES,
    *PREPARED,
    *OUTPUTS,
    *RANKINGS,
    *EVALUATIONS,
    *SELECTIONS,
    *SOURCES,
    *GENES,
    *HIERARCHIES,
    *ASKED,
    *FUSE,
    *CONFIGS,
    *SHARDS,
]
