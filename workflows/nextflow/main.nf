#!/usr/bin/env nextflow
// Rankings of a sheet, each whole or in shards, with selections, evaluations and pages.

include { paramsSummaryLog   } from 'plugin/nf-schema'
include { validateParameters } from 'plugin/nf-schema'
include { RANKINGS           } from './workflows/sfs'
include { SHEET              } from './subworkflows/local/sheet/main'

workflow {
    main:
    validateParameters()
    log.info(paramsSummaryLog(workflow))
    SHEET(
        file(params.input, checkIfExists: true),
        file("${projectDir}/assets/schema_options.json"),
    )
    RANKINGS(
        SHEET.out.jobs,
        params.shards as Integer,
        params.outdir,
        file(params.multiqc_config ?: "${projectDir}/assets/multiqc_config.yml", checkIfExists: true),
        params.skip_multiqc,
    )
}
