import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// What GRDB's observers see of writes through views.
@Suite(.timeLimit(.minutes(1))) struct ObservationTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    enum Writer: CaseIterable {
        case queue, pool
    }

    private func open(_ writer: Writer) throws -> any DatabaseWriter {
        let configuration = Configuration().forPowerSync()
        let opened: any DatabaseWriter =
            switch writer {
            case .queue: try DatabaseQueue(configuration: configuration)
            case .pool: try DatabasePool(path: folder.path("test.db"), configuration: configuration)
            }
        try opened.write { db in
            try SystemTables.migrate(db)
            try ClientSchema(tables: [.items()]).apply(to: db)
        }
        return opened
    }

    /// One expected value of an observation, and what is done once it was delivered.
    private struct Step<Value: Equatable & Sendable> {
        let value: Value
        let action: @Sendable (Database) throws -> Void
    }

    /// Waits for each step's value, then writes.
    private func follow<Value>(
        _ observation: ValueObservation<ValueReducers.Fetch<Value>>,
        in database: any DatabaseWriter,
        _ steps: [Step<Value>]
    ) async throws {
        var remaining = steps[...]
        for try await value in observation.values(in: database) {
            guard let step = remaining.first else { return }
            // A pool may deliver a value twice at the start.
            guard value == step.value else { continue }
            remaining.removeFirst()
            if remaining.isEmpty { return }
            try await database.writeWithoutTransaction { db in
                try step.action(db)
            }
        }
        Issue.record("the observation ended before \(remaining)")
    }

    @Test(arguments: Writer.allCases)
    func viewObserversSeeTriggerWrites(writer: Writer) async throws {
        let observation = ValueObservation.tracking {
            try String.fetchAll($0, sql: "SELECT col FROM items ORDER BY col")
        }
        try await follow(
            observation,
            in: open(writer),
            [
                Step(value: []) { try $0.execute(sql: "INSERT INTO items(id, col) VALUES ('a', '1'), ('b', '2')") },
                Step(value: ["1", "2"]) { try $0.execute(sql: "UPDATE items SET col = '3' WHERE id = 'a'") },
                Step(value: ["2", "3"]) { try $0.execute(sql: "DELETE FROM items") },
                Step(value: []) { _ in },
            ]
        )
    }

    @Test(arguments: Writer.allCases)
    func queueObserversSeeTriggerWritesAndCompletion(writer: Writer) async throws {
        try await follow(
            ValueObservation.tracking { try UploadQueue.count($0) },
            in: open(writer),
            [
                Step(value: 0) { db in
                    try db.inTransaction {
                        try db.execute(sql: "INSERT INTO items(id, col) VALUES ('a', '1')")
                        try db.inSavepoint {
                            try db.execute(sql: "INSERT INTO items(id, col) VALUES ('b', '1')")
                            return .commit
                        }
                        return .commit
                    }
                },
                Step(value: 2) { db in
                    try db.inTransaction {
                        try db.execute(sql: "INSERT INTO items(id) VALUES ('rolled back')")
                        return .rollback
                    }
                    try db.execute(sql: "INSERT INTO items(id) VALUES ('c')")
                },
                Step(value: 3) { db in
                    try db.inTransaction {
                        try UploadQueue.complete(db, through: 2, writeCheckpoint: nil)
                        return .commit
                    }
                },
                Step(value: 1) { _ in },
            ]
        )
    }

    @Test func failedCallbackStillAnnouncesWhatWasCommitted() async throws {
        let database = try open(.pool)
        try await follow(
            ValueObservation.tracking { try UploadQueue.count($0) },
            in: database,
            [
                Step(value: 0) { _ in
                    #expect(throws: CancellationError.self) {
                        try database.unsafeReentrantWrite { db in
                            try db.execute(sql: "INSERT INTO items(id) VALUES ('c')")
                            throw CancellationError()
                        }
                    }
                },
                Step(value: 1) { _ in },
            ]
        )
    }

    /// Collects the tables that changed in committed transactions.
    private final class TableRecorder: TransactionObserver, Sendable {
        let committed = NIOLockedValueBox<[Set<String>]>([])
        private let pending = NIOLockedValueBox<Set<String>>([])
        private let tables: Set<String>

        init(_ tables: Set<String>) {
            self.tables = tables
        }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
            tables.contains(eventKind.tableName)
        }

        func databaseDidChange() {
            pending.withLockedValue { $0.formUnion(tables) }
        }

        func databaseDidChange(with event: DatabaseEvent) {
            if tables.contains(event.tableName) {
                databaseDidChange()
            }
        }

        func databaseDidCommit(_ db: Database) {
            let tables = pending.withLockedValue { tables in
                defer { tables = [] }
                return tables
            }
            committed.withLockedValue { $0.append(tables) }
        }

        func databaseDidRollback(_ db: Database) {
            pending.withLockedValue { $0 = [] }
        }
    }

    @Test func transactionObserversLearnAboutTheTablesOfTheQueue() throws {
        for table in ["ps_data__items", "ps_crud", "ps_kv", "ps_tx"] {
            let database = try LocalTestDatabase()
            let recorder = TableRecorder([table])
            database.queue.add(transactionObserver: recorder)
            try database.write("INSERT INTO items(id) VALUES (uuid())")
            try database.write("SELECT 1")
            try? database.queue.write { db in
                try db.execute(sql: "INSERT INTO items(id) VALUES ('b')")
                throw CancellationError()
            }
            try database.write("UPDATE ps_data__items SET data = data WHERE id = 'missing'")
            #expect(recorder.committed.withLockedValue { $0.first } == [table])
            #expect(recorder.committed.withLockedValue { $0.dropFirst().allSatisfy(\.isEmpty) })
        }
    }
}
