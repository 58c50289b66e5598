"""A wrapper of ``sfs rank``."""

import shlex
from pathlib import Path

from snakemake.shell import shell

ranking = Path(snakemake.output.ranking)  # noqa: F821
if not ranking.name.startswith("ranking."):
    raise ValueError(
        f"output ranking: {ranking} has to be named ranking.tsv, in a folder of its own"
    )
# M of sfs is a MiB, which is more than a MB
memory = snakemake.resources.get("mem_mib")  # noqa: F821
memory = f"--memory {memory}M" if memory else ""
extra = snakemake.params.get("extra", "")  # noqa: F821
try:
    words = shlex.split(extra)
except ValueError:
    raise ValueError(f"a quote in extra is not closed: {extra}") from None
given = {word.partition("=")[0] for word in words}
if own := sorted(given & {"--out", "--force", "--threads", "--memory"}):
    raise ValueError(
        f"extra has {', '.join(own)}, which the wrapper gives: output ranking says where, and "
        "threads and resources mem_mb of the rule how many and how much"
    )
# log_fmt_shell of Snakemake does not quote
log = f"> {shlex.quote(str(snakemake.log))} 2>&1" if snakemake.log else ""  # noqa: F821

shell(
    "sfs rank {snakemake.input.matrix:q} {words:q} {memory} --threads {snakemake.threads}"
    " --out {ranking.parent:q} --force {log}"
)
