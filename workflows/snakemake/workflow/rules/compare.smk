# What several rankings have in common: cohorts by one method, or methods on one cohort.


rule compare:
    input:
        rankings_of,
    output:
        ranking=f"{COMPARED}/ranking.tsv",
        report=report(
            f"{COMPARED}/report.html",
            caption="../report/compared.rst",
            category="Comparisons",
            labels={"group": "{group}"},
        ),
        multiqc=f"{COMPARED}/sfs_mqc.json",
    log:
        f"{RESULTS}/logs/compare/{{group}}.log",
    conda:
        "../envs/sfs.yaml"
    resources:
        mem_mb=config["mem_mb"],
    params:
        out=subpath(output.ranking, parent=True),
    shell:
        "sfs aggregate {input:q} --out {params.out:q} --force 2> {log:q}"


rule multiqc:
    input:
        expand(f"{RANKED}/sfs_mqc.json", name=jobs.index),
        expand(f"{COMPARED}/sfs_mqc.json", group=groups),
    output:
        report(MULTIQC, caption="../report/multiqc.rst", category="Overview"),
    log:
        f"{RESULTS}/logs/multiqc.log",
    conda:
        "../envs/multiqc.yaml"
    resources:
        mem_mb=config["mem_mb"],
    params:
        out=subpath(output[0], parent=True),
    shell:
        "multiqc --strict --no-version-check --force --outdir {params.out:q} {input:q} 2> {log:q}"
