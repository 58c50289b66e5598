process SFS_EVALUATE {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(ranking, stageAs: 'ranked/*'), path(record, stageAs: 'ranked/*'), path(matrix), path(files)

    output:
    tuple val(meta), path("${prefix}/evaluation.tsv"), emit: evaluation
    tuple val(meta), path("${prefix}/folds.tsv"), emit: folds, optional: true
    tuple val(meta), path("${prefix}/verdicts.tsv"), emit: verdicts, optional: true
    tuple val(meta), path("${prefix}/enrichment.tsv"), emit: enrichment, optional: true
    tuple val(meta), path("${prefix}/run.json"), emit: record
    tuple val(meta), path("${prefix}/report.html"), emit: report
    tuple val(meta), path("${prefix}/page.json"), emit: page
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
    prefix = task.ext.prefix ?: "${meta.id}_evaluated"
    """
    sfs evaluate \\
        ${matrix} \\
        --list ${ranking} \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus} \\
        --out '${prefix}'
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}_evaluated"
    """
    mkdir '${prefix}'
    touch '${prefix}'/{evaluation.tsv,report.html,page.json,run.json,sfs_evaluation_mqc.json,sfs_general_mqc.json}
    """
}
