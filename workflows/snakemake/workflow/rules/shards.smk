# Scatter and gather: a plan, rounds of shards, the ranking. In every round a shard makes what it
# can; merge makes what is left.


wildcard_constraints:
    name="[^/]+",
    number=r"\d+",
    shard=r"\d+",


rule init:
    input:
        files_of,
    output:
        plan=PLAN,
    log:
        f"{LOGS}/init.log",
    conda:
        "../envs/sfs.yaml"
    threads: config["threads"]
    resources:
        mem_mb=config["mem_mb"],
    params:
        work=subpath(output.plan, parent=True),
        asked=asked_of,
        shards=shards_of,
    shell:
        # what shards have made of the plan before this one is gone with it
        "(rm -rf {params.work:q}/round-*"
        " && sfs shard init {params.work:q}/plan {params.asked:q} --shards {params.shards} --force"
        " --threads {threads} --memory {resources.mem_mib}M"
        " && cp {params.work:q}/plan/plan.json {output.plan:q}) 2> {log:q}"


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
        "sfs shard run {params.plan:q} {wildcards.shard}"
        " --threads {threads} --memory {resources.mem_mib}M 2> {log:q}"


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
        multiqc=[f"{RANKED}/{file}" for file in FOR_MULTIQC],
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
        # some options are about the report alone, and leave the plan as it is
        asked=asked_of,
    shell:
        "sfs shard merge {params.plan:q} --out {params.out:q} --force"
        " --threads {threads} --memory {resources.mem_mib}M 2> {log:q}"
