import PowerSyncSyncConfig
import ServiceTestSupport

@testable import PowerSyncServiceCore

/// A source in memory, with keys of its own: `{type: model, tables: [lists], page_length: 2}`.
///
/// Each table has the columns `id`, `owner_id` and `name`.
struct ModelSourceModule: SourceModule {
    static let type = "model"
    static let summary: String? = "rows in memory"
    static let example = "{type: model, tables: [lists]}"
    static func starter(tables: [String]) -> [String]? { nil }
    static let sharing = ModuleSharing.oneProcess("one process has a model in memory")

    let tables: [String]
    /// The same for all copies of a configuration.
    let source: ModelSource

    init?(_ section: inout YAMLSection) {
        let tables = section.strings("tables", as: .name) ?? []
        let pageLength = section.integer("page_length", in: 1...100) ?? 3
        if tables.isEmpty { section.fail("tables", "missing; name the tables") }
        section.finish()
        guard !tables.isEmpty else { return nil }
        self.tables = tables
        source = ModelSource(pageLength: pageLength)
        for table in tables { source.alter(.create(table, columns: ["id", "owner_id", "name"])) }
    }

    static func == (left: ModelSourceModule, right: ModelSourceModule) -> Bool { left.source === right.source }

    var description: String { "model of \(tables.joined(separator: ", "))" }
    var defaultSchema: String { "main" }
    var handlePrefix: String { "model_" }
    var files: [DatabaseFile] { [] }
    var secrets: [String] { [] }
    var host: String? { nil }
    var configurationErrorCode: ServiceError.Code { .invalidConfiguration }
    var isThere: Bool { true }

    func open(_ context: ModuleContext) throws -> any ReplicationSource { source }

    func checkOpening(_ context: ModuleContext) async throws {}

    func check(
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

    var development: (any DevelopmentDatabase)? { nil }

    func refusal(of pattern: TablePattern) -> String? {
        pattern.isWildcard ? "A model has no patterns such as “\(pattern.table)”; name each table." : nil
    }

    func slots() async throws -> [SourceSlot]? {
        source.content.acknowledged.keys.sorted().map { name in
            SourceSlot(name: name, isActive: false, state: nil, retainedBytes: 0)
        }
    }
}
