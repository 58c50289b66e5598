// Rankings, and what rows of the sheet ask for beside them.

include { MULTIQC      } from '../modules/local/multiqc/main'
include { SFS_EVALUATE } from '../modules/local/sfs/evaluate/main'
include { SFS_FUSE     } from '../modules/local/sfs/fuse/main'
include { SFS_RANK     } from '../modules/local/sfs/rank/main'
include { SFS_REPORT   } from '../modules/local/sfs/report/main'
include { SFS_SELECT   } from '../modules/local/sfs/select/main'
include { SHARDED      } from '../subworkflows/local/sharded/main'

workflow RANKINGS {
    take:
    jobs // channel: [ val(meta), path(matrix), [ path(files) ] ]
    shards // integer; with 1 a ranking is one task
    outdir // string
    multiqc_config // path
    skip_multiqc // boolean

    main:
    // the similarity of a row that fuses sources is one more file of its ranking
    rows = jobs.branch { meta, _matrix, _files ->
        fused: meta.fuse
        plain: true
    }
    SFS_FUSE(rows.fused)
    ready = rows.plain.mix(
        rows.fused
            .join(SFS_FUSE.out.similarity)
            .map { meta, matrix, files, similarity -> [meta, matrix, files + [similarity]] }
    )

    if (shards > 1) {
        SHARDED(ready, shards)
        ranking = SHARDED.out.ranking
        shown = SHARDED.out.page
        record = SHARDED.out.record
        multiqc = SHARDED.out.multiqc
    }
    else {
        SFS_RANK(ready)
        ranking = SFS_RANK.out.ranking
        shown = SFS_RANK.out.page
        record = SFS_RANK.out.record
        multiqc = SFS_RANK.out.multiqc
    }

    // [ meta, ranking, record, matrix, files ]
    ranked = ranking.join(record).join(ready)
    SFS_SELECT(ranked.filter { row -> row[0].select })
    SFS_EVALUATE(ranked.filter { row -> row[0].evaluate })
    multiqc = multiqc.mix(SFS_SELECT.out.multiqc, SFS_EVALUATE.out.multiqc)

    // [ meta, ranking, page.json, files ]
    pages = ranking.join(shown).join(ready.map { meta, _matrix, files -> [meta, files] })
    SFS_REPORT(pages.filter { row -> row[0].report })

    versions = channel.topic('versions')
        .unique()
        .map { process, tool, version -> "${process.tokenize(':')[-1]}:\n    ${tool}: ${version}" }
        .unique()
        .collectFile(storeDir: "${outdir}/pipeline_info", name: 'sfs_software_mqc_versions.yml', newLine: true, sort: true)

    page = channel.empty()
    if (!skip_multiqc) {
        MULTIQC(
            multiqc
                .map { _meta, json -> json }
                .mix(versions)
                .collect(sort: { path -> "${path.parent.name}/${path.name}" })
                .map { files -> [[id: 'multiqc'], files, multiqc_config] }
        )
        page = MULTIQC.out.report
    }

    emit:
    ranking // channel: [ val(meta), path(ranking) ]
    page // channel: [ val(meta), path(html) ]
}
