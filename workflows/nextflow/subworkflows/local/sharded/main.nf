include { SFS_SHARDINIT              } from '../../../modules/local/sfs/shardinit/main'
include { SFS_SHARDRUN as SFS_FIRST  } from '../../../modules/local/sfs/shardrun/main'
include { SFS_SHARDRUN as SFS_SECOND } from '../../../modules/local/sfs/shardrun/main'
include { SFS_SHARDMERGE             } from '../../../modules/local/sfs/shardmerge/main'

// A plan, two rounds of shards, the ranking. A round is a pass over the matrix, and most rankings
// have one or two; merge makes what is left of others.
workflow SHARDED {
    take:
    jobs // channel: [ val(meta), path(matrix), [ path(files) ] ]
    shards // integer

    main:
    SFS_SHARDINIT(jobs, shards)

    // [ meta, plan, matrix, files ]
    plans = SFS_SHARDINIT.out.plan.join(jobs)

    SFS_FIRST(
        plans.flatMap { meta, plan, matrix, files ->
            (1..shards).collect { shard -> [groupKey(meta, shards), plan, [], matrix, files, 1, shard] }
        }
    )
    first = SFS_FIRST.out.parts.groupTuple(sort: true).map { key, parts -> [key.target, parts] }

    SFS_SECOND(
        plans.join(first).flatMap { meta, plan, matrix, files, parts ->
            (1..shards).collect { shard -> [groupKey(meta, shards), plan, parts, matrix, files, 2, shard] }
        }
    )
    second = SFS_SECOND.out.parts.groupTuple(sort: true).map { key, parts -> [key.target, parts] }

    SFS_SHARDMERGE(
        plans.join(first).join(second).map { meta, plan, matrix, files, parts, after ->
            [meta, plan, parts + after, matrix, files]
        }
    )

    emit:
    ranking = SFS_SHARDMERGE.out.ranking // channel: [ val(meta), path(ranking) ]
    page    = SFS_SHARDMERGE.out.page // channel: [ val(meta), path(json) ]
    record  = SFS_SHARDMERGE.out.record // channel: [ val(meta), path(json) ]
    multiqc = SFS_SHARDMERGE.out.multiqc // channel: [ val(meta), [ path(json) ] ]
}
