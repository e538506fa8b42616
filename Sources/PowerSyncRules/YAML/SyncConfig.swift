/// The sync config file (docs/sync-config.md "The file").
///
/// ```swift
/// let result = SyncConfig.parse(text)
/// for diagnostic in result.diagnostics { print(diagnostic.formatted(file: "sync.yaml")) }
/// guard let plan = result.plan else { return }
/// ```
package enum SyncConfig {
    /// Reads and compiles a sync config.
    ///
    /// Compilation needs no schema of the source.
    ///
    /// - Parameter yaml: The text of the file.
    /// - Returns: All findings in the order of the file, and the plan if none of them is an error.
    package static func parse(_ yaml: String) -> SyncConfigResult {
        var reader = ConfigReader(source: SourceText(yaml))
        var builder = PlanBuilder()
        for stream in reader.read(yaml) {
            compile(stream, into: &builder, reportingTo: &reader)
        }
        return SyncConfigResult(
            plan: reader.diagnostics.hasErrors ? nil : builder.build(),
            diagnostics: reader.diagnostics.sorted
        )
    }

    private static func compile(
        _ stream: StreamDefinition,
        into builder: inout PlanBuilder,
        reportingTo reader: inout ConfigReader
    ) {
        let options = QueryCompiler.Options(acceptsDangerousParameters: stream.acceptsDangerousQueries)
        var variants: [PlannedVariant] = []
        for query in stream.queries {
            let result = QueryCompiler.compile(query.text, options: options)
            for problem in result.problems {
                reader.report(problem.code, problem.message, at: query.source.fileRange(of: problem.range))
            }
            variants += result.variants
        }
        let count = builder.addStream(
            name: stream.name,
            isSubscribedByDefault: stream.isSubscribedByDefault,
            priority: stream.priority,
            variants: variants
        )
        if count > PlanBuilder.maximumQueriers {
            reader.report(
                .streamTooManyBuckets,
                """
                Stream “\(stream.name)” has \(count) different ways to buckets, more than \(PlanBuilder.maximumQueriers); \
                split it.
                """,
                at: stream.nameRange
            )
        }
    }
}

/// The result of compiling a sync config.
package struct SyncConfigResult: Sendable {
    /// The compiled config; `nil` when there are errors.
    package let plan: SyncPlan?
    /// All findings in the order of the file.
    package let diagnostics: [ConfigDiagnostic]

    /// Whether the config can be deployed: it has no errors.
    package var isUsable: Bool { plan != nil }
}
