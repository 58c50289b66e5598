process SFS_SELECT {
    tag "${meta.id}"
    label 'process_low'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(ranking, stageAs: 'ranked/*'), path(record, stageAs: 'ranked/*'), path(matrix), path(files)

    output:
    tuple val(meta), path("${prefix}/selected.txt"), emit: selected
    tuple val(meta), path("${prefix}/selected.tsv"), emit: rows
    tuple val(meta), path("${prefix}/curve.tsv"), emit: curve, optional: true
    tuple val(meta), path("${prefix}/enrichment.tsv"), emit: enrichment, optional: true
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
    // what only reads the ranking refuses a matrix
    def reads = args =~ /(?<![\w-])--(cv)(?![\w-])/
    def given = matrix && reads ? "--matrix ${matrix}" : ''
    prefix = task.ext.prefix ?: "${meta.id}_selected"
    """
    sfs select \\
        ${ranking} \\
        ${given} \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus} \\
        --out '${prefix}'
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}_selected"
    """
    mkdir '${prefix}'
    touch '${prefix}'/{selected.txt,selected.tsv,run.json,sfs_selection_mqc.json,sfs_general_mqc.json}
    """
}
