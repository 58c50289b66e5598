"""A wrapper of ``sfs rank``."""

import shlex
from pathlib import Path

from snakemake.shell import shell

ranking = Path(snakemake.output.ranking)  # noqa: F821
prefix, found, _ = ranking.name.rpartition("ranking.")
if not found:
    raise ValueError(f"output ranking: {ranking} has to be named ranking.tsv or NAME.ranking.tsv")
prefix = f"--prefix {shlex.quote(prefix[:-1])}" if prefix else ""
# M of sfs is a MiB, which is more than a MB
memory = snakemake.resources.get("mem_mib")  # noqa: F821
memory = f"--memory {memory}M" if memory else ""
extra = snakemake.params.get("extra", "")  # noqa: F821
try:
    words = shlex.split(extra)
except ValueError:
    raise ValueError(f"a quote in extra is not closed: {extra}") from None
given = {word.partition("=")[0] for word in words}
if own := sorted(given & {"--out", "--prefix", "--force", "--threads", "--memory"}):
    raise ValueError(
        f"extra has {', '.join(own)}, which the wrapper gives: output ranking says where, and "
        "threads and resources mem_mb of the rule how many and how much"
    )
# log_fmt_shell of Snakemake does not quote
log = f"> {shlex.quote(str(snakemake.log))} 2>&1" if snakemake.log else ""  # noqa: F821

shell(
    "sfs rank {snakemake.input.matrix:q} {words:q} {memory} --threads {snakemake.threads}"
    " --out {ranking.parent:q} {prefix} --force {log}"
)
