import PowerSyncCoreTestSupport
import Testing

@testable import PowerSyncCore

@Suite struct KeyDirectoryTests {
    @Test func candidatesIncludeEveryInsertedRow() {
        let directory = KeyDirectory()
        // Enough to grow a few times; two rows for each hash.
        for rowID in 1...20_000 as ClosedRange<Int64> {
            directory.insert(UInt64(rowID / 2) &* 0x9e37_79b9_7f4a_7c15, rowID: rowID)
        }
        for rowID in 1...20_000 as ClosedRange<Int64> {
            var candidates: Set<Int64> = []
            directory.forEachRowID(UInt64(rowID / 2) &* 0x9e37_79b9_7f4a_7c15) { candidates.insert($0) }
            #expect(candidates.contains(rowID))
        }
        #expect(directory.hasRoom(for: 1))
    }

    @Test(arguments: [0, -1, Int64(UInt32.max) + 1])
    func rowIDsThatDoNotFitExhaustIt(_ rowID: Int64) {
        let directory = KeyDirectory()
        directory.insert(1, rowID: rowID)
        #expect(!directory.hasRoom(for: 1))
    }

    @Test func roomIsForAllOperationsOfALine() {
        let directory = KeyDirectory()
        directory.insert(1, rowID: 1)
        #expect(directory.hasRoom(for: 3_999_999))
        #expect(!directory.hasRoom(for: 4_000_000))
    }

    @Test func aRowThatComesAndGoesBringsTheIndexesBack() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(.checkpoint(200, [.bucket("a", count: 200)]))
        for round in 0..<Int64(50) {
            try scenario.receive(.ops("a", .put(round * 2 + 1, "x"), .remove(round * 2 + 2, "x")))
        }
        #expect(try scenario.oplog.isEmpty)
        #expect(try scenario.database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ps_oplog_key'") == 1)
    }

    @Test func exhaustedDirectoryBringsTheIndexesBack() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(.checkpoint(3, [.bucket("a", count: 3)]), .ops("a", .put(1, "x")))
        // The next row id is larger than the directory can hold.
        try scenario.database.write("UPDATE ps_oplog SET rowid = 4294967296")
        try scenario.receive(.ops("a", .put(2, "y")))
        try scenario.receive(.ops("a", .put(3, "y")))
        #expect(try scenario.oplog == ["a|1|items/x/null|0", "a|3|items/y/null|0"])
        #expect(try scenario.database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ps_oplog_key'") == 1)
    }
}
