"""``sfs help``, and the texts of its topics: a short answer, commands to begin with, and the guide.

Lines of commands begin with four blanks and ``sfs``. They are for files that are called as follows:
expression.csv, counts.csv, labels.tsv (with columns tissue, status and batch), mirna.csv,
cells.h5ad.
"""

from __future__ import annotations

from typing import NamedTuple

import click

from sfs_cli.cli.app import VERBS, app
from sfs_cli.cli.streams import write_stdout
from sfs_cli.errors import UsageError, nearest


class Topic(NamedTuple):
    """A question and its answer."""

    question: str
    guide: str  # the file of docs/guides that has the whole answer
    answer: str


TOPICS = {
    "choosing": Topic(
        "Which method to choose.",
        "which-method.md",
        """\
Without --method, sfs takes one that suits what you give it, and says which. That is a good start.

You know no classes of the samples: the default, mrsf-rounds, selects genes that follow the sample
graph together. spec scores every gene by itself, and can give p-values; it is the default where
most values are zero, as in single cells.

    sfs rank expression.csv --out results
    sfs rank expression.csv --method spec --out one-by-one

You know the classes (tumor and normal, tissues): f-test ranks genes by how far the means of the
classes are apart, with p-values; it is the default for two classes. mrsf-rounds --response lda
selects genes that separate the classes together, without repeating each other; it is the default
for more classes, and for two of them its ranks are a column of the ranking.

    sfs rank expression.csv --labels labels.tsv:tissue --out together
    sfs rank expression.csv --labels labels.tsv:status --out by-class

You are not sure: compare methods on your own data. `sfs methods` lists all of them.

    sfs compare expression.csv --method spec --method mrsf-rounds --out compared
""",
    ),
    "counts": Topic(
        "What to do with counts of RNA-seq or single cells.",
        "bulk.md, docs/guides/single-cell.md",
        """\
Transform raw counts: otherwise the largest genes and the deepest samples dominate the ranking. sfs
warns of values that look like raw counts. Values that were transformed already (log2 intensities,
logarithms of counts) need nothing. If you do not know what a file holds, look first:

    sfs inspect counts.csv

Bulk RNA-seq, which genes differ between classes: --voom (the linear models of limma).

    sfs rank counts.csv --labels labels.tsv:status --method t-test --voom --min-count 10 --out voom

Bulk RNA-seq without a test: counts per million, then logarithms. Single cells: counts scaled to
the median library size, then logarithms. p-values of genes with few counts: Pearson residuals,
because logarithms of few counts follow the depth of the samples.

    sfs rank counts.csv --transform cpm,log1p --out results
    sfs rank cells.h5ad --transform median,log1p --out cells
    sfs rank counts.csv --transform pearson-residuals --out residuals

The neighbor graph or embedding of an AnnData file is used if it has one.

    sfs rank cells.h5ad --out on-graph
""",
    ),
    "sources": Topic(
        "How to use other knowledge: profiles, classes, gene sets.",
        "bulk.md",
        """\
A knowledge source says which samples are similar: another measurement of the same samples, classes,
a tree of classes, genes that matter. sfs makes a similarity of each source, adds them up, and ranks
the genes by how well they follow the sum. Samples are matched by their ids.

    sfs rank expression.csv --method msfs --source own=target: \\
        --source mirna=profile:mirna.csv --out two

own=target: is the matrix itself. Leave it out, and the genes are ranked by the other source alone.
The report shows what each source changed. The end of `sfs methods` lists the kinds of sources, and
how they are weighted.
""",
    ),
    "clusters": Topic(
        "How to find genes that separate groups of samples.",
        "which-method.md",
        """\
If you do not know the groups, the sample graph shows them: genes with a good score have similar
values in similar samples. The report shows the groups that the graph suggests.

    sfs rank expression.csv --out results

phi3 of SPEC uses the leading clusters of the graph alone, and ignores finer structure.

    sfs rank expression.csv --method spec --ranking phi3 --out leading

If you know the groups, give them as labels. The ranking says in which class each gene is highest.

    sfs rank expression.csv --method f-test --labels labels.tsv:tissue --out by-class

Groups may be batches: compare them with what you know of the samples.
""",
    ),
    "p-values": Topic(
        "When p-values can be had, and when they can be trusted.",
        "which-test.md, docs/guides/how-many-genes.md",
        """\
With labels, these tests have p-values and q-values of their own: t-test and f-test (--block for
pairs, --adjust for covariates), welch (unequal variances), rank-test (Mann-Whitney and
Kruskal-Wallis), spearman (a dose or an age) and cox (survival). Scores on a sample graph get them
by permutations of the samples.

    sfs rank expression.csv --method f-test --labels labels.tsv:tissue --out by-class
    sfs rank expression.csv --method spec --pvalues moments --split features --out honest

A graph that was built from the same genes makes p-values circular (double dipping): even noise
follows it a little. sfs warns of that. Test on a graph built from other data, or, as here, from the
other half of the genes.

A small p-value says that a gene follows the graph, not that the graph shows what you look for:
batches make graphs too.
""",
    ),
    "how-many": Topic(
        "How many genes of a ranking to take.",
        "how-many-genes.md",
        """\
A ranking has no end. `sfs select` cuts it by a rule that you choose beforehand: the false discovery
rate where there are q-values, accuracy on held-out samples where there are labels, or a number.

    sfs rank expression.csv --method f-test --labels labels.tsv:tissue --out results
    sfs select results --fdr 0.05
    sfs select results --cv --out by-accuracy
    sfs select results --top 50

`sfs select --help` lists all rules.
""",
    ),
}
"""The topics in the order of the list."""


def _begun(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the topics and commands that begin as an incomplete word."""
    return [name for name in (*TOPICS, *VERBS) if name.startswith(incomplete)]


@click.command(short_help="Explain a topic or a command.")
@click.argument("words", metavar="[TOPIC or COMMAND]", nargs=-1, shell_complete=_begun)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a topic, with commands to try, or show the help of a command.

    Without an argument it lists the topics.

    \b
    sfs help
    sfs help choosing
    sfs help rank
    """
    if not words:
        write_stdout(_listed())
    elif len(words) == 1 and words[0] in TOPICS:
        write_stdout(_text_of(words[0]))
    else:
        write_stdout(_command_help(ctx, words) + "\n")


def _command_help(ctx: click.Context, words: tuple[str, ...]) -> str:
    """Return the help of a command; UsageError for what is neither that nor a topic."""
    assert ctx.parent is not None
    found: click.Command = app
    at, known = ctx.parent, [*TOPICS, *VERBS]
    for word in words:
        inner = found.get_command(at, word) if isinstance(found, click.Group) else None
        if inner is None:
            raise UsageError(
                f"there is no topic and no command {' '.join(words)!r}",
                hint=f"{nearest(word, known)}; `sfs help` lists the topics",
                option="words",
            )
        found, at = inner, click.Context(inner, info_name=word, parent=at)
        known = list(found.list_commands(at)) if isinstance(found, click.Group) else []
    return found.get_help(at)


def _listed() -> str:
    """Return the list of topics."""
    width = max(map(len, TOPICS)) + 2
    lines = [f"  {name:<{width}}{topic.question}" for name, topic in TOPICS.items()]
    return "\n".join(
        [
            "sfs help TOPIC:",
            *lines,
            "",
            "sfs help COMMAND shows the help of a command, such as `sfs help rank`, and "
            "`sfs COMMAND --help-all` all of its options.",
            "`sfs --help` lists the commands, `sfs methods` the methods.",
            "",
        ]
    )


def _text_of(name: str) -> str:
    """Return a topic as it is printed."""
    topic = TOPICS[name]
    return f"{topic.question}\n\n{topic.answer}\nMore: docs/guides/{topic.guide}\n"
