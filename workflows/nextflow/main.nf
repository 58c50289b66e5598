// Rankings of a sheet, each whole or in shards.

include { SFS_RANK                   } from './modules/local/sfs/rank/main'
include { SFS_SHARDINIT              } from './modules/local/sfs/shardinit/main'
include { SFS_SHARDRUN as SFS_FIRST  } from './modules/local/sfs/shardrun/main'
include { SFS_SHARDRUN as SFS_SECOND } from './modules/local/sfs/shardrun/main'
include { SFS_SHARDMERGE             } from './modules/local/sfs/shardmerge/main'

// Splits options as a shell does, and quotes each word: nothing of a sheet is run by the shell.
def quoted(text, place) {
    def words = []
    def word = null
    def quote = ''
    text.each { letter ->
        if (quote) {
            if (letter == quote) {
                quote = ''
            }
            else {
                word += letter
            }
        }
        else if (letter == '"' || letter == "'") {
            quote = letter
            word = word ?: ''
        }
        else if (letter.trim()) {
            word = (word ?: '') + letter
        }
        else if (word != null) {
            words << word
            word = null
        }
    }
    if (quote) {
        error("${place}: a quote ${quote} of the options is not closed")
    }
    if (word != null) {
        words << word
    }
    return words
        .collect { each -> each ==~ /[\w.,:=\/@%+-]+/ ? each : "'" + each.replace("'", "'\\''") + "'" }
        .join(' ')
}

// Returns a file of the sheet; a relative path starts at the folder of the sheet.
def found(text, sheet, place) {
    def path = text.startsWith('/') || text.contains('://') ? file(text, glob: false) : sheet.parent.resolve(text).normalize()
    if (!path.exists()) {
        error("${place}: there is no ${path}")
    }
    return path
}

// Returns the jobs of the sheet, as the modules want them; what is wrong with it ends the pipeline.
def jobsOf(sheet) {
    def columns = ['name', 'matrix', 'options', 'files']
    def lines = sheet.text.replaceFirst('^\uFEFF', '').readLines() // what Excel puts first
    def header = lines ? lines[0].split('\t', -1).toList() : []
    def unknown = header - columns
    if (!header.containsAll(['name', 'matrix']) || unknown) {
        error("${sheet}: the columns are ${columns.join(', ')}, with tabs between; the first line is: ${header.join(', ')}")
    }
    def names = []
    def jobs = []
    lines.eachWithIndex { line, at ->
        if (at == 0 || !line.trim() || line.startsWith('#')) {
            return
        }
        def place = "${sheet}, line ${at + 1}"
        def cells = line.split('\t', -1).toList()
        if (cells.size() > header.size()) {
            error("${place}: ${cells.size()} cells under ${header.size()} columns")
        }
        def row = [header, cells].transpose().collectEntries { pair -> [pair[0], pair[1].trim()] }
        if (!(row.name ==~ /[A-Za-z0-9_][A-Za-z0-9._-]*/)) {
            error("${place}: the name '${row.name ?: ''}' is not made of letters, digits, dots, hyphens and underscores")
        }
        if (row.name in names) {
            error("${place}: the name '${row.name}' is there twice; the results would replace each other")
        }
        names << row.name
        if (!row.matrix) {
            error("${place}: there is no matrix")
        }
        def own = (row.options ?: '') =~ /(?<![\w-])--(memory|threads|shards|out|prefix)(?![\w-])/
        if (own) {
            error("${place}: the pipeline gives ${own[0][0]}: memory and cpus of the process, --shards and --outdir of the pipeline, and the name of the row say what it is")
        }
        def matrix = found(row.matrix, sheet, place)
        def files = (row.files ?: '').tokenize(' ').collect { text -> found(text, sheet, place) }
        def bases = [matrix.name] + files.collect { path -> path.name }
        if (bases.toUnique().size() < bases.size()) {
            error("${place}: two files have the same base name, and tasks see all of them in one folder: ${bases.join(', ')}")
        }
        jobs << [[id: row.name, args: quoted(row.options ?: '', place)], matrix, files]
    }
    if (!jobs) {
        error("${sheet}: there are no rankings below its header")
    }
    return jobs
}

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
    multiqc = SFS_SHARDMERGE.out.multiqc // channel: [ val(meta), path(json) ]
}

workflow {
    main:
    def unknown = params.keySet() - ['input', 'outdir', 'shards']
    if (unknown) {
        log.warn("parameters without effect: ${unknown.join(', ')}; there are input, outdir and shards")
    }
    def shards = params.shards.toString().isInteger() ? params.shards as Integer : 0
    if (shards < 1) {
        error("--shards ${params.shards} is not a whole number above zero")
    }
    jobs = channel.fromList(jobsOf(file(params.input, checkIfExists: true)))

    if (shards > 1) {
        SHARDED(jobs, shards)
    }
    else {
        SFS_RANK(jobs)
    }

    channel.topic('versions')
        .unique()
        .map { process, tool, version -> "${process}:\n    ${tool}: ${version}" }
        .collectFile(storeDir: "${params.outdir}/pipeline_info", name: 'versions.yml', newLine: true, sort: true)
}
