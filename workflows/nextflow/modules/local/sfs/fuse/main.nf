process SFS_FUSE {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(matrix), path(files)

    output:
    tuple val(meta), path("${prefix}.npz"), emit: similarity
    tuple val(meta), path("${prefix}.npz.run.json"), emit: record
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
    sfs fuse \\
        ${matrix} \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus} \\
        --out '${prefix}.npz'
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch '${prefix}.npz' '${prefix}.npz.run.json'
    """
}
