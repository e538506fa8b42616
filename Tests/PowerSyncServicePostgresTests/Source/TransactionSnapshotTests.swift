import PowerSyncRules
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// Which transactions a copy has seen.
@Suite struct TransactionSnapshotTests {
    @Test func transactionsThatHadEndedAreSeen() throws {
        let snapshot = try #require(TransactionSnapshot("100:105:101,103"))
        #expect([3, 99, 100, 102, 104].allSatisfy { snapshot.sees($0) })
        #expect([101, 103, 105, 106, 2000].allSatisfy { !snapshot.sees($0) })
    }

    @Test func numbersOfTheStreamHaveNoUpperHalf() throws {
        let epoch: UInt64 = 7 << 32
        let snapshot = try #require(TransactionSnapshot("\(epoch - 10):\(epoch + 5):\(epoch - 3),\(epoch + 2)"))
        #expect([UInt32.max - 20, .max - 9, .max, 0, 4].allSatisfy { snapshot.sees($0) })
        #expect([UInt32.max - 2, 2, 5, 6, 1 << 30].allSatisfy { !snapshot.sees($0) })
    }

    @Test(arguments: ["", "100", "100:105", "105:100:", "a:b:", "100:105:x", "100:105:101:", "-1:5:"])
    func othersAreRefused(_ text: String) {
        #expect(TransactionSnapshot(text) == nil)
    }

    @Test func positionsOfCopiesAreKept() {
        for lastKey in [nil, "", "é'\"", "17"] as [String?] {
            let position = CopyPosition(snapshot: "1:2:", lastKey: lastKey)
            #expect(CopyPosition(position.key) == position)
        }
        #expect(CopyPosition(SnapshotKey([.integer(1)])) == nil)
        #expect(CopyPosition(SnapshotKey(rawValue: [1, 2])) == nil)
    }
}
