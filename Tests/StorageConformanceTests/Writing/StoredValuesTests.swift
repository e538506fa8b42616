import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// The binary form of values in the storage.
@Suite struct StoredValuesTests {
    private static let values: [SQLValue] = [
        .null, .integer(.min), .integer(.max), .real(0.1), .real(-.infinity), .text(""), .text("ü\0\"x"), .blob([]),
        .blob([0, 255]),
    ]

    @Test func valuesSurvive() throws {
        #expect(try SnapshotKey(Self.values).values() == Self.values)
        let rows = [ParameterRow(values: []), ParameterRow(values: Self.values)]
        let decoded = try StoredValues.encode(rows).withUnsafeBytes { try StoredValues.decodeParameterRows($0) }
        #expect(decoded == rows)
    }

    @Test(
        arguments: [
            [], [0x80], [2, 1], [1, 0x80], [1] + Array(repeating: 0xff, count: 11), [0xff, 0xff, 0xff, 0xff, 0x0f],
        ] as [[UInt8]]
    )
    func damagedRowStateIsAnError(_ bytes: [UInt8]) {
        #expect(throws: StoredValues.Corruption.self) { try bytes.withUnsafeBytes { try StoredRow($0) } }
    }

    /// 2⁶³ as op id, bucket, name of a table and parameter entry.
    static let statesWithLargeNumbers: [[UInt8]] = {
        let zeros = [UInt8](repeating: 0x80, count: 8)
        let large = [0x80] + zeros + [1]
        let hash = [UInt8](repeating: 0, count: 12)
        return [
            [1] + large + [1, 3, 2, 97] + hash, [1, 7] + large + [3, 2, 97] + hash,
            [1, 7, 1, 0x82] + zeros + [1, 2, 97] + hash,
            [0] + large + hash,
        ]
    }()

    @Test(arguments: statesWithLargeNumbers) func numbersThatTheStorageDoesNotGiveOutAreErrors(_ bytes: [UInt8]) {
        #expect(throws: StoredValues.Corruption.self) { try bytes.withUnsafeBytes { try StoredRow($0) } }
    }

    @Test func everyTruncationIsAnError() {
        let encoded = SnapshotKey(Self.values).rawValue
        for count in 0..<encoded.count {
            let key = SnapshotKey(rawValue: Array(encoded.prefix(count)))
            #expect(throws: StoredValues.Corruption.self) { try key.values() }
        }
    }

    @Test(
        arguments: [
            [1, 0, 0, 0, 9],
            [1, 0, 0, 0, 3, 255, 255, 255, 255, 65],
            [255, 255, 255, 255],
        ] as [[UInt8]]
    )
    func hostileBytesAreAnError(_ bytes: [UInt8]) {
        #expect(throws: StoredValues.Corruption.self) { try SnapshotKey(rawValue: bytes).values() }
        #expect(throws: StoredValues.Corruption.self) {
            try bytes.withUnsafeBytes { try StoredValues.decodeParameterRows($0) }
        }
    }

    @Test(arguments: TestedStorage.durable)
    func damagedRowStateIsReportedAndStoresNothing(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(
            """
            config:
              edition: 3
            streams:
              g:
                query: SELECT * FROM test
            """,
            on: kind
        )
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        try await scenario.commit()
        if kind == .postgres {
            try scenario.home.run("UPDATE row_states SET state = '\\x01'")
        } else {
            try await scenario.storage.pool.write { db in try db.execute(sql: "UPDATE row_states SET state = x'01'") }
        }
        try await scenario.save(.insert(["id": "b"]), .delete(key: ["a"]), of: table)
        await #expect { try await scenario.writer.flush() } throws: {
            ($0 as? BucketStorageError)?.code == .corrupted
        }
        try await scenario.reopen()
        _ = try await scenario.writer.commit(.at(9), createsEmptyCheckpoints: true)
        #expect(try await scenario.summary("g|0[]") == ["PUT a"])
    }
}
