package import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// A source in memory, with keys of its own: `{type: model, tables: [lists], page_length: 2}`.
///
/// Each table has the columns `id`, `owner_id` and `name`.
package struct ModelSourceModule: SourceModule {
    package static let type = "model"
    package static let summary: String? = "rows in memory"
    package static let example = "{type: model, tables: [lists]}"
    package static func starter(tables: [String]) -> [String]? { nil }
    package static let schemaKeys: [SchemaObject.Key] = []
    package static let sharing = ModuleSharing.oneProcess("one process has a model in memory")

    package let tables: [String]
    /// The same for all copies of a configuration.
    package let source: ModelSource

    package init?(_ section: inout YAMLSection) {
        let tables = section.strings("tables", as: .name) ?? []
        let pageLength = section.integer("page_length", in: 1...100) ?? 3
        if tables.isEmpty { section.fail("tables", "missing; name the tables") }
        section.finish()
        guard !tables.isEmpty else { return nil }
        self.tables = tables
        source = ModelSource(pageLength: pageLength)
        for table in tables { source.alter(.create(table, columns: Self.columns)) }
    }

    package static func == (left: ModelSourceModule, right: ModelSourceModule) -> Bool { left.source === right.source }

    package var description: String { "model of \(tables.joined(separator: ", "))" }
    package var defaultSchema: String { "main" }
    package var handlePrefix: String { "model_" }
    package var files: [DatabaseFile] { [] }
    package var secrets: [String] { [] }
    package var host: String? { nil }
    package var configurationErrorCode: ServiceError.Code { .invalidConfiguration }
    package var isThere: Bool { true }

    package func open(_ context: ModuleContext) throws -> any ReplicationSource { source }

    package func checkOpening(_ context: ModuleContext) async throws {}

    package func check(
        _ plan: SyncPlan,
        text: (content: String, file: String)?,
        _ context: ModuleContext
    ) async throws -> SourceReport {
        let missing = plan.tablePatterns.map(\.table).filter { !tables.contains($0) }.sorted()
        let findings = missing.map { table in
            Finding(.warning, .source, "there is no table \(table)", remedy: "Add it.")
        }
        return SourceReport(source: description, serverVersion: "0.1", outcome: .checked(findings))
    }

    package var development: (any DevelopmentDatabase)? { nil }

    package func refusal(of pattern: TablePattern) -> String? {
        if pattern.hasSchemaWildcard {
            return "A model has one schema, and no pattern for schemas such as “\(pattern)”; write the table alone."
        }
        return pattern.isWildcard ? "A model has no patterns such as “\(pattern.table)”; name each table." : nil
    }

    package static let argumentForm = SourceArgumentForm(
        kind: "a model",
        form: "model:table,table",
        example: "model:lists"
    )

    /// Makes a source without rows of `model:lists,todos`.
    package init?(argument: String, like configured: (any SourceModule)?) throws {
        guard argument.hasPrefix("model:") else { return nil }
        tables = argument.dropFirst("model:".count).split(separator: ",").map(String.init)
        source = ModelSource(pageLength: 3)
        for table in tables { source.alter(.create(table, columns: Self.columns)) }
    }

    private static let columns = ["id", "owner_id", "name"]

    package var hasPassword: Bool { false }

    package func readTables(for plan: SyncPlan?) async throws -> SourceTables {
        let declared = tables.map { table in
            DeclaredTable(
                name: SourceTableName(schema: defaultSchema, name: table),
                columns: Self.columns.map { .init(name: $0, type: "text", isNotNull: $0 == "id") }
            )
        }
        return SourceTables(
            tables: declared,
            schema: SourceSchema(declared),
            owner: "The \(description)",
            remedy: "Add it."
        )
    }

    package func forEachRow(
        readBy plan: SyncPlan,
        _ body: @escaping @Sendable (SourceRow, SourceTableName) -> Void
    ) async throws {
        for table in try await source.tables(for: plan) {
            var reader = try await source.snapshot(of: table, after: nil)
            while let chunk = try await reader.next() {
                for row in chunk.rows { body(row, table.name) }
            }
        }
    }

    package func slots() async throws -> [SourceSlot]? {
        source.content.acknowledged.keys.sorted().map { name in
            SourceSlot(name: name, isActive: false, state: nil, retainedBytes: 0)
        }
    }
}
