process SFS_SHARDRUN {
    tag "${meta.id} round ${number} shard ${shard}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "docker.io/biocontainers/sfs-cli:1.0.0"

    input:
    tuple val(meta), path(plan), path(parts, stageAs: 'made/*'), path(matrix), path(files), val(number), val(shard)

    output:
    tuple val(meta), path("${prefix}"), emit: parts
    tuple val("${task.process}"), val('sfs'), eval("sfs --version | sed 's/.* //'"), topic: versions, emit: versions_sfs

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    if (args =~ /(?<![\w-])--(memory|threads)(?![\w-])/) {
        error("${task.process}: ext.args has --memory or --threads, which follow memory and cpus of the process: set these")
    }
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    prefix = task.ext.prefix ?: "${meta.id}.round-${number}.shard-${shard}"
    """
    # a plan of links: no task writes into what another has made
    mkdir -p work made
    for given in "\$PWD/${plan}" "\$PWD"/made/*; do
        [ ! -d "\$given" ] || cp -rs "\$given/." work
    done

    sfs shard run \\
        work \\
        ${shard} \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus}

    mkdir '${prefix}'
    (cd work; find parts -type f -name '*.npz' -exec cp --parents -t '../${prefix}' {} +)
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}.round-${number}.shard-${shard}"
    """
    mkdir '${prefix}'
    """
}
