import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// The encoding of row states.
@Suite struct StoredRowTests {
    private static let uuid = "0c3b9a52-7f1e-4d0a-8b6e-5a1f7f0d7c11"

    /// A row whose `PUT`s with op ids that differ in the last bit only have the same content.
    private static func row(
        _ puts: [(Int64, bucket: Int64, table: Int64, id: String)],
        _ entries: [Int64]
    ) -> StoredRow {
        var row = StoredRow()
        row.puts = puts.map {
            StoredRow.Put(
                opID: $0.0,
                membership: Membership(bucket: $0.bucket, table: $0.table, id: Array($0.id.utf8)),
                hash: hash($0.0 | 1)
            )
        }
        row.entries = entries.map { StoredRow.Entry(opID: $0, hash: hash($0)) }
        return row
    }

    private static func row(_ origin: StoredRow.Origin) -> StoredRow {
        var row = row([(7, 1, 2, uuid)], [8])
        row.origin = origin
        return row
    }

    private static let key = ReplicaID(names: ["id"], values: ["a"])

    private static func hash(_ number: Int64) -> ContentHash {
        let number = UInt64(bitPattern: number)
        return ContentHash(
            checksum: Checksum(UInt32(truncatingIfNeeded: ~number)),
            keyed: number &* 0x9e37_79b9_7f4a_7c15
        )
    }

    static let rows = [
        StoredRow(), row([], [1, 300]), row([(7, 1, 0, "")], []), row([(7, 1, 2, uuid)], [8]),
        row([(7, 1, 2, uuid), (8, 200, 2, uuid), (9, 3, 4, uuid), (10, 3, 4, "a")], []),
        row([(1, 1, 1, uuid.uppercased()), (2, 1, 1, uuid + "0"), (3, 1, 1, String(uuid.dropLast()))], []),
        row([(.max, .max, 1 << 40, String(repeating: "ü", count: 200))], [.max]),
        row(StoredRow.Origin(key: key)), row(StoredRow.Origin(SourceRowKey("table", number: 300, key: key))),
        row([(1, 1, 1, uuid.replacing("-", with: "0")), (2, 1, 1, "0c3b9a52-7f1e-4d0a-8b6e_5a1f7f0d7c11")], []),
    ]

    private func decode(_ bytes: [UInt8]) throws -> StoredRow {
        try bytes.withUnsafeBytes { try StoredRow($0) }
    }

    @Test(arguments: rows) func whatIsReadIsWhatWasWritten(_ row: StoredRow) throws {
        #expect(try decode(row.encoded) == row)
    }

    @Test func uuidTakesItsSixteenBytes() {
        #expect(Self.row([(7, 1, 2, Self.uuid)], []).encoded.count == 1 + 3 + 1 + 16 + 12)
    }

    @Test func aContentIsHashedOnce() {
        let puts: [(Int64, bucket: Int64, table: Int64, id: String)] = [(6, 1, 2, "a"), (7, 3, 2, "a"), (8, 4, 2, "a")]
        let sizes = (1...3).map { Self.row(Array(puts.prefix($0)), []).encoded.count }
        #expect(sizes[1] - sizes[0] == 3, "the same content in another bucket")
        #expect(sizes[2] - sizes[1] == 3 + 12, "another content of the row")
    }

    @Test(arguments: rows) func truncatedStateIsAnErrorOrAnotherState(_ row: StoredRow) {
        let bytes = row.encoded
        for count in bytes.indices {
            guard let found = try? decode(Array(bytes.prefix(count))) else { continue }
            // Only the entries and the origin at the end may be missing without notice.
            #expect(found.puts == row.puts && found.origin == nil)
            #expect(found.entries.count < row.entries.count || row.origin != nil)
        }
    }
}
