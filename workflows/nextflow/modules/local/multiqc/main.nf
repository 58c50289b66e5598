process MULTIQC {
    tag "${meta.id}"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${workflow.containerEngine in ['singularity', 'apptainer'] ? 'https://community-cr-prod.seqera.io/docker/registry/v2/blobs/sha256/c8/c8e346f4f6080eadf1253505e6ff09ef004454fc18e8d672006fd7b222cc412e/data' : 'community.wave.seqera.io/library/multiqc:1.35--c17fb751507e9dfc'}"

    input:
    tuple val(meta), path(files, stageAs: 'in/?/*'), path(config)

    output:
    tuple val(meta), path("${prefix}_report.html"), emit: report
    tuple val(meta), path("${prefix}_report_data"), emit: data
    // not to the topic: this task waits for all that is there
    tuple val("${task.process}"), val('multiqc'), eval("multiqc --version | sed 's/.* //'"), emit: versions_multiqc

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    multiqc \\
        --strict \\
        --no-version-check \\
        --config ${config} \\
        ${args} \\
        --filename '${prefix}_report.html' \\
        in
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir '${prefix}_report_data'
    touch '${prefix}_report.html'
    """
}
