import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// How much one statement stores.
@Suite struct OperationColumnsTests {
    private static let row = SourceRowKey("table", number: 1, key: ReplicaID(names: ["id"], values: ["a"]))

    @Test func removalsFillAStatement() {
        var columns = OperationColumns()
        var count: Int64 = 0
        let membership = Membership(bucket: 1, table: 1, id: [UInt8](repeating: 0x61, count: 1000))
        while !columns.isFull, count < 50_000 {
            count += 1
            columns.append(-count, .remove, .zero, membership, of: Self.row)
        }
        #expect((15_000..<16_777).contains(count))
    }

    @Test func tombstonesFillAStatement() {
        var columns = EntryColumns()
        var count: Int64 = 0
        while !columns.isFull, count < 200_000 {
            count += 1
            columns.append(-count, [], lookup: 1, of: Self.row)
        }
        #expect((100_000..<167_773).contains(count))
    }
}
