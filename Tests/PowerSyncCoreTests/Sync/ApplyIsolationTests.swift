import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// What readers of a file see while a transaction of the engine is open.
@Suite struct ApplyIsolationTests {
    private let rows = 2000

    /// A line with this many rows, beginning with a number.
    private func line(from first: Int) -> SyncLine {
        .data(.line("a", (first..<first + rows).map { .put(Int64($0), "\($0)") }))
    }

    /// Handles lines in one transaction, and lets a body look at the database before the commit.
    private func handle(
        _ engine: inout SyncEngine,
        _ events: [SyncEvent],
        on pool: DatabasePool,
        beforeCommit body: (Database) throws -> Void
    ) throws {
        var next = engine
        try pool.write { db in
            _ = try next.handle(events, in: db, now: SyncInstant(microseconds: 1))
            try body(db)
        }
        engine = next
    }

    @Test
    func readersNeitherWaitForACheckpointThatIsBeingAppliedNorSeeAPartOfIt() throws {
        let folder = try TemporaryFolder()
        var configuration = Configuration().forPowerSync()
        // A reader that would have to wait fails at once.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA busy_timeout = 0") }
        let pool = try DatabasePool(path: folder.url.appending(path: "a.db").path, configuration: configuration)
        try pool.write { db in
            try SystemTables.migrate(db)
            try ClientSchema(tables: [.items()]).apply(to: db)
        }
        let count = { (db: Database) in try Int.fetchOne(db, sql: "SELECT count(*) FROM items") }
        let snapshot = try pool.makeSnapshot()
        var engine = SyncEngine()
        let buckets = [BucketDescription.bucket("a", count: Int64(2 * rows))]
        let start = SyncStart(includeDefaultStreams: true)
        try handle(&engine, [.start(start), .streamOpened], on: pool) { _ in }
        let lines: [SyncLine] = [.checkpoint(Int64(2 * rows), buckets), line(from: 1), line(from: rows + 1), .done]
        try handle(&engine, lines.map { .line($0) }, on: pool) { db in
            let written = try count(db)
            // More than one, and one after the other: new reads begin.
            let seen = try (0..<8).map { _ in try pool.read(count) }
            #expect(written == 2 * rows)
            #expect(seen.allSatisfy { $0 == 0 })
        }
        #expect(try pool.read(count) == 2 * rows)
        #expect(try snapshot.read(count) == 0)
    }
}
