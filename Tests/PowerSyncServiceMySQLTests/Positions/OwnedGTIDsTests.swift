import MySQLBinlog
import NIOCore
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServiceMySQL

/// Transactions that a MySQL server is committing.
@Suite struct OwnedGTIDsTests {
    private static let (one, other) = ("3e11fa47-71ca-11e1-9e33-c80aa9429562", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa")

    @Test func eachNumberIsOneWithoutItsThreads() {
        #expect(MySQLLog.ownedGTIDs(in: "") == [])
        #expect(MySQLLog.ownedGTIDs(in: "\(Self.one):7#11") == ["\(Self.one):7"])
        #expect(MySQLLog.ownedGTIDs(in: "\(Self.one):7#11#12:8#13") == ["\(Self.one):7", "\(Self.one):8"])
        #expect(
            MySQLLog.ownedGTIDs(in: "\(Self.one):7#11,\n\(Self.other):1#2:tag:9#3:10#4")
                == ["\(Self.one):7", "\(Self.other):1", "\(Self.other):tag:9", "\(Self.other):tag:10"]
        )
    }
}
