import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Removing the rows of a table, of which each may be in many buckets.
@Suite struct RecordRemovalTests {
    /// What is stored of one table.
    private final class Table {
        var rows: [(key: ReplicaID, state: StoredRow)] = []
        var removals = 0
    }

    /// Tables that have one table of the source, and forget what is written but how much it is.
    private struct CountingTables: RecordTables {
        let table: Table

        func number(of name: String) throws -> Int64 { 1 }
        func bucket(_ name: BucketName) throws -> Int64 { 1 }
        func lookup(_ lookup: ParameterLookup) throws -> Int64 { 1 }
        func row(_ key: SourceRowKey) throws -> StoredRow? { nil }

        func rows(
            of table: Int64,
            limit: Int,
            byteLimit: Int
        ) throws -> (found: [(key: ReplicaID, state: StoredRow)], isAll: Bool) {
            (Array(self.table.rows.prefix(limit)), self.table.rows.count <= limit)
        }

        func store(_ state: StoredRow, of key: SourceRowKey) throws {}
        func delete(_ key: SourceRowKey) throws { table.rows.removeAll { $0.key == key.key } }

        func append(_ change: OperationChange, _ membership: Membership, of row: SourceRowKey) throws -> Int64 {
            table.removals += 1
            return 1
        }

        func append(_ outputs: [ParameterRow], lookup: Int64, of row: SourceRowKey) throws -> Int64 {
            table.removals += 1
            return 1
        }

        func lookup(ofEntry opID: Int64) throws -> Int64 { 1 }
        func supersede(_ put: StoredRow.Put, by later: Int64) throws {}
        func supersedeEntry(_ opID: Int64, by later: Int64) throws {}
        consuming func finish() throws -> OpID? { nil }
    }

    /// A row with many operations, or parameter entries.
    private func state(_ count: Int64, isParameter: Bool) -> StoredRow {
        var state = StoredRow()
        let hash = ContentHash(checksum: .zero, keyed: 0)
        if isParameter {
            state.entries = (1...count).map { StoredRow.Entry(opID: $0, hash: hash) }
        } else {
            state.puts = (1...count).map {
                StoredRow.Put(opID: $0, membership: Membership(bucket: $0, table: 1, id: []), hash: hash)
            }
        }
        return state
    }

    /// Removes all rows, each of which has 30,000 operations or parameter entries.
    ///
    /// - Returns: How many rows are left after each step.
    private func steps(removing count: Int64, limit: Int, isParameter: Bool) throws -> [Int] {
        let table = Table()
        table.rows = (0..<count).map { number in
            (
                key: ReplicaID(names: ["id"], values: [.integer(number)]),
                state: state(30_000, isParameter: isParameter)
            )
        }
        var left: [Int] = []
        var isFinished = false
        while !isFinished {
            var store = RecordStore(CountingTables(table: table))
            isFinished = try store.removeRows(of: "table", limit: limit)
            left.append(table.rows.count)
        }
        #expect(table.removals == 30_000 * Int(count))
        return left
    }

    @Test(arguments: [true, false]) func aStepRemovesAFewLargeRows(isParameter: Bool) throws {
        #expect(try steps(removing: 5, limit: 2000, isParameter: isParameter) == [3, 1, 0])
        // The last step knows that it is the last one, unless rows may follow that it has not seen.
        #expect(try steps(removing: 4, limit: 2000, isParameter: isParameter) == [2, 0])
        #expect(try steps(removing: 3, limit: 1, isParameter: isParameter) == [2, 1, 0])
    }
}
