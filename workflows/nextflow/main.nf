// Rankings of a sheet, each whole or in shards.

include { SFS_RANK                   } from './modules/local/sfs/rank/main'
include { SFS_SHARDINIT              } from './modules/local/sfs/shardinit/main'
include { SFS_SHARDRUN as SFS_FIRST  } from './modules/local/sfs/shardrun/main'
include { SFS_SHARDRUN as SFS_SECOND } from './modules/local/sfs/shardrun/main'
include { SFS_SHARDMERGE             } from './modules/local/sfs/shardmerge/main'

// A plan, two rounds of shards, the ranking. A round is a pass over the matrix, and most rankings
// have one or two; merge makes what is left of others.
workflow SHARDED {
    take:
    jobs // channel: [ val(meta), path(matrix), [ path(files) ] ]
    shards // integer

    main:
    SFS_SHARDINIT(jobs, shards)
    plans = SFS_SHARDINIT.out.plan
    numbers = channel.of(1..shards)

    SFS_FIRST(
        plans.combine(numbers).map { meta, plan, shard -> [meta, plan, [], 1, shard] }
    )
    first = SFS_FIRST.out.parts.groupTuple(size: shards, sort: true)

    SFS_SECOND(
        plans.join(first).combine(numbers).map { meta, plan, parts, shard ->
            [meta, plan, parts, 2, shard]
        }
    )
    second = SFS_SECOND.out.parts.groupTuple(size: shards, sort: true)

    SFS_SHARDMERGE(
        plans.join(first).join(second).map { meta, plan, before, after ->
            [meta, plan, before + after]
        }
    )

    emit:
    ranking = SFS_SHARDMERGE.out.ranking // channel: [ val(meta), path(ranking) ]
    multiqc = SFS_SHARDMERGE.out.multiqc // channel: [ val(meta), path(json) ]
    versions = SFS_SHARDMERGE.out.versions // channel: path(versions.yml)
}

workflow {
    main:
    jobs = channel.fromPath(params.input, checkIfExists: true)
        .splitCsv(header: true, sep: '\t')
        .map { row ->
            def names = (row.files ?: '').tokenize(' ')
            [
                [id: row.name, options: row.options ?: ''],
                file(row.matrix, checkIfExists: true),
                names.collect { name -> file(name, checkIfExists: true) },
            ]
        }

    if (params.shards > 1) {
        SHARDED(jobs, params.shards)
    }
    else {
        SFS_RANK(jobs)
    }
}
