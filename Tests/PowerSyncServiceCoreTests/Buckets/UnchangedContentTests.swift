import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// What a row gives to buckets and indexes when they may have it already, with hashes of the test.
@Suite struct UnchangedContentTests {
    /// What was written.
    private final class Log {
        var rows: [ReplicaID: StoredRow] = [:]
        var storedRows = 0
        var lookups: [Int64: Int64] = [:]
        var operations: [String] = []
        var superseded: [Int64] = []
    }

    /// Tables with one bucket and one lookup for each name that is a number.
    private struct LoggingTables: RecordTables {
        let log: Log

        func number(of name: String) throws -> Int64 { 1 }
        func bucket(_ name: BucketName) throws -> Int64 { try #require(Int64(name.rawValue)) }
        func lookup(_ lookup: ParameterLookup) throws -> Int64 { try #require(Int64(lookup.rawValue)) }
        func row(_ key: SourceRowKey) throws -> StoredRow? { log.rows[key.key] }

        func rows(
            of table: Int64,
            limit: Int,
            byteLimit: Int
        ) throws -> (found: [(key: ReplicaID, state: StoredRow)], isAll: Bool) { ([], true) }

        func store(_ state: StoredRow, of key: SourceRowKey) throws {
            log.rows[key.key] = state
            log.storedRows += 1
        }

        func delete(_ key: SourceRowKey) throws { log.rows[key.key] = nil }

        func append(_ change: OperationChange, _ membership: Membership, of row: SourceRowKey) throws -> Int64 {
            switch change {
            case .put(let data, _): log.operations.append("\(membership.bucket) PUT \(data)")
            case .remove: log.operations.append("\(membership.bucket) REMOVE")
            }
            return Int64(log.operations.count)
        }

        func append(_ outputs: [ParameterRow], lookup: Int64, of row: SourceRowKey) throws -> Int64 {
            log.operations.append("\(lookup) entry \(outputs.map(\.values))")
            log.lookups[Int64(log.operations.count)] = lookup
            return Int64(log.operations.count)
        }

        func lookup(ofEntry opID: Int64) throws -> Int64 { try #require(log.lookups[opID]) }
        func supersede(_ put: StoredRow.Put, by later: Int64) throws { log.superseded.append(put.opID) }
        func supersedeEntry(_ opID: Int64, by later: Int64) throws { log.superseded.append(opID) }
        consuming func finish() throws -> OpID? { nil }
    }

    private let log = Log()

    /// Writes an update of the one row.
    private func update(
        _ puts: [(bucket: Int, data: String, hash: ContentHash)],
        entries: [(lookup: Int, output: Int64, hash: ContentHash)] = []
    ) throws {
        let key = ReplicaID(names: ["id"], values: ["a"])
        let content = PendingRecord.Content(
            key: key,
            rows: puts.map {
                (BucketRow(bucket: BucketName("\($0.bucket)"), table: "t", id: "a", data: $0.data), $0.hash)
            },
            entries: entries.map {
                (
                    ParameterEntry(
                        lookup: ParameterLookup(rawValue: "\($0.lookup)"),
                        rows: [ParameterRow(values: [.integer($0.output)])]
                    ), $0.hash
                )
            },
            withheld: []
        )
        var store = RecordStore(LoggingTables(log: log))
        try store.write(
            PendingRecord(
                kind: .update,
                tableID: "t",
                beforeKey: key,
                content: content,
                skipsStoredRow: false,
                size: 0
            )
        )
        _ = try store.finish()
    }

    private func hash(_ checksum: UInt32, keyed: UInt64 = 0) -> ContentHash {
        ContentHash(checksum: Checksum(checksum), keyed: keyed)
    }

    @Test(arguments: [(checksum: 2, keyed: 0), (1, 1)] as [(checksum: UInt32, keyed: UInt64)])
    func halfACollisionIsAChange(_ other: (checksum: UInt32, keyed: UInt64)) throws {
        let (one, two) = (hash(1), hash(other.checksum, keyed: other.keyed))
        try update([(1, "x", one)], entries: [(7, 1, one)])
        try update([(1, "y", two)], entries: [(7, 2, two)])
        #expect(log.operations.map { $0.prefix(7) } == ["1 PUT x", "7 entry", "1 PUT y", "7 entry"])
        #expect(log.superseded == [1, 2])
    }

    @Test func whatIsTheSameIsKeptWhereItIs() throws {
        try update(
            [(1, "x", hash(1)), (2, "x", hash(1)), (3, "z", hash(3))],
            entries: [(7, 1, hash(9)), (8, 1, hash(9))]
        )
        let first = try #require(log.rows.values.first)
        try update(
            [(1, "x", hash(1)), (2, "x", hash(1)), (3, "z", hash(3))],
            entries: [(7, 1, hash(9)), (8, 1, hash(9))]
        )
        #expect(
            log.operations.count == 5 && log.storedRows == 1,
            "nothing is written for an update that changes nothing"
        )
        // One bucket and one lookup get something else, and one of each loses the row.
        try update([(2, "y", hash(2)), (3, "z", hash(3))], entries: [(8, 2, hash(8))])
        #expect(log.operations.dropFirst(5) == ["2 PUT y", "1 REMOVE", "8 entry [[2]]", "7 entry []"])
        #expect(log.superseded.sorted() == [1, 2, 4, 5, 9])
        let last = try #require(log.rows.values.first)
        #expect(last.puts.map(\.opID) == [6, first.puts[2].opID] && last.entries.map(\.opID) == [8])
    }
}
