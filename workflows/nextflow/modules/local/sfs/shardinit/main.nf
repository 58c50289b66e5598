process SFS_SHARDINIT {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(matrix), path(files)
    val shards

    output:
    tuple val(meta), path("${prefix}.plan"), emit: plan
    path "versions.yml"                    , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    sfs shard init \\
        ${prefix}.plan \\
        ${matrix} \\
        ${args} \\
        --shards ${shards} \\
        ${memory} \\
        --threads ${task.cpus}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        sfs: \$(sfs --version | sed "s/.* //")
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir -p ${prefix}.plan/parts
    touch ${prefix}.plan/plan.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        sfs: \$(sfs --version | sed "s/.* //")
    END_VERSIONS
    """
}
