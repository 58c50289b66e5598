process SFS_RANK {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(matrix), path(files)

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
    sfs rank \\
        ${matrix} \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus} \\
        --out '${prefix}'
    """

    stub:
    def args = task.ext.args ?: ''
    def asked = args =~ /--format['"]?[ =]['"]?(\w+)/
    def format = asked ? asked[0][1] : 'tsv'
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir '${prefix}'
    touch '${prefix}'/{ranking.${format},report.html,page.json,run.json,sfs_mqc.json,sfs_general_mqc.json}
    """
}
