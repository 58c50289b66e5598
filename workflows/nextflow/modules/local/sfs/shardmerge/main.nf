process SFS_SHARDMERGE {
    tag "${meta.id}"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"

    input:
    tuple val(meta), path(plan), path(parts, stageAs: 'made/*')

    output:
    tuple val(meta), path("${prefix}/ranking.*")   , emit: ranking
    tuple val(meta), path("${prefix}/report.html") , emit: report
    tuple val(meta), path("${prefix}/run.json")    , emit: record
    tuple val(meta), path("${prefix}/sfs_mqc.json"), emit: multiqc
    path "versions.yml"                            , emit: versions

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    # a plan of links: no task writes into what another has made
    mkdir -p plan made
    for given in "\$PWD/${plan}" "\$PWD"/made/*; do
        [ ! -d "\$given" ] || cp -rs "\$given/." plan
    done

    sfs shard merge \\
        plan \\
        --finish \\
        ${args} \\
        ${memory} \\
        --threads ${task.cpus} \\
        --out ${prefix}

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        sfs: \$(sfs --version | sed "s/.* //")
    END_VERSIONS
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir -p ${prefix}
    touch ${prefix}/ranking.tsv ${prefix}/report.html ${prefix}/run.json ${prefix}/sfs_mqc.json

    cat <<-END_VERSIONS > versions.yml
    "${task.process}":
        sfs: \$(sfs --version | sed "s/.* //")
    END_VERSIONS
    """
}
