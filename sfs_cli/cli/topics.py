"""The texts of ``sfs help TOPIC``: what to do for a question, with commands.

Lines of commands begin with four blanks and ``sfs``. They are for files that are called as follows:
expression.csv, counts.csv, labels.tsv (with columns tissue, status and batch), mirna.csv,
pathways.gmt, cells.h5ad.
"""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """A question and its answer."""

    title: str
    text: str


TOPICS = {
    "choosing": Topic(
        "Which method to choose.",
        """\
Without --method, sfs takes one that suits what you give it and says which. That is a good start:

    sfs rank expression.csv --out results

Choose another one by what you know and what you want:

You know the classes of the samples (tumor and normal, tissues).
  The F-test ranks genes by how far the means of the classes are apart, with p-values. MRSF selects
  genes that separate the classes together, without repeating each other.

    sfs rank expression.csv --method f-test --labels labels.tsv:tissue --out by-class
    sfs rank expression.csv --method mrsf --response lda --labels labels.tsv:tissue --out together

You know no classes.
  The default, mrsf-rounds, selects genes that follow the graph of the samples together. spec scores
  every gene by itself, and can give p-values.

    sfs rank expression.csv --method spec --out one-by-one

You have other measurements of the same samples, or gene sets.
  Give them as knowledge sources: see `sfs help sources`.

You want a short list without repetitions.
  Take mrsf, with labels --method mrsf --response lda; or prune any ranking with --max-correlation.
  (The default, mrsf-rounds, has the strong groups of correlated genes more than once.)

    sfs rank expression.csv --method mrsf --out short
    sfs rank expression.csv --method spec --max-correlation 0.8 --out pruned

You are not sure.
  Compare methods on your own data. `sfs methods` lists all of them with what they need.

    sfs compare expression.csv --method spec --method mrsf-rounds --out compared
    sfs methods mrsf
""",
    ),
    "counts": Topic(
        "What to do with counts of RNA-seq or single cells.",
        """\
Raw counts must be transformed: otherwise the largest genes and the deepest samples decide. sfs
warns of values that look like raw counts.

Bulk RNA-seq: counts per million, then logarithms, for a ranking without p-values.

    sfs rank counts.csv --transform cpm,log1p --out results

For p-values: Pearson residuals. Logarithms of few counts follow the depth of the samples, and where
classes or the sample graph follow it, too, genes without any difference get small p-values.

    sfs rank counts.csv --transform pearson-residuals --method f-test --labels labels.tsv:tissue \\
        --out tested

Single cells: leave out genes that hardly any cell has. Pearson residuals keep the size of a cell
out of the comparison. Your own neighbor graph or embedding can be used in place of a new one.

    sfs rank counts.csv --transform pearson-residuals --min-samples 5 --out residuals
    sfs rank cells.h5ad --similarity obsp:connectivities --out on-graph

Values that were transformed already (log2 intensities, logarithms of counts) need no --transform.
If you do not know what a file holds, look first:

    sfs inspect counts.csv
    sfs rank counts.csv --guide

Technical genes can be left out by their names:

    sfs rank counts.csv --transform cpm,log1p --exclude "^MT-" --exclude "^RP[SL]" --out clean
""",
    ),
    "sources": Topic(
        "How to use other knowledge: profiles, classes, gene sets.",
        """\
A knowledge source says which samples are similar: another measurement of the same samples, classes,
a tree of classes, genes that matter. sfs makes a similarity of each source, adds them up, and ranks
the genes by how well they follow the sum. Samples are matched by their ids.

    sfs rank expression.csv --method msfs --source own=target: \\
        --source mirna=profile:mirna.csv --out two

own=target: is the matrix itself. Leave it out, and the genes are ranked by the other source alone.

How much a source counts: @WEIGHT after it, or --weights. If you have labels, alignf gives no weight
to a source that says nothing about them.

    sfs rank expression.csv --method msfs --source own=target: \\
        --source mirna=profile:mirna.csv@2 --out weighted
    sfs rank expression.csv --method msfs --source own=target: \\
        --source mirna=profile:mirna.csv --weights alignf --labels labels.tsv:tissue --out learned

A pathway as a source: samples are similar when its genes are similar.

    sfs rank expression.csv --method msfs \\
        --source pathway=genes:pathways.gmt:SIMPATH03 --out pathway

The report shows what each source changed. A source that changes nothing adds nothing. The kinds of
sources and the ways of weighting them are listed at the end of `sfs methods`.
""",
    ),
    "clusters": Topic(
        "How to find genes that separate groups of samples.",
        """\
If you do not know the groups, the sample graph shows them: genes with a good score are alike in
samples that are similar. The report shows the groups that the graph suggests.

    sfs rank expression.csv --out results

phi3 of SPEC uses the leading K clusters of the graph alone, and ignores finer structure. Without
--clusters, K comes from the largest gap between the eigenvalues.

    sfs rank expression.csv --method spec --ranking phi3 --clusters 4 --out four

If you know the groups, give them as labels. The ranking says in which class each gene is highest.

    sfs rank expression.csv --method f-test --labels labels.tsv:tissue --out by-class

The first genes can be put into modules, genes that go up and down together:

    sfs rank expression.csv --modules --out modules

Groups may be batches. Compare them with what you know of the samples, and take the batch out with
--adjust, or rank within batches with --batch.

    sfs rank expression.csv --adjust labels.tsv:batch --out adjusted
""",
    ),
    "p-values": Topic(
        "When p-values can be had, and when they can be trusted.",
        """\
With classes, the F-test and the t-test have p-values and q-values (Benjamini and Hochberg) of their
own:

    sfs rank expression.csv --method f-test --labels labels.tsv:tissue --out by-class
    sfs select by-class --fdr 0.05

Scores on a sample graph get p-values with --pvalues. moments compares each gene with its own values
in all orders of the samples; it holds for skewed genes and counts. Raw counts need --transform
pearson-residuals for any test (sfs help counts).

    sfs rank expression.csv --method spec --pvalues moments --out tested

Beware: a graph that was made of the same genes follows each of them a little, so that even noise
seems to follow it. sfs warns of that. Two ways out: test on a graph that is made of something else,
or let --split make it of the other half of the genes.

    sfs rank expression.csv --method spec --pvalues moments --split features --out honest

A small p-value says that a gene follows the graph, not that the graph shows what you look for:
batches make graphs too. For methods without p-values, `sfs select --artificial` counts how many
shuffled genes would be as good, and --stability how often a gene is found on half of the samples.
""",
    ),
    "how-many": Topic(
        "How many genes of a ranking to take.",
        """\
A ranking has no end. `sfs select` cuts it by a rule that you choose beforehand:

    sfs rank expression.csv --method f-test --labels labels.tsv:tissue --out results

By the false discovery rate, where there are q-values:

    sfs select results --fdr 0.05

By shuffled genes that compete with the real ones, where the method uses labels, or a graph that was
not made of the genes. It ranks again:

    sfs select results --artificial --out chosen

By accuracy on unseen samples, with labels: the smallest number that is nearly as good as the best.

    sfs select results --cv --out by-accuracy

By a number, if you can follow up so many and no more; without genes that repeat a better one:

    sfs select results --top 50 --min-redundancy 0.7

How sure is the list? Rank half of the samples many times, and take the genes that keep coming back:

    sfs rank expression.csv --method spec --stability 50 --out stable
    sfs select stable --stable 0.75
""",
    ),
}
"""The topics in the order of the list."""


def listed() -> str:
    """Return the list of topics."""
    width = max(map(len, TOPICS)) + 2
    lines = [f"  {name:<{width}}{topic.title}" for name, topic in TOPICS.items()]
    return "\n".join(
        [
            "sfs help TOPIC:",
            *lines,
            "",
            "sfs help COMMAND shows the options of a command, such as `sfs help rank`.",
            "`sfs --help` lists the commands, `sfs methods` the methods.",
            "",
        ]
    )


def text_of(name: str) -> str:
    """Return a topic as it is printed."""
    topic = TOPICS[name]
    return f"{topic.title}\n\n{topic.text}"
