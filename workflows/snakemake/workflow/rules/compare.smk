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
        multiqc=[f"{COMPARED}/{file}" for file in FOR_MULTIQC],
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
        expand(f"{RANKED}/{{file}}", name=jobs.index, file=FOR_MULTIQC),
        expand(f"{COMPARED}/{{file}}", group=groups, file=FOR_MULTIQC),
    output:
        report(MULTIQC, caption="../report/multiqc.rst", category="Overview"),
    log:
        f"{RESULTS}/logs/multiqc.log",
    conda:
        "../envs/multiqc.yaml"
    container:
        config["multiqc_container"]
    resources:
        mem_mb=config["mem_mb"],
    params:
        out=subpath(output[0], parent=True),
    shell:
        "multiqc --strict --no-version-check --force --outdir {params.out:q} {input:q} 2> {log:q}"
