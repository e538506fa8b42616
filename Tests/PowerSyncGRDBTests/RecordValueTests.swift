import Foundation
import GRDB
import PowerSync
import PowerSyncGRDB
import Testing

/// What records of an app on GRDB may hold; the rules are those of the views.
@Suite(.timeLimit(.minutes(1))) struct RecordValueTests {
    private struct Measurement: Codable, Equatable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "todos"
        var id: String
        var title: String?
        var weight: Double?
    }

    private struct Photo: Codable, PersistableRecord {
        static let databaseTableName = "todos"
        var id: String
        var photo: Data
    }

    @Test(arguments: [
        0.1 + 0.2, -0.0, Double.leastNonzeroMagnitude, Double.greatestFiniteMagnitude, -Double.greatestFiniteMagnitude,
        1.0 / 3, 9_007_199_254_740_992,
    ])
    func doublesAreExact(_ weight: Double) async throws {
        let harness = try PoolHarness()
        _ = try await harness.database.getCrudBatch()
        let written = Measurement(id: "x", title: "a", weight: weight)
        try await harness.pool.write { try written.insert($0) }
        let read = try await harness.pool.read { try Measurement.fetchOne($0, key: "x") }
        #expect(read?.weight?.bitPattern == weight.bitPattern)
        // Another column: the row is written anew.
        try await harness.pool.write { db in
            _ = try Measurement.filter(key: "x").updateAll(db, Column("title").set(to: "b"))
        }
        let later = try await harness.pool.read { try Measurement.fetchOne($0, key: "x") }
        #expect(later?.weight?.bitPattern == weight.bitPattern)
        let entries = try #require(try await harness.database.getCrudBatch()).crud
        guard case .double(let uploaded)? = entries[0].opDataTyped?["weight"] else {
            Issue.record("\(entries[0])")
            return
        }
        #expect(uploaded.bitPattern == weight.bitPattern)
        #expect(entries[1].opData == ["title": "b"])
    }

    @Test func whatJSONCannotHoldIsRefused() async throws {
        let harness = try PoolHarness()
        _ = try await harness.database.getCrudBatch()
        for bytes in [Data(), Data([0]), Data([0x17, 0x41]), Data([0xff])] {
            let error = await #expect(throws: DatabaseError.self) {
                try await harness.pool.write { try Photo(id: "x", photo: bytes).insert($0) }
            }
            #expect(error?.message?.contains("todos.photo: JSON cannot hold BLOB values") == true)
        }
        let error = await #expect(throws: DatabaseError.self) {
            try await harness.pool.write { try Measurement(id: "x", weight: .infinity).insert($0) }
        }
        #expect(error?.message?.contains("todos.weight: JSON cannot hold infinite numbers") == true)
        #expect(try await harness.database.getCrudBatch() == nil)
    }

    /// A build of SQLite, or a statement of the app, under which views cannot be used.
    @Test func anUntrustedSchemaIsReportedAtOpening() async throws {
        let harness = try PoolHarness(configure: { configuration in
            try configuration.configurePowerSync(schema: PoolHarness.schema)
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA trusted_schema = OFF") }
        })
        let error = await #expect(throws: PowerSyncError.self) { try await harness.database.getCrudBatch() }
        #expect(error?.localizedDescription.contains("trusted_schema") == true)
    }
}
