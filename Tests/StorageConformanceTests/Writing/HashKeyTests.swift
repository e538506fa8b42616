import GRDB
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// The secret key of each replication stream.
@Suite(.timeLimit(.minutes(1))) struct HashKeyTests {
    private static let yaml = "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM t}}\n"

    private func key(of stream: ReplicationStream, in storage: any BucketStorage) async throws -> [UInt8] {
        let id = stream.id
        if let storage = storage as? PostgresBucketStorage {
            return try await storage.readStreams("testing") { try $0.record(of: id).hashKey }
        }
        return try await storage.pool.read { db in try SQLiteStreamTables(db).record(of: id).hashKey }
    }

    @Test(arguments: TestedStorage.durable)
    func eachStreamHasAKeyOfItsOwnThatStays(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.yaml, on: kind)
        let first = try await key(of: scenario.stream, in: scenario.storage)
        #expect(first.count == 16)
        // Not what a column has by default.
        #expect(Set(first).count > 1)
        let storage = try await scenario.reopenStorage()
        #expect(try await key(of: scenario.stream, in: storage) == first)
        // The source is copied again for the same text.
        let next = try await storage.restart(scenario.stream.id)
        let second = try await key(of: next, in: storage)
        #expect(second.count == 16 && second != first)
    }
}
