process SFS_SHARDMERGE {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(plan), path(parts, stageAs: 'made/*'), path(matrix), path(files)

    output:
    tuple val(meta), path("${prefix}/ranking.*"), emit: ranking
    tuple val(meta), path("${prefix}/{coefficients,enrichment,markers,module*,pairs}.tsv"), emit: tables, optional: true
    tuple val(meta), path("${prefix}/report.html"), emit: report
    tuple val(meta), path("${prefix}/page.json"), emit: page
    tuple val(meta), path("${prefix}/run.json"), emit: record
    tuple val(meta), path("${prefix}/sfs*_mqc.json"), emit: multiqc
    tuple val("${task.process}"), val('sfs'), eval("sfs --version | sed 's/.* //'"), topic: versions, emit: versions_sfs

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    if (args =~ /(?<![\w-])--(memory|threads)(?![\w-])/) {
        error("${task.process}: ext.args has --memory or --threads, which follow memory and cpus of the process: set these")
    }
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    # a plan of links: no task writes into what another has made
    mkdir -p work made
    for given in "\$PWD/${plan}" "\$PWD"/made/*; do
        [ ! -d "\$given" ] || cp -rs "\$given/." work
    done

    sfs shard merge \\
        work \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus} \\
        --out '${prefix}'
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    format=\$(sed -n 's/.*"format": "\\([a-z]*\\)".*/\\1/p' "${plan}/plan.json")
    mkdir '${prefix}'
    touch '${prefix}'/{ranking.\${format:-tsv},report.html,page.json,run.json,sfs_mqc.json,sfs_general_mqc.json}
    """
}
