"""Every bad input that the command line has to refuse, as one table.

A row names the case, builds its files in an empty folder and returns the arguments, and says which
exit code and which words the user must be given.
"""

from __future__ import annotations

from tests.cli.bad_files import FILES
from tests.cli.bad_knowledge import GRAPHS, LABELS
from tests.cli.bad_methods import METHODS
from tests.cli.bad_options import CHOICES, NUMBERS, VERBS, WITHOUT_EFFECT
from tests.cli.bad_outputs import OUTPUTS
from tests.cli.bad_stores import PREPARED
from tests.cli.bad_values import VALUES

CASES = [
    *FILES,
    *VALUES,
    *LABELS,
    *GRAPHS,
    *CHOICES,
    *WITHOUT_EFFECT,
    *NUMBERS,
    *VERBS,
    *METHODS,
    *PREPARED,
    *OUTPUTS,
]
