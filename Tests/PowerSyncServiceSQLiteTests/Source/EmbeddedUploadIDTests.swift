import BackendTestSupport
import GRDB
import Logging
import PowerSyncUpload
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceSQLite

/// What holds for the ids of uploads also holds for `POST /dev/write`.
@Suite(.timeLimit(.minutes(5))) struct EmbeddedUploadIDTests {
    /// An embedded source, which lets everybody write everything.
    private struct Applier: IDApplier {
        let hasRule = false
        private let folder: TemporaryFolder
        private let source: EmbeddedSource

        init(_ table: SQLiteIDTable) throws {
            folder = try TemporaryFolder()
            source = try EmbeddedSource(
                path: folder.path("source.db"),
                schema: [table.sql],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func clear() async throws {
            try await source.pool.write { db in try db.execute(sql: "DELETE FROM items") }
        }

        func insert(_ id: String, note: String) async throws -> Bool {
            try await source.pool.write { db in try db.insertItem(id, note: note) }
        }

        func finds(_ id: String) async throws -> Bool {
            try await source.pool.read { db in try db.findsItem(id) }
        }

        func rows() async throws -> [IDRow] {
            try await source.pool.read { db in try db.items() }
        }

        func apply(_ entry: UploadEntry, as user: String) async throws -> (response: UploadResponse, shown: String?) {
            (try await source.apply(UploadRequest(clientID: nil, entries: [entry]), for: user), nil)
        }

        func close() throws { try source.close() }
    }

    @Test(arguments: SQLiteIDTable.all.one(in: 8))
    func anIDIsItsBytes(_ table: SQLiteIDTable) async throws {
        let applier = try Applier(table)
        var checks = IDChecks(applier)
        for spelling in IDSpelling.all.one(in: 5) { try await checks.check(spelling, place: table.sql) }
        #expect(
            checks.failures.isEmpty,
            "\(checks.failures.count): \(checks.failures.prefix(5).joined(separator: "\n"))"
        )
        try applier.close()
    }
}
