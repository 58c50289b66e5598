include { SFS_SHARDINIT              } from '../../../modules/local/sfs/shardinit/main'
include { SFS_SHARDRUN as SFS_FIRST  } from '../../../modules/local/sfs/shardrun/main'
include { SFS_SHARDRUN as SFS_SECOND } from '../../../modules/local/sfs/shardrun/main'
include { SFS_SHARDMERGE             } from '../../../modules/local/sfs/shardmerge/main'

// A plan, two rounds of shards, the ranking. A round is a pass over the matrix, and most rankings
// have one or two; merge makes what is left of others. Shards without a part have no task.
workflow SHARDED {
    take:
    jobs // channel: [ val(meta), path(matrix), [ path(files) ] ]
    shards // integer

    main:
    SFS_SHARDINIT(jobs, shards)

    // [ meta, plan, shards with parts, passes, matrix, files ]
    plans = SFS_SHARDINIT.out.plan
        .join(SFS_SHARDINIT.out.status)
        .map { meta, plan, status ->
            def known = new groovy.json.JsonSlurper().parseText(status.text)
            [meta, plan, known.passes[0].missing, known.passes_expected ?: 2]
        }
        .join(jobs)

    SFS_FIRST(
        plans.flatMap { meta, plan, missing, _passes, matrix, files ->
            missing.collect { shard -> [groupKey(meta, missing.size()), plan, [], matrix, files, 1, shard] }
        }
    )
    first = SFS_FIRST.out.parts.groupTuple(sort: true).map { key, parts -> [key.target, parts] }

    again = plans.join(first).branch { _meta, _plan, _missing, passes, _matrix, _files, _parts ->
        more: passes > 1
        done: true
    }
    SFS_SECOND(
        again.more.flatMap { meta, plan, missing, _passes, matrix, files, parts ->
            missing.collect { shard -> [groupKey(meta, missing.size()), plan, parts, matrix, files, 2, shard] }
        }
    )
    second = SFS_SECOND.out.parts.groupTuple(sort: true).map { key, parts -> [key.target, parts] }

    SFS_SHARDMERGE(
        again.done
            .map { meta, plan, _missing, _passes, matrix, files, parts -> [meta, plan, parts, matrix, files] }
            .mix(
                again.more.join(second).map { meta, plan, _missing, _passes, matrix, files, parts, after ->
                    [meta, plan, parts + after, matrix, files]
                }
            )
    )

    emit:
    ranking = SFS_SHARDMERGE.out.ranking // channel: [ val(meta), path(ranking) ]
    record  = SFS_SHARDMERGE.out.record // channel: [ val(meta), path(json) ]
    multiqc = SFS_SHARDMERGE.out.multiqc // channel: [ val(meta), [ path(json) ] ]
}
