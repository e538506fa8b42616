import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Rows that the engine writes past GRDB are seen by its observers in the same commit.
@Suite(.timeLimit(.minutes(1))) struct SyncObservationTests {
    private func pool(in folder: TemporaryFolder) throws -> DatabasePool {
        let pool = try DatabasePool(path: folder.path("observed.db"), configuration: Configuration().forPowerSync())
        try pool.write { db in
            try SystemTables.migrate(db)
            try ClientSchema(tables: [.items()]).apply(to: db)
        }
        return pool
    }

    private func receive(_ lines: [SyncLine], _ engine: inout SyncEngine, _ pool: DatabasePool) throws {
        var next = engine
        try pool.write { db in
            _ = try next.handle(lines.map { .line($0) }, in: db, now: SyncInstant(microseconds: 1))
        }
        engine = next
    }

    @Test func viewObservationSeesSyncedRowsAndLocalWrites() async throws {
        let folder = try TemporaryFolder()
        let pool = try pool(in: folder)
        var engine = SyncEngine()
        try await pool.write { [engine] db in
            var next = engine
            _ = try next.handle([.start(SyncStart())], in: db, now: SyncInstant(microseconds: 1))
            return next
        }.assign(to: &engine)

        let observation = ValueObservation.tracking { db in
            try String.fetchAll(db, sql: "SELECT id FROM items ORDER BY id")
        }.removeDuplicates()
        var values = observation.values(in: pool).makeAsyncIterator()
        #expect(try await values.next() == [])

        try receive([.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done], &engine, pool)
        #expect(try await values.next() == ["x"])
        try receive([.diff(2), .ops("a", .put(2, "y"), .remove(2, "x")), .done], &engine, pool)
        #expect(try await values.next() == ["y"])
        try await pool.write { try $0.execute(sql: "INSERT INTO items (id) VALUES ('z')") }
        #expect(try await values.next() == ["y", "z"])
    }

    @Test func observersOfOtherTablesAreNotDisturbed() throws {
        let folder = try TemporaryFolder()
        let pool = try pool(in: folder)
        let observer = ChangeCounter(tables: ["ps_data__other", "ps_oplog", "ps_buckets_unrelated"])
        pool.add(transactionObserver: observer)
        var engine = SyncEngine()
        try pool.write { db in
            _ = try engine.handle([.start(SyncStart())], in: db, now: SyncInstant(microseconds: 1))
        }
        try receive([.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done], &engine, pool)
        #expect(observer.changes == 0)
    }

    @Test func everyTableThatAnApplyWritesToIsAnnounced() throws {
        var notes = ClientTable.items()
        notes.name = "notes"
        let scenario = try SyncScenario(.items(), notes)
        let observers = ["items", "notes"].map { ChangeCounter(tables: ["ps_data__\($0)"]) }
        for observer in observers { scenario.database.queue.add(transactionObserver: observer) }
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "x"), .put(2, "y", type: "notes")),
            .done
        )
        #expect(observers.allSatisfy { $0.changes > 0 })
    }

    /// Their triggers write to what nobody else sees.
    @Test func recordedChangesDisturbNoObserversOfOtherTables() throws {
        let scenario = try SyncScenario()
        try scenario.write { db in
            let definition = try TableDiffDefinition(table: .items(), columns: nil, conditions: [.insert: "TRUE"])
            try TableDiffRecording(definition, number: 1).create(db)
        }
        let observer = ChangeCounter(tables: ["ps_untyped"])
        scenario.database.queue.add(transactionObserver: observer)
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        #expect(try scenario.database.rows("SELECT id FROM temp.ps_diff_1") == ["x"])
        #expect(observer.changes == 0)
    }

    @Test func rowsWrittenByTriggersOfUsersAreAnnounced() async throws {
        let folder = try TemporaryFolder()
        let pool = try pool(in: folder)
        try await pool.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE mirror (id TEXT);
                    CREATE TRIGGER copy AFTER INSERT ON ps_data__items BEGIN INSERT INTO mirror VALUES (NEW.id); END;
                    """
            )
        }
        let observer = ChangeCounter(tables: ["mirror"])
        pool.add(transactionObserver: observer)
        var engine = SyncEngine()
        try await pool.write { [engine] db in
            var next = engine
            _ = try next.handle([.start(SyncStart())], in: db, now: SyncInstant(microseconds: 1))
            return next
        }.assign(to: &engine)
        try receive([.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done], &engine, pool)
        #expect(observer.changes > 0)
    }
}

extension SyncEngine {
    fileprivate func assign(to engine: inout SyncEngine) { engine = self }
}
