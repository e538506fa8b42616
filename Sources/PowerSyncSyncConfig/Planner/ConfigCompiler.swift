/// Compiles a config as a whole: its common table expressions, streams, bucket definitions and events.
struct ConfigCompiler {
    /// Reads the file and keeps the findings.
    private(set) var reader: ConfigReader
    /// What is known about the source.
    private let schema: SourceSchema?
    /// Why the source cannot do a pattern of tables.
    private let patternRefusal: SyncConfig.PatternRefusal?
    /// The offset of the first bucket definition of the file.
    private(set) var firstDefinition: Int?
    private var sources = SQLSources()
    private var builder = PlanBuilder()

    /// Creates a compiler for one file.
    init(reader: ConfigReader, schema: SourceSchema?, patternRefusal: SyncConfig.PatternRefusal? = nil) {
        self.reader = reader
        self.schema = schema
        self.patternRefusal = patternRefusal
    }

    /// The plan of a config; incomplete when there are errors.
    mutating func compile(_ yaml: String) -> SyncPlan {
        let document = reader.read(yaml)
        let settings = document.settings
        let options = BindingOptions(
            edition: settings.edition,
            hasFixedJSONExtract: settings.isOn(.fixedJSONExtract),
            schema: schema,
            patternRefusal: patternRefusal
        )
        let compiler = QueryCompiler(options: options)
        let globals = compile(document.commonTables, compiler)
        var usedGlobals: Set<String> = []
        for stream in document.streams {
            usedGlobals.formUnion(compile(stream, globals: globals, compiler))
        }
        warnAboutUnused(document.commonTables, used: usedGlobals)
        firstDefinition = document.definitions.map(\.nameRange.lowerBound).min()
        for definition in document.definitions { compile(definition, options) }
        for event in document.events {
            for query in event.payloads { compile(query, of: event.event, options) }
        }
        return builder.build(valueOptions: settings.valueOptions)
    }

    private mutating func report(_ problems: [SQLProblem]) {
        for problem in problems {
            let range = sources.fileRange(of: problem.range)
            reader.diagnostics.report(
                problem.code,
                problem.message,
                hint: problem.hint,
                at: range,
                severity: problem.severity
            )
        }
    }
}

// MARK: - Streams

extension ConfigCompiler {
    /// Compiles a stream.
    ///
    /// - Returns: The global common table expressions that it uses.
    private mutating func compile(
        _ stream: StreamDefinition,
        globals: [String: CommonTable],
        _ compiler: QueryCompiler
    ) -> Set<String> {
        var compiler = compiler
        compiler.acceptsDangerousParameters = stream.acceptsDangerousQueries
        compiler.isSubscribedByDefault = stream.isSubscribedByDefault
        let locals = compile(stream.commonTables, compiler)
        let tables = globals.merging(locals) { _, local in local }
        var used: Set<String> = []
        var variants: [PlannedVariant] = []
        for query in stream.queries {
            let text = sources.add(query.text, at: query.source)
            let result = compiler.compile(text, in: sources, commonTables: tables)
            report(result.problems)
            used.formUnion(result.usedCommonTables)
            variants += result.variants
        }
        warnAboutUnused(stream.commonTables, used: used)
        let count = builder.addStream(
            name: stream.name,
            isSubscribedByDefault: stream.isSubscribedByDefault,
            priority: stream.priority,
            variants: variants
        )
        if count > PlanBuilder.maximumQueriers {
            reader.diagnostics.report(
                .streamTooManyBuckets,
                """
                Stream “\(stream.name)” has \(count) different ways to buckets, more than \(PlanBuilder.maximumQueriers).
                """,
                hint: "Split it.",
                at: stream.nameRange
            )
        }
        return used.subtracting(locals.keys)
    }

    private mutating func compile(
        _ tables: [CommonTableDefinition],
        _ compiler: QueryCompiler
    ) -> [String: CommonTable] {
        var compiled: [String: CommonTable] = [:]
        for table in tables {
            let text = sources.add(table.query.text, at: table.query.source)
            let (result, problems) = compiler.compileCommonTable(text, in: sources)
            report(problems)
            compiled[table.key] = result
            if let schema, schema.tables.contains(where: { $0.name.name.lowercased() == table.key }) {
                reader.diagnostics.report(
                    .cteShadowsTable,
                    "The source has a table “\(table.name)”, which queries cannot reach without its schema.",
                    at: table.nameRange
                )
            }
        }
        return compiled
    }

    private mutating func warnAboutUnused(_ tables: [CommonTableDefinition], used: Set<String>) {
        for table in tables where !used.contains(table.key) {
            reader.diagnostics.report(.cteUnused, "No query uses “\(table.name)”.", at: table.nameRange)
        }
    }
}

// MARK: - Bucket definitions and events

extension ConfigCompiler {
    private mutating func compile(_ definition: LegacyDefinition, _ options: BindingOptions) {
        let parameters = definition.parameters.map { queries in queries.map { sources.add($0.text, at: $0.source) } }
        let data = definition.data.map { sources.add($0.text, at: $0.source) }
        var compiler = DefinitionCompiler(options: options, sources: sources)
        let planned = compiler.compile(definition, parameters: parameters, data: data)
        report(compiler.problems)
        if !reader.diagnostics.hasErrors { builder.addDefinition(planned) }
    }

    private mutating func compile(_ query: ConfigQuery, of event: ParameterIndex.Event?, _ options: BindingOptions) {
        let text = sources.add(query.text, at: query.source)
        var compiler = EventQueryCompiler(options: options, sources: sources)
        let index = compiler.compile(text, of: event)
        report(compiler.problems)
        if let index { builder.addEvent(index) }
    }
}
