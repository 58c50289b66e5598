process SFS_SHARDRUN {
    tag "${meta.id} round ${number} shard ${shard}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(plan), path(parts, stageAs: 'made/*'), val(number), val(shard)

    output:
    tuple val(meta), path("${prefix}"), emit: parts
    path "versions.yml"               , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    prefix = task.ext.prefix ?: "${meta.id}.round-${number}.shard-${shard}"
    """
    # a plan of links: no task writes into what another has made
    mkdir -p plan made
    for given in "\$PWD/${plan}" "\$PWD"/made/*; do
        [ ! -d "\$given" ] || cp -rs "\$given/." plan
    done

    sfs shard run \\
        plan \\
        ${shard} \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus}

    mkdir ${prefix}
    cd plan
    find parts -type f -name '*.npz' -exec cp --parents -t ../${prefix} {} +
    cd ..

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        sfs: \$(sfs --version | sed "s/.* //")
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}.round-${number}.shard-${shard}"
    """
    mkdir ${prefix}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        sfs: \$(sfs --version | sed "s/.* //")
    END_VERSIONS
    """
}
