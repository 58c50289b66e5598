process SFS_REPORT {
    tag "${meta.id}"
    label 'process_low'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(ranking), path(record), path(matrix), path(files)

    output:
    tuple val(meta), path("${prefix}/report.html"), emit: report
    tuple val("${task.process}"), val('sfs'), eval("sfs --version | sed 's/.* //'"), topic: versions, emit: versions_sfs

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    if (args =~ /(?<![\w-])--(memory|threads)(?![\w-])/) {
        error("${task.process}: ext.args has --memory or --threads, which follow memory and cpus of the process: set these")
    }
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    def given = matrix ? "--matrix ${matrix}" : ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    sfs report \\
        ${ranking} \\
        ${given} \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus} \\
        --out '${prefix}/report.html'
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir '${prefix}'
    touch '${prefix}/report.html'
    """
}
