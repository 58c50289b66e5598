// The sheet of rankings: what is wrong with it ends the pipeline before a task runs.

// Splits text at blanks that are not in quotes; nothing is run or expanded, and \ is a letter.
def wordsOf(text, place) {
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
        error("${place}: a quote ${quote} is not closed: ${text}")
    }
    if (word != null) {
        words << word
    }
    return words
}

// Joins words for the shell, which takes each as it is.
def quoted(words) {
    return words
        .collect { each -> each ==~ /[\w.,:=\/@%+-]+/ ? each : "'" + each.replace("'", "'\\''") + "'" }
        .join(' ')
}

// Ends the pipeline where the value of an option is none of those that sfs takes.
def checkValue(name, text, known, place) {
    // NAME,KEY=VALUE: a comma begins a parameter where KEY= follows
    def parts = known.parameters ? text.split(/,(?=[a-z][a-z0-9_-]*=)/, -1).toList() : [text]
    def value = parts[0]
    parts.drop(1).each { part ->
        def key = part.tokenize('=')[0].replace('_', '-')
        if (!(key in known.parameters)) {
            error("${place}: unknown parameter '${key}' of ${name}: give some of ${known.parameters.join(', ')}")
        }
    }
    if (known['enum'] && !(value in known['enum'].collect { each -> each.toString() })) {
        error("${place}: unknown value '${value}' of ${name}: give one of ${known['enum'].join(', ')}")
    }
    if (!known.type) {
        return
    }
    if (!value.isNumber() || (known.type == 'integer' && !value.isBigInteger())) {
        error("${place}: ${name} is a ${known.type == 'integer' ? 'whole ' : ''}number, not '${value}'")
    }
    def number = value.toBigDecimal()
    def low = known.minimum != null && number < known.minimum || known.exclusiveMinimum != null && number <= known.exclusiveMinimum
    def high = known.maximum != null && number > known.maximum || known.exclusiveMaximum != null && number >= known.exclusiveMaximum
    if (low || high) {
        error("${place}: ${name} ${value} is too ${low ? 'small' : 'large'}")
    }
}

// Returns options of a command of sfs, quoted for the shell; `known` says what it takes.
def optionsOf(text, command, known, place) {
    def words = wordsOf(text, place)
    def open = null // the option whose value comes next
    words.each { word ->
        if (open) {
            checkValue(open, word, known[open], place)
            open = null
            return
        }
        def name = word.startsWith('--') ? word.tokenize('=')[0] : word
        if (name in ['--memory', '--threads', '--shards', '--out', '--force', '--matrix', '--list', '--write-h5ad', '--write-matrix', '--figures', '--figure-format', '--dask']) {
            error("${place}: the pipeline gives ${name}, or hands on no such file: memory and cpus of the process, --shards and --outdir of the pipeline, and the name of the row say what it is")
        }
        if (command == 'shard init' && !name.startsWith('-')) {
            error("${place}: ${word} is no option; a ranking has one matrix: join several files by sfs convert A.h5ad B.h5ad JOINED.store first")
        }
        if (!known.containsKey(name)) {
            error("${place}: ${name} is no option of sfs ${command == 'shard init' ? 'rank in shards' : command}")
        }
        def value = word.startsWith('--') && word.contains('=') ? word.substring(name.size() + 1) : null
        if (known[name] == null && value != null) {
            error("${place}: ${name} takes no value")
        }
        if (known[name] != null) {
            if (value == null) {
                open = name
            }
            else {
                checkValue(name, value, known[name], place)
            }
        }
    }
    if (open) {
        error("${place}: ${open} needs a value")
    }
    return quoted(words)
}

// Returns a file of the sheet; a relative path starts at the folder of the sheet.
def found(text, sheet, place) {
    def path = text.startsWith('/') || text.contains('://') ? file(text, glob: false) : sheet.parent.resolve(text).normalize()
    if (!path.exists()) {
        error("${place}: there is no ${path}")
    }
    return path
}

// Returns the jobs of the sheet: maps of meta, matrix and files. `meta` has the options of each
// command that the row asks for, under the name of its column.
def jobsOf(sheet, known) {
    def commands = [options: 'shard init', fuse: 'fuse', select: 'select', evaluate: 'evaluate', report: 'report']
    def columns = ['name', 'matrix', 'options', 'files', 'fuse', 'select', 'evaluate', 'report']
    def lines = sheet.text.replaceFirst('^\uFEFF', '').readLines() // what Excel puts first
    def header = lines ? lines[0].split('\t', -1).toList() : []
    def unknown = header - columns
    if (!header.containsAll(['name', 'matrix']) || unknown || header.toUnique().size() < header.size()) {
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
        def meta = [id: row.name]
        commands.each { column, command ->
            meta[column] = optionsOf(row[column] ?: '', command, known[command], "${place}, ${column}")
        }
        if (meta.fuse && meta.options.contains('--similarity')) {
            error("${place}: fuse makes the similarity that the ranking uses: leave --similarity out of options")
        }
        def matrix = found(row.matrix, sheet, place)
        def files = wordsOf(row.files ?: '', "${place}, files").collect { text -> found(text, sheet, place) }
        def bases = [matrix.name] + files.collect { path -> path.name }
        if (bases.toUnique().size() < bases.size()) {
            error("${place}: two files have the same base name, and tasks see all of them in one folder: ${bases.join(', ')}")
        }
        if (row.name in bases) {
            error("${place}: ${row.name} is the name of a file, and of the folder of the results in its task")
        }
        jobs << [meta, matrix, files]
    }
    if (!jobs) {
        error("${sheet}: there are no rankings below its header")
    }
    return jobs
}

workflow SHEET {
    take:
    sheet // path
    takes // path: what options sfs takes, by command

    main:
    jobs = channel.fromList(jobsOf(sheet, new groovy.json.JsonSlurper().parse(takes)))

    emit:
    jobs // channel: [ val(meta), path(matrix), [ path(files) ] ]
}
