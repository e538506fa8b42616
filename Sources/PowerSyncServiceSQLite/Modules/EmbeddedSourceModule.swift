import Foundation
import PowerSyncSQLite
public import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// The source in a SQLite file: ``EmbeddedSource``.
package struct EmbeddedSourceModule: SourceModule {
    /// The file.
    package let path: String
    /// Statements that make tables, run at each start unless their tables exist.
    package let statements: [String]

    /// Creates a module of a file, which need not be there.
    package init(path: String, statements: [String]) {
        self.path = path
        self.statements = statements
    }

    package static let type = "embedded"
    package static let summary: String? = "a SQLite file"
    package static let example = "{type: embedded, path: data/source.db}"
    package static func starter(tables: [String]) -> [String]? {
        ["type: \(type)", "path: data/source.db", "tables:"] + tables.map { "  - \($0)" }
    }

    package static let starterApplier: String? = "SQLiteUploadApplier"

    package static let schemaKeys: [SchemaObject.Key] = [
        .init("path", "The SQLite file; it is made if there is none.", .text),
        .init("tables", "CREATE statements; each start makes what the file does not have.", .oneOrMore(.text)),
        .init("schema", "As tables.", .oneOrMore(.text)),
    ]

    package static let sharing = ModuleSharing.oneProcess("one process uses an embedded source")

    package var description: String { "embedded source \(path)" }
    package var defaultSchema: String { "main" }
    package var handlePrefix: String { SQLiteBucketStorage.defaultHandlePrefix }
    package var files: [DatabaseFile] { [DatabaseFile(sqlite: path)] }
    package var secrets: [String] { [] }
    package var host: String? { nil }
    package var configurationErrorCode: ServiceError.Code { .dataFolder }
    package var isThere: Bool { FileManager.default.fileExists(atPath: path) }

    /// Where the path is in the configuration.
    private static let key = "replication.connections[0].path"

    package init?(_ section: inout YAMLSection) {
        let path = section.requiredPath("path")
        let statements = (section.strings("tables") ?? []) + (section.strings("schema") ?? [])
        section.finish()
        guard let path else { return nil }
        self.init(path: path, statements: statements)
    }

    // MARK: Opening

    package func open(_ context: ModuleContext) throws -> any ReplicationSource {
        try DataFolder(of: path, key: Self.key).create()
        return try EmbeddedSource(path: path, schema: statements, logger: context.logger)
    }

    package func checkOpening(_ context: ModuleContext) async throws {
        guard isThere else { return try await checkNewSource(context) }
        try await openOnce(context)
    }

    package func check(
        _ plan: SyncPlan,
        text: (content: String, file: String)?,
        _ context: ModuleContext
    ) async throws -> SourceReport {
        try await checkOpening(context)
        return SourceReport(source: "the embedded source \(path)", serverVersion: nil, outcome: .checked([]))
    }

    package var development: (any DevelopmentDatabase)? { EmbeddedDevelopmentDatabase(path: path) }

    package func refusal(of pattern: TablePattern) -> String? { nil }

    package func slots() async throws -> [SourceSlot]? { nil }

    // MARK: Commands

    package static let argumentForm = SourceArgumentForm(
        kind: "a SQLite file",
        form: "a SQLite file",
        example: "app.db"
    )

    package init?(argument: String, like configured: (any SourceModule)?) throws {
        guard FileManager.default.fileExists(atPath: argument) else { return nil }
        self.init(path: argument, statements: [])
    }

    package var hasPassword: Bool { false }

    package func readTables(for plan: SyncPlan?) async throws -> SourceTables {
        try await EmbeddedCatalogue(path: path, statements: statements).read()
    }

    package func forEachRow(
        readBy plan: SyncPlan,
        _ body: @escaping @Sendable (SourceRow, SourceTableName) -> Void
    ) async throws {
        try await EmbeddedCatalogue(path: path, statements: statements).forEachRow(readBy: plan, body)
    }

    // MARK: Opening for a check

    private func openOnce(_ context: ModuleContext) async throws {
        let source = try open(context)
        defer { try? source.close() }
        try await source.checkConfiguration()
    }

    /// Makes the tables in a temporary file.
    private func checkNewSource(_ context: ModuleContext) async throws {
        try DataFolder(of: path, key: Self.key).check()
        let folder = FileManager.default.temporaryDirectory.appending(path: "powersync-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let temporary = folder.appending(path: "source.db").path(percentEncoded: false)
        do {
            try await EmbeddedSourceModule(path: temporary, statements: statements).openOnce(context)
        } catch let error as ReplicationSourceError {
            throw ReplicationSourceError(
                error.code,
                error.message.replacing(temporary, with: path),
                catalogueCode: error.catalogueCode
            )
        }
    }
}

extension SourceConfiguration {
    /// A SQLite file that the service watches.
    ///
    /// - Parameters:
    ///   - path: The file. It and its folder are created when missing.
    ///   - statements: `CREATE TABLE` statements, each run at start unless its table exists.
    /// - Returns: The source.
    public static func embedded(path: String, statements: [String]) -> SourceConfiguration {
        SourceConfiguration(EmbeddedSourceModule(path: path, statements: statements))
    }
}
