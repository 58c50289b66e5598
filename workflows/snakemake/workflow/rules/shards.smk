# Scatter and gather: a plan, a round of shards for each pass over the matrix, the ranking.
# In every round a shard makes what it can.


wildcard_constraints:
    name="[^/]+",
    number=r"\d+",
    shard=r"\d+",


checkpoint init:
    input:
        files_of,
    output:
        status=f"{WORK}/status.json",
    log:
        f"{LOGS}/init.log",
    conda:
        "../envs/sfs.yaml"
    threads: config["threads"]
    resources:
        mem_mb=config["mem_mb"],
    params:
        plan=subpath(output.status, parent=True),
        asked=asked_of,
        shards=shards_of,
    shell:
        "(sfs shard init {params.plan}/plan {params.asked} --shards {params.shards} --force"
        " --threads {threads} --memory {resources.mem_mib}M"
        " && sfs shard status {params.plan}/plan --json > {output.status}) 2> {log}"


rule run:
    input:
        needed_by_run,
    output:
        touch(SHARD),
    log:
        f"{LOGS}/round-{{number}}/{{shard}}.log",
    conda:
        "../envs/sfs.yaml"
    threads: config["threads"]
    resources:
        mem_mb=config["mem_mb"],
    params:
        plan=f"{WORK}/plan",
    shell:
        "sfs shard run {params.plan} {wildcards.shard}"
        " --threads {threads} --memory {resources.mem_mib}M 2> {log}"


rule merge:
    input:
        needed_by_merge,
    output:
        ranking=RANKING,
        report=report(
            f"{RANKED}/report.html",
            caption="../report/ranking.rst",
            category="Rankings",
            labels={"ranking": "{name}"},
        ),
        multiqc=f"{RANKED}/sfs_mqc.json",
    log:
        f"{LOGS}/merge.log",
    conda:
        "../envs/sfs.yaml"
    threads: config["threads"]
    resources:
        mem_mb=config["mem_mb"],
    params:
        plan=f"{WORK}/plan",
        out=subpath(output.ranking, parent=True),
    shell:
        "sfs shard merge {params.plan} --out {params.out} --finish --force"
        " --threads {threads} --memory {resources.mem_mib}M 2> {log}"
