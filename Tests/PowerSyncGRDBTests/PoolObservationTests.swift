import Foundation
import GRDB
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncGRDB
import PowerSyncTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct PoolObservationTests {
    private let harness: PoolHarness

    init() throws {
        harness = try PoolHarness()
    }

    private func names() throws -> AsyncValueObservation<[String]> {
        ValueObservation.tracking { db in
            try String.fetchAll(db, sql: "SELECT name FROM lists ORDER BY name")
        }.values(in: harness.pool)
    }

    @Test func observationsFollowBothKindsOfWrites() async throws {
        try await harness.database.waitForReady()
        var values = try names().makeAsyncIterator()
        #expect(try await values.next() == [])
        try await harness.database.execute("INSERT INTO lists (id, name) VALUES ('1', 'A')")
        while let names = try await values.next(), names != ["A"] {}
        try await harness.pool.write { try List(id: "2", name: "B").insert($0) }
        while let names = try await values.next(), names != ["A", "B"] {}
        try await harness.database.disconnectAndClear()
        while let names = try await values.next(), names != [] {}
    }

    @Test func watchesFollowBothKindsOfWrites() async throws {
        let query = "SELECT name FROM lists ORDER BY name"
        var first = try harness.database.watch(query) { try $0.getString(index: 0) }.makeAsyncIterator()
        var second = try harness.database.watch(query) { try $0.getString(index: 0) }.makeAsyncIterator()
        #expect(try await first.next() == [])
        #expect(try await second.next() == [])
        try await harness.pool.write { try List(id: "1", name: "A").insert($0) }
        while let names = try await first.next(), names != ["A"] {}
        while let names = try await second.next(), names != ["A"] {}
        try await harness.database.execute("UPDATE lists SET name = 'B'")
        while let names = try await first.next(), names != ["B"] {}
        while let names = try await second.next(), names != ["B"] {}
    }

    @Test func rolledBackWritesNotifyNobody() async throws {
        try await harness.database.waitForReady()
        var values = try names().makeAsyncIterator()
        // A pool observation may fetch twice at its start.
        #expect(try await values.next() == [])
        struct Rollback: Error {}
        await #expect(throws: Rollback.self) {
            try await harness.pool.write { db in
                try List(id: "1", name: "A").insert(db)
                throw Rollback()
            }
        }
        try await harness.pool.write { try List(id: "2", name: "B").insert($0) }
        var seen: [[String]] = []
        while let names = try await values.next() {
            seen.append(names)
            if names == ["B"] { break }
        }
        #expect(!seen.contains(["A"]))
    }

    @Test func recordsOfTheAppAreUploadedAndDownloadsReachIt() async throws {
        let connector = QueueConnector()
        let stream = try await harness.connect(connector)
        stream.send(Line.checkpoint(1), Line.put(1, "lists", "s", #"{"name":"Server"}"#), .done)
        try await harness.database.waitForFirstSync()
        #expect(try await harness.pool.read { try List.fetchAll($0) } == [List(id: "s", name: "Server")])

        try await harness.pool.write { db in
            try List(id: "l", name: "Local").insert(db)
            try List.deleteOne(db, key: "s")
        }
        await connector.wait(for: 2)
        #expect(await connector.uploaded == ["PUT lists l", "DELETE lists s"])
        try await harness.database.close()
    }

    /// Twenty observers, while rows arrive from the service and the app writes records.
    @Test func manyObserversFollowALiveSync() async throws {
        let rounds = 30
        let connector = QueueConnector()
        let stream = try await harness.connect(connector)
        let (pool, service) = (harness.pool, harness.service)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let acknowledging = Task {
                while true { try await service.nextWriteCheckpoint().respond(1) }
            }
            defer { acknowledging.cancel() }
            for number in 0..<20 {
                group.addTask {
                    // Half of them read one view, the others a join; each has a query of its own.
                    let observation = ValueObservation.tracking { db in
                        let sql =
                            number % 2 == 0
                            ? "SELECT count(*) FROM todos WHERE \(number) = \(number)"
                            : "SELECT count(*) FROM todos JOIN lists ON lists.id = list_id WHERE \(number) = \(number)"
                        return try Int.fetchOne(db, sql: sql) ?? 0
                    }
                    for try await count in observation.values(in: pool) where count == 2 * rounds {
                        return
                    }
                }
            }
            stream.send(Line.checkpoint(1), Line.put(1, "lists", "1", #"{"name":"Server"}"#), .done)
            try await harness.database.waitForFirstSync()
            for round in 1...rounds {
                let opID = round + 1
                stream.send(
                    Line.checkpoint(opID),
                    Line.put(opID, "todos", "s\(round)", #"{"list_id":"1","title":"from the service","done":0}"#),
                    .done
                )
                try await pool.write { db in
                    try Todo(id: "l\(round)", listID: "1", title: "of the app", done: false).insert(db)
                }
            }
            await connector.wait(for: rounds)
            // The service answers with what was uploaded; rows that it does not know would vanish.
            let last = 2 * rounds + 1
            stream.send(Line.checkpoint(last))
            for round in 1...rounds {
                let row = #"{"list_id":"1","title":"of the app","done":0}"#
                stream.send(Line.put(rounds + 1 + round, "todos", "l\(round)", row))
            }
            stream.send(.done)
            try await group.waitForAll()
        }
        try await harness.database.close()
    }
}
