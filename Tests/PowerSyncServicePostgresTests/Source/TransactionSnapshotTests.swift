import PowerSyncSyncConfig
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// Which transactions a copy has seen.
@Suite struct TransactionSnapshotTests {
    @Test func transactionsThatHadEndedAreSeen() throws {
        let snapshot = try #require(TransactionSnapshot("100:105:101,103"))
        #expect([0, 3, 99, 100, 102, 104].allSatisfy { snapshot.sees(TransactionID(rawValue: $0)) })
        let others: [UInt64] = [101, 103, 105, 106, 2000, 1 << 31, 1 << 32, 3 << 31, .max]
        #expect(others.allSatisfy { !snapshot.sees(TransactionID(rawValue: $0)) })
    }

    @Test(arguments: [0, 5, 1 << 31, 7 << 32, 7 << 32 - 3])
    func theLowerHalfOfANumberIsCompletedByWhatIsNearest(_ other: UInt64) {
        let distances: [Int64] = [0, 1, 2, 1000, 1 << 31 - 1]
        for distance in distances {
            for number in [Int64(other) - distance, Int64(other) + distance] where number >= 0 {
                let id = TransactionID(UInt32(truncatingIfNeeded: number), near: TransactionID(rawValue: other))
                #expect(id.rawValue == UInt64(number))
            }
        }
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
