import Foundation
import GRDB
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// The WAL stays short while somebody always reads.
@Suite(.timeLimit(.minutes(1))) struct WriteAheadLogTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """
    private static let limit = 1_000_000

    private func write(_ scenario: inout StorageScenario, _ value: Int) async throws {
        let table = try await scenario.table("test")
        let text = SQLValue.text(String(repeating: "x", count: 200_000))
        try await scenario.save(.update(["id": .integer(Int64(value)), "text": text]), of: table)
        try await scenario.commit()
    }

    @Test func logBeginsAnewAlthoughThereIsAlwaysAReader() async throws {
        var scenario = try await StorageScenario(Self.config, walLimit: Self.limit)
        let pool = scenario.storage.pool
        var longest = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            let first = try pool.makeSnapshot()
            group.addTask {
                var reader = first
                while !Task.isCancelled {
                    // Each reader begins before the one before it ends.
                    let next = try pool.makeSnapshot()
                    try reader.close()
                    reader = next
                    await Task.yield()
                }
                try reader.close()
            }
            for value in 0..<60 {
                try await write(&scenario, value)
                longest = max(longest, scenario.storage.log.bytes)
            }
            group.cancelAll()
        }
        #expect(longest < 6 * Self.limit)
    }

    @Test func readerThatDoesNotEndIsNotWaitedForAgainAndAgain() async throws {
        var scenario = try await StorageScenario(Self.config, walLimit: Self.limit)
        let reader = try scenario.storage.pool.makeSnapshot()
        let before = try await reader.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM operations") }
        for value in 0..<12 { try await write(&scenario, value) }
        #expect(scenario.storage.log.bytes > Self.limit)
        #expect(!scenario.storage.log.isTooLong)
        #expect(try await reader.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM operations") } == before)
        try reader.close()
        // It may begin anew by itself now, and keep the length that it has.
        for value in 12..<60 { try await write(&scenario, value) }
        #expect(scenario.storage.log.bytes < 6 * Self.limit)
    }
}
