process SFS_SHARDINIT {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(matrix), path(files)
    val shards

    output:
    tuple val(meta), path("${prefix}.plan"), emit: plan
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
    sfs shard init \\
        '${prefix}.plan' \\
        ${matrix} \\
        ${args} \\
        --shards ${shards} \\
        ${memory} \\
        --threads ${task.cpus}
    """

    stub:
    def args = task.ext.args ?: ''
    def asked = args =~ /--format['"]?[ =]['"]?(\w+)/
    def format = asked ? asked[0][1] : 'tsv'
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir -p '${prefix}.plan/parts'
    echo '{"format": "${format}"}' > '${prefix}.plan/plan.json'
    """
}
