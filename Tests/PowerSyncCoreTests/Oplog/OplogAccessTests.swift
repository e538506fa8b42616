import GRDB
import PowerSyncCoreTestSupport
import Testing

@testable import PowerSyncCore

/// Whether the indexes of the operation log are dropped for a large download, or stay.
@Suite struct OplogAccessTests {
    private let scenario: SyncScenario

    init() throws { scenario = try SyncScenario() }

    @Test func indexesStayForTheIterationOnceALineHadNoRoom() throws {
        var access = OplogAccess.undecided
        // More than all that the directory of keys holds.
        let isPrepared = try scenario.database.queue.write { db in
            try access.prepareToStore(asBulkLoad: true, operationCount: 5_000_000, db)
        }
        #expect(isPrepared)
        for _ in 0..<2 {
            let isPrepared = try scenario.database.queue.write { db in
                try access.prepareToStore(asBulkLoad: true, operationCount: 1, db)
            }
            #expect(isPrepared)
            #expect(access.bulkLoad == nil)
            #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        }
    }

    @Test func indexesAreDroppedWhenThereIsRoom() throws {
        var access = OplogAccess.undecided
        let isPrepared = try scenario.database.queue.write { db in
            try access.prepareToStore(asBulkLoad: true, operationCount: 1, db)
        }
        #expect(isPrepared)
        #expect(access.bulkLoad != nil)
        #expect(try scenario.oplogIndexes.isEmpty)
    }

    @Test func indexesAreCreatedForALineThatHasNoRoomBesideOthers() throws {
        var access = OplogAccess.undecided
        for (operationCount, isPrepared) in [(1, true), (5_000_000, false)] {
            let result = try scenario.database.queue.write { db in
                try access.prepareToStore(asBulkLoad: true, operationCount: operationCount, db)
            }
            #expect(result == isPrepared)
        }
        #expect(access.bulkLoad == nil)
        #expect(try scenario.oplogIndexes.count == 1)
    }
}
