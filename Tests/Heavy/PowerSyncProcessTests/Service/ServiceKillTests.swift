import Foundation
import GRDB
import IntegrationTestSupport
import PowerSync
import PowerSyncService
import TestSupport
import Testing

/// A service in a process of its own that is killed in the middle of its work.
@Suite(.timeLimit(.minutes(3)))
struct ServiceKillTests {
    /// The seed of the moments; printed with a failure by the argument.
    @Test(arguments: [UInt64(20_260_101)])
    func nothingIsLostAndNoUploadIsAppliedTwice(seed: UInt64) async throws {
        let service = try TodoService()
        let process = try ServiceProcess(service, source: ServiceProcess.embedded)
        var random = SeededGenerator(seed: seed)
        let (first, second) = (service.client("first"), service.client("second"))
        var options = ConnectOptions()
        options.retryDelay = 0.1
        options.crudThrottle = 0.05
        try await process.start()
        // What the backend has applied, write by write.
        try await service.writeToSource { db in
            try db.execute(
                sql: """
                    CREATE TABLE applied(name TEXT);
                    CREATE TRIGGER applied_insert AFTER INSERT ON lists BEGIN INSERT INTO applied VALUES (new.name); END;
                    CREATE TRIGGER applied_update AFTER UPDATE ON lists BEGIN INSERT INTO applied VALUES (new.name); END;
                    """
            )
        }
        var written: Set<String> = []
        for client in [first, second] {
            try await client.connect(connector: service.connector("anna", process.address.url), options: options)
        }
        for round in 0..<8 {
            // The kill comes while these are being uploaded, replicated and sent.
            for write in 0..<20 {
                let client = write % 2 == 0 ? first : second
                let list = Int.random(in: 0..<10, using: &random)
                let name = "round \(round), write \(write)"
                written.insert(name)
                try await client.execute(
                    sql: "INSERT OR REPLACE INTO lists(id, owner_id, name) VALUES (?, 'anna', ?)",
                    parameters: ["l\(list)", name]
                )
            }
            let bulk = Int.random(in: 1...400, using: &random)
            try await service.writeToSource { db in
                for number in 0..<bulk {
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO lists(id, owner_id, name) VALUES (?, 'anna', ?)",
                        arguments: ["bulk-\(number)", "round \(round)"]
                    )
                }
            }
            await process.kill()
            try await process.start()
        }
        try await first.waitForEmptyQueue()
        try await second.waitForEmptyQueue()
        let rows = try await service.sourceRows("lists")
        try await first.waitForRows(of: "lists", toEqual: rows)
        try await second.waitForRows(of: "lists", toEqual: rows)
        let applied = try await DatabaseQueue(path: service.sourcePath).read { db in
            try String.fetchAll(db, sql: "SELECT name FROM applied WHERE name LIKE '%write%'")
        }
        #expect(applied.count == written.count)
        #expect(Set(applied) == written)
        for client in [first, second] {
            try await client.close()
        }
        await process.kill()
    }
}
