/// The sync config file (docs/sync-config.md "The file").
///
/// ```swift
/// let result = SyncConfig.parse(text)
/// for diagnostic in result.diagnostics { print(diagnostic.formatted(file: "sync.yaml")) }
/// guard let plan = result.plan else { return }
/// ```
package enum SyncConfig {
    /// Why a source cannot replicate the tables of a pattern, as one sentence; `nil` when it can.
    package typealias PatternRefusal = @Sendable (TablePattern) -> String?

    /// Reads and compiles a sync config.
    ///
    /// - Parameters:
    ///   - yaml: The text of the file.
    ///   - schema: What is known about the source. It adds warnings; the plan does not depend on it.
    ///   - patternRefusal: What the source cannot do, which is an error with code `PSYNC_R2201`.
    /// - Returns: All findings in the order of the file, and the plan if none of them is an error.
    package static func parse(
        _ yaml: String,
        schema: SourceSchema? = nil,
        patternRefusal: PatternRefusal? = nil
    ) -> SyncConfigResult {
        var compiler = ConfigCompiler(
            reader: ConfigReader(source: SourceText(yaml)),
            schema: schema,
            patternRefusal: patternRefusal
        )
        let plan = compiler.compile(yaml)
        return SyncConfigResult(
            plan: compiler.reader.diagnostics.hasErrors ? nil : plan,
            diagnostics: compiler.reader.diagnostics.sorted,
            firstDefinition: compiler.firstDefinition.map { compiler.reader.diagnostics.source.position(of: $0) }
        )
    }
}

/// The result of compiling a sync config.
package struct SyncConfigResult: Sendable {
    /// The compiled config; `nil` when there are errors.
    package let plan: SyncPlan?
    /// All findings in the order of the file.
    package let diagnostics: [ConfigDiagnostic]
    /// Where the first bucket definition is, line and column from 1; `nil` when there are only streams.
    package let firstDefinition: (line: Int, column: Int)?

    /// Whether the config can be deployed: it has no errors.
    package var isUsable: Bool { plan != nil }
}
