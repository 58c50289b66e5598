"""Every bad input that the command line has to refuse, as one table.

A row names the case, builds its files in an empty folder and returns the arguments, and says which
exit code and which words the user must be given.
"""

from __future__ import annotations

from tests.contract.errors.bad_configs import CONFIGS
from tests.contract.errors.bad_covariates import COVARIATES
from tests.contract.errors.bad_evaluations import EVALUATIONS
from tests.contract.errors.bad_files import FILES
from tests.contract.errors.bad_genes import GENES, HIERARCHIES
from tests.contract.errors.bad_given import GIVEN
from tests.contract.errors.bad_knowledge import GRAPHS, LABELS
from tests.contract.errors.bad_methods import METHODS
from tests.contract.errors.bad_options import (
    CHOICES,
    NAMED_FEATURES,
    NUMBERS,
    VERBS,
    WITHOUT_EFFECT,
)
from tests.contract.errors.bad_outcomes import OUTCOMES
from tests.contract.errors.bad_outputs import OUTPUTS
from tests.contract.errors.bad_rankings import RANKINGS
from tests.contract.errors.bad_selections import SELECTIONS
from tests.contract.errors.bad_shards import SHARDS
from tests.contract.errors.bad_source_options import ASKED, FUSE
from tests.contract.errors.bad_sources import SOURCES
from tests.contract.errors.bad_stores import PREPARED
from tests.contract.errors.bad_values import VALUES

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
